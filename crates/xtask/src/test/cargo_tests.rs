//! The tests that cargo knows: of the crates, and of the documentation.

use anyhow::{Context, Result};

use super::conformance::{CURL, PYTHON, STRACE};
use super::step::Outcome;
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, answers, watch};
use crate::tools::{NODE, need_programs};
use crate::workspace::Workspace;

/// With nextest where it is installed; it takes too long to install it for one run.
pub(super) fn tests(workspace: &Workspace) -> Result<Outcome> {
    // The worker of the openclaw format is tested in the runtime that runs it, and each kit in its own; strace shows what
    // a clone does not do.
    need_programs(&[CURL, NODE, PYTHON, STRACE])?;
    let (runner, mut command) = if answers(&mut workspace.cargo(["nextest", "--version"])) {
        (Runner::Nextest, workspace.cargo(["nextest", "run", "--workspace", "--profile", "ci"]))
    } else {
        println!("cargo-nextest is not installed: running the tests with `cargo test`");
        (
            Runner::Libtest,
            workspace.cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]),
        )
    };
    let ended = watch(&mut command, FOR_A_BUILD)?;
    tally(runner, &ended).map(Outcome::Judged).context("the runner did not say how many tests it ran")
}

pub(super) fn doctests(workspace: &Workspace) -> Result<Outcome> {
    let ended = watch(&mut workspace.cargo(["test", "--workspace", "--no-fail-fast", "--doc"]), FOR_A_BUILD)?;
    tally(Runner::Libtest, &ended).map(Outcome::Judged).context("cargo did not say how many doctests it ran")
}
