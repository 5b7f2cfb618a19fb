//! Programmes that Debian does not have: from crates.io, once, into the target directory.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::programme::{FOR_A_BUILD, answers, must};
use crate::workspace::Workspace;

/// A programme of crates.io, whose crate has its name.
pub(crate) struct Published {
    name: &'static str,
    version: &'static str,
    /// With which it exits with 0 and does nothing.
    answers_to: &'static [&'static str],
    /// What of it is built.
    features: &'static [&'static str],
}

/// Without the server: the book is small. About a minute on two cores.
pub(crate) const MDBOOK: Published = Published {
    name: "mdbook",
    version: "0.5.4",
    answers_to: &["--version"],
    features: &["--no-default-features", "--features", "search"],
};

/// Breaks the sources in small ways and runs the tests. Somewhat over a minute of processor time.
pub(crate) const MUTANTS: Published = Published {
    name: "cargo-mutants",
    version: "27.1.0",
    answers_to: &["mutants", "--version"],
    features: &[],
};

/// Builds targets for libFuzzer and runs them. Half a minute of processor time.
pub(crate) const FUZZ: Published =
    Published { name: "cargo-fuzz", version: "0.13.2", answers_to: &["fuzz", "--version"], features: &[] };

/// Judges licences, bans and sources by the registry alone. A minute and a half of processor time.
pub(crate) const DENY: Published =
    Published { name: "cargo-deny", version: "0.20.2", answers_to: &["--version"], features: &[] };

/// Packs for Debian. Its own compressor is left out for that of the system. Forty seconds of processor time.
pub(crate) const CARGO_DEB: Published = Published {
    name: "cargo-deb",
    version: "3.8.0",
    answers_to: &["--version"],
    features: &["--no-default-features"],
};

/// Writes bills of materials.
pub(crate) const SBOM: Published =
    Published { name: "cargo-sbom", version: "0.10.0", answers_to: &["--version"], features: &[] };

/// Compares public items. Some minutes of processor time.
pub(crate) const SEMVER: Published = Published {
    name: "cargo-semver-checks",
    version: "0.51.0",
    answers_to: &["semver-checks", "--version"],
    features: &[],
};

/// The programme of the machine, or ours, which is built when it is missing.
pub(crate) fn published(workspace: &Workspace, programme: &Published) -> Result<PathBuf> {
    let Published { name, version, answers_to, features } = programme;
    let folder = workspace.target.join("tools");
    let ours = folder.join("bin").join(name);
    for found in [PathBuf::from(name), ours.clone()] {
        if answers(Command::new(&found).args(*answers_to)) {
            return Ok(found);
        }
    }
    println!("installing {name} {version} from crates.io into {}", workspace.shown(&folder));
    // The build folder outlives an interrupted build, which then goes on where it was, and goes when the build is done.
    let build = folder.join("build").join(name);
    let mut install = workspace.cargo(["install", name, "--version", version, "--locked"]);
    // Unoptimised, which halves the time.
    install.args(*features).args(["--debug", "--root"]).arg(&folder);
    install.env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_DEV_DEBUG", "false");
    must(&mut install, FOR_A_BUILD).with_context(|| {
        format!("install it by hand: `cargo install {name} --version {version} --locked`")
    })?;
    fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", workspace.shown(&build)))?;
    Ok(ours)
}
