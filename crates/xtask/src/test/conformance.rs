//! The dialects against their cases: `lineside test` on every suite that must pass.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::step::{Counts, Outcome};
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must, watch};
use crate::tools::{NODE, Program, need_programs};
use crate::workspace::Workspace;

/// Where the suites are, all of which must pass: those of the formats, and those of the policies.
const CASES: [&str; 2] = ["tests/conformance", "crates/lineside-policies/cases"];

const BASH: Program = Program { name: "bash", package: "bash" };
const JQ: Program = Program { name: "jq", package: "jq" };
pub(super) const CURL: Program = Program { name: "curl", package: "curl" };
pub(super) const PYTHON: Program = Program { name: "python3", package: "python3" };
pub(super) const STRACE: Program = Program { name: "strace", package: "strace" };

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    // What their hooks are written in.
    need_programs(&[BASH, JQ, PYTHON, NODE])?;
    let mut total = Counts::default();
    for cases in CASES {
        let folder = fs::read_dir(workspace.root.join(cases))?;
        let names = folder.map(|entry| Ok(entry?.file_name())).collect::<Result<BTreeSet<_>>>()?;
        for name in names {
            total += judged(workspace, &format!("{cases}/{}", name.display()), None)?;
        }
    }
    Ok(Outcome::Judged(total))
}

/// What `lineside test` says of these cases, with one more variable in its environment.
pub(super) fn judged(workspace: &Workspace, cases: &str, variable: Option<(&str, &Path)>) -> Result<Counts> {
    let mut lineside = workspace.cargo(["run", "--quiet", "--package", "lineside-cli", "--", "test", cases]);
    lineside.envs(variable);
    let ended = watch(&mut lineside, FOR_A_RUN)?;
    tally(Runner::Cases, &ended).with_context(|| format!("`lineside test {cases}` counted no case"))
}
