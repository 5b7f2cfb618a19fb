//! `cargo xtask semver`: whether the next version says what has changed of the public items.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::programme::{FOR_A_BUILD, must};
use crate::tools::{SEMVER, published};
use crate::workspace::Workspace;

/// Compares the public items with those of a commit: of the last tag without one.
pub(crate) fn run(workspace: &Workspace, reference: Option<&str>) -> Result<ExitCode> {
    let reference = match reference {
        Some(reference) => reference.to_owned(),
        None => last_tag(workspace)?,
    };
    let mut check = Command::new(published(workspace, &SEMVER)?);
    check.args(["semver-checks", "--workspace", "--baseline-rev", &reference]).current_dir(&workspace.root);
    must(&mut check, FOR_A_BUILD)?;
    Ok(ExitCode::SUCCESS)
}

fn last_tag(workspace: &Workspace) -> Result<String> {
    let mut describe = Command::new("git");
    let output = describe.args(["describe", "--tags", "--abbrev=0"]).current_dir(&workspace.root).output();
    let output = output.context("`git` did not start")?;
    ensure!(output.status.success(), "there is no tag yet; name a commit to compare with");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
