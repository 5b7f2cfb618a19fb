//! The stream of signals asked as the decision log is: the same answers, and the same decisions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside::bus::signal::Watched;
use lineside::log::{Decision, Follower, Log, Look, Options, Query, Record};
use lineside::prelude::*;

fn call(tool: &str, command: &str) -> BeforeTool {
    BeforeTool::new(tool, json!({ "command": command }))
}

fn shell(command: &str) -> BeforeTool {
    call("Shell", command)
}

#[tokio::test]
async fn what_a_query_asks_for_is_the_same_as_it_happens_and_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let bus = Bus::new();
    let mut follower = Follower::new(&bus, Log::open(&path, Options::default()).unwrap());
    let mut signals = bus.signals();
    let guard = bus.intercept::<BeforeTool>("guard").matching(tool("Shell").text("rm"));
    guard.gate(async |_, _| Verdict::block("not token=abcd1234efgh")).unwrap();
    let fails = bus.intercept::<BeforeTool>("fails").on_failure(OnFailure::Continue).matching(tool("Fetch"));
    fails.try_gate(async |_, _| Err::<Verdict, _>("broken")).unwrap();
    let asks = bus.intercept::<BeforeTool>("asks").matching(tool("Push"));
    asks.gate(async |_, _| Verdict::ask("a person")).unwrap();
    let main = bus.session("s-main").host("codex").project_root("/p/site").open().await.unwrap();
    let child = main.subagent("s-sub").agent(Agent::subagent("tester")).open().await.unwrap();
    for (session, event) in [
        (&main, shell("rm -rf build")),
        (&child, shell("LS \"quoted\" password=hunter2hunter2")),
        (&main, call("Fetch", "https://a/b")),
        (&child, call("Push", "origin")),
        (&child, shell("rm x")),
    ] {
        drop(session.publish(event).await.unwrap());
    }
    let receipts: Vec<_> = std::iter::from_fn(|| signals.try_next())
        .filter_map(|watched| match watched {
            Watched::Signal(Signal::Decided(receipt)) => Some(receipt),
            _ => None,
        })
        .collect();
    assert_eq!(receipts.len(), 5);
    follower.end();
    let look = Look::open(&path).unwrap();
    let mut found = 0;
    for text in [
        "",
        "verdict:refused",
        "verdict:continue,ask",
        "tool:Shell",
        "tool:F*,P?sh",
        "tool:[^S]*",
        "session:s-main",
        "session:s-*",
        "tree:s-main",
        "agent:tester",
        "agent:reviewer",
        "agent:main",
        "host:codex",
        "project:site",
        "project:/p/site",
        "project:*site",
        "project:ite",
        "hook:guard",
        "hook:asks,fails",
        "hook:*s",
        "failed:any",
        "failed:error",
        "failed:timeout",
        "since:1h",
        "until:1h",
        "took:>1h",
        "took:<1h",
        "RM",
        "\"rm -rf\"",
        "a\\b",
        "quoted",
        "hunter2hunter2",
        "abcd1234efgh",
        "\"not \"",
        "point:before_*",
        "point:after_tool",
        "tool:Shell verdict:refused rm session:s-sub",
    ] {
        let query = Query::parse(text, bus.wall_clock()).unwrap();
        let ids = |decisions: Vec<Decision>| decisions.iter().map(|found| found.id).collect::<Vec<_>>();
        let logged = ids(look.decisions(&query, 50).unwrap());
        let live = receipts.iter().filter(|receipt| query.fits(&Record::Decided(Arc::clone(receipt))));
        let live: Vec<_> = live.map(|receipt| receipt.event.envelope().id).collect();
        assert_eq!(live, logged, "{text}");
        found += usize::from(!logged.is_empty() && logged.len() < 5);
    }
    assert!(found > 15, "{found}");
    for (receipt, mut logged) in receipts.iter().zip(look.decisions(&Query::default(), 50).unwrap()) {
        logged.row = 0;
        let live = Decision::of(receipt, logged.generation);
        assert_eq!(live, logged);
        let read = Decision::of_json(&live.to_json()).unwrap();
        assert_eq!(read, live);
    }
}

#[tokio::test]
async fn a_call_whose_publisher_left_before_its_answer_is_in_the_log_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let bus = Bus::new();
    let mut follower = Follower::new(&bus, Log::open(&path, Options::default()).unwrap());
    let mut signals = bus.signals();
    bus.intercept::<BeforeTool>("never").gate(async |_, _| std::future::pending::<Verdict>().await).unwrap();
    let session = bus.session("s").host("kimi").open().await.unwrap();
    let mut left = Box::pin(session.publish(shell("git push origin main")));
    let polled = std::future::poll_fn(|task| std::task::Poll::Ready(left.as_mut().poll(task))).await;
    assert!(polled.is_pending());
    drop(left);
    follower.end();
    let look = Look::open(&path).unwrap();
    let query = Query::parse("host:kimi tool:Shell \"git push\"", bus.wall_clock()).unwrap();
    let found = look.decisions(&query, 10).unwrap();
    let [row] = &found[..] else { panic!("it is no row: {found:?}") };
    assert_eq!((row.verdict, row.reason.as_deref()), (Strength::Continue, Some("left without an answer")));
    let live = std::iter::from_fn(|| signals.try_next()).find_map(|watched| match watched {
        Watched::Signal(signal @ Signal::Abandoned { .. }) => {
            Some(lineside::log::record(&signal, bus.wall_clock()))
        }
        _ => None,
    });
    let live = live.unwrap();
    assert!(query.fits(&live));
    let (kind, line) = lineside::log::line(&live);
    assert_eq!(
        (kind, &line["detail"], &line["session"]),
        ("abandoned", &json!("left without an answer"), &json!("s"))
    );
}
