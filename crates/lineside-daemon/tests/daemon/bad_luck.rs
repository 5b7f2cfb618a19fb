//! What befalls a daemon from outside: its socket and its folders taken away, publishers that never pause, programs that
//! come and go all at once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use lineside::json::Value;
use lineside::prelude::*;
use lineside_daemon::Server;

use crate::connection::{Line, frame, shell, soon};
use crate::house::{House, folder, settings, small};

/// A daemon whose hook works in the background, and holds its work back.
async fn working() -> House {
    let work = "{quiet: 3600000, at_most: 7200000}";
    let looks = r#"{name: looks, on: before_prompt, command: "echo '{\"context\": \"look\"}'"}"#;
    House::hooked(&format!(
        "hooks:\n  - {{name: work, on: on_idle, command: \"true\", automate: {{debounce: {work}}}}}\n  - {looks}\n"
    ))
    .await
}

/// Removes `folder` under a daemon that goes on writing: out of its reach first, as a file that it makes anew while the
/// folder is emptied would keep it there.
fn take_away(folder: &Path) {
    let aside = folder.with_extension("taken");
    fs::rename(folder, &aside).unwrap();
    fs::remove_dir_all(aside).unwrap();
}

#[tokio::test]
async fn w06_a_socket_that_was_taken_away_is_there_again() {
    let house = House::new().await;
    let client = house.client();
    let session = client.session("s").open().await.unwrap();
    for taken in [house.socket(), house.folder.path().join("run")] {
        // As a cleaner of temporary folders does it.
        if taken.is_dir() {
            take_away(&taken);
        } else {
            fs::remove_file(&taken).unwrap();
        }
        // Its file is there a moment before it is listened on.
        soon(async {
            while tokio::net::UnixStream::connect(house.socket()).await.is_err() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let decision =
            house.client().session("s").resume().open().await.unwrap().publish(OnIdle::new()).await;
        assert!(!decision.unwrap().is_refused());
    }
    assert_eq!(session.publish(OnIdle::new()).await.unwrap().seq(), Some(3), "earlier connections go on");
    house.server.end().await;
    assert!(!house.folder.path().join("run/lineside.sock").exists());
}

#[tokio::test]
async fn w06_a_path_that_another_daemon_has_taken_meanwhile_is_left_to_it() {
    let house = House::new().await;
    fs::remove_file(house.socket()).unwrap();
    let mut other = settings(&house.folder);
    other.state = house.folder.path().join("other");
    let other = lineside_daemon::Server::start(other).await.unwrap();
    house.server.end().await;
    assert_eq!(other.socket(), house.folder.path().join("run/lineside.sock"));
    assert!(other.socket().exists());
    other.end().await;
}

#[tokio::test]
async fn a_state_folder_that_was_taken_away_keeps_nothing_and_nothing_is_claimed_to_be_kept() {
    let house = working().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let idle = json!({"point": "on_idle", "session": "s"});
    let (_, kept) = house.post("/v1/events", &idle).await;
    assert_eq!(kept["accepted"][0]["durability"], json!("disk"), "{kept}");
    take_away(&house.folder.path().join("state"));
    let prompt = json!({"point": "before_prompt", "session": "s", "payload": {"prompt": "go on"}});
    house.post("/v1/events", &prompt).await;
    let (_, taken) = house.post("/v1/sessions/s/context/collect", &json!({})).await;
    assert_eq!(taken["messages"][0]["text"], json!("look"), "{taken}");
    let accept = format!("/v1/sessions/s/context/{}/accept", taken["delivery"].as_str().unwrap());
    let (status, problem) = house.post(&accept, &json!({})).await;
    assert_eq!((status, &problem["type"]), (503, &json!("urn:lineside:problem:not-kept")), "{problem}");
    let (status, lost) = house.post("/v1/events", &idle).await;
    assert_eq!((status, &lost["accepted"][0]["as"]), (200, &json!("unavailable")), "{lost}");
    let (_, found) = house.get("/v1/status").await;
    // A third one may be of the decision log, whose file is gone too.
    let [work, context, ..] = &found["findings"].as_array().unwrap()[..] else { panic!("{found}") };
    for (finding, what) in [(work, "background work is not kept"), (context, "context is not kept")] {
        assert_eq!(finding["severity"], json!("error"));
        let text = finding["text"].as_str().unwrap();
        assert!(text.contains(what) && text.contains("its file was removed"), "{text}");
    }
}

#[tokio::test]
async fn n06_a_publisher_that_never_stops_at_the_end_of_a_frame_goes_on() {
    let limits = small(|limits| limits.whole = Duration::from_secs(60));
    let house = House::with(|settings| settings.limits(limits)).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut line = Line::open(&house).await;
    let half = |id: u64| {
        let whole = frame(id, &shell("s", "ls"));
        let (first, second) = whole.split_at(whole.len() / 2);
        (first.to_vec(), second.to_vec())
    };
    line.write(&half(1).0).await;
    for id in 1..=5 {
        line.write(&[half(id).1, half(id + 1).0].concat()).await;
        let (kind, answered, _) = line.answer().await.expect("the connection is closed");
        assert_eq!((&*kind, answered), ("decision", Some(id)));
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(25)).await;
        tokio::time::resume();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_attach_at_the_same_time_are_all_known() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    for round in 0..4 {
        let programs = (0..50).map(|number| {
            let client = house.client();
            tokio::spawn(async move {
                let session = client.session("s").resume().open().await.unwrap();
                let gate = session.intercept::<BeforeTool>(format!("gate {round} {number}"));
                gate.gate(async |_, _| Verdict::Continue).await.unwrap();
                (client, session)
            })
        });
        for program in join_all(programs).await {
            program.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_gates_of_a_program_that_dies_have_failed_at_once() {
    let house = House::new().await;
    let publisher = house.client().session("s").open().await.unwrap();
    let (owner, asked) = (house.client(), std::sync::Arc::new(tokio::sync::Notify::new()));
    let owned = owner.session("s").resume().open().await.unwrap();
    for number in 0..1_000 {
        let gate = owned.intercept::<BeforeTool>(format!("gate {number}")).priority(-number);
        let told = std::sync::Arc::clone(&asked);
        let gate = gate.on_failure(OnFailure::Continue).gate(move |_, _| {
            told.notify_one();
            std::future::pending::<Verdict>()
        });
        gate.await.unwrap();
    }
    let publishing = {
        let publisher = publisher.clone();
        tokio::spawn(async move { publisher.publish(BeforeTool::new("T", json!({}))).await.unwrap() })
    };
    asked.notified().await;
    drop((owner, owned));
    let decision = soon(publishing).await.unwrap();
    assert!(!decision.is_refused());
    let failed = decision.json()["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1_000);
    assert!(failed.iter().all(|failed| failed["kind"] == json!("closed")), "{}", failed[0]);
    let status: Value = house.client().get("/v1/status").await.unwrap();
    assert_eq!((&status["attached"], &status["orphaned_hooks"]), (&json!(0), &json!(1_000)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_are_closed_while_they_publish_decide_every_event_or_none() {
    let house = House::new().await;
    let clients: Vec<_> = (0..8).map(|_| house.client()).collect();
    let lines = clients.into_iter().enumerate().map(|(line, client)| {
        tokio::spawn(async move {
            let mut closed = 0_u64;
            for number in 0..250 {
                let session = client.session(format!("{line}-{number}")).open().await.unwrap();
                let publish = session.clone();
                let publisher = tokio::spawn(async move {
                    let mut last = 0;
                    while let Ok(decision) = publish.publish(OnIdle::new()).await {
                        assert_eq!(decision.seq(), Some(last + 1));
                        last += 1;
                        if last == 1_000 {
                            break;
                        }
                    }
                    last
                });
                session.close().await.unwrap();
                let decided = publisher.await.unwrap();
                let refused = session.publish(OnIdle::new()).await.unwrap_err();
                assert!(refused.to_string().contains("closed"), "{refused}");
                closed += u64::from(decided < 1_000);
            }
            closed
        })
    });
    for line in join_all(lines).await {
        assert_eq!(line.unwrap(), 250);
    }
    let status: Value = house.client().get("/v1/status").await.unwrap();
    assert_eq!(status["sessions"], json!(0));
}

#[tokio::test]
async fn law_19_hooks_that_are_switched_off_in_a_burst_are_off_for_the_next_event() {
    let house = House::hooked("hooks:\n  - {name: no, on: before_tool, command: \"exit 1\"}\n").await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let off = house.folder.path().join("state/off");
    let mut line = Line::open(&house).await;
    for id in 0..40 {
        line.publish(id, &shell("s", "ls")).await;
    }
    assert_eq!(line.answer().await.unwrap().2["verdict"], json!("block"));
    fs::write(&off, "").unwrap();
    line.publish(40, &shell("s", "ls")).await;
    let mut last = Value::Null;
    for _ in 0..40 {
        let (kind, id, decision) = line.answer().await.unwrap();
        assert_eq!(kind, "decision");
        if id == Some(40) {
            last = decision;
        }
    }
    assert_eq!((&last["verdict"], &last["off"]), (&json!("continue"), &json!(true)), "{last}");
    fs::remove_file(&off).unwrap();
    line.publish(41, &shell("s", "ls")).await;
    assert_eq!(line.answer().await.unwrap().2["verdict"], json!("block"));
}

#[tokio::test]
async fn a_start_that_fails_leaves_the_journals_to_the_next_one() {
    let folder = folder();
    let mut busy = settings(&folder);
    busy.http = Some(([127, 0, 0, 1], 0).into());
    // In place of the token.
    fs::create_dir_all(folder.path().join("state/http-token")).unwrap();
    fs::set_permissions(folder.path().join("state"), fs::Permissions::from_mode(0o700)).unwrap();
    let error = Server::start(busy).await.unwrap_err();
    assert!(error.to_string().starts_with("failed to prepare the token"), "{error}");
    let server = Server::start(settings(&folder)).await.unwrap();
    server.end().await;
}
