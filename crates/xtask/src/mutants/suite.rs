//! A test program, and which of its tests come by each change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::attempt::{attempt, bounded};
use super::tree::Program;
use crate::programme::FOR_A_BUILD;

/// A test that takes its seconds, and would notice no change but one of time; and one that counts allocations, which
/// the cover makes as well.
const SKIPPED: [&str; 2] = ["c04_ten_megabytes", "publishing_where_nobody_listens_allocates_nothing"];

/// So many are tried before the rest: most changes are noticed by the tests beside them.
const FIRST: usize = 3;

pub(super) struct Suite {
    program: Program,
    reached: BTreeMap<usize, Reached>,
    /// How long all of its tests take.
    took: Duration,
}

/// Which tests come by a change.
#[derive(Debug, Default)]
struct Reached {
    tests: BTreeSet<String>,
    /// Whether it is reached on a thread, or in a program, that is no test's.
    is_elsewhere: bool,
}

impl Suite {
    /// Runs all tests without any change, and sees what they come by.
    ///
    /// # Errors
    ///
    /// Fails where one of them does: it would seem to notice each change.
    pub(super) fn measure(program: Program, root: &Path, cover: &Path) -> Result<Self> {
        let listed = Command::new(&program.path).args(["--list", "--format", "terse"]).output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let tests: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
        drop(fs::remove_file(cover));
        let mut suite = Self { program, reached: BTreeMap::new(), took: FOR_A_BUILD };
        let started = Instant::now();
        let mut command = suite.command(root);
        command.env("MUTANT_COVER", cover).env("RUST_TEST_THREADS", "2");
        let ended = attempt(&mut command, FOR_A_BUILD)?;
        let shown = suite.program.path.display();
        ensure!(ended.is_some_and(|status| status.success()), "{shown} fails without any change");
        suite.took = started.elapsed();
        for (change, thread) in covered(cover)? {
            let reached = suite.reached.entry(change).or_default();
            if tests.contains(thread.as_str()) {
                reached.tests.insert(thread);
            } else {
                reached.is_elsewhere = true;
            }
        }
        Ok(suite)
    }

    /// All tests, as cargo would run them.
    fn command(&self, root: &Path) -> Command {
        let mut command = bounded(&self.program.path, Duration::from_secs(20) + 4 * self.took);
        command
            .arg("-q")
            .args(SKIPPED.iter().flat_map(|test| ["--skip", test]))
            .current_dir(&self.program.folder);
        command.env("CARGO_MANIFEST_DIR", &self.program.folder).env("RUST_BACKTRACE", "0");
        command.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", root);
        // That a case fails is enough. Which is the smallest takes the most of the time.
        command.env("PROPTEST_FAILURE_PERSISTENCE", "off").env("PROPTEST_MAX_SHRINK_ITERS", "0");
        command
    }

    /// The runs in which a change may be noticed, the likely ones first. `module` is the one that is changed.
    pub(super) fn runs(&self, change: usize, module: &str, root: &Path) -> Vec<(Command, Duration)> {
        let Some(reached) = self.reached.get(&change) else { return Vec::new() };
        let mut tests: Vec<&str> = reached.tests.iter().map(String::as_str).collect();
        tests.sort_by_key(|test| usize::MAX - shared(test, module));
        let (first, rest) = tests.split_at(tests.len().min(FIRST));
        let named = [first, rest].into_iter().filter(|tests| !tests.is_empty()).map(|tests| {
            let mut command = self.command(root);
            command.arg("--exact").args(tests);
            command
        });
        // One that waits for what never comes is not busy. A loaded machine is slow and not wrong.
        let limit = Duration::from_secs(180) + 10 * self.took;
        named.chain(reached.is_elsewhere.then(|| self.command(root))).map(|run| (run, limit)).collect()
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program.path.file_name().unwrap_or_default().to_string_lossy())
    }
}

/// How many characters two names have in common at their beginning.
fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// The changes that a run has come by, each with the thread. What is no line of it was written while it was killed.
pub(super) fn covered(cover: &Path) -> Result<Vec<(usize, String)>> {
    if !cover.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read(cover).with_context(|| format!("cannot read {}", cover.display()))?;
    let lines = String::from_utf8_lossy(&text).into_owned();
    let of = |line: &str| {
        let (change, thread) = line.split_once('\t')?;
        Some((change.parse().ok()?, thread.to_owned()))
    };
    Ok(lines.lines().filter_map(of).collect())
}
