//! What is compiled into the programs, and the texts of its licences, which go wherever the programs go.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::folder::listed;
use crate::programme::{FOR_A_RUN, must};
use crate::workspace::Workspace;

/// The folder of the texts, below that of an installation.
const FOLDER: &str = "share/doc/lineside";
/// Those of what is compiled in.
pub(super) const THIRD_PARTY: &str = "third-party.txt";

/// The notices of Rust's standard library, and of the packages that it is made of: it is linked into every program, and no
/// package of the workspace names it.
pub(super) const STANDARD_LIBRARY: &str = "rust-standard-library.html";
/// Where a toolchain has them.
const OF_TOOLCHAIN: &str = "share/doc/rust/COPYRIGHT-library.html";

/// How the files with such texts begin.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Names and versions.
pub(super) type Compiled = BTreeSet<(String, String)>;

/// Puts the licences of lineside, and of what is compiled into it, below the folder of an installation.
pub(super) fn lay_out(workspace: &Workspace, root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", workspace.shown(&folder)))?;
    for own in listed(&workspace.root.join("docs/licences"))? {
        fs::copy(&own, folder.join(own.file_name().unwrap_or_default()))?;
    }
    let notices = standard_library(workspace)?;
    fs::copy(&notices, folder.join(STANDARD_LIBRARY))
        .with_context(|| format!("cannot copy {}", notices.display()))?;
    fs::write(folder.join(THIRD_PARTY), text(&texts(workspace)?))?;
    Ok(())
}

/// The notices of the standard library of the toolchain that builds the programs.
fn standard_library(workspace: &Workspace) -> Result<PathBuf> {
    // `rustup` starts that of the toolchain by which this was started.
    let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let said = must(compiler.args(["--print", "sysroot"]).current_dir(&workspace.root), FOR_A_RUN)?.lines;
    let sysroot = said.first().context("`rustc` says no folder of its toolchain")?;
    let notices = Path::new(sysroot).join(OF_TOOLCHAIN);
    ensure!(
        notices.exists(),
        "there is no {}: the toolchain has no notices of Rust's standard library, which every package has to have; build \
         with one that `rustup` has installed",
        notices.display()
    );
    Ok(notices)
}

/// The packages that are compiled into the command on this platform.
pub(super) fn compiled(workspace: &Workspace) -> Result<Compiled> {
    let tree =
        ["tree", "--package", "lineside-cli", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let compiled = workspace.cargo(tree).output().context("`cargo tree` did not start")?;
    ensure!(compiled.status.success(), "`cargo tree` failed");
    Ok(packages(&String::from_utf8_lossy(&compiled.stdout)))
}

/// The names and versions in the lines of `cargo tree`: `name v1.2.3 (where)`.
fn packages(tree: &str) -> Compiled {
    let package = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(package).collect()
}

/// What `cargo metadata` says of all packages.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// None of the workspace's own.
    source: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    authors: Vec<String>,
    manifest_path: PathBuf,
}

impl Package {
    /// It and its licence, in one line. Of one without a text, whose it is and where it is from as well.
    fn line(&self, has_text: bool) -> String {
        let Self { name, version, .. } = self;
        let mut line = format!("{name} {version}: {}", self.license.as_deref().unwrap_or("see below"));
        if !has_text {
            let of = if self.authors.is_empty() {
                format!("the authors of {name}")
            } else {
                self.authors.join(", ")
            };
            let from = self.repository.as_deref().unwrap_or("a registry");
            write!(line, "; by {of}, of {from}").ok();
        }
        line
    }

    /// The texts that it comes with.
    fn texts(&self) -> Result<Vec<String>> {
        let folder = self.manifest_path.parent().context("a manifest lies in no folder")?;
        let is_text = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
            NAMES.iter().any(|begin| name.starts_with(begin))
        };
        let found = listed(folder)?.into_iter().filter(is_text);
        let found = found.map(|path| if path.is_dir() { listed(&path) } else { Ok(vec![path]) });
        let found = found.collect::<Result<Vec<_>>>()?;
        found
            .concat()
            .iter()
            .map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).trim().to_owned()))
            .collect()
    }
}

/// Each package as a line, and each text with the packages that come with it.
#[derive(Default)]
struct Texts {
    packages: Vec<String>,
    texts: BTreeMap<String, Vec<String>>,
}

fn texts(workspace: &Workspace) -> Result<Texts> {
    let compiled = compiled(workspace)?;
    let metadata = workspace.cargo(["metadata", "--format-version", "1"]).output();
    let metadata = metadata.context("`cargo metadata` did not start")?;
    ensure!(metadata.status.success(), "`cargo metadata` failed");
    let metadata: Metadata =
        serde_json::from_slice(&metadata.stdout).context("`cargo metadata` wrote no JSON")?;
    let mut all = Texts::default();
    for package in metadata.packages {
        let id = (package.name.clone(), package.version.clone());
        if package.source.is_none() || !compiled.contains(&id) {
            continue;
        }
        let texts = package.texts()?;
        ensure!(
            package.license.is_some() || !texts.is_empty(),
            "{} {} has neither a licence nor a text of one",
            package.name,
            package.version
        );
        all.packages.push(package.line(!texts.is_empty()));
        for text in texts {
            all.texts.entry(text).or_default().push(format!("{} {}", package.name, package.version));
        }
    }
    ensure!(!all.packages.is_empty(), "nothing of others is compiled in");
    all.packages.sort();
    Ok(all)
}

/// What stands in the file.
fn text(all: &Texts) -> String {
    let mut text = format!(
        "These packages are compiled into the programs of lineside, under these licences. Their texts follow; those of MIT and \
         Apache-2.0 stand beside this file as well, and so do the notices of Rust's standard library, which is linked into \
         the programs: {STANDARD_LIBRARY}.\n\n"
    );
    for package in &all.packages {
        text.extend([package, "\n"]);
    }
    for (licence, packages) in &all.texts {
        let rule = "-".repeat(80);
        write!(text, "\n{rule}\n{}\n{rule}\n\n{licence}\n", packages.join(", ")).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_tree_are_named_with_their_versions() {
        let tree = "lineside-cli v0.1.0 (/x/crates/lineside-cli)\nserde v1.0.2\nserde v1.0.2 (*)\n\n";
        let expected = [("lineside-cli", "0.1.0"), ("serde", "1.0.2")];
        assert_eq!(
            packages(tree),
            expected.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
        );
    }

    #[test]
    fn an_installation_has_the_licences_of_what_is_compiled_in() {
        let room = tempfile::tempdir().unwrap();
        lay_out(&Workspace::find().unwrap(), room.path()).unwrap();
        let folder = room.path().join(FOLDER);
        let text = fs::read_to_string(folder.join(THIRD_PARTY)).unwrap();
        for compiled in ["\ntokio 1.", "\nmaud 0.", "Permission is hereby granted"] {
            assert!(text.contains(compiled), "{compiled:?}");
        }
        // What tests need is not in the programs.
        assert!(!text.contains("\ninsta 1."));
        let notices = fs::read_to_string(folder.join(STANDARD_LIBRARY)).unwrap();
        for linked in
            ["The Rust Project Developers", "hashbrown", "Permission is hereby granted", "Apache License"]
        {
            assert!(notices.contains(linked), "{linked:?}");
        }
        assert!(folder.join("MIT.txt").exists() && folder.join("APACHE-2.0.txt").exists());
    }

    #[test]
    fn a_text_stands_once_with_all_that_come_with_it_and_who_has_none_is_named() {
        let room = tempfile::tempdir().unwrap();
        let mut all = Texts::default();
        for (name, files) in [
            ("a", &[("LICENSE-MIT", "one text\n"), ("README", "no text")][..]),
            ("b", &[("COPYING", "one text"), ("LICENSES/own.txt", "another")]),
            ("c", &[]),
        ] {
            let folder = room.path().join(name);
            fs::create_dir_all(folder.join("LICENSES")).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
            let package = Package {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                source: None,
                license: Some("MIT".to_owned()),
                repository: Some("https://c.example".to_owned()),
                authors: Vec::new(),
                manifest_path: folder.join("Cargo.toml"),
            };
            let texts = package.texts().unwrap();
            all.packages.push(package.line(!texts.is_empty()));
            for text in texts {
                all.texts.entry(text).or_default().push(name.to_owned());
            }
        }
        let rule = "-".repeat(80);
        let (_, text) = text(&all).split_once("\n\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let expected = format!(
            "a 1.0.0: MIT\nb 1.0.0: MIT\nc 1.0.0: MIT; by the authors of c, of https://c.example\n\
             \n{rule}\nb\n{rule}\n\nanother\n\n{rule}\na, b\n{rule}\n\none text\n"
        );
        assert_eq!(text, expected);
    }
}
