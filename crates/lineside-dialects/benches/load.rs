//! What loading 500 Agent Hooks folders takes beyond reading their files, and how long very many hooks take: 20,000 folders,
//! and 40,000 entries of one file.
//!
//! Prints `FIGURE name value unit target` lines; medians over rounds.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lineside_core::json::{Value, json};
use lineside_dialects::agenthooks::AgentHooks;
use lineside_dialects::hosts::CLAUDE;
use lineside_dialects::{Dialect, Places, Trust};
use tempfile::TempDir;

const FOLDERS: usize = 500;
const ROUNDS: usize = 15;
const MANY_FOLDERS: usize = 20_000;
const MANY_ENTRIES: usize = 40_000;
const FEW_ROUNDS: usize = 3;

fn main() {
    let project = folders(FOLDERS);
    let (mut loading, mut reading) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        loading.push(load(&AgentHooks, &project, FOLDERS));
        reading.push(read_alone(&project.path().join(HOOKS)));
    }
    let beyond = median(&mut loading).saturating_sub(median(&mut reading));
    println!(
        "FIGURE dialects/loading_500_hook_folders {:.0} ms_beyond_reading_the_files <=100",
        millis(beyond)
    );
    let many = folders(MANY_FOLDERS);
    let mut loading: Vec<_> = (0..FEW_ROUNDS).map(|_| load(&AgentHooks, &many, MANY_FOLDERS)).collect();
    println!("FIGURE dialects/loading_20000_hook_folders {:.0} ms <=5000", millis(median(&mut loading)));
    let file = entries();
    let mut loading: Vec<_> = (0..FEW_ROUNDS).map(|_| load(&CLAUDE, &file, MANY_ENTRIES)).collect();
    println!("FIGURE dialects/loading_40000_hooks_of_one_file {:.0} ms <=2000", millis(median(&mut loading)));
}

const HOOKS: &str = ".agents/hooks";

/// A project with so many hooks of Agent Hooks.
fn folders(count: usize) -> TempDir {
    let project = tempfile::tempdir().unwrap();
    let hooks = project.path().join(HOOKS);
    for number in 0..count {
        let scripts = hooks.join(format!("hook-{number}/scripts"));
        fs::create_dir_all(&scripts).unwrap();
        let front = format!(
            "---\nname: hook-{number}\ndescription: one of many\ntrigger: before_tool\nmatcher:\n  tool: Shell|WriteFile\n  \
             pattern: '\\brm -rf /{number}\\b|mkfs|dd if=/dev/zero|\\.py$'\n---\n"
        );
        fs::write(hooks.join(format!("hook-{number}/HOOK.md")), front).unwrap();
        fs::write(scripts.join("run.sh"), "#!/bin/sh\nexit 0\n").unwrap();
    }
    project
}

/// A project with one file of many entries, as settings of agent programs may have them.
fn entries() -> TempDir {
    let project = tempfile::tempdir().unwrap();
    fs::create_dir(project.path().join(".claude")).unwrap();
    let entry = |number| {
        let handler = json!({"type": "command", "command": format!("/bin/true {number}")});
        json!({"matcher": format!("Bash|x{number}"), "hooks": [handler]})
    };
    let entries: Vec<Value> = (0..MANY_ENTRIES).map(entry).collect();
    let settings = json!({"hooks": {"PreToolUse": entries}});
    fs::write(project.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    project
}

fn load(dialect: &dyn Dialect, project: &TempDir, count: usize) -> Duration {
    let places = Places {
        environment: BTreeMap::from([("HOME".to_owned(), "/nonexistent".to_owned())]),
        project_root: Some(project.path().to_owned()),
        cwd: project.path().to_owned(),
        trust: Trust::Granted,
    };
    let start = Instant::now();
    let loaded = dialect.load(&places);
    let taken = start.elapsed();
    assert_eq!(loaded.hooks.len(), count, "{:?}", loaded.diagnostics.first());
    taken
}

fn read_alone(hooks: &Path) -> Duration {
    let start = Instant::now();
    for folder in fs::read_dir(hooks).unwrap() {
        assert!(!fs::read(folder.unwrap().path().join("HOOK.md")).unwrap().is_empty());
    }
    start.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
