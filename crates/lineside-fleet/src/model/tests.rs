//! Agents by what a bus has signalled of them.

use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Session};
use lineside_core::json::{Value, json};
use lineside_core::{Agent as Who, Verdict};
use lineside_points::{AfterTool, BeforeStop, BeforeTool};

use super::*;

/// A bus with a gate, and a model that hears it.
struct Heard {
    bus: Bus,
    signals: lineside_bus::Signals,
    model: Model,
}

const NOW: i64 = 1_000_000_000;

impl Heard {
    fn new() -> Self {
        let bus = Bus::new();
        let gate =
            bus.intercept::<BeforeTool>("gate").gate(async |call, _| match call.command().as_deref() {
                Some(command) if command.contains("rm") => Verdict::block("no password=hunter2hunter2"),
                Some(command) if command.contains("push") => Verdict::ask("a person"),
                _ => Verdict::Continue,
            });
        gate.unwrap();
        Self { signals: bus.signals(), bus, model: Model::default() }
    }

    async fn session(&self, id: &str) -> Session {
        self.bus.session(id).agent(Who::main("main")).open().await.unwrap()
    }

    /// Takes everything in that was sent, and settles the model.
    fn hears(&mut self, now: i64) -> &Model {
        while let Some(watched) = self.signals.try_next() {
            match watched {
                Watched::Signal(signal) => self.model.hear(&signal, now, |session| {
                    self.bus.find(session.as_str()).map(|session| Source::clone(session.source()))
                }),
                Watched::Lost(lost) => self.model.lose(lost),
            }
        }
        self.model.settle(now);
        &self.model
    }

    fn state(&mut self, session: &str, now: i64) -> (State, u8) {
        let agent = self.hears(now).agent(session).unwrap();
        (agent.state, agent.signs())
    }
}

fn shell(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({"command": command}))
}

#[tokio::test]
async fn an_agent_stands_by_what_was_decided_last_and_when() {
    let mut heard = Heard::new();
    let session = heard.session("s").await;
    assert_eq!(heard.state("s", NOW), (State::Idle, 0));
    let _decided = session.publish(shell("ls")).await.unwrap();
    assert_eq!(heard.state("s", NOW).0, State::Running);
    // A tool runs: it is not idle before it has ended, and stuck when nothing is heard of it for minutes.
    assert_eq!(heard.state("s", NOW + 60_000).0, State::Running);
    assert_eq!(heard.state("s", NOW + 300_000).0, State::Stuck);
    let _decided = session.publish(AfterTool::new("Shell", "done")).await.unwrap();
    assert_eq!(heard.state("s", NOW + 301_000).0, State::Running);
    assert_eq!(heard.state("s", NOW + 317_000).0, State::Idle);
    let _decided = session.publish(shell("rm")).await.unwrap();
    assert_eq!(heard.state("s", NOW).0, State::Blocked);
    let _decided = session.publish(shell("push")).await.unwrap();
    assert_eq!(heard.state("s", NOW).0, State::Waiting);
    let _decided = session.publish(BeforeStop::new(false)).await.unwrap();
    assert_eq!(heard.state("s", NOW).0, State::Idle);
    session.close().await;
    assert!(heard.hears(NOW).agent("s").is_none());
}

#[tokio::test]
async fn repeated_refusals_and_loops_are_signs() {
    let mut heard = Heard::new();
    let session = heard.session("s").await;
    for _ in 0..3 {
        let _decided = session.publish(shell("rm")).await.unwrap();
    }
    assert_eq!(heard.state("s", NOW).1, Sign::Refused as u8);
    for command in ["a", "b"].into_iter().cycle().take(12) {
        let _decided = session.publish(shell(command)).await.unwrap();
    }
    // Two calls in turns are a loop as well.
    assert_eq!(heard.state("s", NOW).1, Sign::Loop as u8);
    for number in 0..8 {
        let _decided = session.publish(shell(&number.to_string())).await.unwrap();
    }
    assert_eq!(heard.state("s", NOW).1, 0);
}

#[tokio::test]
async fn what_a_person_may_want_to_see_is_remembered_without_secrets_and_within_a_bound() {
    let mut heard = Heard::new();
    let session = heard.session("s").await;
    for _ in 0..NOTABLE + 5 {
        let _decided = session.publish(shell("rm")).await.unwrap();
    }
    let _decided = session.publish(shell("ls")).await.unwrap();
    let model = heard.hears(NOW);
    assert_eq!(model.notable().count(), NOTABLE);
    let last = model.notable().next().unwrap();
    assert_eq!((last.verdict, last.by.as_deref()), (Strength::Block, Some("gate")));
    assert!(!last.reason.contains("hunter2"), "{}", last.reason);
    let counts = model.counts();
    assert_eq!((counts.events, counts.refused), (NOTABLE as u64 + 6, NOTABLE as u64 + 5));
    assert_eq!(model.rates(NOW).last(), Some(&(NOTABLE as u32 + 6, NOTABLE as u32 + 5)));
}

#[tokio::test]
async fn a_reader_gets_what_has_changed_since_it_looked_and_one_that_was_away_gets_it_once() {
    let mut heard = Heard::new();
    let one = heard.session("one").await;
    let other = one.subagent("other").connection(Source::connection_to("b")).open().await.unwrap();
    let read = |text: &str| lineside_core::json::from_str::<Value>(text).unwrap();
    let model = heard.hears(NOW);
    let first = read(&model.frame(0, None));
    assert_eq!(first["all"], json!(true));
    assert_eq!(first["new"][1], json!([1, 0, 1, "other", "subagent", "", "", "b"]), "{first}");
    let seen = model.version();
    assert_eq!(read(&model.frame(seen, None))["at"], json!([]));
    for _ in 0..500 {
        let _decided = one.publish(shell("ls")).await.unwrap();
    }
    other.close().await;
    let only = ["one".to_owned(), "gone".to_owned()].into();
    let model = heard.hears(NOW);
    let next = read(&model.frame(seen, Some(&only)));
    assert_eq!(next["at"], json!([[0, State::Running as u8, Sign::Loop as u8]]), "{next}");
    assert_eq!((&next["gone"], &next["new"], &next["only"]), (&json!([1]), &json!([]), &json!([0])));
    // The place has another agent, which the reader hears of.
    let seen = model.version();
    let _third = heard.session("third").await;
    assert_eq!(read(&heard.hears(NOW).frame(seen, None))["new"][0][3], json!("third"));
}

#[tokio::test]
async fn agents_have_a_bound_and_those_without_a_place_are_counted() {
    let mut model = Model::default();
    for number in 0..AGENTS + 3 {
        model.open(&Source::root(number.to_string()), NOW);
    }
    model.settle(NOW);
    assert_eq!((model.agents().count(), model.counts().unshown), (AGENTS, 3));
    model.retain(|session| session.as_str() == "7");
    model.settle(NOW);
    assert_eq!((model.agents().count(), model.counts().states.iter().sum::<u32>()), (1, 1));
}

#[tokio::test]
async fn a_question_that_is_older_than_the_model_has_its_agent_wait() {
    let mut heard = Heard::new();
    let (_one, _other) = (heard.session("one").await, heard.session("other").await);
    heard.hears(1);
    let question = |session: &str, about: &str| json!({"session": session, "point": "before_tool", "tool": "Bash", "about": about});
    let mut waits = |waiting: &[Value]| heard.model.questions(waiting.iter().filter_map(Value::as_object));
    waits(&[question("one", "git push"), question("one", "ls"), question("elsewhere", "ls")]);
    assert_eq!(heard.state("one", 2).0, State::Waiting);
    assert_eq!(heard.state("other", 2).0, State::Idle);
    assert_eq!(heard.model.agent("one").unwrap().doing(), "before_tool Bash git push");
    heard.model.questions([question("other", "")].iter().filter_map(Value::as_object));
    assert_eq!(heard.model.agent("one").unwrap().doing(), "");
    assert_eq!((heard.state("one", 3).0, heard.state("other", 3).0), (State::Idle, State::Waiting));
    let secret =
        question("one", "curl -H 'Authorization: Bearer ghp_0123456789abcdefABCD0123456789abcdef' x");
    heard.model.questions([secret].iter().filter_map(Value::as_object));
    assert!(!heard.model.agent("one").unwrap().doing().contains("ghp_0123"));
}
