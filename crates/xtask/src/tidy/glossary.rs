//! Every public type of a library has its entry in the glossary, and every entry has its type.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::markdown::{section, table, ticked};
use super::repository::{GLOSSARY, Repository};

/// The heading of the first column of a crate's table.
const HEADING: &str = "type";

/// Programs, and what only tests and chores use.
const NO_LIBRARIES: [&str; 4] = ["lineside-cli", "lineside-crash", "lineside-testing", "xtask"];

/// Types that another page describes.
const ELSEWHERE: [&str; 2] =
    ["crates/lineside-daemon/src/api/shapes.rs", "crates/lineside-daemon/src/api/shapes/attached.rs"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let page = repository.file(GLOSSARY).map(|file| file.text.as_str()).unwrap_or_default();
    let mut types: BTreeMap<&str, BTreeMap<String, (&str, usize)>> = BTreeMap::new();
    for file in repository.production() {
        let Some(name) = file.crate_name() else { continue };
        if !is_library(name) || ELSEWHERE.contains(&file.path.as_str()) {
            continue;
        }
        let declared = types.entry(name).or_default();
        for (line, code) in file.code_lines() {
            if let Some(word) = declared_type(&code) {
                declared.entry(word.to_owned()).or_insert((&file.path, line));
            }
        }
    }
    types.iter().flat_map(|(name, declared)| compare(page, name, declared)).collect()
}

/// Whether a crate is one that programs depend on.
pub(super) fn is_library(name: &str) -> bool {
    !NO_LIBRARIES.contains(&name)
}

/// The types of one crate beside the entries of its section.
fn compare(page: &str, name: &str, declared: &BTreeMap<String, (&str, usize)>) -> Vec<Finding> {
    let heading = format!("## Types of `{name}`");
    let (first, text) = section(page, &heading).unwrap_or((0, ""));
    let rows = table(text, HEADING).unwrap_or_default();
    let mut entries = BTreeSet::new();
    let mut findings = Vec::new();
    for row in rows.iter().filter(|row| !row.cells[0].starts_with('-')) {
        let line = first + row.line;
        for word in ticked(row.cells[0]) {
            if !declared.contains_key(word) {
                let text = format!("`{name}` has no public type `{word}`");
                findings.push(Finding::fault(GLOSSARY, line, text));
            }
            if !entries.insert(word) {
                findings.push(Finding::fault(GLOSSARY, line, format!("`{word}` has two entries")));
            }
        }
        if row.cells.get(1).is_none_or(|meaning| meaning.is_empty()) {
            findings.push(Finding::fault(GLOSSARY, line, "an entry says what the type is"));
        }
    }
    let missing = declared.iter().filter(|(word, _)| !entries.contains(word.as_str()));
    findings.extend(missing.map(|(word, (path, line))| {
        let text = format!("`{word}` has no entry in {GLOSSARY} below `Types of {name}`");
        Finding::fault(path, *line, text)
    }));
    findings
}

/// The name of a public type that begins in this line; the items of macros are indented and left out.
pub(super) fn declared_type(code: &str) -> Option<&str> {
    let rest = code.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: &str = "# Glossary\n\n## Types of `a`\n\n| type | meaning |\n|---|---|\n| `Bus` | a bus |\n\n\
        ## Types of `b`\n\n| type | meaning |\n|---|---|\n| `Plan` | a plan |\n";

    fn check_files(page: &str, files: &[(&str, &str)]) -> Vec<String> {
        told(check(&Repository::of(&[&[(GLOSSARY, page)], files].concat())))
    }

    #[test]
    fn each_type_has_its_entry_in_the_section_of_its_crate() {
        let own = ("crates/a/src/lib.rs", "//! x\npub struct Bus(u8);\n");
        let other = ("crates/b/src/lib.rs", "pub trait Plan<T> {}\n");
        assert_eq!(check_files(PAGE, &[own, other]), [""; 0]);
        let more = ("crates/b/src/bus.rs", "//! x\n\npub enum Bus {\n}\n");
        assert_eq!(
            check_files(PAGE, &[own, other, more]),
            ["crates/b/src/bus.rs:3: `Bus` has no entry in docs/glossary.md below `Types of b`"]
        );
        let without_page = check_files("", &[own]);
        assert_eq!(
            without_page,
            ["crates/a/src/lib.rs:2: `Bus` has no entry in docs/glossary.md below `Types of a`"]
        );
    }

    #[test]
    fn what_is_not_public_or_no_library_needs_none() {
        let hidden = ("crates/a/src/lib.rs", "pub struct Bus;\npub(crate) struct Node;\nstruct Leaf;\n");
        let tests = ("crates/a/src/bus/tests.rs", "pub struct Fake;\n");
        let command = ("crates/lineside-cli/src/main.rs", "pub struct Page;\n");
        let plan = ("crates/b/src/lib.rs", "pub struct Plan;\n");
        assert_eq!(check_files(PAGE, &[hidden, tests, command, plan]), [""; 0]);
    }

    #[test]
    fn an_entry_without_a_type_or_a_meaning_is_found() {
        let page = "## Types of `a`\n\n| type | meaning |\n|---|---|\n| `Bus` | |\n| `Bus` | a bus |\n| `Gone` | x |\n";
        assert_eq!(
            check_files(page, &[("crates/a/src/lib.rs", "pub type Bus = u8;\n")]),
            [
                "docs/glossary.md:5: an entry says what the type is",
                "docs/glossary.md:6: `Bus` has two entries",
                "docs/glossary.md:7: `a` has no public type `Gone`",
            ]
        );
    }
}
