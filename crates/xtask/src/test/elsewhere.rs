//! The tests of what needs a program of others at its other end: clusters a server of NATS, and telemetry a collector of
//! OpenTelemetry. They are of the same packages and features, so that each is built once.

use std::process::Command;

use anyhow::{Context, Result};

use super::step::Outcome;
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, FOR_A_NIGHT, FOR_A_RUN, must, watch};
use crate::tools::{NATS_SERVER, ROTEL, pypi_program, python};
use crate::workspace::Workspace;

/// What the tests and the bench find the server by.
pub(crate) const SERVER: &str = "LINESIDE_NATS_SERVER";

/// Whose tests they are, and what is on for them.
const BUILD: [&str; 8] = [
    "test",
    "--no-fail-fast",
    "--package",
    "lineside-nats",
    "--package",
    "lineside-daemon",
    "--features",
    "lineside-nats/server-tests,lineside-daemon/server-tests,lineside-daemon/collector-tests",
];

/// Clusters.
pub(super) fn nats(workspace: &Workspace) -> Result<Outcome> {
    let server = pypi_program(workspace, NATS_SERVER)?;
    let mut tests = workspace.cargo(BUILD);
    judged(tests.args(["--test", "server", "--test", "cluster"]).env(SERVER, server))
}

/// Telemetry.
pub(super) fn telemetry(workspace: &Workspace) -> Result<Outcome> {
    let collector = pypi_program(workspace, ROTEL)?;
    // It is linked with the Python that it was installed by.
    let folder = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))";
    let libraries = must(Command::new(python()?).args(["-c", folder]), FOR_A_RUN)?.lines.concat();
    let mut tests = workspace.cargo(BUILD);
    tests.env("LINESIDE_COLLECTOR", collector).env("LINESIDE_COLLECTOR_LIBRARIES", libraries);
    judged(tests.args(["--test", "daemon", "telemetry"]))
}

fn judged(tests: &mut Command) -> Result<Outcome> {
    let is_of_a_night = std::env::var_os("LINESIDE_CYCLES").is_some();
    let ended = watch(tests, if is_of_a_night { FOR_A_NIGHT } else { FOR_A_BUILD })?;
    tally(Runner::Libtest, &ended).map(Outcome::Judged).context("cargo did not say how many tests it ran")
}
