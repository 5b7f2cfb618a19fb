//! The workspace as cargo describes it, and cargo started in it.
//!
//! What the files say is left to `tidy`.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::paint;

/// What `cargo metadata --no-deps` says.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for an ordinary dependency.
    pub(crate) kind: Option<DependencyKind>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    Dev,
    Build,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Workspace {
    /// Asks cargo for the workspace of the current directory.
    pub(crate) fn find() -> Result<Self> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version=1"])
            .output()
            .context("`cargo metadata` did not start")?;
        ensure!(
            output.status.success(),
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        let mut workspace: Self =
            serde_json::from_slice(&output.stdout).context("`cargo metadata` said something unexpected")?;
        for target in workspace.packages.iter_mut().flat_map(|package| &mut package.targets) {
            target.src_path = without_detours(&target.src_path);
        }
        Ok(workspace)
    }

    /// Cargo with these arguments, in the workspace's root.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(cargo());
        command.args(arguments).current_dir(&self.root).env("CARGO_TERM_COLOR", paint::for_cargo());
        // What cargo says of this package is not said of theirs, and scripts that look at it would run anew each time that
        // cargo is started now here and now by a person.
        let is_of_this = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        };
        for name in std::env::vars_os().map(|(name, _)| name).filter(is_of_this) {
            command.env_remove(name);
        }
        command
    }

    /// A path of the workspace, as it is written in reports.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }

    /// Every target of a kind (`example`, `bench`, …) with its package.
    pub(crate) fn targets<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a Package, &'a Target)> {
        self.packages.iter().flat_map(move |package| {
            let wanted = package.targets.iter().filter(move |target| target.kind.iter().any(|k| k == kind));
            wanted.map(move |target| (package, target))
        })
    }
}

/// The path without `..`: `crates/lineside/../../examples/a.rs` is `examples/a.rs`.
fn without_detours(path: &Path) -> PathBuf {
    let mut direct = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                direct.pop();
            }
            part => direct.push(part),
        }
    }
    direct
}

/// The cargo that started us, so that a chosen toolchain stays chosen.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_leads_to_the_same_file() {
        assert_eq!(
            without_detours(Path::new("/w/crates/a/../../examples/b.rs")),
            Path::new("/w/examples/b.rs")
        );
    }
}
