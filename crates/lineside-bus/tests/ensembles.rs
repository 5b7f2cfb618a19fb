//! Hooks whose answers count together: what members see, when they are settled, and what a halt takes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, Installed, Interceptor, Session};
use lineside_core::answer::Beyond;
use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::hook::Hook;
use lineside_core::json::{Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{
    Amendment, Answer, AnyEvent, Append, Failure, FailureKind, KeepWorking, Notice, OnFailure, Part, Receipt,
    Response, SkipReason, Strength, Verdict,
};
use lineside_points::{BeforeModel, BeforeTool};

type Script = Arc<dyn Fn(&AnyEvent, &Cx) -> Result<Answer, Failure> + Send + Sync>;

/// A member that does what a closure says.
struct Member(Script);

impl Interceptor for Member {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let said = (self.0)(&event, &cx);
        Box::pin(async move { said.map(Response::from) })
    }
}

/// A halt keeps the notices of the others; otherwise everything counts.
struct Halting {
    sees: Sees,
    time: Option<Duration>,
}

impl Ensemble for Halting {
    fn sees(&self) -> Sees {
        self.sees
    }

    fn time(&self) -> Option<Duration> {
        self.time
    }

    fn finalize(&self, _event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        let halts = |answer: &Answer| answer.ends_chain || answer.verdict.strength().is_final();
        if !given.iter().any(|by| halts(&by.what)) {
            return given;
        }
        let only_notices = |answer: Answer| Answer { notices: answer.notices, ..Answer::default() };
        given
            .into_iter()
            .map(|FromHook { hook, what }| FromHook {
                hook,
                what: if halts(&what) { what } else { only_notices(what) },
            })
            .collect()
    }
}

fn together(sees: Sees) -> Arc<dyn Ensemble> {
    Arc::new(Halting { sees, time: None })
}

fn member(
    name: &str,
    ensemble: &Arc<dyn Ensemble>,
    priority: i32,
    script: impl Fn(&AnyEvent, &Cx) -> Result<Answer, Failure> + Send + Sync + 'static,
) -> Installed {
    let hook = Hook::native(name, Part::Amender)
        .priority(priority)
        .dialect("test")
        .within(Some(Arc::clone(ensemble)))
        .on_failure(OnFailure::Continue);
    Installed {
        point: lineside_points::find("before_tool").unwrap(),
        hook,
        run: Arc::new(Member(Arc::new(script))),
    }
}

fn amends(field: &str, value: &Value) -> Answer {
    Answer { amendment: Amendment::default().with(field, value.clone()), ..Answer::default() }
}

fn number(event: &AnyEvent) -> u64 {
    event.payload().value("tool_input").unwrap()["n"].as_u64().unwrap()
}

async fn publish(bus: &Bus) -> Arc<Receipt> {
    let session = bus.session("s").open().await.unwrap();
    session.any_event(Arc::new(BeforeTool::new("Shell", json!({"n": 0})))).publish_any().await.unwrap()
}

fn final_number(receipt: &Receipt) -> u64 {
    number(&receipt.event)
}

#[tokio::test]
async fn members_see_the_amendments_before_them_and_nobody_else_does_until_they_are_settled() {
    // JC-17
    let bus = Bus::new();
    let ensemble = together(Sees::Amended);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let adds = |name, priority| {
        member(name, &ensemble, priority, |event, _| {
            Ok(amends("tool_input", &json!({"n": number(event) + 1})))
        })
    };
    let between = Arc::clone(&seen);
    bus.intercept::<BeforeTool>("between")
        .priority(5)
        .gate(move |call, _| {
            between.lock().unwrap().push(call.tool_input["n"].as_u64().unwrap());
            async { Verdict::Continue }
        })
        .unwrap();
    bus.install("test", vec![adds("a", 9), adds("b", 8), adds("c", 1)]).unwrap();
    let receipt = publish(&bus).await;
    assert_eq!(final_number(&receipt), 3);
    assert_eq!(receipt.changes.iter().map(|by| receipt.name(by.hook)).collect::<Vec<_>>(), ["a", "b", "c"]);
    // The gate judged before they were settled, and judges once more what came of it.
    assert_eq!(*seen.lock().unwrap(), [0, 3]);
}

#[tokio::test]
async fn members_that_see_the_first_payload_do_not_see_each_other() {
    // OC-42
    let bus = Bus::new();
    let ensemble = together(Sees::First);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let adds = |name, priority| {
        let seen = Arc::clone(&seen);
        member(name, &ensemble, priority, move |event, _| {
            seen.lock().unwrap().push(number(event));
            Ok(amends("tool_input", &json!({"n": number(event) + 1})))
        })
    };
    bus.install("test", vec![adds("a", 2), adds("b", 1)]).unwrap();
    let receipt = publish(&bus).await;
    assert_eq!((final_number(&receipt), seen.lock().unwrap().clone()), (1, vec![0, 0]));
}

#[tokio::test]
async fn a_halt_drops_what_was_given_before_it_and_keeps_the_notices() {
    // JC-19, OC-42
    let bus = Bus::new();
    let ensemble = together(Sees::Amended);
    let gives = member("gives", &ensemble, 3, |_, _| {
        Ok(Answer {
            context: vec![Append::system("dropped")],
            notices: vec![Notice::info("kept")],
            ..amends("tool_input", &json!({"n": 7}))
        })
    });
    let halts = member("halts", &ensemble, 2, |_, _| Ok(Verdict::stop("enough").into()));
    let late = member("late", &ensemble, 1, |_, _| Ok(Answer::default()));
    bus.install("test", vec![gives, halts, late]).unwrap();
    let receipt = publish(&bus).await;
    assert_eq!((receipt.verdict.clone(), final_number(&receipt)), (Verdict::stop("enough"), 0));
    assert_eq!((receipt.context.len(), receipt.notices.len()), (0, 1));
    let late = receipt.runs.iter().find(|run| receipt.name(run.hook) == "late").unwrap();
    assert_eq!(late.outcome, lineside_core::Outcome::Skipped(SkipReason::Blocked));
}

#[tokio::test]
async fn a_chain_may_end_without_a_verdict() {
    // JC-21
    let bus = Bus::new();
    let ensemble = together(Sees::Amended);
    let gives = member("gives", &ensemble, 3, |_, _| Ok(amends("tool_input", &json!({"n": 7}))));
    let fails = member("fails", &ensemble, 2, |_, _| {
        let taken_as = Some(Box::new(Answer { ends_chain: true, ..Answer::default() }));
        Err(Failure { taken_as, ..Failure::new(FailureKind::Exit, "exit status 1") })
    });
    let late = member("late", &ensemble, 1, |_, _| Ok(Answer::default()));
    bus.install("test", vec![gives, fails, late]).unwrap();
    bus.intercept::<BeforeTool>("other").priority(-1).gate(async |_, _| Verdict::allow()).unwrap();
    let receipt = publish(&bus).await;
    assert_eq!((receipt.verdict.strength(), final_number(&receipt)), (Strength::Allow, 0));
    let ran: Vec<_> =
        receipt.runs.iter().filter(|run| run.outcome.has_run()).map(|run| receipt.name(run.hook)).collect();
    assert_eq!(ran, ["gives", "fails", "other"]);
}

#[tokio::test]
async fn a_verdict_of_the_settlement_is_in_the_name_of_its_member_and_ends_the_chain() {
    struct LastBlocks;
    impl Ensemble for LastBlocks {
        fn sees(&self) -> Sees {
            Sees::Amended
        }
        fn finalize(&self, _: &AnyEvent, mut given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
            if let Some(first) = given.first_mut() {
                first.what.verdict = Verdict::block("both of us");
            }
            given
        }
    }
    let bus = Bus::new();
    let ensemble: Arc<dyn Ensemble> = Arc::new(LastBlocks);
    let quiet = |name, priority| member(name, &ensemble, priority, |_, _| Ok(Answer::default()));
    bus.install("test", vec![quiet("a", 2), quiet("b", 1)]).unwrap();
    bus.intercept::<BeforeTool>("after").gate(async |_, _| Verdict::Continue).unwrap();
    let receipt = publish(&bus).await;
    assert_eq!(receipt.verdict, Verdict::block("both of us"));
    assert_eq!(&*receipt.author().unwrap().name, "a");
    let after = receipt.runs.iter().find(|run| receipt.name(run.hook) == "after").unwrap();
    assert_eq!(after.outcome, lineside_core::Outcome::Skipped(SkipReason::Blocked));
}

#[tokio::test]
async fn members_are_asked_again_when_another_format_amended_after_them() {
    let bus = Bus::new();
    let ensemble = together(Sees::Amended);
    let guard = member("guard", &ensemble, 5, |event, _| {
        Ok(if number(event) > 0 { Verdict::block("too much").into() } else { Answer::default() })
    });
    bus.install("test", vec![guard]).unwrap();
    bus.intercept::<BeforeTool>("amends")
        .amend(async |_, _| lineside_core::Reply::amend(BeforeTool::amend().tool_input(json!({"n": 1}))))
        .unwrap();
    let receipt = publish(&bus).await;
    assert_eq!(receipt.verdict, Verdict::block("too much"));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_all_members_begins_with_the_first() {
    // JC-22
    let bus = Bus::new();
    let ensemble: Arc<dyn Ensemble> =
        Arc::new(Halting { sees: Sees::Amended, time: Some(Duration::from_secs(30)) });
    let ends = Arc::new(Mutex::new(Vec::new()));
    let looks = |name, priority| {
        let ends = Arc::clone(&ends);
        member(name, &ensemble, priority, move |_, cx| {
            ends.lock().unwrap().push(cx.chain_time().unwrap().ends);
            Ok(Answer::default())
        })
    };
    bus.install("test", vec![looks("a", 3), looks("b", 1)]).unwrap();
    bus.intercept::<BeforeTool>("slow")
        .priority(2)
        .gate(async |_, _| {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Verdict::Continue
        })
        .unwrap();
    publish(&bus).await;
    let ends = ends.lock().unwrap();
    assert_eq!((ends.len(), ends[0]), (2, ends[1]));
}

/// Publishes `before_model` with a hook that always wants the agent to try again, and gives verdict and context.
async fn try_again(session: &Session, turn: u64) -> (Strength, Vec<String>, Vec<String>) {
    let event = session.any_event(Arc::new(BeforeModel::new("m"))).turn(turn);
    let receipt = event.publish_any().await.unwrap();
    (
        receipt.verdict.strength(),
        receipt.context.iter().map(|by| by.what.text.clone()).collect(),
        receipt.notices.iter().map(|by| by.what.text.clone()).collect(),
    )
}

#[tokio::test]
async fn a_block_that_makes_the_agent_try_again_is_limited_at_every_point() {
    // JC-36
    for beyond in [Beyond::Stop, Beyond::Continue(Notice::warning("enough"))] {
        let bus = Bus::new();
        let then = beyond.clone();
        let run = Member(Arc::new(move |_, _| {
            let keep = KeepWorking { append: Append::system("again"), beyond: then.clone(), at_most: None };
            let other = vec![Append::system("other")];
            let verdict = Verdict::block("no");
            Ok(Answer { verdict, context: other, keep_working: Some(Box::new(keep)), ..Answer::default() })
        }));
        let hook = Hook::native("feedback", Part::Amender).dialect("test");
        let point = lineside_points::find("before_model").unwrap();
        bus.install("test", vec![Installed { point, hook, run: Arc::new(run) }]).unwrap();
        let session = bus.session("s").open().await.unwrap();
        for _ in 0..3 {
            let (verdict, context, _) = try_again(&session, 1).await;
            assert_eq!((verdict, context), (Strength::Block, vec!["other".to_owned(), "again".to_owned()]));
        }
        let (verdict, context, notices) = try_again(&session, 1).await;
        assert_eq!(context, ["other"]);
        match beyond {
            Beyond::Stop => assert_eq!((verdict, notices.len()), (Strength::Stop, 0)),
            Beyond::Continue(_) => {
                assert_eq!((verdict, notices), (Strength::Continue, vec!["enough".to_owned()]));
            }
        }
        // A new turn begins anew.
        assert_eq!(try_again(&session, 2).await.0, Strength::Block);
    }
}

/// Members in this pace, each of whose answers counts.
struct Paced(Pace);

impl Ensemble for Paced {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn pace(&self, _event: &AnyEvent) -> Pace {
        self.0
    }

    fn finalize(&self, _event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

/// A member that says when it begins and ends; between them it lets others go on.
struct Telling {
    name: &'static str,
    verdict: Verdict,
    told: Arc<Mutex<Vec<String>>>,
}

impl Interceptor for Telling {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let (name, verdict, told) = (self.name, self.verdict.clone(), Arc::clone(&self.told));
        Box::pin(async move {
            told.lock().unwrap().push(format!("{name} begins"));
            tokio::task::yield_now().await;
            told.lock().unwrap().push(format!("{name} ends"));
            Ok(Response::from(Answer::from(verdict)))
        })
    }
}

#[tokio::test]
async fn members_take_their_turns_in_the_pace_of_their_format() {
    let all_in_turn = vec!["a begins", "a ends", "b begins", "b ends"];
    for (pace, expected) in [
        (Pace::InTurn, vec!["a begins", "a ends"]),
        (Pace::InTurnThroughBlocks, all_in_turn),
        (Pace::AtOnce, vec!["a begins", "b begins", "a ends", "b ends"]),
    ] {
        let bus = Bus::new();
        let ensemble: Arc<dyn Ensemble> = Arc::new(Paced(pace));
        let told = Arc::default();
        let member = |name, verdict, priority| {
            let run = Telling { name, verdict, told: Arc::clone(&told) };
            let hook = Hook::native(name, Part::Amender).priority(priority).dialect("test");
            let hook = hook.within(Some(Arc::clone(&ensemble)));
            Installed { point: lineside_points::find("before_tool").unwrap(), hook, run: Arc::new(run) }
        };
        let members = vec![member("a", Verdict::block("a"), 2), member("b", Verdict::stop("b"), 1)];
        bus.install("test", members).unwrap();
        let receipt = publish(&bus).await;
        let mut told = told.lock().unwrap();
        if pace == Pace::AtOnce {
            // Which of them gets on first is not said.
            told[2..].sort_unstable();
        }
        assert_eq!(*told, expected, "{pace:?}");
        let verdict = if pace == Pace::InTurn { Verdict::block("a") } else { Verdict::stop("b") };
        assert_eq!(receipt.verdict, verdict, "{pace:?}: the strongest of those that were asked");
    }
}
