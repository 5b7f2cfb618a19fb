//! What loading 500 Agent Hooks folders takes beyond reading their files.
//!
//! Prints a `FIGURE name value unit target` line; medians over alternating rounds.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lineside_dialects::agenthooks::AgentHooks;
use lineside_dialects::{Dialect, Places, Trust};

const FOLDERS: usize = 500;
const ROUNDS: usize = 15;

fn main() {
    let project = tempfile::tempdir().unwrap();
    let hooks = project.path().join(".agents/hooks");
    for number in 0..FOLDERS {
        let scripts = hooks.join(format!("hook-{number}/scripts"));
        fs::create_dir_all(&scripts).unwrap();
        let front = format!(
            "---\nname: hook-{number}\ndescription: one of many\ntrigger: before_tool\nmatcher:\n  tool: Shell|WriteFile\n  \
             pattern: '\\brm -rf /{number}\\b|mkfs|dd if=/dev/zero|\\.py$'\n---\n"
        );
        fs::write(hooks.join(format!("hook-{number}/HOOK.md")), front).unwrap();
        fs::write(scripts.join("run.sh"), "#!/bin/sh\nexit 0\n").unwrap();
    }
    let places = Places {
        environment: BTreeMap::from([("HOME".to_owned(), "/nonexistent".to_owned())]),
        project_root: Some(project.path().to_owned()),
        cwd: project.path().to_owned(),
        trust: Trust::Granted,
    };
    let (mut loading, mut reading) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(AgentHooks.load(&places).hooks.len(), FOLDERS);
        loading.push(start.elapsed());
        reading.push(read_alone(&hooks));
    }
    let beyond = median(&mut loading).saturating_sub(median(&mut reading));
    println!(
        "FIGURE dialects/loading_500_hook_folders {:.0} ms_beyond_reading_the_files <=100",
        millis(beyond)
    );
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
