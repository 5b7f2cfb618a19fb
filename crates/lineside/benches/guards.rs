//! Two hundred guards at once on a machine that has four times as much to do as processors to do it.
//!
//! Each guard is a process that refuses, declared to let pass when it fails: whatever passes has passed by failure.
//! Prints `FIGURE name value unit target` lines; with `--quick` a twentieth of the decisions.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use lineside::Assembly;
use lineside::dialects::{Places, Trust};
use lineside::prelude::*;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

const GUARDS: usize = 200;
const DECISIONS: usize = 100_000;
const OVERSUBSCRIBED: usize = 4;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let decisions = if quick { DECISIONS / 20 } else { DECISIONS };
    let project = tempfile::tempdir().unwrap();
    guard(project.path());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, std::num::NonZero::get) * OVERSUBSCRIBED {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Builder::new_multi_thread().enable_all().build().unwrap().block_on(decide(project.path(), decisions));
        over.store(true, Ordering::Relaxed);
    });
}

/// A hook before every tool that refuses, and lets pass when it fails.
fn guard(project: &Path) {
    let folder = project.join(".agents/hooks/guard");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    let front =
        "name: guard\ndescription: refuses\ntrigger: before_tool\ntimeout: 30000\non_failure: continue";
    fs::write(folder.join("HOOK.md"), format!("---\n{front}\n---\n")).unwrap();
    let script = folder.join("scripts/run.sh");
    fs::write(&script, "#!/bin/sh\necho refused >&2\nexit 2\n").unwrap();
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
}

async fn decide(project: &Path, decisions: usize) {
    let assembly = Assembly::new(Bus::new());
    let places = Places {
        environment: std::env::vars().collect(),
        project_root: Some(project.to_owned()),
        cwd: project.to_owned(),
        trust: Trust::Granted,
    };
    assembly.load(&places).await.unwrap();
    let (left, passed) = (Arc::new(AtomicUsize::new(decisions)), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let mut agents = JoinSet::new();
    for number in 0..GUARDS {
        let session = assembly.bus().session(format!("s{number}")).open().await.unwrap();
        let (left, passed) = (Arc::clone(&left), Arc::clone(&passed));
        agents.spawn(async move {
            let one_less = |left: usize| left.checked_sub(1);
            let mut slowest = Duration::ZERO;
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
                let asked = Instant::now();
                let decision =
                    session.publish(BeforeTool::new("Shell", json!({ "command": "true" }))).await.unwrap();
                slowest = slowest.max(asked.elapsed());
                if !matches!(decision.verdict(), Verdict::Block { .. }) {
                    passed.fetch_add(1, Ordering::Relaxed);
                }
            }
            slowest
        });
    }
    let slowest = agents.join_all().await.into_iter().max().unwrap_or_default();
    let (took, name) = (began.elapsed(), "guards/200_at_4x");
    println!("FIGURE {name}/decisions {decisions} decisions -");
    println!("FIGURE {name}/passed_by_failure {} decisions <=0", passed.load(Ordering::Relaxed));
    println!("FIGURE {name}/failed {} hooks <=0", assembly.bus().failures());
    println!("FIGURE {name}/slowest {} ms -", slowest.as_millis());
    println!("FIGURE {name}/rate {:.0} per_second -", decisions as f64 / took.as_secs_f64());
    drop(assembly.drain(Duration::from_secs(20)).await);
}
