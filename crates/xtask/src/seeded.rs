//! `cargo xtask seeded`: every law's test is seen to fail against a fault seeded for it.
//!
//! `tests/faults/law_02_a_block_is_final.patch` breaks law 2 in a copy of the tracked files; the test that bears the
//! law's name has to fail there, and all tests of the laws have to pass without any fault. A patch whose test is not one
//! of `tests/laws/` says in its first line whose it is: `test of PACKAGE TARGET`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::copy;
use crate::paint::Ink;
use crate::programme::{self, FOR_A_BUILD, FOR_A_RUN};
use crate::workspace::Workspace;

/// One fault: the patch and the test that has to catch it.
struct Fault {
    patch: PathBuf,
    test: String,
    /// The package and the test target that has it.
    of: [String; 2],
    /// The first file that it breaks.
    breaks: String,
}

/// Seeds each fault in turn, or those whose names have one of these parts, and reports those that no test caught.
pub(crate) fn run(workspace: &Workspace, parts: &[&str]) -> Result<ExitCode> {
    let mut faults = faults(&workspace.root.join("tests/faults"))?;
    faults.retain(|fault| is_asked_for(&fault.stem(), parts));
    ensure!(!faults.is_empty(), "no fault in tests/faults has {} in its name", parts.join(" or "));
    let copy = workspace.target.join("seeded");
    let mut missed = Vec::new();
    for fault in &faults {
        copy::of_tracked(&workspace.root, &copy)?;
        let mut apply = Command::new("git");
        apply.args(["apply", "--whitespace=nowarn"]).arg(&fault.patch).current_dir(&copy);
        programme::must(&mut apply, FOR_A_RUN)
            .with_context(|| "the fault does not fit the sources any more")?;
        let run = |arguments: &[&str]| {
            let mut test = workspace.cargo(["test", "--quiet", "-p", &fault.of[0], "--test", &fault.of[1]]);
            test.arg("--").args(arguments).current_dir(&copy);
            test.env("CARGO_TARGET_DIR", workspace.target.join("seeded-target"));
            // A fault costs what it changes.
            test.env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_DEV_DEBUG", "0").env("RUST_BACKTRACE", "0");
            programme::watch(&mut test, FOR_A_BUILD)
        };
        let listed = run(&["--list"])?;
        ensure!(listed.status.success(), "with the fault of {} the tests do not build", fault.stem());
        // Outside of the laws, a test may bear the number of its law.
        let names = [fault.test.clone(), fault.stem()];
        let path = listed.lines.iter().find_map(|line| path_of(line, &names));
        let path = path.with_context(|| format!("{} has no test {}", fault.of[1], fault.test))?;
        // This test alone: with the fault others may never end.
        let ended = run(&["--exact", path])?;
        let caught = ended.lines.iter().any(|line| line.contains("test result: FAILED"));
        let verdict = if caught { Ink::Green.on("caught") } else { Ink::Red.on("missed") };
        println!("{verdict} {}", fault.test);
        if !caught {
            missed.push(&fault.test);
        }
    }
    println!("{} passed, {} failed", faults.len() - missed.len(), missed.len());
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Fault {
    fn stem(&self) -> String {
        self.patch.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Whether a fault has one of these parts in its name; without parts, each is asked for.
fn is_asked_for(stem: &str, parts: &[&str]) -> bool {
    parts.is_empty() || parts.iter().any(|part| stem.contains(part))
}

fn faults(folder: &Path) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let patch = entry?.path();
        if patch.extension().is_some_and(|extension| extension == "patch") {
            let stem = patch.file_stem().unwrap_or_default().to_string_lossy();
            let test = test_of(&stem).with_context(|| format!("{stem} is not named law_NN_test"))?;
            let text = fs::read_to_string(&patch)?;
            faults.push(Fault { test: test.to_owned(), of: owner(&text), breaks: broken(&text), patch });
        }
    }
    ensure!(!faults.is_empty(), "{} holds no patch", folder.display());
    // What one fault has broken is built again for the next one, so those of a crate come together.
    faults.sort_by(|a, b| (&a.breaks, &a.patch).cmp(&(&b.breaks, &b.patch)));
    Ok(faults)
}

/// The first file that a patch changes.
fn broken(patch: &str) -> String {
    let changed = patch.lines().find_map(|line| line.strip_prefix("+++ b/"));
    changed.unwrap_or_default().to_owned()
}

/// The package and the target of the test that a patch is for.
fn owner(patch: &str) -> [String; 2] {
    let named = patch.lines().next().and_then(|line| line.strip_prefix("test of ")?.split_once(' '));
    let (package, target) = named.unwrap_or(("lineside", "laws"));
    [package.to_owned(), target.to_owned()]
}

/// The path of a test that has one of these names, if this line of a list of tests has it.
fn path_of<'a>(line: &'a str, names: &[String]) -> Option<&'a str> {
    let path = line.strip_suffix(": test")?;
    let own = path.rsplit("::").next()?;
    names.iter().any(|name| name == own).then_some(path)
}

/// The test that a fault is for: `law_02_a_block_is_final` is for `a_block_is_final`.
fn test_of(stem: &str) -> Option<&str> {
    let (number, test) = stem.strip_prefix("law_")?.split_once('_')?;
    (number.len() == 2 && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(test)
}

#[cfg(test)]
mod tests {
    use super::{broken, is_asked_for, owner, path_of, test_of};

    #[test]
    fn faults_are_asked_for_by_parts_of_their_names() {
        assert!(is_asked_for("law_02_a_block_is_final", &[]));
        assert!(is_asked_for("law_02_a_block_is_final", &["law_16", "a_block"]));
        assert!(!is_asked_for("law_02_a_block_is_final", &["law_16"]));
    }

    #[test]
    fn a_test_is_found_by_its_whole_name() {
        let names = ["it_runs".to_owned(), "law_01_it_runs".to_owned()];
        assert_eq!(path_of("order::it_runs: test", &names), Some("order::it_runs"));
        assert_eq!(path_of("it_runs: test", &names), Some("it_runs"));
        assert_eq!(path_of("hook::law_01_it_runs: test", &names), Some("hook::law_01_it_runs"));
        assert_eq!(path_of("order::it_runs_on: test", &names), None);
        assert_eq!(path_of("2 tests, 0 benchmarks", &names), None);
    }

    #[test]
    fn a_fault_names_its_test() {
        assert_eq!(test_of("law_02_a_block_is_final"), Some("a_block_is_final"));
        assert_eq!(test_of("a_block_is_final"), None);
        assert_eq!(test_of("law_x_a"), None);
        assert_eq!(owner("diff --git a/x b/x\n"), ["lineside", "laws"]);
        assert_eq!(broken("--- a/x\n+++ b/y\n--- a/z\n+++ b/z\n"), "y");
        assert_eq!(owner("test of lineside-cli cli\ndiff --git a/x b/x\n"), ["lineside-cli", "cli"]);
    }
}
