//! `cargo xtask semver`: whether the next version says what has changed of the public items.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must};
use crate::tools::{SEMVER, published};
use crate::workspace::Workspace;

/// Compares the public items with those of a commit: of the last tag without one.
pub(crate) fn run(workspace: &Workspace, reference: Option<&str>) -> Result<ExitCode> {
    let reference = match reference {
        Some(reference) => reference.to_owned(),
        None => match last_tag(workspace)? {
            Some(tag) => tag,
            None => {
                println!(
                    "there is no tag yet to compare with; `cargo xtask semver COMMIT` compares with a commit"
                );
                return Ok(ExitCode::SUCCESS);
            }
        },
    };
    let mut check = Command::new(published(workspace, &SEMVER)?);
    check.args(["semver-checks", "--workspace", "--baseline-rev", &reference]).current_dir(&workspace.root);
    must(&mut check, FOR_A_BUILD)?;
    Ok(ExitCode::SUCCESS)
}

/// The newest tag that is in the history of what is checked out.
fn last_tag(workspace: &Workspace) -> Result<Option<String>> {
    let mut tags = Command::new("git");
    tags.args(["for-each-ref", "--merged=HEAD", "--sort=-creatordate", "--count=1"]);
    tags.args(["--format=%(refname:short)", "refs/tags"]).current_dir(&workspace.root);
    Ok(must(&mut tags, FOR_A_RUN)?.lines.into_iter().next().filter(|tag| !tag.is_empty()))
}
