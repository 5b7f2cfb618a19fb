//! Pages as a person reads them, of decisions that a bus has made.

use std::sync::Arc;

use lineside::core::Agent;
use lineside::prelude::*;

use super::*;

fn page(columns: usize) -> Page {
    let agents = ["main", "reviewer", "tester"].map(str::to_owned);
    Page::new(columns, Style::PLAIN, "/project").of_agents(agents.into())
}

/// What the page says of a receipt, 1.5 s after the start, with every duration a millisecond.
fn told(page: &Page, decision: &Receipt) -> String {
    let mut receipt = decision.clone();
    receipt.took = millis(1);
    receipt.runs.iter_mut().for_each(|run| run.took = millis(1));
    page.decision(millis(1500), &receipt).join("\n")
}

async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s-main").agent(Agent::main("main")).open().await.unwrap();
    (bus, session)
}

async fn shell(session: &Session, command: &str) -> Arc<Receipt> {
    let payload = Arc::new(BeforeTool::new("Shell", json!({"command": command})));
    session.any_event(payload).publish_any().await.unwrap()
}

#[tokio::test]
async fn an_event_without_objection_is_one_row() {
    let (_bus, session) = session().await;
    session.intercept::<BeforeTool>("calm").gate(async |_, _| Verdict::Continue).unwrap();
    assert_eq!(
        told(&page(80), &*shell(&session, "ls").await),
        "1.500 ✓ main       before_tool      Shell ls                              1.0 ms"
    );
}

#[tokio::test]
async fn nothing_is_said_of_time_where_no_hook_ran() {
    let (_bus, session) = session().await;
    let tester = session.subagent("s-tester").agent(Agent::subagent("tester")).open().await.unwrap();
    assert_eq!(told(&page(80), &*shell(&tester, "ls").await), "1.500 ✓ └ tester   before_tool      Shell ls");
}

#[tokio::test]
async fn a_refusal_names_its_reason_and_its_hook() {
    let (_bus, session) = session().await;
    session
        .intercept::<BeforeTool>("no")
        .source("closure")
        .gate(async |_, _| Verdict::block("not this command, nor any other that is like it in one way"))
        .unwrap();
    let reviewer = session.subagent("s-reviewer").agent(Agent::subagent("reviewer")).open().await.unwrap();
    let expected = "\
1.500 ✗ ├ reviewer before_tool      Shell a-command-too-long-for-its-co…  1.0 ms
        block      not this command, nor any other that is like it in one way
        by         no (closure on main's session), 1.0 ms
        so         the call does not run; the agent reads the reason";
    assert_eq!(told(&page(80), &*shell(&reviewer, "a-command-too-long-for-its-column").await), expected);
}

#[tokio::test]
async fn an_approval_says_why_and_nothing_waits_for_it() {
    let (_bus, session) = session().await;
    session
        .intercept::<BeforeTool>("reads")
        .source("closure")
        .gate(async |_, _| Verdict::allow_because("it only reads"))
        .unwrap();
    let expected = "\
1.500 ✓ main       before_tool      Shell ls                              1.0 ms
        allow      it only reads
        by         reads (closure on main's session), 1.0 ms";
    assert_eq!(told(&page(80), &*shell(&session, "ls").await), expected);
}

#[tokio::test]
async fn an_amendment_is_told_before_and_after() {
    let (bus, session) = session().await;
    bus.intercept::<BeforeTool>("quiet")
        .source("closure")
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls -q"}))))
        .unwrap();
    let expected = "\
1.500 ~ main       before_tool      Shell ls                              1.0 ms
        amends     tool_input by quiet (closure)
                   - ls
                   + ls -q";
    assert_eq!(told(&page(80), &*shell(&session, "ls").await), expected);
}

#[tokio::test]
async fn a_failure_is_told_even_where_it_passes() {
    let (bus, session) = session().await;
    bus.intercept::<BeforeTool>("broken")
        .on_failure(OnFailure::Continue)
        .try_gate(async |_, _| Err::<Verdict, _>("out of order"))
        .unwrap();
    let expected = "\
1.500 ✓ main       before_tool      Shell ls                              1.0 ms
        failed     broken: out of order; counts as continue";
    assert_eq!(told(&page(80), &*shell(&session, "ls").await), expected);
}

#[tokio::test]
async fn the_last_line_of_a_trace_is_told() {
    let (bus, session) = session().await;
    let trace = "exit status 1 (stderr: Traceback (most recent call last):\n  File \"guard.py\", line 3, in <module>\n    \
        loads(text)\n  File \"decoder.py\", line 353, in raw_decode\n    obj, end = self.scan_once(s, idx)\nError: no name)";
    bus.intercept::<BeforeTool>("broken")
        .source("closure")
        .try_gate(move |_, _| std::future::ready(Err::<Verdict, _>(trace)))
        .unwrap();
    let expected = "\
1.500 ✗ main       before_tool      Shell ls                              1.0 ms
        block      hook \"broken\" failed: exit status 1 (stderr: Traceback (most…
                   Error: no name)
        by         broken (closure), 1.0 ms
        so         the call does not run; the agent reads the reason
        failed     broken: exit status 1 (stderr: Traceback (most recent call …
                   Error: no name)
                   counts as block";
    assert_eq!(told(&page(80), &*shell(&session, "ls").await), expected);
}

#[tokio::test]
async fn no_line_is_wider_than_the_page() {
    let (_bus, session) = session().await;
    let reason = "a reason of many words ".repeat(20);
    session
        .intercept::<BeforeTool>("no")
        .gate(move |_, _| std::future::ready(Verdict::block(reason.clone())))
        .unwrap();
    let receipt = shell(&session, &"long ".repeat(40)).await;
    for columns in [56, 80, 100] {
        let page = page(columns);
        let lines = page.decision(millis(1), &receipt);
        let lines = lines.into_iter().chain(page.opening(30, &session.hooks()));
        for line in lines {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}
