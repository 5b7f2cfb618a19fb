//! Packages of npm, into the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Program, need_programs};
use crate::programme::{FOR_A_BUILD, must};
use crate::workspace::Workspace;

pub(crate) const NODE: Program = Program { name: "node", package: "nodejs" };
pub(crate) const NPM: Program = Program { name: "npm", package: "npm" };

/// What loads TypeScript in OpenClaw, and for its plugins here.
pub(crate) const JITI: (&str, &str) = ("jiti", "2.7.0");

/// The folder `node_modules` of a folder of the tools in which this package is; it is installed when it is missing.
pub(crate) fn npm_package(
    workspace: &Workspace,
    folder: &str,
    (name, version): (&str, &str),
) -> Result<PathBuf> {
    need_programs(&[NODE, NPM])?;
    let folder = workspace.target.join("tools/npm").join(folder);
    let packages = folder.join("node_modules");
    let manifest = packages.join(name).join("package.json");
    let has = format!("\"version\": \"{version}\"");
    if fs::read_to_string(manifest).is_ok_and(|text| text.contains(&has)) {
        return Ok(packages);
    }
    println!("installing {name} {version} from npm into {}", workspace.shown(&folder));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", workspace.shown(&folder)))?;
    let manifest = folder.join("package.json");
    if !manifest.exists() {
        fs::write(&manifest, "{}").with_context(|| format!("cannot write {}", workspace.shown(&manifest)))?;
    }
    let mut install = Command::new("npm");
    install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    // As OpenClaw installs its plugins.
    install.args(["--omit=dev", "--omit=peer", "--legacy-peer-deps"]);
    install.arg(format!("{name}@{version}")).current_dir(&folder);
    must(&mut install, FOR_A_BUILD)
        .with_context(|| format!("install it by hand: `npm install {name}@{version}`"))?;
    Ok(packages)
}

/// The folder of the tools in which `node_modules` has the packages that the lock file in `pinned` names; they are installed
/// when it names others than the last time.
pub(crate) fn npm_locked(workspace: &Workspace, folder: &str, pinned: &Path) -> Result<PathBuf> {
    need_programs(&[NODE, NPM])?;
    let folder = workspace.target.join("tools/npm").join(folder);
    let installed = folder.join("installed-lock.json");
    let lock = pinned.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("cannot read {}", workspace.shown(&lock)))?;
    if fs::read(&installed).is_ok_and(|there| there == wanted) {
        return Ok(folder);
    }
    println!("installing what {} names from npm into {}", workspace.shown(&lock), workspace.shown(&folder));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", workspace.shown(&folder)))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(pinned.join(name), folder.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    must(install.current_dir(&folder), FOR_A_BUILD)
        .with_context(|| format!("install it by hand: `npm ci` in {}", workspace.shown(&folder)))?;
    fs::write(&installed, wanted).with_context(|| format!("cannot write {}", workspace.shown(&installed)))?;
    Ok(folder)
}
