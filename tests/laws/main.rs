//! The laws, one file for each chapter of the design; the test that bears a law's name is listed in `docs/laws.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod order;
mod verdicts;
mod payload;
mod budgets;
mod processes;
mod handlers;
mod observers;
mod inheritance;
mod layers;
mod loading;
mod closed_guards;
mod unclear;
mod grounds;
mod sequence;
mod automations;
mod lives;
mod context;
mod explained;
mod formats;
mod doubled_keys;
mod lost_output;

use lineside::points::BeforeTool;
use lineside::prelude::*;

/// A session of a bus of its own.
async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("root").open().await.unwrap();
    (bus, session)
}

/// A shell call.
fn shell(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({ "command": command }))
}

/// The names of the hooks that were started, in order, with repetitions.
fn ran<P: lineside::core::Point>(decision: &Decision<P>) -> Vec<String> {
    let receipt = decision.receipt().expect("somebody listens");
    receipt
        .runs
        .iter()
        .filter(|run| run.outcome.has_run())
        .map(|run| receipt.name(run.hook).to_owned())
        .collect()
}

/// What became of a hook, the last time.
fn outcome<P: lineside::core::Point>(decision: &Decision<P>, name: &str) -> lineside::core::Outcome {
    let receipt = decision.receipt().expect("somebody listens");
    let run = receipt.runs.iter().rev().find(|run| receipt.name(run.hook) == name);
    run.unwrap_or_else(|| panic!("{name} was not considered")).outcome.clone()
}
