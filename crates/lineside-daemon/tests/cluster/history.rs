//! What was done over a cluster that is cut again and again, and whether that could have been: decisions (none lost, none by
//! hooks that were no longer in force) and context (accepted once).
//!
//! The order of cuts comes from a seed. `LINESIDE_CYCLES` says how many cycles there are; a night has thousands.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use lineside::client::{Registration, Session};
use lineside::json::{Map, Value};
use lineside::prelude::*;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use crate::machine::{Machine, comes_to, reason};
use crate::mailboxes::{REMINDS, accepted, collected};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many cycles there are, unless it is said otherwise.
const CYCLES: usize = 20;
/// How many commands are asked for at once.
const AT_ONCE: usize = 6;

/// Numbers that are the same in each run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Who was asked for what, by the generation of the hook: how often.
type Asked = Arc<Mutex<HashMap<(usize, String), usize>>>;

/// The hook of a generation: it refuses everything, and says which it is.
async fn hook(session: &Session, generation: usize, asked: &Asked) -> Registration {
    let asked = Arc::clone(asked);
    let gate = session
        .intercept::<BeforeTool>(format!("guard-{generation}"))
        .timeout(millis(2_000))
        .matching(tool("Shell"));
    let gate = gate.gate(move |call, _cx| {
        let command = call.command().unwrap_or_default().to_string();
        *asked.lock().unwrap().entry((generation, command.clone())).or_default() += 1;
        std::future::ready(Verdict::block(format!("generation {generation} refuses {command}")))
    });
    gate.await.unwrap()
}

/// A command that is asked for, and what came of it: it is refused, by a hook that was in force when it was asked for, or
/// because none could be asked.
async fn decided(child: &Session, command: String, from: usize) -> Option<usize> {
    let reason = reason(child, &command).await;
    let reason = reason.unwrap_or_else(|| panic!("`{command}` was let through"));
    let by = reason.strip_prefix("generation ").and_then(|rest| rest.split_once(" refuses "));
    let Some((generation, of)) = by else {
        assert!(reason.contains("guard-"), "`{command}` was refused by no hook of the parent: {reason}");
        return None;
    };
    let generation: usize = generation.parse().unwrap();
    assert_eq!(of, command, "an answer is that to another question");
    assert!(
        generation >= from,
        "`{command}` was decided by generation {generation}, and {from} was in force"
    );
    Some(generation)
}

/// What became of messages for the context.
#[derive(Default)]
struct Messages {
    accepted: HashSet<String>,
    /// Whether these were accepted was not answered.
    in_doubt: HashSet<String>,
}

impl Messages {
    /// Collects over a machine, and accepts over it or another one.
    async fn pass(&mut self, collects: &Machine, accepts: &Machine) {
        let Ok(delivery) = collected(&collects.client()).await else { return };
        let ids = ids(&delivery);
        if ids.is_empty() {
            return;
        }
        let twice: Vec<_> = ids.iter().filter(|id| self.accepted.contains(*id)).collect();
        assert!(twice.is_empty(), "{twice:?} were accepted, and are handed over again");
        match accepted(&accepts.client(), &delivery).await {
            Ok(_) => self.accepted.extend(ids),
            Err(_) => self.in_doubt.extend(ids),
        }
    }
}

fn ids(delivery: &Map) -> Vec<String> {
    let id = |message: &Value| message["id"].as_str().unwrap().to_owned();
    delivery["messages"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_cuts_no_decision_is_lost_and_no_message_comes_twice() {
    let cycles = std::env::var("LINESIDE_CYCLES").ok().and_then(|cycles| cycles.parse().ok());
    let cycles: usize = cycles.unwrap_or(CYCLES);
    let mut nats = Nats::new().await;
    let proxies = [Proxy::to(nats.port).await, Proxy::to(nats.port).await];
    let a = Machine::with_deliveries(&proxies[0].url(), "a", millis(20)).await;
    let b = Machine::new(&proxies[1].url(), "b").await;
    let root = a.project("repo", REMINDS);
    a.trust(&root);
    b.trust(&b.project("clone", REMINDS));
    let parent = a.client().session("s1").cwd(root.to_string_lossy()).open().await.unwrap();
    let child = b.below(&parent).session("s2").cwd("/").open().await.unwrap();
    let (asked, mut dice, mut messages) = (Asked::default(), Dice(7), Messages::default());
    let (mut generation, mut in_force) = (0, hook(&parent, 0, &asked).await);
    let (mut refused, mut sent) = ([0, 0], 0);
    for cycle in 0..cycles {
        let mut commands = JoinSet::new();
        for number in 0..AT_ONCE {
            let (child, command, from) = (child.clone(), format!("rm {cycle}-{number}"), generation);
            commands.spawn(async move { decided(&child, command, from).await });
        }
        // Some are over when it is cut, and some under way.
        for _ in 0..dice.roll(AT_ONCE as u64) {
            refused[usize::from(commands.join_next().await.unwrap().unwrap().is_none())] += 1;
        }
        let cut = usize::try_from(dice.roll(3)).unwrap();
        match proxies.get(cut) {
            Some(proxy) => proxy.cut(),
            None if cycle % 5 == 0 => {
                nats.kill();
                nats.start().await;
            }
            None => {}
        }
        if dice.roll(2) == 0 {
            // The next one is in force before this one leaves.
            let next = hook(&parent, generation + 1, &asked).await;
            std::mem::replace(&mut in_force, next).remove().await.unwrap();
            generation += 1;
        }
        assert!(!parent.publish(BeforeTool::new("Look", json!({}))).await.unwrap().is_refused());
        sent += 1;
        let (collects, accepts) = match dice.roll(4) {
            0 => (&a, &a),
            1 => (&a, &b),
            2 => (&b, &a),
            _ => (&b, &b),
        };
        messages.pass(collects, accepts).await;
        while let Some(by) = commands.join_next().await {
            refused[usize::from(by.unwrap().is_none())] += 1;
        }
        proxies.iter().for_each(Proxy::heal);
        if dice.roll(4) > 0 {
            for machine in [&a, &b] {
                machine.until(|status| status["cluster"]["together"] == json!(true)).await;
            }
        }
    }
    let last = format!("generation {generation} refuses rm");
    comes_to(&child, "rm", |reason| reason == Some(&last)).await;
    let asked = asked.lock().unwrap().clone();
    let again: Vec<_> = asked.iter().filter(|((_, command), times)| command != "rm" && **times > 1).collect();
    assert!(again.is_empty(), "asked more than once: {again:?}");
    assert_eq!(refused[0] + refused[1], cycles * AT_ONCE, "every command was decided once");
    assert!(refused[0] > 0 && refused[1] > 0, "both are to be seen: {refused:?}");
    // What was out is back, and nothing is lost.
    for machine in [&a, &b] {
        machine.until(|status| status["cluster"]["together"] == json!(true)).await;
    }
    let all = |messages: &Messages| messages.accepted.union(&messages.in_doubt).count();
    let drained = async {
        while all(&messages) < sent {
            messages.pass(&a, &a).await;
            yield_now().await;
        }
    };
    timeout(LONG, drained).await.expect("every message is handed over in time");
    assert_eq!(all(&messages), sent, "messages that no event has given");
}
