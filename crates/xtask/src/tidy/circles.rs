//! Circles of files that know one another: at most three of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::imports::Modules;
use super::repository::Repository;

/// How many files may know one another in a circle.
const MOST: usize = 3;

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in repository.crates.iter().map(|known| known.name.as_str()) {
        for files in circles(repository, name) {
            let first = files.first().map(|file| format!("crates/{name}/src/{}.rs", file.replace("::", "/")));
            let text = format!("{} files know one another in a circle: {}", files.len(), shown(&files));
            findings.push(Finding::fault(&first.unwrap_or_default(), 1, text));
        }
    }
    findings
}

/// The circles of a crate that are too large.
fn circles(repository: &Repository, name: &str) -> BTreeSet<BTreeSet<String>> {
    let modules = Modules::of(repository, name);
    let knows: BTreeMap<String, BTreeSet<String>> = modules
        .iter()
        .map(|(module, _)| {
            // What is only handed on is not known.
            let imports = modules.imports(module).into_iter().filter(|import| !import.is_reexport);
            (module.to_owned(), imports.map(|import| import.module).collect())
        })
        .collect();
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        knows.keys().map(|module| (module, reachable(&knows, module))).collect();
    let mut circles = BTreeSet::new();
    for (module, others) in &reached {
        let circle: BTreeSet<String> = others
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(module)))
            .map(|other| (*other).clone())
            .collect();
        if circle.len() > MOST {
            circles.insert(circle);
        }
    }
    circles
}

/// Everything that can be come to from a module; itself only by way of others.
fn reachable<'a>(knows: &'a BTreeMap<String, BTreeSet<String>>, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for other in knows.get(module).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

fn shown(files: &BTreeSet<String>) -> String {
    let files: Vec<String> = files.iter().map(|file| file.replace("::", "/")).collect();
    files.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    fn judged(last: &str) -> Vec<String> {
        let files = [
            ("crates/a/src/b.rs", "use crate::c::X;\n"),
            ("crates/a/src/c.rs", "use crate::d::x::X;\n"),
            ("crates/a/src/d/x.rs", "use crate::e::X;\n"),
            ("crates/a/src/e.rs", last),
            ("crates/a/src/f.rs", "use crate::b::X;\n"),
        ];
        told(check(&Repository::of(&files).with_crate("a", &[])))
    }

    #[test]
    fn three_files_may_know_one_another() {
        assert_eq!(judged("use crate::c::X;\n"), [""; 0]);
        assert_eq!(judged("pub use crate::b::X;\n"), [""; 0], "what is handed on is not known");
    }

    #[test]
    fn four_may_not() {
        let four = "crates/a/src/b.rs:1: 4 files know one another in a circle: b c d/x e";
        assert_eq!(judged("fn f() { crate::b::g() }\n"), [four]);
        let five = "crates/a/src/b.rs:1: 5 files know one another in a circle: b c d/x e f";
        assert_eq!(judged("use crate::f::X;\n"), [five]);
    }
}
