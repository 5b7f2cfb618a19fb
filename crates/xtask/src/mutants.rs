//! `cargo xtask mutants [PATH…]`: small changes of the sources, each of which some test has to notice.
//!
//! `cargo-mutants` says what they are. All of them are built at once, into a copy of the tracked files, and one is
//! switched on at a time while the tests run that come by it, the cheap ones first. What only the compiler reads, a
//! constant for example, cannot be switched: it is counted as untried.
//!
//! It takes hours for all of [`AREAS`], so it is for a nightly run and no part of the test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::tools::{self, published};
use crate::workspace::Workspace;

mod accepted;
mod change;
mod switches;
mod weave;
mod tree;
mod attempt;
mod passes;
mod suite;
mod cases;
mod fates;
mod judge;

use accepted::Accepted;
use change::Change;
use fates::Verdict;
use judge::Judge;
use tree::Tree;

/// What is judged when no path is given: what decides, and what must not lose anything. Only two stars stand for slashes.
const AREAS: [&str; 11] = [
    "crates/lineside-core/src/**",
    "crates/lineside-bus/src/dispatch/**",
    "crates/lineside-bus/src/registry/**",
    "crates/lineside-automation/src/machine.rs",
    "crates/lineside-automation/src/machine/**",
    "crates/lineside-journal/src/recovery*",
    "crates/lineside-dialects/src/*/{output,effects,decision,chain}.rs",
    "crates/lineside-dialects/src/openclaw/{handler,failure,ensembles}.rs",
    "crates/lineside-dialects/src/openclaw/ensembles/**",
    "crates/lineside-dialects/src/hosts/*/{answer,heard,handler}.rs",
    "crates/lineside-dialects/src/hosts/{import,install,serve}/**",
];

/// Judges files and folders, or all areas. Fails where too few changes of a file are noticed.
pub(crate) fn run(workspace: &Workspace, paths: &[&str]) -> Result<ExitCode> {
    let programme = published(workspace, &tools::MUTANTS)?;
    let globs: Vec<String> = match paths {
        [] => AREAS.map(str::to_owned).to_vec(),
        paths => paths.iter().map(|path| glob(workspace, path)).collect::<Result<_>>()?,
    };
    let accepted = Accepted::read(&workspace.root.join(accepted::FILE))?;
    let changes = listed(workspace, &programme, &globs)?;
    ensure!(!changes.is_empty(), "there is nothing to change in {}", globs.join(", "));
    println!("{} changes", changes.len());
    let folder = workspace.target.join("mutants");
    let mut tree = Tree::new(workspace, &folder, &changes)?;
    tree.settle()?;
    fs::create_dir_all(attempt::scratch())?;
    let mut judge = Judge::new(&tree, &folder, &changes);
    let judged = judge.all();
    fs::remove_dir_all(attempt::scratch())?;
    judged?;
    let names = changes.iter().map(|change| &change.name);
    let verdict = Verdict::of(names.zip(judge.fates), &accepted);
    println!("\n{verdict}");
    Ok(if verdict.is_enough() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What `cargo-mutants` would change there.
fn listed(workspace: &Workspace, programme: &Path, globs: &[String]) -> Result<Vec<Change>> {
    let packages = globs.iter().map(|glob| package(glob)).collect::<Result<BTreeSet<&str>>>()?;
    let mut command = Command::new(programme);
    command.args(["mutants", "--list", "--json", "--colors=never"]).current_dir(&workspace.root);
    // What `{:?}` shows is read only in search of a fault.
    command.args(["--exclude-re", "impl (fmt::)?Debug for"]);
    command.args(["--exclude", "**/tests.rs", "--exclude", "**/tests/**"]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.args(globs.iter().flat_map(|glob| ["--file", glob]));
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo-mutants ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("cargo-mutants said something unexpected")
}

/// The path as `cargo-mutants` takes it.
fn glob(workspace: &Workspace, path: &str) -> Result<String> {
    let path = path.trim_end_matches('/');
    let there = workspace.root.join(path);
    ensure!(there.exists(), "there is no {path} in the workspace");
    Ok(if there.is_dir() { format!("{path}/**") } else { path.to_owned() })
}

/// The crate that a path is in.
fn package(path: &str) -> Result<&str> {
    let mut parts = Path::new(path).components().map(|part| part.as_os_str().to_str());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some("crates"), Some(package)) => Ok(package),
        _ => bail!("{path} is in no crate"),
    }
}
