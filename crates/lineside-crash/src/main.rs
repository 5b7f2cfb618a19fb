//! `lineside-crash`: a programme that is killed again and again, and the judge of what it has left behind.
//!
//! `live` is one life on a folder: agents publish, automations work, messages are collected, until it is killed;
//! with `--drain` it brings everything to rest and ends. `judge` reads what all lives have written down. Who kills it,
//! and when, is `cargo xtask crash`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use lineside::json::json;

mod log;
mod contract;
mod place;
mod crew;
mod agents;
mod life;
mod checker;

use life::Task;

const HELP: &str = "\
lineside-crash live FOLDER LIFE SEED [--drain]
lineside-crash judge FOLDER
";

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["live", folder, life, seed] => live(folder, life, seed, Task::Work),
        ["live", folder, life, seed, "--drain"] => live(folder, life, seed, Task::Drain),
        ["judge", folder] => judge(Path::new(folder)),
        _ => bail!("{HELP}"),
    }
}

fn live(folder: &str, life: &str, seed: &str, task: Task) -> Result<ExitCode> {
    let life = life.parse().with_context(|| format!("`{life}` is no number"))?;
    let seed = seed.parse().with_context(|| format!("`{seed}` is no number"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(life::live(Path::new(folder), life, seed, task))?;
    Ok(ExitCode::SUCCESS)
}

/// Says on standard output what it found, as one JSON object.
fn judge(folder: &Path) -> Result<ExitCode> {
    let text = std::fs::read(folder.join(place::LOG)).context("there is no log")?;
    let (lines, strange) = log::read(&String::from_utf8_lossy(&text));
    let effects = place::effects(folder).context("the files of the work cannot be read")?;
    let judgement = checker::check(&lines, strange, &effects);
    let violations: Vec<String> = judgement.violations.iter().map(ToString::to_string).collect();
    println!("{}", json!({"figures": judgement.figures, "violations": violations}));
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
