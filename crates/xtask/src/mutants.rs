//! `cargo xtask mutants [PATH]`: small changes of the sources, each of which some test has to notice.
//!
//! `cargo-mutants` makes the changes, in a copy of the tracked files; what it is given here are the tests that cover a
//! crate, the cheap ones first. It takes hours for all of [`AREAS`], so it is for a nightly run and no part of the test.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail, ensure};

use crate::copy;
use crate::programme::{FOR_A_BUILD, watch};
use crate::tools::{self, published};
use crate::workspace::Workspace;

mod accepted;
mod fates;
mod passes;

use accepted::Accepted;
use fates::{Fate, Fates};
use passes::{Pass, passes};

/// What is judged when no path is given: what decides, and what must not lose anything. Only two stars stand for slashes.
const AREAS: [&str; 10] = [
    "crates/lineside-core/src/**",
    "crates/lineside-bus/src/dispatch/**",
    "crates/lineside-bus/src/registry/**",
    "crates/lineside-automation/src/machine.rs",
    "crates/lineside-automation/src/machine/**",
    "crates/lineside-journal/src/recovery*",
    "crates/lineside-dialects/src/*/{output,effects,decision,chain}.rs",
    "crates/lineside-dialects/src/openclaw/{handler,failure,ensembles}.rs",
    "crates/lineside-dialects/src/openclaw/ensembles/**",
    "crates/lineside-dialects/src/hosts/*/{answer,heard,handler}.rs",
];

/// Of the viable changes, at least so many of a hundred have to be noticed.
const ENOUGH: f64 = 95.0;

/// How long a pass may take; a night.
const FOR_A_PASS: std::time::Duration = std::time::Duration::from_secs(12 * 3600);

/// A test that takes its seconds, and would notice no change but one of time.
const SLOW: &str = "c04_ten_megabytes";

/// Judges a file, a folder or all areas. Fails when too few changes are noticed.
pub(crate) fn run(workspace: &Workspace, path: Option<&str>) -> Result<ExitCode> {
    let programme = published(workspace, &tools::MUTANTS)?;
    let globs: Vec<String> = match path {
        Some(path) => vec![glob(workspace, path)?],
        None => AREAS.iter().map(|area| (*area).to_owned()).collect(),
    };
    let accepted = Accepted::read(&workspace.root.join(accepted::FILE))?;
    let folder = workspace.target.join("mutants");
    let copy = folder.join("tree");
    copy::of_tracked(&workspace.root, &copy)?;
    let mut fates = Fates::default();
    for glob in &globs {
        let package = package(glob)?;
        let output = folder.join("output");
        if output.exists() {
            fs::remove_dir_all(&output)?;
        }
        fs::create_dir_all(&output)?;
        let mut of_glob = Fates::default();
        for (index, pass) in passes(package).iter().enumerate() {
            let mut command = Command::new(&programme);
            command.args(["mutants", "--in-place", "--cap-lints=true", "--colors=never", "--no-times"]);
            // What `{:?}` shows is read only in search of a fault.
            command.args(["--exclude-re", "impl (fmt::)?Debug for"]);
            command.args(["--package", package, "--file", glob]);
            if index > 0 {
                // Only what no test has noticed so far. The tests without any change were run before.
                command.args(["--iterate", "--baseline=skip"]);
                passes_unchanged(workspace, &copy, &folder.join("target"), pass)?;
            }
            command.arg("--dir").arg(&copy).arg("--output").arg(&output).current_dir(&copy);
            tests(&mut command, pass);
            command.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_PROFILE_DEV_DEBUG", "0");
            let ended = watch(&mut command, FOR_A_PASS)?;
            // 2: some were missed; 3: some took too long.
            ensure!(
                matches!(ended.status.code(), Some(0 | 2 | 3)),
                "cargo-mutants ended with {}; its logs are in {}",
                ended.status,
                output.display()
            );
            of_glob.take(&output.join("mutants.out"))?;
            if !of_glob.has(Fate::Missed) {
                break;
            }
        }
        ensure!(!of_glob.is_empty(), "there is nothing to change in {glob}");
        fates.extend(of_glob);
    }
    let verdict = fates.verdict(&accepted);
    println!("\n{verdict}");
    Ok(if verdict.caught_of_a_hundred() >= ENOUGH { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tests of a pass without any change: where they fail, they would seem to notice every one.
/// `cargo-mutants` does so with the tests of the changed crate alone.
fn passes_unchanged(workspace: &Workspace, copy: &Path, target: &Path, pass: &Pass) -> Result<()> {
    let mut command = workspace.cargo(["test", "--quiet"]);
    for package in pass.packages {
        command.args(["-p", package]);
    }
    command.args(pass.targets).args(["--", "--skip", SLOW]).current_dir(copy);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "0");
    let ended = watch(&mut command, FOR_A_BUILD)?;
    ensure!(ended.status.success(), "the tests of {} fail without any change", pass.packages.join(", "));
    Ok(())
}

fn tests(command: &mut Command, pass: &Pass) {
    for package in pass.packages {
        command.args(["--test-package", package]);
    }
    for argument in pass.targets {
        command.arg(format!("--cargo-arg={argument}"));
    }
    command.args(["--timeout", "300", "--", "--", "--skip", SLOW]);
}

/// The path as `cargo-mutants` takes it.
fn glob(workspace: &Workspace, path: &str) -> Result<String> {
    let path = path.trim_end_matches('/');
    let there = workspace.root.join(path);
    ensure!(there.exists(), "there is no {path} in the workspace");
    Ok(if there.is_dir() { format!("{path}/**") } else { path.to_owned() })
}

/// The crate that a path is in.
fn package(path: &str) -> Result<&str> {
    let mut parts = Path::new(path).components().map(|part| part.as_os_str().to_str());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some("crates"), Some(package)) => Ok(package),
        _ => bail!("{path} is in no crate"),
    }
}
