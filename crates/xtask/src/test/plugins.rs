//! Plugins as people write them: what OpenClaw loads and its specification does not speak of.
//!
//! TypeScript is loaded by the loader that OpenClaw uses, which comes from npm. Cases take nothing from a registry, so it
//! is put where Node looks for packages.

use anyhow::Result;

use super::conformance::judged;
use super::step::Outcome;
use crate::programme::{FOR_A_BUILD, must};
use crate::tools::{JITI, npm_package};
use crate::workspace::Workspace;

const CASES: &str = "tests/plugins/openclaw.cases.yaml";

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    let packages = npm_package(workspace, "jiti", JITI)?;
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    Ok(Outcome::Judged(judged(workspace, CASES, Some(("NODE_PATH", &packages)))?))
}
