//! Tasks have an owner: one file of a crate starts them, tracks them and cancels them.
//!
//! That file says so in its `//!` header with the words "task owner of the crate"; there is at most one. Tests may
//! start what they like.

use super::code::says;
use super::finding::Finding;
use super::repository::{File, Repository};

const MARKER: &str = "task owner of the crate";
const STARTS: [&str; 2] = ["tokio::spawn", "tokio::task::spawn"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut owners: Vec<&File> = Vec::new();
    for file in repository.production() {
        if !is_owner(file) {
            findings.extend(strays(file));
        } else if let Some(other) = owners.iter().find(|other| other.crate_name() == file.crate_name()) {
            findings.push(Finding::fault(&file.path, 1, format!("{} is the {MARKER} already", other.path)));
        } else {
            owners.push(file);
        }
    }
    findings
}

fn is_owner(file: &File) -> bool {
    file.text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.contains(MARKER))
}

fn strays(file: &File) -> Vec<Finding> {
    let lines = file.code_lines().into_iter();
    let stray = lines.filter(|(_, code)| STARTS.iter().any(|start| says(code, start)));
    stray
        .map(|(line, _)| Finding::fault(&file.path, line, format!("leave starting tasks to the {MARKER}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const OWNER: (&str, &str) =
        ("crates/a/src/background.rs", "//! The task owner of the crate.\nfn f() { tokio::spawn(x) }\n");

    #[test]
    fn the_owner_and_tests_may_start_tasks() {
        let repository = Repository::of(&[OWNER, ("crates/a/tests/it.rs", "tokio::spawn(x)")]);
        assert_eq!(told(check(&repository)), [""; 0]);
    }

    #[test]
    fn nobody_else_may() {
        let repository = Repository::of(&[OWNER, ("crates/a/src/bus.rs", "//! x\ntokio::task::spawn(x);\n")]);
        assert_eq!(
            told(check(&repository)),
            ["crates/a/src/bus.rs:2: leave starting tasks to the task owner of the crate"]
        );
    }

    #[test]
    fn a_crate_has_one_owner() {
        let repository =
            Repository::of(&[OWNER, ("crates/a/src/tree.rs", "//! A task owner of the crate.\n")]);
        assert_eq!(
            told(check(&repository)),
            ["crates/a/src/tree.rs:1: crates/a/src/background.rs is the task owner of the crate already"]
        );
    }
}
