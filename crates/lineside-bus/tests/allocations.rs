//! What publishing and opening sessions allocate: counted, not timed.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use lineside_bus::{Bus, Registration, Session};
use lineside_core::Verdict;
use lineside_core::json::Value;
use lineside_core::matcher::{text, tool};
use lineside_points::{BeforeTool, OnIdle};

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

#[test]
fn publishing_where_nobody_listens_allocates_nothing() {
    let bus = Bus::new();
    let session = ready(bus.session("s").open()).unwrap();
    // A hook elsewhere changes nothing for the other points.
    session.intercept::<BeforeTool>("elsewhere").gate(async |_, _| Verdict::Continue).unwrap();
    let used = measure(|| {
        for _ in 0..1_000 {
            black_box(ready(session.publish(OnIdle::new())).unwrap().is_refused());
        }
    });
    assert_eq!(used.count_total, 0);
    let used = measure(|| {
        black_box(ready(session.publish(BeforeTool::new(String::new(), Value::Null))).unwrap().is_refused());
    });
    assert!(used.count_total > 0, "the counter counts");
}

#[test]
fn a_child_session_without_hooks_of_its_own_takes_less_than_a_kibibyte() {
    const CHILDREN: usize = 10_000;
    let bus = Bus::new();
    let root = ready(bus.session("root").open()).unwrap();
    root.intercept::<BeforeTool>("inherited").gate(async |_, _| Verdict::Continue).unwrap();
    let mut children = Vec::with_capacity(CHILDREN);
    let used = measure(|| {
        for index in 0..CHILDREN {
            children.push(root.subagent(format!("child-{index}")).open_now().unwrap());
        }
    });
    let each = used.bytes_current / i64::try_from(CHILDREN).unwrap();
    println!("FIGURE sessions/bytes_per_child {each} B <=1024");
    assert!(each <= 1024, "{each} bytes for each child");
    assert_eq!(children[CHILDREN - 1].coverage(), root.coverage());
}

/// A gate for a tool that no other gate is for.
fn for_one_tool(bus: &Bus, number: usize) -> Registration {
    let gate = bus.intercept::<BeforeTool>(format!("gate {number}")).matching(tool(format!("tool {number}")));
    gate.gate(async |_, _| Verdict::Continue).unwrap()
}

fn publish(session: &Session, tool: &str) {
    let call = BeforeTool::new(tool, Value::Null);
    black_box(ready(session.publish(call)).unwrap().is_refused());
}

/// A bus with so many gates for tools of their own, and a session.
fn among(hooks: usize) -> (Bus, Session) {
    let bus = Bus::new();
    let session = ready(bus.session("s").open()).unwrap();
    for number in 0..hooks {
        for_one_tool(&bus, number);
    }
    publish(&session, "tool 0");
    (bus, session)
}

#[test]
fn hooks_for_other_tools_cost_an_event_nothing() {
    let [few, many] = [10, 10_000].map(|hooks| {
        let (_bus, session) = among(hooks);
        publish(&session, "tool 5");
        let used = measure(|| publish(&session, "tool 5"));
        (used.count_total, used.bytes_total)
    });
    assert_eq!(few, many);
}

#[test]
fn one_hook_more_costs_no_more_among_many() {
    let used = |hooks| {
        let (bus, session) = among(hooks);
        let turns = 100;
        let used = measure(|| {
            for number in hooks..hooks + turns {
                for_one_tool(&bus, number);
                publish(&session, "tool 5");
            }
        });
        used.bytes_total / u64::try_from(turns).unwrap()
    };
    let (few, many) = (used(100), used(10_000));
    println!("FIGURE registry/bytes_for_one_more {few} among_100 {many} among_10000");
    // It was in proportion: 4.9 MB among 10,000.
    assert!(many <= few + 8 * 1024, "{few} bytes among 100, {many} among 10,000");
}

#[test]
fn a_session_with_a_hook_of_its_own_does_not_copy_those_above_it() {
    const SESSIONS: usize = 200;
    let (bus, _) = among(1_000);
    bus.intercept::<BeforeTool>("for all").gate(async |_, _| Verdict::Continue).unwrap();
    let used = measure(|| {
        for number in 0..SESSIONS {
            let session = bus.session(number.to_string()).open_now().unwrap();
            session.intercept::<BeforeTool>("own").gate(async |_, _| Verdict::Continue).unwrap();
            publish(&session, "tool 5");
        }
    });
    let each = used.bytes_current / i64::try_from(SESSIONS).unwrap();
    println!("FIGURE sessions/bytes_with_a_hook {each} B <=1536");
    assert!(each <= 1536, "{each} bytes for each session");
}

#[test]
fn a_hook_of_the_bus_costs_nothing_for_the_sessions_that_are_open() {
    let used = |sessions: usize| {
        let (bus, _session) = among(100);
        for number in 0..sessions {
            let session = bus.session(number.to_string()).open_now().unwrap();
            session.intercept::<BeforeTool>("own").gate(async |_, _| Verdict::Continue).unwrap();
            publish(&session, "tool 5");
        }
        measure(|| drop(for_one_tool(&bus, 100))).bytes_total
    };
    assert_eq!(used(1), used(1_000));
}

#[test]
fn what_is_taken_away_is_let_go_of_although_no_event_comes_and_receipts_are_kept() {
    let (bus, session) = among(100);
    let kept = std::sync::Arc::new(());
    let held = std::sync::Arc::clone(&kept);
    let gate = bus.intercept::<BeforeTool>("holds").matching(tool("tool 5")).gate(move |_, _| {
        let held = std::sync::Arc::clone(&held);
        async move {
            drop(held);
            Verdict::Continue
        }
    });
    let gate = gate.unwrap();
    let decisions = ["tool 5", "tool 6"].map(|tool| {
        let call = BeforeTool::new(tool, Value::Null);
        ready(session.publish(call)).unwrap()
    });
    assert_eq!(std::sync::Arc::strong_count(&kept), 2);
    assert!(gate.remove());
    assert_eq!(std::sync::Arc::strong_count(&kept), 1);
    let left_out = decisions.map(|decision| decision.receipt().unwrap().left_out().len());
    assert_eq!(left_out, [99, 100]);
}

#[test]
fn the_text_of_a_payload_is_made_once_for_all_matchers() {
    let used = |hooks: usize| {
        let bus = Bus::new();
        let session = ready(bus.session("s").open()).unwrap();
        for number in 0..hooks {
            let gate =
                bus.intercept::<BeforeTool>(format!("gate {number}")).matching(text("is not in there"));
            gate.gate(async |_, _| Verdict::Continue).unwrap();
        }
        let call = || BeforeTool::new("Shell", Value::String("x".repeat(100 << 10)));
        black_box(ready(session.publish(call())).unwrap().is_refused());
        let call = call();
        measure(|| drop(black_box(ready(session.publish(call)).unwrap()))).bytes_total
    };
    let (one, many) = (used(1), used(50));
    assert!(many < 2 * one, "{one} bytes for one matcher, {many} for 50");
}
