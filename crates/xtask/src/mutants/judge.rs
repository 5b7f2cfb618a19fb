//! Switches the changes on, one at a time, and runs the tests that come by each.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};

use super::attempt::attempt;
use super::cases::Cases;
use super::change::Change;
use super::fates::Fate;
use super::passes::{Pass, WITH_CASES, passes};
use super::suite::Suite;
use super::tree::Tree;

/// After so many changes of one thread it is said how far the work is.
const EACH: usize = 50;

pub(super) struct Judge<'a> {
    tree: &'a Tree<'a>,
    folder: &'a Path,
    changes: &'a [Change],
    /// One for each change.
    pub(super) fates: Vec<Fate>,
}

impl<'a> Judge<'a> {
    /// Keeps its files in `folder`.
    pub(super) fn new(tree: &'a Tree<'a>, folder: &'a Path, changes: &'a [Change]) -> Self {
        let fate = |number| match number {
            number if tree.unviable.contains(&number) => Fate::Unviable,
            number if tree.untried.contains(&number) => Fate::Untried,
            _ => Fate::Unreached,
        };
        Self { tree, folder, changes, fates: (0..changes.len()).map(fate).collect() }
    }

    /// Judges the changes of each crate.
    pub(super) fn all(&mut self) -> Result<()> {
        let mut of_package: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, change) in self.changes.iter().enumerate() {
            of_package.entry(&change.package).or_default().push(number);
        }
        for (package, mut changes) in of_package {
            for pass in passes(package) {
                self.keep_unnoticed(&mut changes);
                self.pass(pass, &changes)?;
            }
            self.keep_unnoticed(&mut changes);
            if package == WITH_CASES && !changes.is_empty() {
                self.cases(&changes)?;
            }
        }
        Ok(())
    }

    fn keep_unnoticed(&self, changes: &mut Vec<usize>) {
        changes.retain(|change| matches!(self.fates[*change], Fate::Missed | Fate::Unreached));
    }

    /// Judges changes by the test programs of a pass. Those are measured while there are any changes.
    fn pass(&mut self, pass: &Pass, changes: &[usize]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut build = vec!["test", "--no-run"];
        build.extend(pass.packages.iter().flat_map(|package| ["-p", package]));
        build.extend(pass.targets);
        let mut left = changes.to_vec();
        for program in self.tree.build(&build)? {
            if left.is_empty() {
                break;
            }
            let suite = Suite::measure(program, &self.tree.root, &self.folder.join("cover"))?;
            println!("{suite}: {} changes left", left.len());
            for (change, fate) in self.by_all(&suite, &left)? {
                self.fates[change] = self.fates[change].min(fate);
            }
            self.keep_unnoticed(&mut left);
        }
        Ok(())
    }

    /// What one test program says of changes, as many at a time as there are processors.
    fn by_all(&self, suite: &Suite, changes: &[usize]) -> Result<Vec<(usize, Fate)>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut fates = Vec::new();
            while let Some(change) = changes.get(next.fetch_add(1, Ordering::Relaxed)) {
                fates.push((*change, self.by(suite, *change)?));
                if fates.len() % EACH == 0 {
                    println!("{} of {}", next.load(Ordering::Relaxed).min(changes.len()), changes.len());
                }
            }
            anyhow::Ok(fates)
        };
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let fates = thread::scope(|scope| {
            let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<Result<Vec<_>>>()
        })?;
        Ok(fates.concat())
    }

    /// What one test program says of a change.
    fn by(&self, suite: &Suite, number: usize) -> Result<Fate> {
        let file = &self.changes[number].file;
        let module = file.split_once("/src/").map_or(file.as_str(), |(_, inside)| inside);
        let module = module.trim_end_matches(".rs").replace('/', "::");
        let mut fate = Fate::Unreached;
        for (mut run, limit) in suite.runs(number, &module, &self.tree.root) {
            match attempt(run.env("MUTANT", number.to_string()), limit)? {
                None => return Ok(Fate::TimedOut),
                Some(status) if !status.success() => return Ok(Fate::Caught),
                Some(_) => fate = Fate::Missed,
            }
        }
        Ok(fate)
    }

    fn cases(&mut self, changes: &[usize]) -> Result<()> {
        let build = ["build", "-p", "lineside-cli", "--bin", "lineside"];
        let program = self.tree.build(&build)?.pop().context("`lineside` was not built")?;
        let files: Vec<&str> = changes.iter().map(|change| self.changes[*change].file.as_str()).collect();
        let cases = Cases::measure(program.path, &self.tree.root, &self.folder.join("cases"), &files)?;
        println!("cases: {} changes left", changes.len());
        for change in changes.iter().filter(|change| cases.reach(**change)) {
            self.fates[*change] = if cases.notice(*change)? { Fate::Caught } else { Fate::Missed };
        }
        Ok(())
    }
}
