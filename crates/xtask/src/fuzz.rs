//! `cargo xtask fuzz [--minutes N]`: commands that no person has written, for a nightly run.
//!
//! A grammar's commands run by the real bash, against what is listed of them; changed commands of the corpus, against
//! another parser; and the fuzz targets, which need the nightly compiler.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::programme::{FOR_A_BUILD, must};
use crate::tools::{FUZZ, published};
use crate::workspace::Workspace;

/// How many commands the grammar makes, and how many are changed.
const COMMANDS: &str = "20000";
const CHANGED: &str = "100000";
/// How long each target runs when nothing else is said.
const MINUTES: u64 = 10;
const TARGETS: [&str; 2] = ["bytes", "mutants"];

/// Reads `--minutes N`.
pub(crate) fn minutes(arguments: &[&str]) -> Result<u64> {
    match arguments {
        [] => Ok(MINUTES),
        ["--minutes", minutes] => minutes.parse().with_context(|| format!("`{minutes}` is no number")),
        rest => bail!("`fuzz` does not take `{}`; `cargo xtask` shows what it takes", rest.join(" ")),
    }
}

pub(crate) fn run(workspace: &Workspace, minutes: u64) -> Result<ExitCode> {
    let mut test = workspace.cargo(["test", "--package", "lineside-commands", "--release"]);
    test.args(["bash_starts_what_is_listed", "another_parser_reads_what_ours_reads"]);
    test.env("LINESIDE_ORACLE_COMMANDS", COMMANDS).env("LINESIDE_MUTANTS", CHANGED);
    must(&mut test, FOR_A_BUILD)?;
    let programme = published(workspace, &FUZZ)?;
    let folder = workspace.root.join("crates/lineside-commands");
    for target in TARGETS {
        let mut fuzz = std::process::Command::new(&programme);
        fuzz.args(["fuzz", "run", target, "--", &format!("-max_total_time={}", minutes * 60), "-timeout=20"]);
        fuzz.current_dir(&folder).env("RUSTUP_TOOLCHAIN", "nightly");
        fuzz.env("CARGO_TARGET_DIR", workspace.target.join("fuzz"));
        must(&mut fuzz, FOR_A_BUILD + Duration::from_secs(minutes * 60))?;
    }
    Ok(ExitCode::SUCCESS)
}
