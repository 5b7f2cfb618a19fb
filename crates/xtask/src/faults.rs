//! `cargo xtask faults`: the tests of the table of faults, as often as is asked for, and how each row fared.
//!
//! A test is of the row whose letter and number its name begins with: `p03_…` is of P3. The rows are those of the first
//! table of `docs/faults.md`, and each has to have a test unless the page says why not; `tidy` checks that too.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::paint::Ink;
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must, watch};
use crate::workspace::Workspace;

mod row;

pub(crate) use row::{Row, row_of, rows};

/// The page with the rows.
pub(crate) const PAGE: &str = "docs/faults.md";

/// Packages with tests of rows.
const PACKAGES: [&str; 10] = [
    "lineside-redact", "lineside-pyregex", "lineside-core", "lineside-points", "lineside-bus",
    "lineside-automation", "lineside-exec", "lineside-dialects", "lineside-testing", "lineside",
];

/// One line of what cargo says of a build.
#[derive(Deserialize)]
struct Built {
    target: Option<Target>,
    executable: Option<String>,
    manifest_path: Option<String>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A programme of tests and those of its tests that are of rows.
struct Tests {
    programme: String,
    /// Where they are, as tests there expect it.
    folder: String,
    target: String,
    names: Vec<String>,
}

/// What became of the tests of one row for one kind of handler.
#[derive(Default)]
struct Tally {
    tests: usize,
    runs: usize,
    failures: usize,
}

/// Runs every test of a row so many times.
pub(crate) fn run(workspace: &Workspace, repeat: usize) -> Result<ExitCode> {
    let page =
        std::fs::read_to_string(workspace.root.join(PAGE)).with_context(|| format!("there is no {PAGE}"))?;
    let rows = rows(&page);
    ensure!(!rows.is_empty(), "{PAGE} lists no row");
    let tests = build(workspace)?;
    let mut tallies: BTreeMap<(String, &'static str), Tally> = BTreeMap::new();
    let mut failed: Vec<String> = Vec::new();
    for round in 1..=repeat {
        println!("{}", Ink::Bold.on(format!("round {round} of {repeat}")));
        for tests in &tests {
            for (name, passed) in once(tests)? {
                let Some(row) = row_of(&name) else { continue };
                let tally = tallies.entry((row, kind(&tests.target, &name))).or_default();
                tally.runs += 1;
                tally.tests = tally.runs.div_ceil(round);
                if !passed {
                    tally.failures += 1;
                    failed.push(format!("{} {name} (round {round})", tests.target));
                }
            }
        }
    }
    print(&rows, &tallies);
    let missing: Vec<&str> = rows
        .iter()
        .filter(|row| row.why_not.is_none() && !tallies.keys().any(|(known, _)| *known == row.name))
        .map(|row| row.name.as_str())
        .collect();
    for line in &failed {
        println!("{} {line}", Ink::Red.on("failed"));
    }
    if !missing.is_empty() {
        bail!("these rows have no test: {}", missing.join(", "));
    }
    println!("{} rows, {} failures", rows.len(), failed.len());
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the tests and asks each programme for those of rows.
fn build(workspace: &Workspace) -> Result<Vec<Tests>> {
    let mut cargo = workspace.cargo(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    cargo.args(["--lib", "--tests"]);
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    let output = cargo.stderr(std::process::Stdio::inherit()).output().context("cargo did not start")?;
    ensure!(output.status.success(), "the tests do not build");
    let mut programmes = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(built) = serde_json::from_str::<Built>(line) else { continue };
        let (Some(target), Some(programme), Some(manifest)) =
            (built.target, built.executable, built.manifest_path)
        else {
            continue;
        };
        if !built.profile.is_some_and(|profile| profile.test) {
            continue;
        }
        let folder = manifest.trim_end_matches("/Cargo.toml").to_owned();
        let listed = must(Command::new(&programme).arg("--list").current_dir(&folder), FOR_A_BUILD)?;
        let names = listed.lines.iter().filter_map(|line| line.strip_suffix(": test"));
        let names: Vec<String> = names.filter(|name| row_of(name).is_some()).map(str::to_owned).collect();
        if !names.is_empty() {
            programmes.push(Tests { programme, folder, target: target.name, names });
        }
    }
    Ok(programmes)
}

/// Runs the tests of a programme, and says which of them passed.
fn once(tests: &Tests) -> Result<Vec<(String, bool)>> {
    let mut programme = Command::new(&tests.programme);
    programme
        .arg("--exact")
        .args(&tests.names)
        .current_dir(&tests.folder)
        .env("CARGO_MANIFEST_DIR", &tests.folder);
    let name = tests.folder.rsplit('/').next().unwrap_or_default();
    programme.env("CARGO_PKG_NAME", name);
    let ended = watch(&mut programme, FOR_A_RUN)?;
    let results = ended.lines.iter().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let results: Vec<_> = results.map(|(name, result)| (name.to_owned(), result == "ok")).collect();
    // What was not heard of has failed: its programme ended before it.
    let heard = |name: &String| results.iter().any(|(known, _)| known == name);
    let silent: Vec<_> =
        tests.names.iter().filter(|name| !heard(name)).map(|name| (name.clone(), false)).collect();
    Ok(results.into_iter().chain(silent).collect())
}

/// The kind of handler that a test is about.
fn kind(target: &str, name: &str) -> &'static str {
    let room = name.split("::").next().unwrap_or_default();
    match (target, room) {
        ("processes" | "adoption", _) | ("faults", "commands" | "inputs") => "command",
        ("lineside_exec", "tree" | "run_tag" | "escaped" | "cgroup" | "containment") => "command",
        ("workers", _) => "worker",
        ("lineside_exec", "http") | ("faults", "posts") => "HTTP",
        ("faults" | "laws", _) => "bus",
        _ => "values",
    }
}

fn print(rows: &[Row], tallies: &BTreeMap<(String, &'static str), Tally>) {
    println!("\n{:5} {:8} {:>6} {:>7} {:>9}", "row", "kind", "tests", "runs", "failures");
    for row in rows {
        let mut shown = false;
        for ((name, kind), tally) in tallies.iter().filter(|((name, _), _)| *name == row.name) {
            let ink = if tally.failures == 0 { Ink::Green } else { Ink::Red };
            let failures = ink.on(format!("{:>9}", tally.failures));
            println!("{name:5} {kind:8} {:>6} {:>7} {failures}", tally.tests, tally.runs);
            shown = true;
        }
        if !shown {
            println!("{:5} {}", row.name, Ink::Faint.on(row.why_not.clone().unwrap_or("no test".to_owned())));
        }
    }
}
