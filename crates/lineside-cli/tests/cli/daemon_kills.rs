//! A daemon that is killed in the middle of its work, again and again: its clients notice in time, nothing is decided
//! twice, the jobs that an answer has acknowledged come to their end, and so do their messages. And one whose socket a
//! supervisor hands over.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lineside::Client;
use lineside::client::{RequestError, Session};
use lineside::json::{Value, json};
use lineside::prelude::*;
use tokio::sync::mpsc;

use crate::daemon::Daemon;
use crate::stage::Stage;

/// How often it is killed, unless `LINESIDE_LIVES` says otherwise.
const LIVES: usize = 6;

/// How many agents publish at once, and in how many sessions together.
const AGENTS: usize = 8;
const SESSIONS: usize = 1_000;

/// When a publish without an end has no end: far beyond every deadline of its hook.
const HUNG: Duration = Duration::from_secs(60);

/// A gate that writes down which events it was asked about, an automation that writes down which it has worked on, and one
/// that has a message for the context of its session.
const HOOKS: &str = r#"
hooks:
  - name: gate
    on: before_tool
    command: "grep -oE '\"id\":\"[0-9a-f-]{36}\"' | head -n 1 | cut -d'\"' -f4 >> asked"
  - name: work
    on: on_idle
    command: "grep -oE '\"host\":\"[0-9-]+\"' | head -n 1 | cut -d'\"' -f4 >> worked"
    automate:
      retry: {attempts: 5, constant: 0}
  - name: notes
    on: on_idle
    command: "echo noted"
    automate:
      retry: {attempts: 5, constant: 0}
      result: {when: append_always}
"#;

/// What one agent has seen.
enum Seen {
    /// The id of an event that was decided.
    Decided(String),
    /// An event that automations received: its mark, its id, and whether the answer says that all of their work is
    /// on the disk.
    Told { mark: String, event: String, kept: bool },
    /// A message about this event was handed over.
    Delivered(String),
    /// The acceptance of the messages about these events was answered.
    Accepted(Vec<String>),
    /// An error that says that there is no decision.
    Error,
}

/// Opens its share of the sessions, and publishes in one after another until the daemon is gone.
async fn agent(client: Client, life: usize, number: usize, project: String, seen: mpsc::Sender<Seen>) {
    let mut sessions = Vec::new();
    for id in (number..SESSIONS).step_by(AGENTS) {
        let Ok(session) = client.session(format!("s{id}")).cwd(project.clone()).open().await else {
            return drop(seen.send(Seen::Error).await);
        };
        sessions.push(session);
    }
    for (event, session) in sessions.iter().cycle().enumerate() {
        let decided = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await;
        let Ok(decision) = decided else { break };
        let id = decision.id().unwrap().to_owned();
        if seen.send(Seen::Decided(id)).await.is_err() {
            return;
        }
        let mark = format!("{life}-{number}-{event}");
        let mut fields = lineside::json::Map::new();
        fields.insert("point".to_owned(), json!("on_idle"));
        fields.insert("session".to_owned(), json!(session.id()));
        fields.insert("host".to_owned(), json!(mark));
        let Ok(answer) = client.post::<Value>("/v1/events", &fields).await else { break };
        let event = answer["id"].as_str().unwrap().to_owned();
        let claims = answer["accepted"].as_array().unwrap();
        assert!(claims.iter().all(|claim| claim["job"].as_u64().is_some()), "{answer}");
        let kept = claims.len() == 2 && claims.iter().all(|claim| claim["durability"] == "disk");
        if seen.send(Seen::Told { mark, event, kept }).await.is_err() {
            return;
        }
        if take(session, &seen).await.is_err() {
            break;
        }
    }
    seen.send(Seen::Error).await.ok();
}

/// Takes what is for the context of a session. Gives how many messages there were.
async fn take(session: &Session, seen: &mpsc::Sender<Seen>) -> Result<usize, RequestError> {
    let delivery = session.collect().ready().await?;
    let events: Vec<String> = delivery.messages().iter().map(|message| message.event.to_string()).collect();
    for event in &events {
        seen.send(Seen::Delivered(event.clone())).await.ok();
    }
    let count = delivery.accept().await?.len();
    seen.send(Seen::Accepted(events)).await.ok();
    Ok(count)
}

/// What is known of messages for the context: none may come again after its acceptance was answered.
#[derive(Default)]
struct Messages {
    delivered: BTreeSet<String>,
    accepted: BTreeSet<String>,
}

impl Messages {
    fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Delivered(event) => {
                assert!(!self.accepted.contains(event), "accepted, and handed over again");
                self.delivered.insert(event.clone());
            }
            Seen::Accepted(events) => self.accepted.extend(events.iter().cloned()),
            _ => {}
        }
    }
}

fn lines(stage: &Stage, file: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(stage.path(file)).unwrap_or_default();
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        *lines.entry(line.to_owned()).or_default() += 1;
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w06_a_daemon_that_is_killed_decides_nothing_twice_and_leaves_no_client_waiting() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let client = Client::new(stage.path("home/.local/state/lineside/lineside.sock"));
    let lives = std::env::var("LINESIDE_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(LIVES);
    let (mut decided, mut told, mut noted) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut messages = Messages::default();
    for life in 0..lives {
        let daemon = Daemon::start(&stage);
        let project = stage.path("project").display().to_string();
        let (seen, mut sees) = mpsc::channel(64);
        let agents: Vec<_> = (0..AGENTS)
            .map(|number| {
                let agent = agent(client.clone(), life, number, project.clone(), seen.clone());
                tokio::spawn(tokio::time::timeout(HUNG, agent))
            })
            .collect();
        drop(seen);
        let mut daemon = Some(daemon);
        let (mut events, mut errors) = (0, 0);
        while let Some(seen) = sees.recv().await {
            messages.see(&seen);
            events += usize::from(matches!(seen, Seen::Decided(_) | Seen::Told { .. }));
            match seen {
                Seen::Decided(id) => assert!(decided.insert(id), "decided twice"),
                Seen::Told { mark, event, kept } => {
                    assert!(kept, "an answer does not say that the work is on the disk");
                    assert!(told.insert(mark));
                    assert!(noted.insert(event));
                }
                Seen::Delivered(_) | Seen::Accepted(_) => {}
                Seen::Error => errors += 1,
            }
            // At another point of the work in each life; all others are in the middle of theirs then.
            if events >= 20 + 7 * life % 30
                && let Some(daemon) = daemon.take()
            {
                daemon.kill();
            }
        }
        assert_eq!(errors, AGENTS, "each undecided publish ends in an error");
        for agent in agents {
            agent.await.unwrap().expect("a publish has no end");
        }
    }
    let asked = lines(&stage, "project/asked");
    assert!(asked.values().all(|count| *count == 1), "a gate was asked twice about one event: {asked:?}");
    assert!(decided.iter().all(|id| asked.contains_key(id)), "decided, and the gate was not asked");
    // The last one does what is left.
    let project = stage.path("project").display().to_string();
    let daemon = Daemon::start(&stage);
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        let open = async || client.session(format!("s{number}")).cwd(project.clone()).open().await;
        sessions.push(match open().await {
            Ok(session) => session,
            Err(_) => open().await.unwrap(),
        });
    }
    let client = Arc::new(client);
    let left = async {
        loop {
            let status: Value = client.get("/v1/status").await.unwrap();
            if status["live_jobs"] == json!(0) {
                return status["dead_jobs"].clone();
            }
            tokio::task::yield_now().await;
        }
    };
    let dead = tokio::time::timeout(HUNG, left).await.unwrap();
    let jobs: Value = client.get("/v1/jobs?state=dead&most=1").await.unwrap();
    assert_eq!(dead, json!(0), "{jobs}");
    let worked = lines(&stage, "project/worked");
    let lost: Vec<&String> = told.iter().filter(|mark| !worked.contains_key(*mark)).collect();
    assert!(!told.is_empty() && lost.is_empty(), "acknowledged, and its work was never done: {lost:?}");
    let (seen, mut sees) = mpsc::channel(1024);
    for session in &sessions {
        while take(session, &seen).await.unwrap() > 0 {
            while let Ok(seen) = sees.try_recv() {
                messages.see(&seen);
            }
        }
    }
    while let Ok(seen) = sees.try_recv() {
        messages.see(&seen);
    }
    let lost: Vec<&String> = noted.difference(&messages.delivered).collect();
    assert!(lost.is_empty(), "acknowledged, and its message never came: {lost:?}");
    drop(daemon);
}

/// How many hooks run when the daemon is killed.
const RUNNING: usize = 50;

/// The processes that have written down their numbers.
fn recorded(stage: &Stage) -> Vec<String> {
    let text = std::fs::read_to_string(stage.path("project/running")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p07_the_hooks_of_a_daemon_that_was_killed_end_with_the_start_of_the_next() {
    let stage = Stage::new();
    let hook = "hooks:\n  - {name: waits, on: before_tool, timeout: 600, command: 'echo $$ >> running; exec sleep 900'}\n";
    stage.file("project/.lineside/hooks.yaml", hook);
    let client = Client::new(stage.path("home/.local/state/lineside/lineside.sock"));
    let daemon = Daemon::start(&stage);
    let publishing = (0..RUNNING).map(|number| {
        let (client, project) = (client.clone(), stage.path("project").display().to_string());
        tokio::spawn(async move {
            let session = client.session(format!("s{number}")).cwd(project.clone()).open().await.unwrap();
            session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.is_err()
        })
    });
    let publishing: Vec<_> = publishing.collect();
    let all = async {
        while recorded(&stage).len() < RUNNING {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HUNG, all).await.expect("the hooks do not start");
    daemon.kill();
    for publish in publishing {
        assert!(publish.await.unwrap(), "an event was decided by a daemon that was killed");
    }
    let sleeps = |pid: &String| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with(b"sleep\x00900")
    };
    assert!(recorded(&stage).iter().any(sleeps), "nothing is left behind, so nothing is shown");
    let _next = Daemon::start(&stage);
    let left: Vec<String> = recorded(&stage).into_iter().filter(sleeps).collect();
    assert!(left.is_empty(), "{} of {RUNNING} hooks run without their daemon", left.len());
}

#[test]
fn a_daemon_serves_the_socket_that_a_supervisor_hands_over() {
    let stage = Stage::new();
    let folder = stage.path("home/run");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let socket = folder.join("handed.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let program = env!("CARGO_BIN_EXE_lineside");
    let line = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve --project .";
    let command = stage.command(&["serve"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", line, program]).current_dir(stage.path("project")).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(std::os::fd::OwnedFd::from(listener)).stdout(std::process::Stdio::piped());
    shell.stderr(std::process::Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let socket = socket.to_str().unwrap();
    // It waits in the queue of the socket until the daemon takes it.
    let said = stage.run(&["status", "--json", "--socket", socket], "");
    assert_eq!((said.code, &said.json()[0]["pid"]), (Some(0), &json!(child.id())), "{said:?}");
    // As a supervisor does.
    let waits = std::thread::spawn(move || child.wait().unwrap());
    let said = stage.run(&["stop", "--socket", socket], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(waits.join().unwrap().success());
    assert!(std::path::Path::new(socket).exists(), "the socket is the supervisor's");
}
