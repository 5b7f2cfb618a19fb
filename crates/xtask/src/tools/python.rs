//! A Python that is new enough for programs of today.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::programme::answers;

/// A Python of 3.12 or newer: one that is on the path, or that `pyenv` keeps beside the one in use.
pub(crate) fn python() -> Result<PathBuf> {
    let is_new = "import sys; sys.exit(sys.version_info < (3, 12))";
    let names = ["python3.14", "python3.13", "python3", "python3.12"].map(PathBuf::from);
    let found = names.into_iter().chain(kept()).find(|name| answers(Command::new(name).args(["-c", is_new])));
    found.context("it needs Python 3.12 or newer, which this machine does not have")
}

/// Those of `pyenv`, whose commands on the path start none but the one in use.
fn kept() -> impl Iterator<Item = PathBuf> {
    let root = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(env::home_dir()?.join(".pyenv")));
    let versions = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    versions.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3"))
}
