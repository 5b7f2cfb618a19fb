//! One version: of the crates, the package for Python and the package for Node.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// Files that name the version, each with what stands before it.
const NAMED: [(&str, &str); 8] = [
    ("Cargo.toml", "\nversion = \""),
    ("crates/lineside-rig/Cargo.toml", "\nversion = \""),
    ("crates/lineside-python/pyproject.toml", "\nversion = \""),
    ("crates/lineside-node/package.json", "\n  \"version\": \""),
    ("crates/lineside-node/package.json", "\"@lineside/darwin-arm64\": \""),
    ("crates/lineside-node/package.json", "\"@lineside/darwin-x64\": \""),
    ("crates/lineside-node/package.json", "\"@lineside/linux-arm64\": \""),
    ("crates/lineside-node/package.json", "\"@lineside/linux-x64\": \""),
];

/// The version, which all of them name.
pub(super) fn only(workspace: &Workspace) -> Result<String> {
    let mut first: Option<String> = None;
    for (name, before) in NAMED {
        let text =
            fs::read_to_string(workspace.root.join(name)).with_context(|| format!("cannot read {name}"))?;
        let version = behind(&text, before).with_context(|| format!("{name} names no version"))?;
        let expected = first.get_or_insert_with(|| version.to_owned());
        ensure!(version == expected, "{name} has version {version}, and {} has {expected}", NAMED[0].0);
    }
    let version = first.context("no file names the version")?;
    let manifest = fs::read_to_string(workspace.root.join(NAMED[0].0))?;
    let crates = manifest.lines().filter(|line| line.contains(" path = \"crates/"));
    for line in crates.filter(|line| line.contains("version = ")) {
        ensure!(line.contains(&format!("version = \"{version}\"")), "another version than {version}: {line}");
    }
    Ok(version)
}

fn behind<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let start = text.find(before)? + before.len();
    text[start..].split('"').next()
}
