//! Tests of what is loaded while sessions are open.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lineside::automation::machine::Bounds;
use lineside::dialects::{Places, Trust};
use lineside::json::json;
use lineside::points::BeforeTool;
use lineside::trust::{Reach, Store};

use super::*;
use crate::watch::SHORT;

#[tokio::test]
async fn what_a_project_has_tightened_is_tightened_after_a_reload_of_the_users_hooks() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, project, state) = (root.join("home"), root.join("project"), root.join("state"));
    let (users, projects) = (home.join(".config/lineside"), project.join(".lineside"));
    for folder in [&users, &projects, &project.join(".git"), &state] {
        fs::create_dir_all(folder).unwrap();
    }
    let write = |hook: &str| fs::write(users.join("hooks.yaml"), format!("hooks: [{hook}]\n")).unwrap();
    write("{name: g, on: before_tool, command: ['true'], on_failure: continue}");
    fs::write(projects.join("hooks.yaml"), "hooks: [{name: g, on_failure: block}]\n").unwrap();
    let environment = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
    let places = Places { environment, project_root: None, cwd: "/".into(), trust: Trust::Withheld };
    let settings = Settings::new(root.join("socket"), state.clone(), places.clone());
    let durable = Durable::open_with(settings.journal(), settings.durability).unwrap();
    let bus = durable.context(Bus::builder()).build();
    let (automations, _) = durable.automations(&bus, Bounds::default()).unwrap();
    let assembly = Assembly::new(bus);
    let read = assembly.of_project(&project).read_project(&project, &places, None);
    Store::of(&state).trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
    let daemon = Arc::new(Daemon::new(settings, assembly, automations, durable));
    daemon.load().await.unwrap();
    let cwd = Some(project.display().to_string());
    let session = daemon.open(Opening { id: "s".to_owned(), cwd, ..Opening::default() }).await.unwrap();
    let is_refused = async || {
        let call = BeforeTool::new("Shell", json!({"command": "ls"}));
        session.publish(call).await.unwrap().is_refused()
    };
    assert!(!is_refused().await);
    write("{name: g, on: before_tool, command: ['false'], on_failure: continue}");
    // The project has seen it first.
    daemon.projects.load().await.unwrap();
    assert!(daemon.load_changed().await.unwrap().is_some());
    assert!(is_refused().await);
    write("");
    daemon.projects.load().await.unwrap();
    assert!(daemon.load_changed().await.unwrap().is_some());
    assert!(!is_refused().await && session.hooks().is_empty());
}

/// A daemon with one hook in the user's file, which is here.
async fn hooked(root: &Path) -> (Arc<Daemon>, PathBuf) {
    let (users, state) = (root.join(".config/lineside"), root.join("state"));
    fs::create_dir_all(&users).unwrap();
    fs::create_dir_all(&state).unwrap();
    let file = users.join("hooks.yaml");
    fs::write(&file, HOOKED).unwrap();
    let environment = BTreeMap::from([("HOME".to_owned(), root.display().to_string())]);
    let places = Places { environment, project_root: None, cwd: "/".into(), trust: Trust::Withheld };
    let settings = Settings::new(root.join("socket"), state, places);
    let durable = Durable::open_with(settings.journal(), settings.durability).unwrap();
    let bus = durable.context(Bus::builder()).build();
    let (automations, _) = durable.automations(&bus, Bounds::default()).unwrap();
    let daemon = Arc::new(Daemon::new(settings, Assembly::new(bus), automations, durable));
    daemon.load().await.unwrap();
    (daemon, file)
}

const HOOKED: &str = "hooks: [{name: g, on: before_tool, verdict: block, reason: 'no'}]\n";

#[tokio::test(start_paused = true)]
async fn a_file_that_is_rewritten_without_end_keeps_the_hooks_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let (daemon, file) = hooked(&folder.path().canonicalize().unwrap()).await;
    let held = Arc::clone(&daemon);
    let load = tokio::spawn(async move { held.load_changed().await.map(|loaded| loaded.is_some()) });
    for length in 1..1_000 {
        // A moment between two steps of a rewriting, and each time another one.
        fs::write(&file, " ".repeat(length)).unwrap();
        tokio::time::advance(SHORT).await;
        assert_eq!(daemon.loaded().report.in_force(), 1, "after {length}");
    }
    // It has settled.
    assert!(load.await.unwrap().unwrap());
    assert_eq!(daemon.loaded().report.in_force(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_goes_and_comes_without_end_keeps_the_hooks_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let (daemon, file) = hooked(&folder.path().canonicalize().unwrap()).await;
    let held = Arc::clone(&daemon);
    let loads = tokio::spawn(async move {
        loop {
            held.load_changed().await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    for round in 1..300 {
        fs::remove_file(&file).unwrap();
        tokio::time::advance(SHORT).await;
        assert_eq!(daemon.loaded().report.in_force(), 1, "in round {round}");
        fs::write(&file, HOOKED).unwrap();
        tokio::time::advance(SHORT).await;
    }
    loads.abort();
}
