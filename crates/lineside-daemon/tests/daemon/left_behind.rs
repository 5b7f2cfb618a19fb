//! Publishers that leave after they have sent what has happened: all of it is taken in that was read, in whichever form it
//! came and wherever it waits, within a bound that makes itself known.

use std::sync::Arc;

use lineside::json::Value;
use lineside::prelude::*;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

use crate::connection::{Line, frame, metrics, shell, soon};
use crate::hosts::ask;
use crate::house::{House, small};
use crate::kept::figure;
use crate::signals::Reader;

/// Has every fact wait; gives what counts those that wait, and what lets them go on.
fn held_back(house: &House) -> (Arc<Semaphore>, Arc<Semaphore>) {
    let (begun, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, opens) = (Arc::clone(&begun), Arc::clone(&gate));
    let waits = house.server.bus().intercept::<AfterTool>("waits").gate(move |_, _| {
        let (begins, opens) = (Arc::clone(&begins), Arc::clone(&opens));
        async move {
            begins.add_permits(1);
            opens.acquire().await.unwrap().forget();
            Verdict::Continue
        }
    });
    waits.unwrap();
    (begun, gate)
}

/// Waits until so many more facts wait.
async fn wait(begun: &Semaphore, count: u32) {
    soon(begun.acquire_many(count)).await.unwrap().forget();
}

fn done(output: &str) -> Value {
    json!({"point": "after_tool", "session": "s",
        "payload": {"tool_name": "Shell", "tool_input": {}, "tool_output": output}})
}

/// The metrics have this value, now or soon.
pub(crate) async fn comes_to(house: &House, name: &str, value: usize) {
    soon(async {
        while figure(house, name).await != value {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Sends a request over a connection of its own, which it gives back.
async fn sent(house: &House, path: &str, body: &Value) -> UnixStream {
    let mut stream = UnixStream::connect(house.socket()).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn of_a_batch_all_that_has_happened_is_taken_in_though_its_publisher_leaves() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (begun, gate) = held_back(&house);
    let events = [done("1"), done("2"), shell("s", "rm -r ."), done("3")];
    let publisher = sent(&house, "/v1/events/batch", &json!({"events": events})).await;
    wait(&begun, 1).await;
    drop(publisher);
    comes_to(&house, "lineside_connections", 1).await;
    gate.add_permits(3);
    wait(&begun, 2).await;
    comes_to(&house, "lineside_events_total", 3).await;
    let (_, receipts) = house.get("/v1/receipts").await;
    let points: Vec<_> = receipts["receipts"].as_array().unwrap().iter().map(|one| &one["point"]).collect();
    assert_eq!(points, ["after_tool"; 3], "what has not happened is decided for no one");
}

#[tokio::test]
async fn what_has_happened_is_taken_in_from_behind_others_when_its_publisher_leaves() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (begun, gate) = held_back(&house);
    let mut line = Line::open(&house).await;
    // More than are under way at once, one of them long, and gates among them.
    let long = "x".repeat(100 << 10);
    for id in 0..100 {
        line.write(&frame(id, &done("short"))).await;
        line.write(&frame(1_000 + id, &shell("s", "ls"))).await;
    }
    wait(&begun, 32).await;
    let last = [frame(2_000, &done(&long)), frame(2_001, &done("last"))].concat();
    line.write(&last).await;
    drop(line);
    gate.add_permits(102);
    wait(&begun, 70).await;
    comes_to(&house, "lineside_connections", 1).await;
    let (_, receipts) = house.get("/v1/receipts?most=1000").await;
    let receipts = receipts["receipts"].as_array().unwrap();
    let facts = receipts.iter().filter(|one| one["point"] == json!("after_tool")).count();
    assert_eq!(facts, 102, "of {}", receipts.len());
}

#[tokio::test]
async fn what_has_happened_and_waits_for_room_is_taken_in_though_its_publisher_leaves() {
    // For the values of one of them, and for three and a half that are read.
    let limits = small(|limits| limits.memory = 525 << 10);
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (begun, gate) = held_back(&house);
    let long = "x".repeat(150 << 10);
    let first = sent(&house, "/v1/events", &done(&long)).await;
    wait(&begun, 1).await;
    let second = sent(&house, "/v1/events", &done(&long)).await;
    let host = json!({"hook_event_name": "PostToolUse", "session_id": "h", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_response": long});
    let mut third = Box::pin(ask(&house, "claude", &[], host.to_string()));
    let mut line = Line::open(&house).await;
    line.write(&frame(1, &done(&long))).await;
    // All of them were read when there is room to read no further body.
    let probe = json!({"id": "p", "cwd": long});
    let is_answered = async || {
        // What has room is answered before so many others are.
        let others = async {
            for _ in 0..1_000 {
                metrics(&house).await;
            }
        };
        tokio::select! {
            _ = house.post("/v1/sessions", &probe) => true,
            () = others => false,
        }
    };
    let is_read = async { while is_answered().await {} };
    tokio::select! {
        _ = &mut third => panic!("it has no room"),
        () = is_read => {}
    }
    drop((first, second, third, line));
    comes_to(&house, "lineside_connections", 1).await;
    gate.add_permits(4);
    wait(&begun, 3).await;
}

#[tokio::test]
async fn what_goes_on_without_its_publishers_has_a_bound_and_what_is_given_up_is_counted_and_signalled() {
    const MOST: usize = 3;
    let limits = small(|limits| limits.left_behind = MOST);
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let (begun, gate) = held_back(&house);
    for _ in 0..10 * MOST {
        let publisher = sent(&house, "/v1/events", &done("done")).await;
        wait(&begun, 1).await;
        drop(publisher);
    }
    comes_to(&house, "lineside_left_behind_lost_total", 9 * MOST).await;
    let announced = soon(reader.until("announced")).await;
    assert!(announced.to_string().contains("given up"), "{announced}");
    gate.add_permits(MOST);
    comes_to(&house, "lineside_events_total", MOST).await;
    // There are places again.
    let publisher = sent(&house, "/v1/events", &done("done")).await;
    wait(&begun, 1).await;
    drop(publisher);
    gate.add_permits(1);
    comes_to(&house, "lineside_events_total", MOST + 1).await;
    assert_eq!(figure(&house, "lineside_left_behind_lost_total").await, 9 * MOST);
}
