//! The repository as the rules see it: every text file, and what depends on what.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::code;
use crate::workspace::{DependencyKind, Workspace};

/// The page whose lists the rules read.
pub(super) const ARCHITECTURE: &str = "docs/architecture.md";

/// The page that decides which word stands for which thing.
pub(super) const GLOSSARY: &str = "docs/glossary.md";

pub(super) struct Repository {
    pub(super) files: Vec<File>,
    pub(super) crates: Vec<Crate>,
    /// The names in the root folder.
    pub(super) top: Vec<String>,
}

/// A text file. Its path is relative to the root and written with `/`.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

/// A crate of the workspace.
pub(super) struct Crate {
    pub(super) name: String,
    /// The path of its `Cargo.toml`.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<(String, Option<DependencyKind>)>,
    /// The paths of what cargo compiles first for each target.
    pub(super) targets: Vec<String>,
}

impl Repository {
    /// Reads every text file below the root, except what `.gitignore` leaves out of it.
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let root = workspace.root.as_path();
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut left_out = vec![".git"];
        left_out.extend(ignored.lines().map(|line| line.trim().trim_matches('/')));

        let (mut files, mut top) = (Vec::new(), Vec::new());
        for (name, path) in entries(root)? {
            if !left_out.contains(&name.as_str()) {
                collect(&path, &name, &mut files)?;
                top.push(name);
            }
        }
        Ok(Self { files, crates: crates(workspace), top })
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The text of the page whose lists the rules read; empty without the page.
    pub(super) fn architecture(&self) -> &str {
        self.file(ARCHITECTURE).map(|file| file.text.as_str()).unwrap_or_default()
    }

    /// Every Rust source.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Every source of TypeScript.
    pub(super) fn typescript(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".ts"))
    }

    /// The Rust sources that become part of a library or a command, without tests and benches.
    pub(super) fn production(&self) -> impl Iterator<Item = &File> {
        self.rust().filter(|file| file.is_production())
    }
}

impl File {
    /// The folder below `crates/` that it is in.
    pub(super) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The lines of its code, numbered from 1, without comments, contents of strings, and the tests at its end.
    pub(super) fn code_lines(&self) -> Vec<(usize, String)> {
        let bare = code::bare(&self.text);
        code::without_tests(&bare)
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.to_owned()))
            .collect()
    }

    pub(super) fn is_production(&self) -> bool {
        let mut parts = self.path.split('/').skip(2);
        self.path.starts_with("crates/")
            && parts.next() == Some("src")
            && parts.all(|part| part != "tests" && part != "tests.rs")
    }
}

fn crates(workspace: &Workspace) -> Vec<Crate> {
    let shown = |path: &Path| workspace.shown(path).to_string();
    let describe = |package: &crate::workspace::Package| Crate {
        name: package.name.clone(),
        manifest: shown(&package.manifest_path),
        dependencies: package.dependencies.iter().map(|needed| (needed.name.clone(), needed.kind)).collect(),
        targets: package.targets.iter().map(|target| shown(&target.src_path)).collect(),
    };
    workspace.packages.iter().map(describe).collect()
}

pub(super) fn collect(path: &Path, shown: &str, files: &mut Vec<File>) -> Result<()> {
    if path.is_symlink() {
        return Ok(());
    }
    if path.is_dir() {
        for (name, path) in entries(path)? {
            collect(&path, &format!("{shown}/{name}"), files)?;
        }
        return Ok(());
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    if let Ok(text) = String::from_utf8(bytes) {
        files.push(File { path: shown.to_owned(), text });
    }
    Ok(())
}

/// The names in a folder with their paths, sorted.
fn entries(folder: &Path) -> Result<Vec<(String, std::path::PathBuf)>> {
    let cannot = || format!("cannot list {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
impl Repository {
    /// A repository of these files.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Self { files: files.iter().map(file).collect(), crates: Vec::new(), top: Vec::new() }
    }

    /// The same with a crate that depends on these.
    pub(super) fn with_crate(mut self, name: &str, dependencies: &[(&str, Option<DependencyKind>)]) -> Self {
        let manifest = format!("crates/{name}/Cargo.toml");
        let text = dependencies.iter().map(|(name, _)| format!("{name}.workspace = true\n")).collect();
        self.files.push(File { path: manifest.clone(), text });
        let dependencies = dependencies.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        self.crates.push(Crate { name: name.to_owned(), manifest, dependencies, targets: Vec::new() });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_benches_are_not_production() {
        let repository = Repository::of(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/yaml/tests.rs", ""),
            ("crates/a/tests/it.rs", ""),
            ("crates/a/benches/b.rs", ""),
            ("examples/x.rs", ""),
        ]);
        let paths: Vec<_> = repository.production().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs"]);
    }
}
