//! The package for Node: compiled, and tested against the command and the agent frameworks that it has adapters for.
//!
//! Sources are copied beside the packages, because Node looks for those in the folders above a file.

use std::env::consts::{ARCH, OS};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::step::{Counts, Outcome};
use super::tally::{Runner, tally};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must, watch};
use crate::tools::{npm_locked, npm_package};
use crate::workspace::Workspace;

/// What is copied, and its name there.
const COPIED: [(&str, &str); 3] = [
    ("crates/lineside-node", "lineside"),
    ("crates/lineside-exec/src/worker/kits/lineside-hook.mjs", "lineside/dist/worker.mjs"),
    ("docs", "docs"),
];

/// The Node that the tests of the adapters run in.
const NODE_VERSION: &str = "24.22.3";

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let folder = compiled(workspace)?;
    let mut counts = Counts::default();
    for (node, tests) in [(PathBuf::from("node"), ""), (newer_node(workspace)?, "adapters")] {
        let mut command = Command::new(node);
        command
            .args(["--test", "--test-reporter=spec"])
            .args(files(&folder.join("lineside/built").join(tests))?);
        command.env("LINESIDE_TESTED", workspace.target.join("debug/lineside"));
        let ended = watch(command.current_dir(&folder), FOR_A_RUN)?;
        counts += tally(Runner::Node, &ended).context("node counted no test")?;
    }
    Ok(Outcome::Judged(counts))
}

/// Compiles the package and its tests; the folder in which it is as `lineside`.
pub(crate) fn compiled(workspace: &Workspace) -> Result<PathBuf> {
    let folder = npm_locked(workspace, "node", &workspace.root.join("crates/lineside-node/tests"))?;
    let packages = folder.join("node_modules");
    for (from, to) in COPIED {
        let to = folder.join(to);
        if to.is_dir() {
            fs::remove_dir_all(&to).with_context(|| format!("cannot remove {}", workspace.shown(&to)))?;
        }
        copy(&workspace.root.join(from), &to)?;
    }
    link(&folder.join("lineside"), &packages.join("lineside"))?;
    for project in ["lineside", "lineside/tests"] {
        let mut compile = Command::new("node");
        compile.arg(packages.join("typescript/bin/tsc")).args(["-p", project]).current_dir(&folder);
        must(&mut compile, FOR_A_BUILD)?;
    }
    Ok(folder)
}

/// The Node that the frameworks need, which is newer than what the package itself needs: of npm, for this platform.
fn newer_node(workspace: &Workspace) -> Result<PathBuf> {
    let system = if OS == "macos" { "darwin" } else { OS };
    let name = format!("node-{system}-{}", if ARCH == "aarch64" { "arm64" } else { "x64" });
    Ok(npm_package(workspace, "newer-node", (&name, NODE_VERSION))?.join(name).join("bin/node"))
}

/// The files with tests in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.file_name() == Some(OsStr::new("node_modules")) {
        return Ok(());
    }
    if from.is_dir() {
        fs::create_dir_all(to)?;
        return fs::read_dir(from)?.try_for_each(|entry| {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))
        });
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

fn link(to: &Path, at: &Path) -> Result<()> {
    // A clone that was moved has one that leads to where it was.
    if fs::read_link(at).is_ok_and(|there| there != to) {
        fs::remove_file(at).with_context(|| format!("cannot remove {}", at.display()))?;
    }
    if !at.is_symlink() {
        std::os::unix::fs::symlink(to, at).with_context(|| format!("cannot make {}", at.display()))?;
    }
    Ok(())
}
