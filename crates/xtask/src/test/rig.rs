//! The adapter of rig, which is no member of the workspace: formatted, linted, and tested with the command of this build.

use anyhow::{Context, Result};

use super::step::Outcome;
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, must, watch};
use crate::workspace::Workspace;

/// Its folder.
const PACKAGE: &str = "crates/lineside-rig";

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let own = |arguments: &[&str]| {
        let mut cargo = workspace.cargo([]);
        cargo.args(arguments).current_dir(workspace.root.join(PACKAGE));
        // What is the same as in the workspace is built once.
        cargo.env("CARGO_TARGET_DIR", &workspace.target);
        cargo.env("LINESIDE_COMMAND", workspace.target.join("debug/lineside"));
        cargo
    };
    must(&mut own(&["fmt", "--check"]), FOR_A_BUILD)?;
    must(&mut own(&["clippy", "--all-targets", "--locked", "--", "-D", "warnings"]), FOR_A_BUILD)?;
    let ended = watch(&mut own(&["test", "--no-fail-fast", "--locked", "--lib", "--tests"]), FOR_A_BUILD)?;
    tally(Runner::Libtest, &ended).map(Outcome::Judged).context("cargo did not say how many tests it ran")
}
