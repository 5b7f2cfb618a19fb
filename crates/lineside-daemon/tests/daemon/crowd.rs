//! Very many sessions over few connections.

use std::collections::BTreeMap;

use lineside::json::Value;
use lineside::prelude::*;

use crate::house::House;

const SESSIONS: usize = 1_000;
const CONNECTIONS: usize = 64;
const EVENTS: u64 = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_18_a_thousand_sessions_over_64_connections_lose_no_decision_and_no_number() {
    let house = House::new().await;
    let clients: Vec<_> = (0..CONNECTIONS).map(|_| house.client()).collect();
    let lines = clients.into_iter().enumerate().map(|(line, client)| {
        tokio::spawn(async move {
            let mut sessions = Vec::new();
            for number in (line..SESSIONS).step_by(CONNECTIONS) {
                sessions.push(client.session(format!("s{number}")).open().await.unwrap());
            }
            let mut seqs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
            for _ in 0..EVENTS {
                for session in &sessions {
                    let event = BeforeTool::new("Shell", json!({"command": "ls"}));
                    let decision = session.publish(event).await.unwrap();
                    seqs.entry(session.id().to_string()).or_default().push(decision.seq().unwrap());
                }
            }
            seqs
        })
    });
    let mut seen = 0;
    for line in lines.collect::<Vec<_>>() {
        for (session, seqs) in line.await.unwrap() {
            assert_eq!(seqs, (1..=EVENTS).collect::<Vec<_>>(), "{session}");
            seen += 1;
        }
    }
    assert_eq!(seen, SESSIONS);
    let client = house.client();
    let status: Value = client.get("/v1/status").await.unwrap();
    assert_eq!(status["sessions"], json!(SESSIONS));
    let open: Value = client.get("/v1/sessions").await.unwrap();
    let all = open["sessions"].as_array().unwrap();
    assert!(all.iter().all(|session| session["last_seq"] == json!(EVENTS)));
    assert!(house.server.end().await.drained.is_clean());
}
