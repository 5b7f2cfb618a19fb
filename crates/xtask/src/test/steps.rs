//! The list of steps, and those that are one command each.

use std::process::Command;

use anyhow::{Result, ensure};

use super::step::{Counts, Outcome, Step};
use super::{cargo_tests, conformance, crates, elsewhere, examples, features, node, plugins, python, rig};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must};
use crate::workspace::Workspace;
use crate::{crash, dist, docs, tidy, tools};

/// Cheap ones first, so that a slip is seen early.
pub(super) const STEPS: [Step; 22] = [
    Step { name: "fmt", about: "the sources are formatted", run: fmt },
    Step { name: "clippy", about: "no lint has anything to say", run: clippy },
    Step { name: "tidy", about: "the repository's own rules hold", run: tidy::judge },
    Step {
        name: "api",
        about: "the public items are those of the committed listings",
        run: tidy::public_api::judge,
    },
    Step { name: "tests", about: "the tests of every crate", run: cargo_tests::tests },
    Step { name: "doctests", about: "the examples in the documentation", run: cargo_tests::doctests },
    Step {
        name: "features",
        about: "each feature of the library compiles alone, and the bus alone is small",
        run: features::judge,
    },
    Step { name: "examples", about: "every example runs to its end", run: examples::run },
    Step { name: "conformance", about: "the dialects do what their cases say", run: conformance::run },
    Step { name: "plugins", about: "plugins run as they are written", run: plugins::run },
    Step { name: "python", about: "the package of Python and its adapters of frameworks", run: python::run },
    Step {
        name: "node",
        about: "the package for Node, and its adapters for agent frameworks",
        run: node::run,
    },
    Step { name: "rig", about: "the adapter of rig, in Rust", run: rig::run },
    Step { name: "dist", about: "each package, installed and tried", run: dist::judge },
    Step { name: "crates", about: "each crate can be published", run: crates::judge },
    Step { name: "nats", about: "many machines, on a real server of NATS", run: elsewhere::nats },
    Step {
        name: "telemetry",
        about: "what a real collector of OpenTelemetry is sent",
        run: elsewhere::telemetry,
    },
    Step { name: "crash", about: "what was promised holds over kills", run: crash::judge },
    Step { name: "demo", about: "the demonstration runs to its end", run: demo },
    Step { name: "reference", about: "the API reference builds without a warning", run: reference },
    Step { name: "book", about: "the book builds", run: book },
    Step { name: "deny", about: "licences, bans and sources of the dependencies", run: deny },
];

fn fmt(workspace: &Workspace) -> Result<Outcome> {
    tools::need_component(workspace, tools::RUSTFMT)?;
    must(&mut workspace.cargo(["fmt", "--all", "--check"]), FOR_A_BUILD)?;
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}

fn clippy(workspace: &Workspace) -> Result<Outcome> {
    tools::need_component(workspace, tools::CLIPPY)?;
    let mut clippy = workspace.cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    must(&mut clippy, FOR_A_BUILD)?;
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}

fn demo(workspace: &Workspace) -> Result<Outcome> {
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let demo =
        must(&mut workspace.cargo(["run", "--quiet", "--package", "lineside-cli", "--", "demo"]), FOR_A_RUN)?;
    ensure!(demo.lines.iter().any(|line| !line.trim().is_empty()), "`lineside demo` showed nothing");
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}

fn reference(workspace: &Workspace) -> Result<Outcome> {
    docs::reference(workspace)?;
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}

fn book(workspace: &Workspace) -> Result<Outcome> {
    docs::book(workspace)?;
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}

fn deny(workspace: &Workspace) -> Result<Outcome> {
    let mut deny = Command::new(tools::published(workspace, &tools::DENY)?);
    // What is there in two versions is a warning with its whole tree.
    deny.args(["--log-level", "error", "check", "bans", "licenses", "sources"]).current_dir(&workspace.root);
    must(&mut deny, FOR_A_RUN)?;
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}
