//! The cases of `tests/conformance` as tests: `lineside test` on those that come by a change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::attempt::{attempt, bounded};
use super::suite::covered;

/// For any number of cases: each has a limit of its own.
const LIMIT: Duration = Duration::from_secs(600);

/// The same, of the processor's time.
const BUSY: Duration = Duration::from_secs(60);

/// So many of the cases that come by the fewest other changes are tried before the rest.
const FIRST: usize = 16;

pub(super) struct Cases<'a> {
    /// `lineside`.
    program: PathBuf,
    root: &'a Path,
    cases: Vec<Case>,
    reached: BTreeMap<usize, Vec<usize>>,
}

struct Case {
    /// The name of its file, without what all have.
    suite: String,
    id: String,
    /// How many changes it comes by.
    reaches: usize,
}

/// A file of cases, as far as it is read here.
#[derive(Deserialize)]
struct File {
    cases: Vec<Value>,
}

const FOLDER: &str = "tests/conformance";
const ENDING: &str = ".cases.yaml";

impl<'a> Cases<'a> {
    /// Runs the cases, each alone, that hold these files of `lineside-dialects` to something: those of the dialect,
    /// where the file is of one that has cases, and all otherwise.
    ///
    /// # Errors
    ///
    /// Fails where a case does without any change.
    pub(super) fn measure(program: PathBuf, root: &'a Path, folder: &Path, files: &[&str]) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut cases = Self { program, root, cases: Vec::new(), reached: BTreeMap::new() };
        let mut suites = BTreeMap::new();
        for entry in fs::read_dir(root.join(FOLDER))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(suite) = name.strip_suffix(ENDING) {
                let text = fs::read_to_string(&path)?;
                let file: File =
                    serde_saphyr::from_str(&text).with_context(|| format!("{suite} has no cases"))?;
                suites.insert(suite.to_owned(), file);
            }
        }
        let wanted: BTreeSet<&String> = files.iter().flat_map(|file| of_file(file, suites.keys())).collect();
        let cover = folder.join("cover");
        for (suite, file) in suites.iter().filter(|(suite, _)| wanted.contains(suite)) {
            // One that asks for the time that something takes fails where other programs have the machine.
            for case in file.cases.iter().filter(|case| !case.to_string().contains("within_ms")) {
                let id = case["id"].as_str().with_context(|| format!("a case of {suite} has no id"))?;
                cases.cases.push(Case { suite: suite.clone(), id: id.to_owned(), reaches: 0 });
            }
        }
        for index in 0..cases.cases.len() {
            drop(fs::remove_file(&cover));
            let mut command = cases.command(&[index]);
            let ended = attempt(command.env("MUTANT_COVER", &cover), LIMIT)?;
            let case = &mut cases.cases[index];
            let passes = ended.is_some_and(|status| status.success());
            ensure!(passes, "a case of {} fails without any change: {}", case.suite, case.id);
            let changes: BTreeSet<usize> = covered(&cover)?.into_iter().map(|(change, _)| change).collect();
            case.reaches = changes.len();
            for change in changes {
                cases.reached.entry(change).or_default().push(index);
            }
        }
        Ok(cases)
    }

    /// `lineside test` on these.
    fn command(&self, cases: &[usize]) -> Command {
        let mut command = bounded(&self.program, BUSY);
        command.args(["test", "--jobs", "2"]).current_dir(self.root).env("RUST_BACKTRACE", "0");
        let cases: Vec<&Case> = cases.iter().map(|index| &self.cases[*index]).collect();
        let suites: BTreeSet<&str> = cases.iter().map(|case| case.suite.as_str()).collect();
        command.args(suites.iter().map(|suite| format!("{FOLDER}/{suite}{ENDING}")));
        command.args(cases.iter().flat_map(|case| ["--case", &case.id]));
        command
    }

    /// Whether any comes by a change.
    pub(super) fn reach(&self, change: usize) -> bool {
        self.reached.contains_key(&change)
    }

    /// Whether one of them notices a change.
    pub(super) fn notice(&self, change: usize) -> Result<bool> {
        let mut cases = self.reached.get(&change).cloned().unwrap_or_default();
        cases.sort_by_key(|index| self.cases[*index].reaches);
        let (first, rest) = cases.split_at(cases.len().min(FIRST));
        for cases in [first, rest].into_iter().filter(|cases| !cases.is_empty()) {
            let mut command = self.command(cases);
            let ended = attempt(command.env("MUTANT", change.to_string()), LIMIT)?;
            if !ended.is_some_and(|status| status.success()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The suites that hold a file to something: `jcli` and `jcli-own` of `crates/lineside-dialects/src/jcli/output.rs`.
fn of_file<'s>(file: &str, suites: impl Iterator<Item = &'s String> + Clone) -> Vec<&'s String> {
    let inside = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    let dialect = inside.split(['/', '.']).next().unwrap_or_default();
    let is_of = |suite: &&String| suite.split('-').next() == Some(dialect);
    let own: Vec<&String> = suites.clone().filter(is_of).collect();
    if own.is_empty() { suites.collect() } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_dialect_is_held_to_its_cases_and_a_shared_one_to_all() {
        let suites = ["hosts", "hosts-claude", "jcli"].map(str::to_owned);
        let of = |file| of_file(file, suites.iter());
        assert_eq!(of("crates/lineside-dialects/src/jcli/output.rs"), ["jcli"]);
        assert_eq!(of("crates/lineside-dialects/src/hosts/serve/words.rs"), ["hosts", "hosts-claude"]);
        assert_eq!(of("crates/lineside-dialects/src/near_keys.rs").len(), 3);
    }
}
