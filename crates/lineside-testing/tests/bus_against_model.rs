//! The bus decides what the reference model decides, on random plans and in every order of completion.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::BTreeMap;

use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Signal};
use lineside_core::hook::Mode;
use lineside_core::receipt::Receipt;
use lineside_core::verdict::Standing;
use lineside_core::{OnFailure, Outcome, Part, Strength, Verdict};
use lineside_points::BeforeTool;
use lineside_testing::reference::shadows;
use lineside_testing::scripted::{PAYLOADS, input, number};
use lineside_testing::{Decided, Reaction, ScriptedHook, decide};
use proptest::prelude::*;

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        6 => Just(Verdict::Continue),
        2 => Just(Verdict::allow()),
        2 => Just(Verdict::ask("sure?")),
        2 => Just(Verdict::block("no")),
        1 => Just(Verdict::stop("enough")),
    ]
}

fn reaction() -> impl Strategy<Value = Reaction> {
    prop_oneof![
        6 => verdict().prop_map(Reaction::Says),
        3 => (0..PAYLOADS).prop_map(Reaction::Makes),
        2 => (0..PAYLOADS).prop_map(Reaction::Tells),
        1 => Just(Reaction::Fails),
        1 => Just(Reaction::Panics),
    ]
}

fn hook() -> impl Strategy<Value = ScriptedHook> {
    let part = prop_oneof![2 => Just(Part::Gate), 1 => Just(Part::Amender)];
    let on_failure = prop_oneof![Just(OnFailure::Block), Just(OnFailure::Continue)];
    (-1..2, part, on_failure, [reaction(), reaction(), reaction()], 0u8..4).prop_map(
        |(priority, part, on_failure, script, polls)| ScriptedHook {
            name: String::new(),
            priority,
            part,
            mode: Mode::Enforced,
            on_failure,
            script,
            polls,
        },
    )
}

fn plan() -> impl Strategy<Value = Vec<ScriptedHook>> {
    proptest::collection::vec(hook(), 1..8).prop_map(|mut hooks| {
        for (number, hook) in hooks.iter_mut().enumerate() {
            hook.name = format!("hook {number}");
        }
        hooks
    })
}

/// A plan, some of whose hooks are in shadow.
fn plan_with_shadows() -> impl Strategy<Value = Vec<ScriptedHook>> {
    (plan(), proptest::collection::vec(any::<bool>(), 8)).prop_map(|(mut hooks, shadows)| {
        for (hook, shadow) in hooks.iter_mut().zip(shadows) {
            hook.mode = if shadow { Mode::Shadow } else { Mode::Enforced };
        }
        hooks
    })
}

/// What the bus makes of it, what waits for the agent, and what is reported of the hooks in shadow.
struct Observed {
    decided: Decided,
    waiting: Vec<String>,
    shadows: BTreeMap<String, Strength>,
}

async fn observed(hooks: &[ScriptedHook], payload: u8) -> Observed {
    let bus = Bus::new();
    let mut signals = bus.signals();
    let decided = decided(&bus, hooks, payload).await;
    let session = bus.find("s").unwrap();
    let waiting = session.collect().before_next_model().await.accept();
    session.close().await;
    let mut shadows = BTreeMap::new();
    while let Some(watched) = signals.try_next() {
        if let Watched::Signal(Signal::DetachedFinished { hook, outcome, .. }) = watched {
            let said = outcome.verdict().map_or(Strength::Continue, Verdict::strength);
            assert!(shadows.insert(hook.name.to_string(), said).is_none(), "it ends once");
        }
    }
    let waiting = waiting.iter().map(|message| message.text.to_string()).collect();
    Observed { decided, waiting, shadows }
}

/// What the bus makes of it.
async fn on_the_bus(hooks: &[ScriptedHook], payload: u8) -> Decided {
    decided(&Bus::new(), hooks, payload).await
}

async fn decided(bus: &Bus, hooks: &[ScriptedHook], payload: u8) -> Decided {
    let session = bus.session("s").open().await.unwrap();
    for hook in hooks {
        hook.register(&session).unwrap();
    }
    let decision = session.publish(BeforeTool::new("Tool", input(payload))).await.unwrap();
    let receipt = decision.receipt().unwrap();
    Decided {
        strength: decision.verdict().strength(),
        author: decision.author().map(|hook| hook.name.to_string()),
        payload: number(&decision.payload().tool_input),
        context: receipt.context.iter().map(|given| given.what.text.to_string()).collect(),
        ran: started(receipt),
    }
}

/// Gates of one group start together; the receipt has them in plan order, and those that a block cancelled as skipped.
fn started(receipt: &Receipt) -> Vec<String> {
    receipt
        .runs
        .iter()
        .filter(|run| run.outcome.has_run() && run.outcome != Outcome::Detached)
        .map(|run| receipt.name(run.hook).to_owned())
        .collect()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_bus_decides_what_the_model_decides(hooks in plan(), payload in 0..PAYLOADS) {
        prop_assert_eq!(run(on_the_bus(&hooks, payload)), decide(&hooks, payload));
    }

    #[test]
    fn d04_the_order_of_completion_changes_nothing(
        hooks in plan(),
        other_polls in proptest::collection::vec(0u8..6, 8),
    ) {
        let mut delayed = hooks.clone();
        for (hook, polls) in delayed.iter_mut().zip(other_polls) {
            hook.polls = polls;
        }
        prop_assert_eq!(run(on_the_bus(&hooks, 0)), run(on_the_bus(&delayed, 0)));
    }

    #[test]
    fn a_hook_in_shadow_changes_nothing_and_is_heard(hooks in plan_with_shadows(), payload in 0..PAYLOADS) {
        let without: Vec<_> = hooks.iter().filter(|hook| hook.mode == Mode::Enforced).cloned().collect();
        let (with, without) = run(async { (observed(&hooks, payload).await, observed(&without, payload).await) });
        prop_assert_eq!(&with.decided, &without.decided);
        prop_assert_eq!(&with.decided, &decide(&hooks, payload));
        prop_assert_eq!(&with.waiting, &without.waiting);
        // Of each that would have had its turn it is reported what it would have said of the payload at its place.
        prop_assert_eq!(&with.shadows, &shadows(&hooks, payload));
    }

    #[test]
    fn which_hook_in_shadow_runs_does_not_depend_on_which_gate_is_faster(
        hooks in plan_with_shadows(),
        other_polls in proptest::collection::vec(0u8..6, 8),
    ) {
        let mut delayed = hooks.clone();
        for (hook, polls) in delayed.iter_mut().zip(other_polls) {
            hook.polls = polls;
        }
        let (one, other) = run(async { (observed(&hooks, 0).await, observed(&delayed, 0).await) });
        prop_assert_eq!(one.decided, other.decided);
        prop_assert_eq!(one.shadows, other.shadows);
    }

    #[test]
    fn d01_joining_is_commutative_associative_and_idempotent(
        a in standing(), b in standing(), c in standing(),
    ) {
        prop_assert_eq!(a.join(b), b.join(a));
        prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
        prop_assert_eq!(a.join(a), a);
        prop_assert!(a.join(b).strength >= a.strength);
    }
}

fn standing() -> impl Strategy<Value = Standing> {
    let strength = prop_oneof![
        Just(Strength::Continue),
        Just(Strength::Allow),
        Just(Strength::Ask),
        Just(Strength::Block),
        Just(Strength::Stop)
    ];
    (strength, 0u32..4).prop_map(|(strength, author)| Standing::of(strength, author))
}
