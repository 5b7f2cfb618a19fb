//! Hooks of `config.toml` through the engine of Kimi CLI and through lineside.
//!
//! The package comes from PyPI with what its engine needs. It has no hooks of its own; the file of hooks is ours, with each
//! construct that the engine knows.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::downloads::{Downloads, PACKAGES, Package};
use super::table::{Outcome, Row};
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
    Ok(match played {
        Ok((counts, differences)) if differences.is_empty() => {
            Row { name, counts: Some(counts), outcome: Outcome::Same }
        }
        Ok((counts, differences)) => {
            Row { name, counts: Some(counts), outcome: Outcome::Differs(differences) }
        }
        Err(error) => Row { name, counts: None, outcome: Outcome::Failed(format!("{error:#}")) },
    })
}

/// How many hooks there are in both, how many events met one, and where both differ.
fn played(scene: &Path, packages: &Path, lineside: &Path) -> Result<([usize; 3], Vec<String>)> {
    if scene.exists() {
        fs::remove_dir_all(scene)?;
    }
    fs::create_dir_all(scene.join("home/.kimi"))?;
    fs::create_dir_all(scene.join("project"))?;
    let lines: Vec<Value> = EVENTS.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let ours: String = lines.iter().map(|line| format!("{}\n", line["lineside"])).collect();
    for (file, text) in [
        ("home/.kimi/config.toml", HOOKS),
        ("original.py", ORIGINAL),
        ("events.jsonl", EVENTS),
        ("lineside.jsonl", &ours),
    ] {
        fs::write(scene.join(file), text)?;
    }
    let mut original = Command::new(python()?);
    original
        .args(["../original.py", "../home/.kimi/config.toml", "../events.jsonl"])
        .env("PYTHONPATH", packages);
    let there = answers(scene, &mut original)?;
    let run = ["run", "--project", ".", "--dialect", "kimi", "--ordered", "--receipts", "../lineside.jsonl"];
    let here = answers(scene, Command::new(lineside).args(run))?;
    ensure!(there.len() == lines.len(), "Kimi CLI answered {} events of {}", there.len(), lines.len());
    ensure!(here.len() == lines.len(), "lineside decided {} events of {}", here.len(), lines.len());
    let mut differences = Vec::new();
    let mut met = 0;
    for ((there, here), line) in there.iter().zip(&here).zip(&lines) {
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

/// The lines of JSON that a program prints, with the home and the project of the scene.
fn answers(scene: &Path, command: &mut Command) -> Result<Vec<Value>> {
    command.current_dir(scene.join("project")).env("HOME", scene.join("home"));
    let printed = command.stdin(Stdio::null()).stderr(Stdio::null()).output().context("it did not start")?;
    let printed = String::from_utf8_lossy(&printed.stdout);
    let lines = printed.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
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
