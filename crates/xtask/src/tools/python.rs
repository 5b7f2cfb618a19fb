//! A Python that is new enough for programs of today.

use std::process::Command;

use anyhow::{Context, Result};

use crate::programme::answers;

/// A Python of 3.12 or newer.
pub(crate) fn python() -> Result<&'static str> {
    let is_new = "import sys; sys.exit(sys.version_info < (3, 12))";
    let names = ["python3.14", "python3.13", "python3", "python3.12"];
    let found = names.into_iter().find(|name| answers(Command::new(name).args(["-c", is_new])));
    found.context("it needs Python 3.12 or newer, which this machine does not have")
}
