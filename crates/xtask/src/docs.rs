//! `cargo xtask docs`: the book and the API reference.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must};
use crate::tools;
use crate::workspace::Workspace;

/// Builds both and says where they are.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    reference(workspace)?;
    book(workspace)?;
    println!("the book:      {}", workspace.target.join("book/index.html").display());
    println!("the reference: {}", workspace.target.join("doc/lineside/index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// The API reference, every warning an error.
pub(crate) fn reference(workspace: &Workspace) -> Result<()> {
    // Only libraries: the command is called lineside too, and its page would overwrite the library's.
    let mut doc = workspace.cargo(["doc", "--no-deps", "--workspace", "--lib"]);
    must(doc.env("RUSTDOCFLAGS", "-D warnings"), FOR_A_BUILD)?;
    Ok(())
}

/// The book of `docs/`.
pub(crate) fn book(workspace: &Workspace) -> Result<()> {
    let mdbook = tools::published(workspace, &tools::MDBOOK)?;
    let mut build = Command::new(mdbook);
    build.args(["build", "docs", "--dest-dir"]).arg(workspace.target.join("book"));
    must(build.current_dir(&workspace.root), FOR_A_RUN)?;
    Ok(())
}
