//! What publishing and opening sessions allocate: counted, not timed.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use lineside_bus::Bus;
use lineside_core::Verdict;
use lineside_points::{BeforeTool, OnIdle};
use serde_json::Value;

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
