//! Circles of files that know one another: at most three of a crate.
//!
//! What is larger stands in the architecture, file by file, so that it is seen when it changes: none may grow, and one
//! that has shrunk is listed as it is now.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::imports::Modules;
use super::markdown::fenced;
use super::repository::{ARCHITECTURE, Repository};

/// How many files may know one another in a circle.
const MOST: usize = 3;

/// A circle, with its crate in front.
type Circle<'a> = (&'a str, BTreeSet<String>);

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(listed) = fenced(repository.architecture(), "circles") else {
        return vec![Finding::fault(ARCHITECTURE, 1, "holds no block fenced with `circles`")];
    };
    let (mut allowed, mut findings) = (Vec::new(), Vec::new());
    for (line, text) in listed.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        match text.split_once(':') {
            Some((of, files)) => {
                let files = files.split_whitespace().map(|file| file.replace('/', "::")).collect();
                allowed.push((line, (of.trim(), files)));
            }
            None => {
                findings.push(Finding::fault(
                    ARCHITECTURE,
                    line,
                    format!("`{text}` is not `crate: file file`"),
                ));
            }
        }
    }
    let names: Vec<&str> = repository.crates.iter().map(|known| known.name.as_str()).collect();
    let found: Vec<Circle<'_>> = names.into_iter().flat_map(|name| circles(repository, name)).collect();
    for (name, files) in &found {
        if !allowed.iter().any(|(_, circle)| circle == &(*name, files.clone())) {
            let first = files.first().map(|file| format!("crates/{name}/src/{}.rs", file.replace("::", "/")));
            let text = format!("{} files know one another in a circle: {}", files.len(), shown(files));
            findings.push(Finding::fault(&first.unwrap_or_default(), 1, text));
        }
    }
    for (line, circle) in allowed {
        if !found.contains(&circle) {
            let text = format!("there is no such circle in `{}` any more; say what is left of it", circle.0);
            findings.push(Finding::fault(ARCHITECTURE, line, text));
        }
    }
    findings
}

/// The circles of a crate that are too large.
fn circles<'a>(repository: &Repository, name: &'a str) -> Vec<Circle<'a>> {
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
    circles.into_iter().map(|circle| (name, circle)).collect()
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

    fn judged(page: &str, last: &str) -> Vec<String> {
        let files = [
            (ARCHITECTURE, page),
            ("crates/a/src/b.rs", "use crate::c::X;\n"),
            ("crates/a/src/c.rs", "use crate::d::x::X;\n"),
            ("crates/a/src/d/x.rs", "use crate::e::X;\n"),
            ("crates/a/src/e.rs", last),
            ("crates/a/src/f.rs", "use crate::b::X;\n"),
        ];
        told(check(&Repository::of(&files).with_crate("a", &[])))
    }

    const NONE: &str = "```circles\n```\n";
    const LISTED: &str = "```circles\na: b c d/x e\n```\n";

    #[test]
    fn three_files_may_know_one_another() {
        assert_eq!(judged(NONE, "use crate::c::X;\n"), [""; 0]);
        assert_eq!(judged(NONE, "pub use crate::b::X;\n"), [""; 0], "what is handed on is not known");
    }

    #[test]
    fn four_may_not_unless_they_are_listed() {
        let back = "fn f() { crate::b::g() }\n";
        assert_eq!(
            judged(NONE, back),
            ["crates/a/src/b.rs:1: 4 files know one another in a circle: b c d/x e"]
        );
        assert_eq!(judged(LISTED, back), [""; 0]);
    }

    #[test]
    fn a_list_does_not_let_a_circle_grow_or_outlive_it() {
        let gone = "docs/architecture.md:2: there is no such circle in `a` any more; say what is left of it";
        assert_eq!(judged(LISTED, "use crate::c::X;\n"), [gone]);
        assert_eq!(
            judged(LISTED, "use crate::f::X;\n"),
            ["crates/a/src/b.rs:1: 5 files know one another in a circle: b c d/x e f", gone]
        );
    }
}
