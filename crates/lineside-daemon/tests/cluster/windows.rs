//! Windows and rates that hold on all machines.

use std::fs;
use std::path::{Path, PathBuf};

use lineside::client::Session;
use lineside::json::{Map, Value};
use lineside::prelude::*;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::machine::Machine;
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many sessions idle in a window on each machine.
const SESSIONS: usize = 3;

/// The automation of the page, with other settings where they are said.
fn page(settings: Option<&str>) -> String {
    let page = include_str!("../../../../docs/cluster.md");
    let hooks = page.split("```yaml\n").filter_map(|block| block.split_once("```")).map(|(block, _)| block);
    let hooks: String = hooks.filter(|block| block.contains("debounce:")).collect();
    let Some(settings) = settings else { return hooks };
    let (entry, _) = hooks.split_once("automate:").unwrap();
    format!("{entry}automate: {settings}\n")
}

/// A project with this automation: it writes down for how many events it has run, and for the last of which session.
fn builds(machine: &Machine, name: &str, hooks: &str, log: &Path) -> PathBuf {
    let root = machine.project(name, "#!/bin/sh\n");
    fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    let script = format!(
        "#!/bin/sh\nin=$(cat)\n\
         events=$(echo \"$in\" | grep -o '\"events\":[0-9]*' | head -1 | tr -dc 0-9)\n\
         session=$(echo \"$in\" | grep -o '\"session\":\"[^\"]*\"' | head -1 | cut -d'\"' -f4)\n\
         echo \"$events $session $(pwd)\" >>{}\n",
        log.display()
    );
    fs::copy(root.join(".lineside/guard.sh"), root.join("build.sh")).unwrap();
    fs::write(root.join("build.sh"), script).unwrap();
    machine.trust(&root);
    root
}

async fn idles(machine: &Machine, root: &Path, id: &str) -> Session {
    let session: Session =
        machine.client().session(id.to_owned()).cwd(root.to_string_lossy()).open().await.unwrap();
    assert!(!session.publish(OnIdle::new()).await.unwrap().is_refused());
    session
}

/// The runs so far: for how many events each, and for the last of which session.
fn runs(log: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let run = |line: &str| {
        let mut parts = line.split(' ');
        Some((parts.next()?.parse().ok()?, parts.next()?.to_owned()))
    };
    text.lines().map(|line| run(line).unwrap_or_else(|| panic!("{text}"))).collect()
}

async fn until(log: &Path, count: usize) -> Vec<(usize, String)> {
    let found = async {
        while runs(log).len() < count {
            yield_now().await;
        }
    };
    timeout(LONG * 2, found).await.unwrap_or_else(|_| panic!("{:?}", runs(log)));
    runs(log)
}

fn all_settled(status: &Value) -> bool {
    status["live_jobs"] == json!(0)
}

#[tokio::test]
async fn events_on_two_machines_are_one_run_for_each_window() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    // The project lies at another place on each.
    let (here, there) = (builds(&a, "x/repo", &page(None), &log), builds(&b, "y/repo", &page(None), &log));
    let mut open = Vec::new();
    for window in 1..=2 {
        for number in 0..SESSIONS {
            open.push(idles(&a, &here, &format!("a{window}-{number}")).await);
            open.push(idles(&b, &there, &format!("b{window}-{number}")).await);
        }
        let runs = until(&log, window).await;
        for machine in [&a, &b] {
            let status = machine.until(all_settled).await;
            assert_eq!(status["dead_jobs"], json!(0), "{status}");
        }
        // It is the run of the machine of the last event.
        let last = format!("b{window}-{}", SESSIONS - 1);
        assert_eq!(runs[window - 1..], [(2 * SESSIONS, last)], "{runs:?}");
    }
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.lines().all(|line| line.ends_with(&there.display().to_string())), "{said}");
    let elsewhere: Value = a.client().get("/v1/jobs").await.unwrap();
    let about = elsewhere.to_string();
    assert!(about.contains("another machine of the cluster runs for its events"), "{about}");
}

#[tokio::test]
async fn the_window_of_a_machine_that_is_gone_is_anothers_and_is_not_run_for_again() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&proxy.url(), "b").await);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (here, there) = (builds(&a, "repo", &page(None), &log), builds(&b, "repo", &page(None), &log));
    let _first = idles(&a, &here, "a").await;
    let _last = idles(&b, &there, "b").await;
    // It has written its event by then, which makes the window its own.
    in_window(&nats, "b").await;
    proxy.cut();
    b.until(|status| status["cluster"]["together"] == json!(false)).await;
    let runs = until(&log, 1).await;
    assert_eq!(runs, [(2, "a".to_owned())], "it has the events of both, and is for the last of its own");
    a.until(all_settled).await;
    assert!(!all_settled(&b.status().await), "it waits for the server");
    proxy.heal();
    let b = b.again().await;
    let _open = b.client().session("b2").cwd(there.to_string_lossy()).open().await.unwrap();
    b.until(all_settled).await;
    assert_eq!(self::runs(&log).len(), 1);
}

/// Waits until a machine has a window.
async fn in_window(nats: &Nats, machine: &str) {
    let client = async_nats::connect(nats.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let found = async {
        loop {
            if let Ok(stream) = context.get_stream("KV_lineside_default_windows").await
                && let Ok(entry) =
                    stream.get_last_raw_message_by_subject("$KV.lineside_default_windows.window.*").await
                && String::from_utf8_lossy(&entry.payload).split(' ').nth(3) == Some(machine)
            {
                return;
            }
        }
    };
    timeout(LONG, found).await.expect("it has it in time");
}

#[tokio::test]
async fn a_session_that_ends_while_the_server_is_away_is_run_for_by_its_machine() {
    let mut nats = Nats::new().await;
    let a = Machine::new(&nats.url(), "a").await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    // It is over by no clock within the test.
    let root = builds(&a, "repo", &page(Some("{debounce: {quiet: 3600000, scope: cluster}}")), &log);
    nats.kill();
    a.until(|status| status["cluster"]["together"] == json!(false)).await;
    let ends = idles(&a, &root, "a").await;
    let stays = idles(&a, &root, "b").await;
    ends.close().await.unwrap();
    // Both are in the window of the project.
    assert_eq!(until(&log, 1).await, [(2, "b".to_owned())]);
    a.until(all_settled).await;
    drop(stays);
}

#[tokio::test]
async fn a_rate_counts_the_starts_on_all_machines() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let hooks =
        page(Some("{rate: {starts: 4, period: 3600000, excess: drop, scope: cluster}, result: ignore}"));
    let (here, there) = (builds(&a, "x/repo", &hooks, &log), builds(&b, "y/repo", &hooks, &log));
    let mut open = Vec::new();
    for number in 0..SESSIONS {
        open.push(idles(&a, &here, &format!("a{number}")).await);
        open.push(idles(&b, &there, &format!("b{number}")).await);
    }
    for machine in [&a, &b] {
        let status = machine.until(all_settled).await;
        assert_eq!(status["dead_jobs"], json!(0), "{status}");
    }
    assert_eq!(runs(&log).len(), 4, "{:?}", runs(&log));
}

#[tokio::test]
async fn a_machine_that_leaves_runs_for_its_windows_and_holds_those_that_come_alone() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let folder = tempfile::tempdir().unwrap();
    let (log, other) = (folder.path().join("log"), folder.path().join("other"));
    // It is over by no clock within the test.
    let hooks = page(Some("{debounce: {quiet: 3600000, scope: cluster}}"));
    let (here, there) = (builds(&a, "repo", &hooks, &log), builds(&b, "repo", &hooks, &log));
    let _first = idles(&a, &here, "a").await;
    in_window(&nats, "a").await;
    let last = idles(&b, &there, "b").await;
    in_window(&nats, "b").await;
    let within = Map::from_iter([("within_ms".to_owned(), json!(60_000))]);
    let left: Map = b.client().post("/v1/cluster/drain", &within).await.unwrap();
    assert_eq!(left["windows"], json!(0), "{left:?}");
    // It has run before it left, for the events of both, and what the other one held is over there.
    assert_eq!(until(&log, 1).await, [(2, "b".to_owned())]);
    a.until(all_settled).await;
    b.until(all_settled).await;
    // What comes from then on is held here.
    assert!(!last.publish(OnIdle::new()).await.unwrap().is_refused());
    let _stays = idles(&b, &there, "c").await;
    last.close().await.unwrap();
    assert_eq!(until(&log, 2).await[1..], [(2, "c".to_owned())]);
    let quick = page(Some("{debounce: {quiet: 50, scope: cluster}}"));
    let _quick = idles(&b, &builds(&b, "quick", &quick, &other), "d").await;
    assert_eq!(until(&other, 1).await, [(1, "d".to_owned())]);
    b.until(all_settled).await;
    assert_eq!(runs(&log).len(), 2);
}
