//! A daemon that is started anew while programs have hooks in it and others publish.

use lineside::dialects::Trust;
use lineside::json::Value;
use lineside::prelude::*;
use lineside::trust::{Reach, Store};
use lineside::{Assembly, Client};
use lineside_daemon::{Server, Settings};

use crate::connection::soon;
use crate::house::{House, folder, settings};

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

#[tokio::test]
async fn work_for_a_project_waits_for_no_session_of_it() {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap().join("repository");
    std::fs::create_dir_all(root.join(".lineside")).unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    let hooks = "hooks: [{name: work, on: on_idle, command: 'true', automate: {debounce: {quiet: 3600000, at_most: 7200000}}}]";
    std::fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    let own = || {
        let mut settings = settings(&folder);
        (settings.places.project_root, settings.places.trust) = (None, Trust::Withheld);
        settings
    };
    let Settings { places, state, .. } = own();
    let assembly = Assembly::new(Bus::new()).of_project(&root);
    let read = assembly.read_project(&root, &places, None);
    Store::of(&state).trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
    let mut server = Server::start(own()).await.unwrap();
    let opened = json!({"id": "s", "cwd": root.to_string_lossy()});
    let ask = async |server: &Server| Client::new(server.socket()).get::<Value>("/v1/jobs").await.unwrap();
    let client = Client::new(server.socket());
    let _: Value = client.post("/v1/sessions", opened.as_object().unwrap()).await.unwrap();
    let idle = json!({"point": "on_idle", "session": "s"});
    let _: Value = client.post("/v1/events", idle.as_object().unwrap()).await.unwrap();
    let jobs = ask(&server).await;
    assert_eq!(jobs["jobs"][0]["state"], "debouncing", "{jobs}");
    for _ in 0..2 {
        server.end().await;
        server = Server::start(own()).await.unwrap();
        let jobs = ask(&server).await;
        assert_eq!(jobs["jobs"][0]["state"], "debouncing", "{jobs}");
    }
    server.end().await;
}
