//! The second judgement takes the place of the first, with all that came with it; and what hooks gave is on the receipt.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::publish::StopBound;
use lineside_bus::{Bus, Cx, Installed, Interceptor, Session};
use lineside_core::answer::Beyond;
use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::hook::{Hook, Mode, Select, Selected};
use lineside_core::json::{Value, json};
use lineside_core::matcher::tool;
use lineside_core::outcome::{FromHook, Round};
use lineside_core::{
    Amendment, Answer, AnyEvent, Append, Failure, FailureKind, KeepWorking, Notice, OnFailure, Outcome, Part,
    Receipt, Reply, Response, SkipReason, Strength, Verdict,
};
use lineside_points::{BeforeStop, BeforeTool};

/// A hook that says what a closure makes of the number in the payload.
struct Says<F>(F);

impl<F> Interceptor for Says<F>
where
    F: Fn(u64) -> Result<Answer, Failure> + Send + Sync + 'static,
{
    fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let number = event.payload().value("tool_input").and_then(|input| input["n"].as_u64());
        let said = (self.0)(number.unwrap_or_default());
        Box::pin(async move { said.map(Response::from) })
    }
}

fn at(
    point: &str,
    hook: Hook,
    says: impl Fn(u64) -> Result<Answer, Failure> + Send + Sync + 'static,
) -> Installed {
    Installed { point: lineside_points::find(point).unwrap(), hook, run: Arc::new(Says(says)) }
}

fn hook(name: &str, part: Part, priority: i32) -> Hook {
    Hook::native(name, part).priority(priority).dialect("test").on_failure(OnFailure::Continue)
}

fn gate(
    name: &str,
    priority: i32,
    says: impl Fn(u64) -> Result<Answer, Failure> + Send + Sync + 'static,
) -> Installed {
    at("before_tool", hook(name, Part::Gate, priority), says)
}

fn notes(text: String) -> Answer {
    Answer { notices: vec![Notice::info(text)], ..Answer::default() }
}

fn sets(number: u64) -> Value {
    json!({ "n": number })
}

/// A bus whose last hook of priority 5 adds one to the number.
fn bus(hooks: Vec<Installed>) -> Bus {
    let bus = Bus::new();
    bus.install("test", hooks).unwrap();
    bus.intercept::<BeforeTool>("adds")
        .priority(5)
        .amend(async |call, _| {
            let number = call.tool_input["n"].as_u64().unwrap();
            Reply::amend(BeforeTool::amend().tool_input(sets(number + 1)))
        })
        .unwrap();
    bus
}

async fn publish(bus: &Bus) -> Arc<Receipt> {
    publish_in(&bus.session("s").open().await.unwrap()).await
}

async fn publish_in(session: &Session) -> Arc<Receipt> {
    let event = session.any_event(Arc::new(BeforeTool::new("Shell", sets(0))));
    event.publish_any().await.unwrap()
}

fn notices(receipt: &Receipt) -> Vec<&str> {
    let mut notices: Vec<&str> = receipt.notices.iter().map(|by| &*by.what.text).collect();
    notices.sort_unstable();
    notices
}

#[tokio::test]
async fn gates_of_equal_priority_judge_at_the_same_time_again_and_others_in_turn() {
    let bus = bus(Vec::new());
    let log = Arc::new(Mutex::new(Vec::new()));
    for (name, priority) in [("a", 9), ("b", 9), ("c", 8)] {
        let log = Arc::clone(&log);
        bus.intercept::<BeforeTool>(name)
            .priority(priority)
            .gate(move |_, _| {
                let log = Arc::clone(&log);
                async move {
                    log.lock().unwrap().push(format!("{name} begins"));
                    tokio::task::yield_now().await;
                    log.lock().unwrap().push(format!("{name} ends"));
                    Verdict::Continue
                }
            })
            .unwrap();
    }
    publish(&bus).await;
    let log = log.lock().unwrap();
    let (first, again) = log.split_at(6);
    assert_eq!(
        (&first[..2], &first[4..]),
        (&["a begins", "b begins"].map(String::from)[..], &["c begins", "c ends"].map(String::from)[..])
    );
    assert_eq!((&again[..2], &again[4..]), (&first[..2], &first[4..]));
}

#[tokio::test]
async fn what_was_given_with_the_first_judgement_goes_and_that_of_others_stays() {
    let others = gate("other", 1, |number| Ok(notes(format!("other {number}"))));
    let receipt =
        publish(&bus(vec![gate("judge", 9, |number| Ok(notes(format!("judge {number}")))), others])).await;
    assert_eq!(notices(&receipt), ["judge 1", "other 1"]);
    let blocks = gate("blocks", 9, |number| {
        Ok(if number > 0 { Verdict::block("no").into() } else { Answer::default() })
    });
    let left_out = gate("left out", 8, |number| Ok(notes(format!("left out {number}"))));
    let receipt = publish(&bus(vec![blocks, left_out])).await;
    assert_eq!((receipt.verdict.clone(), notices(&receipt)), (Verdict::block("no"), vec![]));
}

#[tokio::test]
async fn what_one_block_too_many_becomes_is_what_was_said_last() {
    let judge = gate("judge", 9, |number| {
        let (verdict, beyond) = match number {
            0 => (Verdict::Continue, Beyond::Stop),
            _ => (Verdict::block("no"), Beyond::Continue(Notice::warning("enough"))),
        };
        let keep = KeepWorking { append: Append::system("again"), beyond, at_most: Some(1) };
        Ok(Answer { verdict, keep_working: Some(Box::new(keep)), ..Answer::default() })
    });
    let bus = bus(vec![judge]);
    let session = bus.session("s").open().await.unwrap();
    assert_eq!(publish_in(&session).await.verdict, Verdict::block("no"));
    let receipt = publish_in(&session).await;
    assert_eq!((receipt.verdict.clone(), notices(&receipt)), (Verdict::Continue, vec!["enough"]));
}

/// Members of a format in this pace, each of which sees what those before it have amended.
struct Paced(Pace);

impl Ensemble for Paced {
    fn sees(&self) -> Sees {
        Sees::Amended
    }

    fn pace(&self, _event: &AnyEvent) -> Pace {
        self.0
    }

    fn finalize(&self, _event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

#[tokio::test]
async fn members_that_are_asked_again_count_together_anew() {
    for pace in [Pace::InTurn, Pace::InTurnThroughBlocks, Pace::AtOnce] {
        let ensemble: Arc<dyn Ensemble> = Arc::new(Paced(pace));
        let member = |name: &'static str, priority, blocks: bool| {
            let hook = hook(name, Part::Amender, priority).within(Some(Arc::clone(&ensemble)));
            at("before_tool", hook, move |number| {
                let verdict =
                    if blocks && number > 0 { Verdict::block("too much") } else { Verdict::Continue };
                Ok(Answer { verdict, ..notes(format!("{name} {number}")) })
            })
        };
        let receipt = publish(&bus(vec![member("before", 9, true), member("after", 1, false)])).await;
        assert_eq!(receipt.verdict, Verdict::block("too much"), "{pace:?}");
        let again = receipt.runs.iter().filter(|run| run.round == Round::Rejudge);
        let again: Vec<&str> = again.map(|run| receipt.name(run.hook)).collect();
        if pace == Pace::AtOnce {
            assert_eq!((again, notices(&receipt)), (vec!["before", "after"], vec!["after 1", "before 1"]));
        } else {
            // The other one has judged what the payload has become.
            assert_eq!((again, notices(&receipt)), (vec!["before"], vec!["after 1", "before 1"]), "{pace:?}");
        }
    }
}

#[tokio::test]
async fn an_amendment_that_is_made_already_may_be_given_again() {
    let least = at("before_tool", hook("least", Part::Amender, 9), |number| {
        Ok(Answer {
            amendment: Amendment::default().with("tool_input", sets(number.max(1))),
            ..Answer::default()
        })
    });
    let receipt = publish(&bus(vec![least])).await;
    assert_eq!(receipt.event.payload().value("tool_input").unwrap()["n"], 2);
    let again = receipt.runs.iter().find(|run| run.round == Round::Rejudge).unwrap();
    assert_eq!(again.outcome, Outcome::Answered(Verdict::Continue));
}

#[tokio::test]
async fn attempts_that_failed_before_are_told_with_their_hook_alone() {
    let failed = || vec![Failure::new(FailureKind::Exit, "exit status 1")];
    let ensemble: Arc<dyn Ensemble> = Arc::new(Paced(Pace::InTurn));
    for within in [None, Some(ensemble)] {
        let of = |name: &str, priority| hook(name, Part::Amender, priority).within(within.clone());
        let hooks = vec![
            at("before_tool", of("answers", 9), move |_| {
                Ok(Answer { earlier: failed(), ..notes("at last".to_owned()) })
            }),
            at("before_tool", of("says nothing", 8), |_| Ok(Answer::default())),
            at("before_tool", of("fails", 7), move |_| {
                let failure = Failure::new(FailureKind::Exit, "exit status 2");
                Err(Failure { earlier: failed(), ..failure })
            }),
            at("before_tool", of("says nothing more", 6), |_| Ok(Answer::default())),
        ];
        let bus = Bus::new();
        bus.install("test", hooks).unwrap();
        let receipt = publish(&bus).await;
        let earlier: Vec<usize> = receipt.runs.iter().map(|run| run.earlier.len()).collect();
        assert_eq!(earlier, [1, 0, 1, 0], "{:?}", receipt.runs);
    }
}

#[tokio::test]
async fn a_publisher_that_counts_stops_itself_gets_no_message_that_keeps_the_agent_working() {
    let keeps = at("before_stop", hook("keeps", Part::Amender, 0), |_| {
        let keep = KeepWorking { append: Append::system("again"), beyond: Beyond::Stop, at_most: None };
        let context = vec![Append::system("other")];
        let verdict = Verdict::block("no");
        Ok(Answer { verdict, context, keep_working: Some(Box::new(keep)), ..Answer::default() })
    });
    let bus = Bus::new();
    bus.install("test", vec![keeps]).unwrap();
    let session = bus.session("s").open().await.unwrap();
    for (stops, expected) in [(StopBound::Publisher, vec!["other"]), (StopBound::Bus, vec!["other", "again"])]
    {
        let event = session.any_event(Arc::new(BeforeStop::new(false))).stops(stops);
        let receipt = event.publish_any().await.unwrap();
        let context: Vec<&str> = receipt.context.iter().map(|by| &*by.what.text).collect();
        assert_eq!((receipt.verdict.clone(), context), (Verdict::block("no"), expected));
    }
}

#[tokio::test]
async fn what_was_decided_before_is_no_stop_that_counts() {
    let bus = Bus::new();
    bus.intercept::<BeforeStop>("more").gate(async |_, _| Verdict::block("not yet")).unwrap();
    let mut counts = Vec::new();
    for decided in [None, Some(Verdict::Continue), Some(Verdict::block("held"))] {
        let session = bus.session("s").open().await.unwrap();
        let stop = || session.any_event(Arc::new(BeforeStop::new(false)));
        let mut blocks = 0;
        while stop().publish_any().await.unwrap().verdict.strength() == Strength::Block {
            blocks += 1;
            assert!(blocks < 20, "the bus lets an agent stop at last");
            if let Some(verdict) = &decided {
                let receipt = stop().decided(verdict.clone()).publish_any().await.unwrap();
                assert_eq!(receipt.verdict, *verdict);
            }
        }
        session.close_within(Duration::ZERO).await;
        counts.push(blocks);
    }
    assert_eq!(counts, [counts[0]; 3]);
}

/// A guard of shells, and one of everything, which blocks, behind an amender that says what a tool of no known class is
/// called with: whether the first one was asked.
async fn are_shells_asked(before: Value, after: Value) -> bool {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    let amend = move |_, _| {
        let after = after.clone();
        async move { Reply::amend(BeforeTool::amend().tool_input(after)) }
    };
    session.intercept::<BeforeTool>("amender").priority(100).amend(amend).unwrap();
    let asked = Arc::new(AtomicBool::new(false));
    let shells = session.intercept::<BeforeTool>("shells").priority(90).matching(tool("Shell"));
    let was_asked = Arc::clone(&asked);
    let shells = shells.gate(move |_, _| {
        was_asked.store(true, Ordering::SeqCst);
        async { Verdict::Continue }
    });
    shells.unwrap();
    let late = session.intercept::<BeforeTool>("late").priority(80);
    let late = late.gate(async |_, _| {
        tokio::task::yield_now().await;
        Verdict::Continue
    });
    late.unwrap();
    session.intercept::<BeforeTool>("guard").priority(70).gate(async |_, _| Verdict::block("never")).unwrap();
    let decision = session.publish(BeforeTool::new("Watch", before)).await.unwrap();
    assert!(decision.is_refused(), "the last guard was not asked");
    asked.load(Ordering::SeqCst)
}

#[tokio::test]
async fn an_amendment_that_makes_a_tool_a_shell_brings_the_guards_of_shells_and_loses_none() {
    assert!(are_shells_asked(json!({"path": "x"}), json!({"command": "rm -rf /"})).await);
    assert!(!are_shells_asked(json!({"command": "x"}), json!({"path": "x"})).await);
}

/// A hook of a foreign format that amends calls with a number from 1 on, which its condition says or it sees itself, before
/// the hook that makes a number of 0 one of 1.
fn late(is_left_out: bool, on_failure: OnFailure, ensemble: Option<Arc<dyn Ensemble>>) -> Installed {
    let by_number = is_left_out.then(|| Arc::new(FromOne) as Arc<dyn Select>);
    let hook = hook("late", Part::Amender, 7).on_failure(on_failure).when(by_number).within(ensemble);
    at("before_tool", hook, |number| {
        let amendment = Amendment::default().with("tool_input", sets(99));
        let verdict = Verdict::allow_because("as I have made it");
        Ok(if number > 0 { Answer { amendment, verdict, ..Answer::default() } } else { Answer::default() })
    })
}

/// Calls with a number from 1 on.
struct FromOne;

impl Select for FromOne {
    fn select(&self, event: &AnyEvent) -> Selected {
        let number = event.payload().value("tool_input").and_then(|input| input["n"].as_u64());
        if number > Some(0) { Selected::Runs } else { Selected::Skipped(SkipReason::Filter) }
    }

    fn describe(&self) -> String {
        "from 1".to_owned()
    }
}

#[tokio::test]
async fn nothing_is_amended_once_the_hooks_judge_again() {
    let ensemble = || -> Arc<dyn Ensemble> { Arc::new(Paced(Pace::InTurn)) };
    for is_left_out in [true, false] {
        for within in [None, Some(ensemble())] {
            for (on_failure, expected) in
                [(OnFailure::Continue, Strength::Continue), (OnFailure::Block, Strength::Block)]
            {
                let case = format!("{is_left_out} {} {on_failure:?}", within.is_some());
                let judged = Arc::new(Mutex::new(Vec::new()));
                let seen = Arc::clone(&judged);
                let guard = gate("guard", 9, move |number| {
                    seen.lock().unwrap().push(number);
                    Ok(Answer::default())
                });
                let receipt = publish(&bus(vec![guard, late(is_left_out, on_failure, within.clone())])).await;
                assert_eq!(receipt.verdict.strength(), expected, "{case}");
                assert_eq!(receipt.event.payload().value("tool_input").unwrap()["n"], 1, "{case}");
                assert_eq!(*judged.lock().unwrap(), [0, 1], "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_member_that_asks_again_with_an_amendment_that_is_refused_has_asked() {
    let within: Option<Arc<dyn Ensemble>> = Some(Arc::new(Paced(Pace::InTurn)));
    let asks = at("before_tool", hook("asks", Part::Amender, 7).within(within), |number| {
        let amendment = Amendment::default().with("tool_input", sets(number + 1));
        Ok(Answer { amendment, verdict: Verdict::ask("sure?"), ..Answer::default() })
    });
    let receipt = publish(&bus(vec![asks])).await;
    assert_eq!(receipt.verdict, Verdict::ask("sure?"));
    assert_eq!(receipt.event.payload().value("tool_input").unwrap()["n"], 2);
}

#[tokio::test]
async fn what_runs_after_the_decision_is_no_member_that_the_others_wait_for() {
    for pace in [Pace::InTurn, Pace::AtOnce] {
        let ensemble: Arc<dyn Ensemble> = Arc::new(Paced(pace));
        let of = |name: &str, part, priority| hook(name, part, priority).within(Some(Arc::clone(&ensemble)));
        let blocks = at("before_tool", of("blocks", Part::Amender, 9), |_| Ok(Verdict::block("no").into()));
        let mut shadow = of("shadow", Part::Amender, 8);
        shadow.mode = Mode::Shadow;
        let told = of("told", Part::PostDecision, 1);
        let hooks = [shadow, told].map(|hook| at("before_tool", hook, |_| Ok(Verdict::stop("more").into())));
        let bus = Bus::new();
        bus.install("test", std::iter::once(blocks).chain(hooks).collect()).unwrap();
        assert_eq!(publish(&bus).await.verdict, Verdict::block("no"), "{pace:?}");
    }
}
