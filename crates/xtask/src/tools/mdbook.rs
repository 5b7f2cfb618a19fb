//! mdBook, which Debian does not have: from crates.io, once, into the target directory.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::programme::{FOR_A_BUILD, answers, must};
use crate::workspace::Workspace;

const VERSION: &str = "0.5.4";

/// The mdBook of the machine, or ours, which is built when it is missing (about a minute on two cores).
pub(crate) fn mdbook(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("tools");
    let ours = folder.join("bin").join("mdbook");
    for found in [PathBuf::from("mdbook"), ours.clone()] {
        if answers(Command::new(&found).arg("--version")) {
            return Ok(found);
        }
    }
    println!("installing mdbook {VERSION} from crates.io into {}", workspace.shown(&folder));
    // The build folder outlives an interrupted build, which then goes on where it was, and goes when the build is done.
    let build = folder.join("build");
    let mut install = workspace.cargo(["install", "mdbook", "--version", VERSION, "--locked"]);
    // Without the server, and unoptimised: the book is small, and this halves the time.
    install.args(["--no-default-features", "--features", "search", "--debug", "--root"]).arg(&folder);
    install.env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_DEV_DEBUG", "false");
    must(&mut install, FOR_A_BUILD).with_context(|| {
        format!("install mdBook by hand: `cargo install mdbook --version {VERSION} --locked`")
    })?;
    fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", workspace.shown(&build)))?;
    Ok(ours)
}
