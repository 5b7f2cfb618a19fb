//! A daemon that is started anew while programs have hooks in it and others publish.

use lineside::Client;
use lineside::json::Value;
use lineside::prelude::*;
use lineside_daemon::Server;

use crate::connection::soon;
use crate::house::{House, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_opened_again_decides_nothing_before_its_hooks_stand() {
    let House { folder, mut server } = House::new().await;
    let owner = Client::new(server.socket());
    let main = owner.session("main").open().await.unwrap();
    let child = main.subagent("child").open().await.unwrap();
    for number in 0..20 {
        for session in [&main, &child] {
            let gate =
                session.intercept::<BeforeTool>(format!("other {number}")).on_failure(OnFailure::Continue);
            gate.gate(async |_, _| Verdict::Continue).await.unwrap();
        }
    }
    let guard = main.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no"));
    guard.await.unwrap();
    for _ in 0..3 {
        server.end().await;
        let publishers = ["main", "child"].map(|id| {
            let socket = folder.path().join("run/lineside.sock");
            tokio::spawn(async move {
                let client = Client::new(socket);
                let event = json!({"point": "before_tool", "session": id, "payload": {"tool_name": "T", "tool_input": {}}});
                let event = event.as_object().unwrap();
                loop {
                    let Ok(decision) = client.post::<Value>("/v1/events", event).await else {
                        tokio::task::yield_now().await;
                        continue;
                    };
                    assert_eq!(decision["verdict"], json!("block"), "{decision}");
                    if decision["reason"] == json!("no") {
                        return;
                    }
                }
            })
        });
        server = Server::start(settings(&folder)).await.unwrap();
        for publisher in publishers {
            soon(publisher).await.unwrap();
        }
    }
    let hooks: Value = owner.get("/v1/sessions/main/hooks").await.unwrap();
    assert_eq!(hooks["hooks"].as_array().unwrap().len(), 21);
    server.end().await;
}

#[tokio::test]
async fn sessions_that_were_closed_are_not_opened_again() {
    let House { folder, server } = House::new().await;
    let owner = Client::new(server.socket());
    let mut sessions = Vec::new();
    for id in ["closed", "over", "open"] {
        let session = owner.session(id).open().await.unwrap();
        session.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).await.unwrap();
        sessions.push(session);
    }
    sessions[0].close().await.unwrap();
    drop(sessions[1].publish(AfterSession::new("done")).await.unwrap());
    server.end().await;
    let server = Server::start(settings(&folder)).await.unwrap();
    let user = Client::new(server.socket());
    // It was registered last.
    soon(async {
        while user.get::<Value>("/v1/sessions/open/hooks").await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let open: Value = user.get("/v1/sessions").await.unwrap();
    assert_eq!(open["sessions"].as_array().unwrap().len(), 1, "{open}");
    server.end().await;
}
