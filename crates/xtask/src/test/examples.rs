//! The examples, run and not only built.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::step::{Counts, Outcome};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must, watch};
use crate::workspace::Workspace;

/// The crates that declare the files of `examples/` as their own.
const OWNERS: [&str; 2] = ["lineside", "lineside-daemon"];

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    let folder = workspace.root.join("examples");
    let declared: Vec<_> = workspace
        .targets("example")
        .filter(|(package, example)| {
            OWNERS.contains(&package.name.as_str()) && example.src_path.starts_with(&folder)
        })
        .collect();
    let declared_paths: Vec<&Path> = declared.iter().map(|(_, target)| target.src_path.as_path()).collect();
    let forgotten = forgotten(workspace, &declared_paths)?;
    ensure!(
        forgotten.is_empty(),
        "declare these files as [[example]] of {}, or they are never run: {}",
        OWNERS.join(" or "),
        forgotten.join(", ")
    );
    if declared.is_empty() {
        return Ok(Outcome::Skipped("there are none"));
    }
    let [first, second] = OWNERS;
    let build = ["build", "--package", first, "--package", second, "--examples"];
    must(&mut workspace.cargo(build), FOR_A_BUILD)?;
    let mut counts = Counts::default();
    for (package, example) in declared {
        println!("example {}", example.name);
        let mut command =
            workspace.cargo(["run", "--quiet", "--package", &package.name, "--example", &example.name]);
        let failure = match watch(&mut command, FOR_A_RUN) {
            Ok(ended) if ended.status.success() => None,
            Ok(ended) => Some(ended.status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        counts += if failure.is_none() { Counts::ONE_PASSED } else { Counts::ONE_FAILED };
        if let Some(failure) = failure {
            println!("example {} failed: {failure}", example.name);
        }
    }
    Ok(Outcome::Judged(counts))
}

/// The files that look like examples and are no target.
fn forgotten(workspace: &Workspace, declared: &[&Path]) -> Result<Vec<String>> {
    let folder = workspace.root.join("examples");
    let mut forgotten = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", workspace.shown(&folder)))? {
        if let Some(main) = main_file(entry?.path())
            && !declared.contains(&main.as_path())
        {
            forgotten.push(workspace.shown(&main).to_string());
        }
    }
    forgotten.sort();
    Ok(forgotten)
}

/// `name.rs` itself, or the `main.rs` of a folder.
fn main_file(path: PathBuf) -> Option<PathBuf> {
    let main = if path.is_dir() { path.join("main.rs") } else { path };
    (main.extension().is_some_and(|extension| extension == "rs") && main.exists()).then_some(main)
}
