//! `cargo xtask tidy`: the rules of the repository that no compiler checks.
//!
//! A rule is a pure function from the repository's texts to findings. What the rules enforce is written for people in
//! `docs/architecture.md`, and where that page holds a list, the rule reads it there.

use std::process::ExitCode;

use anyhow::Result;

use crate::paint::Ink;
use crate::test::step::{Counts, Outcome};
use crate::workspace::Workspace;

mod finding;
mod repository;

mod code;
mod markdown;

mod imports;

mod cases;
mod circles;
mod citations;
mod edges;
mod faults;
mod glossary;
mod headers;
mod included;
mod kits;
mod knowledge;
mod laws;
mod layers;
mod length;
mod listing;
mod machine_paths;
mod named_files;
mod names;
mod patches;
mod prose;
pub(crate) mod public_api;
pub(crate) mod sizes;
mod tasks;
mod top_level;
mod unfinished;
mod wording;

use finding::{Finding, Severity};
use repository::Repository;

/// A rule, by the name that its findings carry.
struct Rule {
    name: &'static str,
    check: fn(&Repository) -> Vec<Finding>,
}

const RULES: [Rule; 22] = [
    Rule { name: "edges", check: edges::check },
    Rule { name: "layers", check: layers::check },
    Rule { name: "circles", check: circles::check },
    Rule { name: "knowledge", check: knowledge::check },
    Rule { name: "wording", check: wording::check },
    Rule { name: "length", check: length::check },
    Rule { name: "header", check: headers::check },
    Rule { name: "included", check: included::check },
    Rule { name: "names", check: names::check },
    Rule { name: "glossary", check: glossary::check },
    Rule { name: "prose", check: prose::check },
    Rule { name: "named files", check: named_files::check },
    Rule { name: "unfinished", check: unfinished::check },
    Rule { name: "tasks", check: tasks::check },
    Rule { name: "top level", check: top_level::check },
    Rule { name: "machine paths", check: machine_paths::check },
    Rule { name: "laws", check: laws::check },
    Rule { name: "cases", check: cases::check },
    Rule { name: "citations", check: citations::check },
    Rule { name: "faults", check: faults::check },
    Rule { name: "patches", check: patches::check },
    Rule { name: "kits", check: kits::check },
];

/// The chore: findings and a last word.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let counts = inspect(workspace)?;
    println!("{} rules hold, {} do not", counts.passed, counts.failed);
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The step of the test; each rule counts as a test.
pub(crate) fn judge(workspace: &Workspace) -> Result<Outcome> {
    inspect(workspace).map(Outcome::Judged)
}

fn inspect(workspace: &Workspace) -> Result<Counts> {
    let repository = Repository::read(workspace)?;
    let mut counts = Counts::default();
    for rule in &RULES {
        let mut findings = (rule.check)(&repository);
        findings.sort();
        for finding in &findings {
            println!("{}", describe(rule.name, finding));
        }
        let broken = findings.iter().any(|finding| finding.severity == Severity::Fault);
        counts += if broken { Counts::ONE_FAILED } else { Counts::ONE_PASSED };
    }
    Ok(counts)
}

/// `file:line: rule: text`.
fn describe(rule: &str, finding: &Finding) -> String {
    let Finding { file, line, severity, text } = finding;
    let rule = match severity {
        Severity::Fault => Ink::Red.on(rule.to_owned()),
        Severity::Warning => Ink::Yellow.on(format!("{rule} (warning)")),
    };
    format!("{file}:{line}: {rule}: {text}")
}
