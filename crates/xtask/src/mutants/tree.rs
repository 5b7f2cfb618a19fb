//! A copy of the workspace with a switch for each change, built once.
//!
//! `MUTANT=7` in the environment of a test program, or of what it starts, is change 7; with `MUTANT_COVER=FILE` each
//! thread adds the changes that it comes by.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::change::Change;
use super::switches::{Switches, switches};
use super::weave::{IsItsOwn, Woven, weave};
use crate::copy;
use crate::workspace::Workspace;

/// What each crate with a switch has at the end of its root.
const ASKED: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, unused, clippy::all)]
pub fn __mutant(change: u32) -> bool {
    use std::collections::HashSet;
    use std::io::Write;
    use std::sync::{LazyLock, Mutex};
    struct Asked {
        on: u32,
        cover: Option<Mutex<(std::fs::File, HashSet<(u32, String)>)>>,
    }
    static ASKED: LazyLock<Asked> = LazyLock::new(|| Asked {
        on: std::env::var("MUTANT").ok().and_then(|on| on.parse().ok()).unwrap_or(u32::MAX),
        cover: std::env::var_os("MUTANT_COVER").map(|path| {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            Mutex::new((file.expect("the file of the cover opens"), HashSet::new()))
        }),
    });
    if let Some(cover) = &ASKED.cover {
        thread_local!(static SEEN: std::cell::RefCell<HashSet<u32>> = Default::default());
        if !SEEN.try_with(|seen| seen.borrow_mut().insert(change)).unwrap_or(true) {
            return false;
        }
        let thread = std::thread::current().name().unwrap_or("?").to_owned();
        let mut cover = cover.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if cover.1.insert((change, thread.clone())) {
            drop(cover.0.write_all(format!("{change}\t{thread}\n").as_bytes()));
        }
    }
    ASKED.on == change
}
"#;

pub(super) struct Tree<'a> {
    workspace: &'a Workspace,
    /// The root of the copy.
    pub(super) root: PathBuf,
    target: PathBuf,
    packages: BTreeSet<String>,
    files: BTreeMap<String, (String, Switches)>,
    /// What does not compile.
    pub(super) unviable: BTreeSet<usize>,
    /// What cannot be switched while a program runs.
    pub(super) untried: BTreeSet<usize>,
}

/// A test program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Where it is run.
    pub(super) folder: PathBuf,
}

/// What `cargo` writes with `--message-format=json`, as far as it is read here.
#[derive(Deserialize)]
struct Message {
    reason: String,
    message: Option<Diagnostic>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    spans: Vec<Place>,
    rendered: Option<String>,
}

#[derive(Clone, Deserialize)]
struct Place {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Expansion>,
}

#[derive(Clone, Deserialize)]
struct Expansion {
    span: Box<Place>,
}

impl<'a> Tree<'a> {
    /// Copies the tracked files to `folder` and finds the switches.
    pub(super) fn new(workspace: &'a Workspace, folder: &Path, changes: &[Change]) -> Result<Self> {
        let root = folder.join("tree");
        let mut of_file: BTreeMap<String, Vec<(usize, &Change)>> = BTreeMap::new();
        for (number, change) in changes.iter().enumerate() {
            of_file.entry(change.file.clone()).or_default().push((number, change));
        }
        let mut files = BTreeMap::new();
        let mut untried: BTreeSet<usize> = (0..changes.len()).collect();
        let mut unviable = BTreeSet::new();
        for (file, changes) in of_file {
            let text = fs::read_to_string(workspace.root.join(&file))?;
            let found = switches(&text, &changes).with_context(|| format!("{file} does not parse"))?;
            unviable.extend(&found.unviable);
            let pieces = found.switches.iter().flat_map(|switch| &switch.before);
            for change in pieces.filter_map(|piece| piece.change).chain(found.unviable.iter().copied()) {
                untried.remove(&change);
            }
            files.insert(file, (text, found));
        }
        let packages: BTreeSet<String> = changes.iter().map(|change| change.package.clone()).collect();
        let roots: BTreeSet<PathBuf> = packages.iter().map(|package| root_of(package).into()).collect();
        copy::of_tracked_but(&workspace.root, &root, |name| {
            roots.contains(name) || name.to_str().is_some_and(|name| files.contains_key(name))
        })?;
        Ok(Self { workspace, root, target: folder.join("target"), packages, files, unviable, untried })
    }

    /// Writes the copy without what does not compile, until all of it does.
    pub(super) fn settle(&mut self) -> Result<()> {
        loop {
            let woven = self.write()?;
            let mut check = vec!["check", "--lib"];
            check.extend(self.packages.iter().flat_map(|package| ["-p", package]));
            let (compiles, messages) = self.cargo(&check)?;
            if compiles {
                return Ok(());
            }
            let before = self.unviable.len() + self.untried.len();
            let errors = messages.into_iter().filter_map(|message| message.message);
            for error in errors.filter(|error| error.level == "error") {
                self.leave_out(&woven, &error);
            }
            let left_out = self.unviable.len() + self.untried.len() - before;
            ensure!(left_out > 0, "what does not compile in {} is none of the changes", self.root.display());
            println!("{left_out} changes do not compile");
        }
    }

    fn write(&self) -> Result<BTreeMap<String, Woven>> {
        let is_left_out = |change| self.unviable.contains(&change) || self.untried.contains(&change);
        let woven: BTreeMap<String, Woven> = self
            .files
            .iter()
            .map(|(file, (text, found))| (file.clone(), weave(text, &found.switches, is_left_out)))
            .collect();
        let mut texts: BTreeMap<String, String> =
            woven.iter().map(|(file, woven)| (file.clone(), woven.text.clone())).collect();
        for root in self.packages.iter().map(|package| root_of(package)) {
            if !texts.contains_key(&root) {
                texts.insert(root.clone(), fs::read_to_string(self.workspace.root.join(&root))?);
            }
            texts.entry(root).and_modify(|text| text.push_str(ASKED));
        }
        for (file, text) in texts {
            write_changed(&self.root.join(file), &text)?;
        }
        Ok(woven)
    }

    /// Leaves out the changes that an error is about, or the next one where it is about none.
    fn leave_out(&mut self, woven: &BTreeMap<String, Woven>, error: &Diagnostic) {
        let places = error.spans.iter().filter_map(Place::in_sources);
        let found: Vec<_> = places
            .filter_map(|(file, range, is_primary)| {
                let (change, is_its_own) = woven.get(&file)?.change_at(&range)?;
                Some((change, is_its_own, is_primary))
            })
            .collect();
        let own = |wanted: bool| {
            let is_wanted =
                move |found: &&(usize, IsItsOwn, bool)| found.1 == IsItsOwn::Yes && found.2 == wanted;
            found.iter().filter(is_wanted).map(|found| found.0).collect::<Vec<_>>()
        };
        let changes = [own(true), own(false)].into_iter().find(|changes| !changes.is_empty());
        match changes {
            Some(changes) => self.unviable.extend(changes),
            None => {
                println!("{}", error.rendered.as_deref().unwrap_or_default());
                self.untried.extend(found.first().map(|found| found.0));
            }
        }
    }

    /// Builds test programs, or others, and says which: first those with the tests beside the code, which notice most.
    pub(super) fn build(&self, arguments: &[&str]) -> Result<Vec<Program>> {
        let (builds, messages) = self.cargo(arguments)?;
        if !builds {
            let errors = messages.iter().filter_map(|message| message.message.as_ref()?.rendered.as_deref());
            bail!(
                "with its switches {} does not build:\n{}",
                self.root.display(),
                errors.collect::<String>()
            );
        }
        let programs = messages.into_iter().filter_map(|message| {
            let folder = message.manifest_path?.parent()?.to_owned();
            (message.reason == "compiler-artifact").then_some(())?;
            let is_of_library = message.target?.kind.iter().any(|kind| kind == "lib");
            Some((is_of_library, Program { path: message.executable?, folder }))
        });
        let mut programs: Vec<(bool, Program)> = programs.collect();
        programs.sort_by_key(|(is_of_library, _)| !is_of_library);
        Ok(programs.into_iter().map(|(_, program)| program).collect())
    }

    fn cargo(&self, arguments: &[&str]) -> Result<(bool, Vec<Message>)> {
        let mut command: Command = self.workspace.cargo([]);
        command.args(arguments).arg("--message-format=json").current_dir(&self.root);
        command.env("CARGO_TARGET_DIR", &self.target).env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("CARGO_INCREMENTAL", "1").stderr(std::process::Stdio::inherit());
        let output = command.output().context("cargo did not start")?;
        let lines = output.stdout.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok((output.status.success(), messages))
    }
}

impl Place {
    /// The file of the workspace that it is in; of what a macro has written, where the macro is used.
    fn in_sources(&self) -> Option<(String, Range<usize>, bool)> {
        let mut place = self;
        while !place.file_name.starts_with("crates/") {
            place = &place.expansion.as_ref()?.span;
        }
        Some((place.file_name.clone(), place.byte_start..place.byte_end, self.is_primary))
    }
}

fn root_of(package: &str) -> String {
    format!("crates/{package}/src/lib.rs")
}

/// What stays the same keeps its time.
fn write_changed(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
