//! A connection for events at its bounds: the longest event, very many sessions, and publishers that are gone in the
//! middle of a frame.

use lineside::prelude::*;

use crate::connection::{Line, frame, shell};
use crate::house::House;

/// An event of exactly this length, and how long its command is.
fn of_length(bytes: usize) -> (Vec<u8>, usize) {
    let around = shell("s", "").to_string().len();
    let body = shell("s", &"x".repeat(bytes - around)).to_string().into_bytes();
    assert_eq!(body.len(), bytes);
    (body, bytes - around)
}

#[tokio::test]
async fn n06_the_longest_event_is_decided_and_one_byte_more_is_refused() {
    const MOST: usize = 64 << 20;
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut line = Line::open(&house).await;
    for (id, length) in [(1, MOST), (2, MOST + 1)] {
        let (body, command) = of_length(length);
        line.write(format!("{}\n", json!({"type": "publish", "id": id, "bytes": length})).as_bytes()).await;
        line.write(&body).await;
        drop(body);
        let (kind, answered, answer) = line.answer().await.unwrap();
        assert_eq!(answered, Some(id));
        if length == MOST {
            let decided = answer["payload"]["tool_input"]["command"].as_str().unwrap();
            assert_eq!((&*kind, decided.len()), ("decision", command));
        } else {
            let refused = (&*kind, &answer["status"], &answer["verdict"]);
            assert_eq!(refused, ("problem", &json!(413), &json!("block")));
        }
    }
    line.publish(3, &shell("s", "ls")).await;
    let (kind, id, decision) = line.answer().await.unwrap();
    assert_eq!(
        (&*kind, id, &decision["seq"]),
        ("decision", Some(3), &json!(2)),
        "what was refused has no number"
    );
}

#[tokio::test]
async fn ten_thousand_sessions_publish_over_one_connection() {
    const SESSIONS: u64 = 10_000;
    let house = House::new().await;
    let mut line = Line::open(&house).await;
    for seq in 1..=2 {
        // As many at once as go into the buffers of both sides.
        for first in (0..SESSIONS).step_by(50) {
            let ids = first..first + 50;
            let mut all = Vec::new();
            for id in ids.clone() {
                let body = shell(&format!("s{id}"), "ls").to_string();
                let head = json!({"type": "publish", "id": id, "bytes": body.len(), "open": true});
                all.extend_from_slice(format!("{head}\n{body}").as_bytes());
            }
            line.write(&all).await;
            let mut answered = Vec::new();
            for _ in ids.clone() {
                let (kind, id, decision) = line.answer().await.unwrap();
                let id = id.unwrap();
                assert_eq!((&*kind, &decision["seq"]), ("decision", &json!(seq)));
                assert_eq!(decision["session"], json!(format!("s{id}")));
                answered.push(id);
            }
            answered.sort_unstable();
            assert!(answered.into_iter().eq(ids));
        }
    }
    assert_eq!(house.get("/v1/status").await.1["sessions"], json!(SESSIONS));
}

#[tokio::test]
async fn n06_what_has_not_come_whole_when_its_publisher_is_gone_is_not_published() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    for event in [shell("s", "ls"), shell("s", &"x".repeat(100 << 10))] {
        let whole = frame(1, &event);
        for missing in [1, 60, whole.len() - 1] {
            let mut line = Line::open(&house).await;
            line.write(&whole[..whole.len() - missing]).await;
            line.ends().await;
            assert!(line.answer().await.is_none(), "{missing} bytes are missing");
        }
    }
    assert_eq!(session.publish(OnIdle::new()).await.unwrap().seq(), Some(1));
}
