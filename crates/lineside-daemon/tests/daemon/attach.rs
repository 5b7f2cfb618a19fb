//! Hooks that live in the programs of clients: asked over their connections, failed while those are away.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lineside::Client;
use lineside::client::{RequestError, Session};
use lineside::core::propagation::GRANT;
use lineside::json::Value;
use lineside::prelude::*;
use lineside_daemon::Server;
use tokio::sync::{Notify, mpsc};

use crate::connection::soon;
use crate::house::{House, settings};
use crate::proxy::Proxy;

fn shell(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({"command": command}))
}

/// Refuses deletions, and says who it is.
pub(crate) async fn guard(session: &Session, who: &'static str) -> lineside::client::Registration {
    let gate = session.intercept::<BeforeTool>("no-rm").priority(9).matching(tool("Shell"));
    let gate = gate.gate(move |call, _cx| {
        std::future::ready(match call.command().as_deref() {
            Some(command) if command.contains("rm") => Verdict::block(format!("{who} refuses")),
            _ => Verdict::Continue,
        })
    });
    gate.await.unwrap()
}

/// Waits until so many programs are attached and there.
async fn attached(client: &Client, programs: u64) {
    loop {
        let status: Value = client.get("/v1/status").await.unwrap();
        if status["attached"] == json!(programs) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn reason(session: &Session, command: &str) -> Option<String> {
    let decision = session.publish(shell(command)).await.unwrap();
    decision.reason().filter(|_| decision.is_refused()).map(|reason| reason.as_str().to_owned())
}

#[tokio::test]
async fn a_closure_is_asked_for_its_session_and_everything_below_it() {
    let house = House::new().await;
    let owner = house.client().session("s1").open().await.unwrap();
    guard(&owner, "first").await;
    assert_eq!(reason(&owner, "rm -rf /").await.as_deref(), Some("first refuses"));
    assert_eq!(reason(&owner, "ls").await, None);
    // Not for another tool: it is not even asked.
    let other = owner.publish(BeforeTool::new("Read", json!({"command": "rm"}))).await.unwrap();
    assert!(!other.is_refused());
    // Another client, below.
    let below = house.client().granted(owner.environment().get(GRANT).unwrap());
    let child = below.session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("first refuses"));
    // A root of its own is under nothing.
    let root = house.client().session("s3").open().await.unwrap();
    assert_eq!(reason(&root, "rm").await, None);
    let hooks: Value = house.client().get("/v1/sessions/s2/hooks").await.unwrap();
    assert_eq!(
        (&hooks["hooks"][0]["name"], &hooks["hooks"][0]["layer"]),
        (&json!("no-rm"), &json!("session"))
    );
}

#[tokio::test]
async fn everything_that_a_closure_says_arrives() {
    let house = House::new().await;
    let owner = house.client().session("s").open().await.unwrap();
    let amend = owner.intercept::<BeforeTool>("safer").amend(async |call, cx| {
        assert!(cx.deadline() > tokio::time::Instant::now());
        assert_eq!(call.envelope().source.session.as_str(), "s");
        Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls -l \u{1F600}"})))
            .append("looked at it")
            .notify(Notice::info("one"))
            .notify(Notice::info("two"))
    });
    amend.await.unwrap();
    owner.intercept::<BeforeTool>("asks").gate(async |_, _| Verdict::ask("sure?\n\"yes\"")).await.unwrap();
    owner.intercept::<AfterTool>("fails").try_gate(async |_, _| Err::<Verdict, _>("no idea")).await.unwrap();
    owner
        .intercept::<AfterToolError>("panics")
        .on_failure(OnFailure::Continue)
        .gate(async |_, _| -> Verdict { panic!("oh no") })
        .await
        .unwrap();
    let decision = owner.publish(shell("ls")).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::ask("sure?\n\"yes\""));
    assert_eq!(decision.payload().command().as_deref(), Some("ls -l \u{1F600}"));
    assert_eq!(decision.json()["context"][0]["text"], json!("looked at it"));
    assert_eq!(decision.json()["notices"][0]["text"], json!("one\ntwo"));
    let refused = owner.publish(AfterTool::new("Shell", json!({}))).await.unwrap();
    assert!(refused.is_refused());
    assert_eq!(refused.json()["failed"][0]["detail"], json!("no idea"));
    let passed = owner.publish(AfterToolError::new("Shell", json!("bad"))).await.unwrap();
    assert!(!passed.is_refused());
    assert!(passed.json()["failed"][0]["detail"].as_str().unwrap().contains("oh no"), "{:?}", passed.json());
}

#[tokio::test]
async fn law_03_a_hook_whose_owner_is_gone_has_failed_and_a_new_owner_is_asked() {
    let house = House::new().await;
    let user = house.client();
    let publisher = user.session("s").open().await.unwrap();
    let owner = house.client();
    let owned = owner.session("s").resume().open().await.unwrap();
    guard(&owned, "first").await;
    owned
        .intercept::<BeforeTool>("lenient")
        .on_failure(OnFailure::Continue)
        .gate(async |_, _| Verdict::Continue)
        .await
        .unwrap();
    assert_eq!(reason(&publisher, "rm").await.as_deref(), Some("first refuses"));
    drop((owner, owned));
    attached(&user, 0).await;
    let decision = publisher.publish(shell("ls")).await.unwrap();
    assert!(decision.is_refused());
    let failed = decision.json()["failed"].as_array().unwrap();
    assert_eq!(
        (&failed[0]["hook"], &failed[0]["kind"], &failed[0]["taken_as"]),
        (&json!("no-rm"), &json!("closed"), &json!("block"))
    );
    let status: Value = user.get("/v1/status").await.unwrap();
    assert_eq!(status["orphaned_hooks"], json!(2));
    // It comes back as another process would, and takes its hook over.
    let again = house.client();
    let resumed = again.session("s").resume().open().await.unwrap();
    guard(&resumed, "second").await;
    assert_eq!(reason(&publisher, "rm").await.as_deref(), Some("second refuses"));
    assert_eq!(reason(&publisher, "ls").await, None);
    let hooks: Value = user.get("/v1/sessions/s/hooks").await.unwrap();
    assert_eq!(hooks["hooks"].as_array().unwrap().len(), 2, "none is there twice: {hooks}");
}

#[tokio::test]
async fn a_decision_that_was_under_way_is_not_asked_for_twice() {
    let house = House::new().await;
    let user = house.client();
    let publisher = user.session("s").open().await.unwrap();
    let (owner, asked, calls) = (house.client(), Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let owned = owner.session("s").resume().open().await.unwrap();
    let (told, count) = (Arc::clone(&asked), Arc::clone(&calls));
    let stuck = owned.intercept::<BeforeTool>("slow").gate(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        told.notify_one();
        std::future::pending::<Verdict>()
    });
    stuck.await.unwrap();
    let publishing = tokio::spawn({
        let publisher = publisher.clone();
        async move { publisher.publish(shell("ls")).await.unwrap() }
    });
    asked.notified().await;
    drop((owner, owned));
    let decision = publishing.await.unwrap();
    assert!(decision.is_refused());
    assert_eq!(decision.json()["failed"][0]["kind"], json!("closed"), "{:?}", decision.json());
    let again = house.client();
    let resumed = again.session("s").resume().open().await.unwrap();
    let count = Arc::clone(&calls);
    let quick = resumed.intercept::<BeforeTool>("slow").gate(move |_, _| {
        count.fetch_add(10, Ordering::SeqCst);
        std::future::ready(Verdict::Continue)
    });
    quick.await.unwrap();
    assert!(!publisher.publish(shell("ls")).await.unwrap().is_refused());
    assert_eq!(
        calls.load(Ordering::SeqCst),
        11,
        "the first event is over, and is asked about by nobody again"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again_with_the_same_hooks() {
    let house = House::new().await;
    let proxy = Proxy::before(&house.socket(), house.folder.path().join("proxy.sock"));
    let owner = Client::new(&proxy.path);
    let owned = owner.session("s").open().await.unwrap();
    guard(&owned, "it").await;
    let publisher = house.client().session("s").resume().open().await.unwrap();
    let before: Value = house.client().get("/v1/sessions/s/hooks").await.unwrap();
    for _ in 0..10 {
        assert_eq!(reason(&publisher, "rm").await.as_deref(), Some("it refuses"));
        proxy.cut();
        // In between it may be gone, which is a failure and no pass.
        loop {
            match reason(&publisher, "rm").await.as_deref() {
                Some("it refuses") => break,
                Some(_) => tokio::task::yield_now().await,
                None => panic!("the guard was passed"),
            }
        }
    }
    let after: Value = house.client().get("/v1/sessions/s/hooks").await.unwrap();
    assert_eq!(before, after, "nothing was registered again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_daemon_is_given_everything_again() {
    let house = House::new().await;
    let owner = house.client();
    let root = owner.session("root").open().await.unwrap();
    let child = root.subagent("child").open().await.unwrap();
    guard(&child, "it").await;
    let House { folder, server } = house;
    server.end().await;
    let server = Server::start(settings(&folder)).await.unwrap();
    let user = Client::new(folder.path().join("run/lineside.sock"));
    // Both sessions are the owner's to open.
    loop {
        let hooks: Result<Value, _> = user.get("/v1/sessions/child/hooks").await;
        if hooks.is_ok_and(|hooks| hooks["hooks"][0]["name"] == json!("no-rm")) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let publisher = user.session("child").resume().open().await.unwrap();
    assert_eq!(reason(&publisher, "rm").await.as_deref(), Some("it refuses"));
    let look: Value = user.get("/v1/sessions/child").await.unwrap();
    assert_eq!(look["parent"], json!("root"));
    server.end().await;
}

#[tokio::test]
async fn an_automation_runs_in_its_program_and_reports_to_the_context() {
    let house = House::new().await;
    let owner = house.client().session("s").open().await.unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let lint = owner
        .automate::<AfterToolBatch>("lint")
        .retry(Retry::constant(3, millis(1)))
        .join(lineside::core::hook::Join::BeforeNextModel);
    lint.try_run(move |_batch, _cx| {
        let attempt = count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(if attempt == 0 {
            Err("not yet")
        } else {
            Ok(Report::failure("2 errors").body("src/lib.rs:1"))
        })
    })
    .await
    .unwrap();
    drop(owner.publish(AfterToolBatch::new(Vec::new(), Vec::new())).await.unwrap());
    let delivery = owner.collect().before_next_model().await.unwrap();
    assert!(
        delivery.text().contains("2 errors") && delivery.text().contains("src/lib.rs:1"),
        "{}",
        delivery.text()
    );
    assert_eq!(runs.load(Ordering::SeqCst), 2, "the first attempt failed");
    let jobs: Value = house.client().get("/v1/jobs").await.unwrap();
    assert_eq!(jobs["jobs"][0]["automation"], json!("attached:s/after_tool_batch/lint"));
}

#[tokio::test]
async fn an_observer_hears_what_was_decided_in_its_session_and_below() {
    let house = House::new().await;
    let owner = house.client().session("s1").open().await.unwrap();
    guard(&owner, "it").await;
    let (heard, mut hears) = mpsc::channel(64);
    let observation = owner.observe::<BeforeTool>("log").matching(tool("Shell")).run(move |seen| {
        let told = (
            seen.event().envelope().source.session.to_string(),
            seen.event().command().unwrap().into_owned(),
            seen.verdict().strength(),
            seen.lost(),
        );
        heard.try_send(told).unwrap();
        std::future::ready(())
    });
    let _observation = observation.await.unwrap();
    let child = owner.subagent("s2").open().await.unwrap();
    let stranger = house.client().session("s3").open().await.unwrap();
    for (session, command) in [(&owner, "ls"), (&stranger, "rm"), (&child, "rm"), (&owner, "pwd")] {
        drop(session.publish(shell(command)).await.unwrap());
        drop(session.publish(OnIdle::new()).await.unwrap());
        drop(session.publish(BeforeTool::new("Other", json!({}))).await.unwrap());
    }
    let expected =
        [("s1", "ls", Strength::Continue), ("s2", "rm", Strength::Block), ("s1", "pwd", Strength::Continue)];
    for (session, command, strength) in expected {
        let told = hears.recv().await.unwrap();
        assert_eq!(told, (session.to_owned(), command.to_owned(), strength, 0));
    }
}

#[tokio::test]
async fn an_observer_whose_stream_breaks_before_its_first_event_hears_that_event() {
    let house = House::new().await;
    let proxy = Proxy::before(&house.socket(), house.folder.path().join("proxy.sock"));
    let owner = Client::new(&proxy.path).session("s").open().await.unwrap();
    let (heard, mut hears) = mpsc::channel(64);
    let observation = owner.observe::<OnIdle>("log").run(move |seen| {
        heard.try_send((seen.event().envelope().seq, seen.lost())).unwrap();
        std::future::ready(())
    });
    let _observation = observation.await.unwrap();
    proxy.leave();
    let publisher = house.client().session("s").resume().open().await.unwrap();
    let seq = publisher.publish(OnIdle::new()).await.unwrap().seq().unwrap();
    proxy.come_back();
    assert_eq!(soon(hears.recv()).await, Some((seq, 0)));
}

#[tokio::test]
async fn a_hook_has_one_owner_and_is_removed_by_it() {
    let house = House::new().await;
    let (first, second) = (house.client(), house.client());
    let session = first.session("s").open().await.unwrap();
    let registration = guard(&session, "first").await;
    let other = second.session("s").resume().open().await.unwrap();
    let error =
        other.intercept::<BeforeTool>("no-rm").gate(async |_, _| Verdict::Continue).await.unwrap_err();
    let RequestError::Refused { status, kind, .. } = &error else { panic!("{error}") };
    assert_eq!((*status, kind.as_str()), (409, "urn:lineside:problem:hook-owned"));
    assert_eq!(reason(&session, "rm").await.as_deref(), Some("first refuses"));
    assert!(registration.remove().await.unwrap());
    assert!(!registration.remove().await.unwrap());
    assert_eq!(reason(&session, "rm").await, None);
    // The problem of a registration is reported with what would be right.
    let error = session.intercept::<BeforeTool>(" ").gate(async |_, _| Verdict::Continue).await.unwrap_err();
    assert!(error.to_string().contains("`name`"), "{error}");
    let body = json!({"attachment": "x", "called": "1", "hook": {"name": "h", "on": "before_tool"}});
    let (status, problem) = house.post("/v1/sessions/s/hooks", &body).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:lineside:problem:not-attached")));
    let (status, problem) = house.post("/v1/attach", &json!({})).await;
    assert_eq!((status, &problem["type"]), (426, &json!("urn:lineside:problem:upgrade-required")));
}

#[tokio::test]
async fn a_grant_lets_a_process_attach_below_its_session_alone() {
    let house = House::new().await;
    let parent = house.client().session("s1").open().await.unwrap();
    let below = house.client().granted(parent.environment().get(GRANT).unwrap());
    let child = below.session("s2").open().await.unwrap();
    guard(&child, "child").await;
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("child refuses"));
    assert_eq!(reason(&parent, "rm").await, None, "it is for what is below");
    let (heard, mut hears) = mpsc::channel(64);
    let observing = child.observe::<OnIdle>("log").run(move |seen| {
        heard.try_send(seen.event().envelope().seq).unwrap();
        std::future::ready(())
    });
    let _observing = observing.await.unwrap();
    let seq = child.publish(OnIdle::new()).await.unwrap().seq().unwrap();
    assert_eq!(hears.recv().await, Some(seq));
    for path in ["/v1/signals", "/v1/signals?session=s1", "/v1/signals?session=s1&below=true"] {
        let error = below.get::<Value>(path).await.unwrap_err();
        assert!(matches!(error, RequestError::Refused { status: 403, .. }), "{path}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_publishers_ask_one_program_at_once_and_each_has_its_own_answer() {
    let house = House::new().await;
    let owner = house.client().session("s").open().await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let gate = owner.intercept::<BeforeTool>("echo").gate(move |call, _| {
        let command = call.command().unwrap().into_owned();
        into.lock().unwrap().push(command.clone());
        std::future::ready(Verdict::block(command))
    });
    gate.await.unwrap();
    let publishing = (0..200).map(|number| {
        let session = owner.clone();
        tokio::spawn(async move {
            let command = format!("command {number}");
            assert_eq!(reason(&session, &command).await, Some(command));
        })
    });
    for one in publishing.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    assert_eq!(seen.lock().unwrap().len(), 200, "each is asked about once");
}

#[tokio::test]
async fn a_hook_that_another_daemon_refuses_for_the_moment_is_registered_when_it_may_be() {
    let house = House::new().await;
    let owner = house.client();
    let session = owner.session("root").open().await.unwrap();
    guard(&session, "its owner").await;
    let House { folder, server } = house;
    server.end().await;
    // In the next daemon another program has the hook of that name before the owner comes back.
    let elsewhere = folder.path().join("run/elsewhere.sock");
    let mut settings = settings(&folder);
    let socket = std::mem::replace(&mut settings.socket, elsewhere.clone());
    let server = Server::start(settings).await.unwrap();
    let other = Client::new(elsewhere.clone());
    let held = guard(&other.session("root").open().await.unwrap(), "another").await;
    std::os::unix::fs::symlink(&elsewhere, &socket).unwrap();
    attached(&other, 2).await;
    let refused = other.session("look").open().await.unwrap();
    // The owner asks after it has attached; some turns are enough for that.
    for _ in 0..20 {
        assert_eq!(reason(&refused, "ls").await, None);
    }
    assert!(held.remove().await.unwrap());
    let publisher = other.session("root").resume().open().await.unwrap();
    while reason(&publisher, "rm").await.as_deref() != Some("its owner refuses") {
        tokio::task::yield_now().await;
    }
    server.end().await;
}
