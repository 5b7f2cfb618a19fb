//! The parts of the toolchain that a minimal one leaves out.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::programme::{FOR_A_BUILD, answers, must};
use crate::workspace::Workspace;

/// A part of the toolchain: the name by which rustup adds it, and the subcommand it brings.
#[derive(Clone, Copy)]
pub(crate) struct Component {
    name: &'static str,
    subcommand: &'static str,
}

pub(crate) const RUSTFMT: Component = Component { name: "rustfmt", subcommand: "fmt" };
pub(crate) const CLIPPY: Component = Component { name: "clippy", subcommand: "clippy" };

/// Adds a component to the toolchain if it is not there.
pub(crate) fn need_component(workspace: &Workspace, component: Component) -> Result<()> {
    if answers(&mut workspace.cargo([component.subcommand, "--version"])) {
        return Ok(());
    }
    println!("installing {} with rustup", component.name);
    must(Command::new("rustup").args(["component", "add", component.name]), FOR_A_BUILD)
        .with_context(|| format!("add the component {} to the Rust toolchain", component.name))?;
    Ok(())
}

/// Adds the standard library of a target to the toolchain if it is not there.
pub(crate) fn need_target(target: &str) -> Result<()> {
    let mut rustc = Command::new("rustc");
    let output = rustc.args(["--print", "target-libdir", "--target", target]).output();
    let output = output.context("`rustc` did not start")?;
    if Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() {
        return Ok(());
    }
    println!("installing the standard library of {target} with rustup");
    must(Command::new("rustup").args(["target", "add", target]), FOR_A_BUILD)
        .with_context(|| format!("add the target {target} to the Rust toolchain"))?;
    Ok(())
}
