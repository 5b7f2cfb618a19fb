//! The forms of what is published, each packed of the same files.

use std::collections::BTreeSet;
use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Staged, licences};
use crate::install::{self, Build, Origin};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must};
use crate::test::node;
use crate::tools::{CARGO_DEB, SBOM, published, python};

/// What packs one.
type Pack = fn(&Staged<'_>) -> Result<()>;

/// All of them. A Debian package is made where Debian's tools are.
pub(super) const FORMS: &[Pack] = &[
    tarball,
    wheel,
    npm,
    #[cfg(target_os = "linux")]
    debian,
    materials,
];

/// The files below a folder with the version's name, and where they are from.
fn tarball(staged: &Staged<'_>) -> Result<()> {
    let name = format!("lineside-{}-{OS}-{ARCH}", staged.version);
    let room = tempfile::tempdir()?;
    let folder = room.path().join(&name);
    let mut copy = Command::new("cp");
    must(copy.arg("-R").arg(&staged.root).arg(&folder), FOR_A_RUN)?;
    let files = below(&folder, Path::new(""))?;
    install::list(&folder, &Origin::Tarball, &files)?;
    let mut tar = staged.tool("tar");
    tar.arg("--use-compress-program=gzip -n");
    if OS == "linux" {
        // The same bytes for the same commit.
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.arg(format!("--mtime=@{}", staged.moment));
    }
    tar.arg("-C").arg(room.path()).arg("-cf").arg(staged.out.join(format!("{name}.tar.gz"))).arg(&name);
    must(&mut tar, FOR_A_BUILD)?;
    Ok(())
}

/// The files below a folder, relative to it.
fn below(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => files.extend(below(root, &name)?),
            false => files.push(name),
        }
    }
    files.sort();
    Ok(files)
}

/// The package for Python with the command.
fn wheel(staged: &Staged<'_>) -> Result<()> {
    let pack = staged.workspace.root.join("crates/lineside-python/pack.py");
    must(staged.tool(python()?).arg(pack).args([&staged.out, &staged.root]), FOR_A_BUILD)?;
    Ok(())
}

/// The package for Node, and that of this platform with the command.
fn npm(staged: &Staged<'_>) -> Result<()> {
    let pack = node::compiled(staged.workspace)?.join("lineside/pack.mjs");
    must(staged.tool("node").arg(&pack).arg(&staged.out), FOR_A_BUILD)?;
    let system = if OS == "macos" { "darwin" } else { OS };
    let platform = format!("{system}-{}", if ARCH == "aarch64" { "arm64" } else { "x64" });
    let bin = staged.root.join("bin");
    must(staged.tool("node").arg(&pack).arg(&staged.out).arg(platform).arg(bin), FOR_A_BUILD)?;
    Ok(())
}

/// As `[package.metadata.deb]` of the command says.
#[cfg(target_os = "linux")]
fn debian(staged: &Staged<'_>) -> Result<()> {
    let mut deb = staged.tool(published(staged.workspace, &CARGO_DEB)?);
    deb.args(["--package", "lineside-cli", "--no-build", "--no-strip", "--no-separate-debug-symbols"]);
    if staged.build == Build::Dev {
        deb.arg("--fast");
    }
    must(deb.arg("--output").arg(&staged.out), FOR_A_BUILD)?;
    Ok(())
}

/// The bill of materials, in the form of CycloneDX: of what is compiled into the programs of this platform. The tool lists what
/// tests and features that are off need as well.
fn materials(staged: &Staged<'_>) -> Result<()> {
    let mut sbom = staged.tool(published(staged.workspace, &SBOM)?);
    sbom.args(["--cargo-package", "lineside-cli", "--output-format", "cyclone_dx_json_1_6"]);
    let made = sbom.output().context("`cargo-sbom` did not start")?;
    ensure!(made.status.success(), "`cargo-sbom` failed: {}", String::from_utf8_lossy(&made.stderr));
    let mut bill: Value = serde_json::from_slice(&made.stdout).context("`cargo-sbom` wrote no JSON")?;
    let compiled = licences::compiled(staged.workspace)?;
    let components = bill["components"].as_array_mut().context("the bill has no components")?;
    components.retain(|one| compiled.contains(&(text(&one["name"]), text(&one["version"]))));
    let kept: BTreeSet<String> = components.iter().map(|one| text(&one["bom-ref"])).collect();
    ensure!(!kept.is_empty(), "the bill has none of what is compiled");
    if let Some(dependencies) = bill["dependencies"].as_array_mut() {
        dependencies.retain(|one| kept.contains(&text(&one["ref"])));
        for on in dependencies.iter_mut().filter_map(|one| one["dependsOn"].as_array_mut()) {
            on.retain(|one| kept.contains(&text(one)));
        }
    }
    let file = staged.out.join(format!("lineside-{}.cdx.json", staged.version));
    fs::write(&file, serde_json::to_string_pretty(&bill)? + "\n")
        .with_context(|| format!("cannot write {}", file.display()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
