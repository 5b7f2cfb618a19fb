//! Large bodies are worked at on other threads than small ones, whichever way they come.

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use lineside::prelude::*;

use crate::connection::{Line, frame, shell};
use crate::hosts::ask;
use crate::house::House;

#[tokio::test]
async fn a_large_body_is_not_worked_at_where_small_ones_are() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let decided: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let seen = Arc::clone(&decided);
    let gate = house.server.bus().intercept::<BeforeTool>("seen").gate(move |_, _| {
        seen.lock().unwrap().push(thread::current().id());
        std::future::ready(Verdict::Continue)
    });
    gate.unwrap();
    let own = thread::current().id();
    for (length, is_here) in [(10, true), (300 << 10, false)] {
        let event = shell("s", &"x".repeat(length));
        house.post("/v1/events", &event).await;
        house.post("/v1/events/batch", &json!({"events": [event]})).await;
        let mut line = Line::open(&house).await;
        line.write(&frame(1, &event)).await;
        assert_eq!(line.answer().await.unwrap().0, "decision");
        let call = json!({"hook_event_name": "PreToolUse", "session_id": "h", "tool_name": "Bash",
            "tool_input": {"command": "x".repeat(length)}});
        ask(&house, "claude", &[], call.to_string()).await;
        let threads = std::mem::take(&mut *decided.lock().unwrap());
        let here: Vec<bool> = threads.into_iter().map(|thread| thread == own).collect();
        assert_eq!(here, [is_here; 4], "of {length} bytes");
    }
}
