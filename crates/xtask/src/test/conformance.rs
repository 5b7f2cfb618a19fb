//! The dialects against their cases: `lineside test` on every suite that must pass.

use std::path::Path;

use anyhow::{Context, Result};

use super::step::{Counts, Outcome};
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must, watch};
use crate::tools::{NODE, Program, need_programs};
use crate::workspace::Workspace;

/// A suite that must pass, and the programmes that its hooks are written in.
struct Suite {
    cases: &'static str,
    programs: &'static [Program],
}

/// A suite is added when its dialect is finished.
const SUITES: &[Suite] = &[
    Suite { cases: "tests/conformance/agenthooks.cases.json", programs: &[BASH, PYTHON] },
    Suite { cases: "tests/conformance/agenthooks-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/chord.cases.json", programs: &[BASH, JQ] },
    Suite { cases: "tests/conformance/chord-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/flyto.cases.json", programs: &[PYTHON] },
    Suite { cases: "tests/conformance/flyto-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-answers.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-claude.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-codex.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-codex-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-copilot.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-copilot-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-cursor.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-cursor-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-gemini.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-gemini-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-heard-claude.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-heard-codex.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-heard-copilot.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-heard-cursor.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-heard-gemini.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-heard-kimi.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-kimi.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-kimi-own.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-qwen.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts-words.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/hosts.cases.json", programs: &[BASH] },
    Suite { cases: "tests/conformance/jcli.cases.json", programs: &[BASH, PYTHON] },
    Suite { cases: "tests/conformance/openclaw.cases.json", programs: &[NODE] },
    Suite { cases: "tests/conformance/openclaw-own.cases.json", programs: &[NODE] },
];

const BASH: Program = Program { name: "bash", package: "bash" };
const JQ: Program = Program { name: "jq", package: "jq" };
pub(super) const CURL: Program = Program { name: "curl", package: "curl" };
pub(super) const PYTHON: Program = Program { name: "python3", package: "python3" };

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let mut total = Counts::default();
    for suite in SUITES {
        need_programs(suite.programs)?;
        total += judged(workspace, suite.cases, None)?;
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
