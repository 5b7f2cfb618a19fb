//! Hooks of `config.toml` through the engine of Kimi CLI and through lineside.
//!
//! The package comes from PyPI with what its engine needs. It has no hooks of its own; the file of hooks is ours, with each
//! construct that the engine knows.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::downloads::{Downloads, PACKAGES, Package};
use super::scene::Scene;
use super::table::Row;
use crate::tools::python;
use crate::workspace::Workspace;

pub(super) const KIMI: Package = Package::pypi("kimi-cli", "1.51.0", &["pydantic", "loguru"]);
/// The hooks.
const HOOKS: &str = include_str!("kimi/config.toml");
/// The events, each in the words of both programs.
const EVENTS: &str = include_str!("kimi/events.jsonl");
/// What plays them through the engine.
const ORIGINAL: &str = include_str!("kimi/original.py");

pub(super) fn row(workspace: &Workspace, folder: &Path) -> Result<Row> {
    let name = format!("`{}`, its engine with a file of ours", KIMI.spec());
    println!("{name}");
    let downloads = Downloads::fetch(&folder.join("packages"), &[KIMI])?;
    let played = downloads.place(&KIMI).and_then(|place| {
        let lineside = workspace.target.join("debug/lineside");
        played(&folder.join("scenes/kimi-cli"), &place.join(PACKAGES), &lineside)
    });
    Ok(Row::of(name, played))
}

/// How many hooks there are in both, how many events met one, and where both differ.
fn played(folder: &Path, packages: &Path, lineside: &Path) -> Result<([usize; 3], Vec<String>)> {
    let scene = Scene::lay_out(folder, Path::new(".kimi"), EVENTS)?;
    fs::write(folder.join("home/.kimi/config.toml"), HOOKS)?;
    fs::write(folder.join("original.py"), ORIGINAL)?;
    let mut original = Command::new(python()?);
    original
        .args(["../original.py", "../home/.kimi/config.toml", "../events.jsonl"])
        .env("PYTHONPATH", packages);
    let there = scene.answers("Kimi CLI", &mut original)?;
    let here = scene.lineside(lineside, "kimi")?;
    let mut differences = Vec::new();
    let mut met = 0;
    for ((there, here), line) in there.iter().zip(&here).zip(&scene.lines) {
        let here = of_ours(here);
        met += usize::from(there["ran"] != 0);
        if *there != here {
            let event = line["kimi"]["event"].as_str().unwrap_or_default();
            differences.push(format!("{event}: {there} in Kimi CLI, {here} in lineside"));
        }
    }
    let hooks = HOOKS.matches("[[hooks]]").count();
    Ok(([hooks, hooks, met], differences))
}

/// A receipt in the terms of the engine.
fn of_ours(receipt: &Value) -> Value {
    let hooks = receipt["hooks"].as_array().into_iter().flatten();
    let ran: Vec<&Value> = hooks.filter(|hook| hook.get("skipped").is_none()).collect();
    let failed = ran.iter().filter(|hook| hook.get("failed").is_some()).count();
    let blocked = receipt["verdict"] == "block";
    let reason = if blocked { receipt["reason"].clone() } else { Value::Null };
    json!({ "ran": ran.len(), "failed": failed, "blocked": blocked, "reason": reason })
}
