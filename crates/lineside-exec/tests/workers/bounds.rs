//! Sizes and numbers.

use lineside_core::json::json;
use lineside_core::worker::{CallClass, WorkerEnded};
use lineside_exec::LogSource;

use crate::set::{call, guard, returned, spec, with, with_spec};

/// OC-70: both sides read and write at the same time.
#[test]
fn large_events_and_answers_pass_each_other() {
    let echo = "module.exports = (api) => { api.on('before_tool_call', (e) => ({ params: { n: e.params.n, back: e.params.text } })); };";
    with(&[("a", echo)], async |_, set| {
        let text = "0123456789é\u{1f600}".repeat(200_000);
        let ask = |n: u64| set.ask(guard("a", json!({ "n": n, "text": text })));
        let answer = |n: u64| returned(json!({ "params": { "n": n, "back": text } }));
        let (a, b, c) = tokio::join!(ask(1), ask(2), ask(3));
        assert!(a == answer(1) && b == answer(2) && c == answer(3));
    });
}

// OC-56, OC-68.
#[test]
fn an_event_over_the_bound_of_a_frame_is_not_sent() {
    let fine = "module.exports = (api) => { api.on('before_tool_call', (e) => ({ params: { n: e.params.text.length } })); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", fine)]);
            spec.bounds.frame = 4000;
            spec
        },
        async |_, set| {
            let ask = async |n: usize| set.guard("a", json!({ "text": "x".repeat(n) })).await;
            assert_eq!(ask(3800).await, returned(json!({ "params": { "n": 3800 } })));
            assert_eq!(ask(4000).await, WorkerEnded::TooLarge);
        },
    );
}

/// OC-43, OC-68: one void call too many is dropped, counted and logged; others are not counted.
#[test]
fn void_calls_have_a_bound() {
    let slow = "module.exports = (api) => { let end; const open = new Promise((done) => { end = done; });
        api.on('agent_end', () => open); api.on('before_tool_call', () => { end(); }); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", slow)]);
            spec.bounds.untold = 2;
            spec
        },
        async |_, set| {
            let void = || set.ask(call("a", "agent_end", CallClass::Void, json!({})));
            let rest = async {
                tokio::task::yield_now().await;
                assert_eq!(void().await, WorkerEnded::Dropped);
                assert_eq!(set.worker.dropped(), 1);
                set.said(LogSource::Supervisor, "queue full; dropping hook").await;
                set.guard("a", json!({})).await
            };
            let (one, two, rest) = tokio::join!(void(), void(), rest);
            assert_eq!([one, two, rest], [const { WorkerEnded::Returned(None) }; 3]);
            assert_eq!(void().await, WorkerEnded::Returned(None));
        },
    );
}

/// OC-75: calls are started in the order in which they were made, and a slow one delays no other.
#[test]
fn calls_are_started_in_order_and_share_the_worker() {
    let plugin = "const order = []; module.exports = (api) => { api.on('before_tool_call', async (e) => {
        order.push(e.params.n); await new Promise((done) => setTimeout(done, 50 - 10 * e.params.n));
        return { params: { order: order.join('') } }; }); };";
    with(&[("a", plugin)], async |_, set| {
        let ask = |n: u64| set.guard("a", json!({ "n": n }));
        let (a, b, c) = tokio::join!(ask(1), ask(2), ask(3));
        let all = returned(json!({ "params": { "order": "123" } }));
        assert_eq!((a, b, c), (all.clone(), all.clone(), all));
    });
}
