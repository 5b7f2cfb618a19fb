//! The glossary is short and has each word once; each type in it exists, and those that programs name are in it.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::markdown::{section, table, ticked};
use super::repository::{GLOSSARY, Repository};

/// How many words a reader can be expected to learn.
const MOST: usize = 250;

/// The headings of the first columns of the terms and of a crate's types.
const TERM: &str = "term";
const TYPE: &str = "type";

/// Where the types that programs name are exported. Errors explain themselves.
const EXPORTS: [&str; 2] = ["crates/lineside/src/lib.rs", "crates/lineside/src/prelude.rs"];

/// Programs, and what only tests and chores use.
const NO_LIBRARIES: [&str; 4] = ["lineside-cli", "lineside-crash", "lineside-testing", "xtask"];

/// The public types of a crate.
type Types = BTreeSet<String>;

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let page = repository.file(GLOSSARY).map(|file| file.text.as_str()).unwrap_or_default();
    let mut types: BTreeMap<&str, Types> = BTreeMap::new();
    for file in repository.production() {
        let Some(name) = file.crate_name().filter(|name| is_library(name)) else { continue };
        let declared = types.entry(name).or_default();
        declared
            .extend(file.code_lines().iter().filter_map(|(_, code)| Some(declared_type(code)?.to_owned())));
    }
    let mut words = Words::default();
    for row in table(page, TERM).unwrap_or_default().iter().filter(|row| !row.cells[0].starts_with('-')) {
        words.take(row.cells[0], row.cells.get(1).copied(), row.line);
    }
    for (name, declared) in &types {
        let (first, text) = section(page, &format!("## Types of `{name}`")).unwrap_or_default();
        for row in table(text, TYPE).unwrap_or_default().iter().filter(|row| !row.cells[0].starts_with('-')) {
            for word in ticked(row.cells[0]) {
                words.take(word, row.cells.get(1).copied(), first + row.line);
                if !declared.contains(word) {
                    words.fault(first + row.line, format!("`{name}` has no public type `{word}`"));
                }
            }
        }
    }
    if words.known.len() > MOST {
        words.fault(1, format!("has {} words; {MOST} is the most", words.known.len()));
    }
    for word in exported(repository).filter(|word| types.values().any(|declared| declared.contains(*word))) {
        if !words.known.contains(&key(word)) {
            words.fault(1, format!("`{word}`, which programs name, has no entry"));
        }
    }
    words.findings
}

/// The words of the page so far.
#[derive(Default)]
struct Words {
    known: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl Words {
    fn take(&mut self, word: &str, meaning: Option<&str>, line: usize) {
        if !self.known.insert(key(word)) {
            self.fault(line, format!("`{word}` has two entries"));
        }
        if meaning.is_none_or(str::is_empty) {
            self.fault(line, "an entry says what the word means".to_owned());
        }
    }

    fn fault(&mut self, line: usize, text: String) {
        self.findings.push(Finding::fault(GLOSSARY, line, text));
    }
}

/// `signal bus` and `SignalBus` are one word.
fn key(word: &str) -> String {
    word.to_lowercase().replace(' ', "")
}

/// The types that the crate for programs exports by name.
fn exported(repository: &Repository) -> impl Iterator<Item = &str> {
    let files = EXPORTS.iter().filter_map(|path| repository.file(path));
    let lists = files.flat_map(|file| file.text.split("pub use ").skip(1));
    let lists = lists.filter_map(|list| list.split(';').next());
    let words = lists.flat_map(|list| list.split(|char: char| !char.is_alphanumeric() && char != '_'));
    let is_type = |word: &str| word.chars().any(char::is_lowercase) && !word.ends_with("Error");
    words.filter(move |word| word.starts_with(char::is_uppercase) && is_type(word))
}

/// Whether a crate is one that programs depend on.
pub(super) fn is_library(name: &str) -> bool {
    !NO_LIBRARIES.contains(&name)
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

    const PAGE: &str = "# Glossary\n\n| term | meaning |\n|---|---|\n| signal bus | x |\n\n## Types of `a`\n\n\
        | type | meaning |\n|---|---|\n| `Bus` | a bus |\n\n## Types of `b`\n\n| type | meaning |\n|---|---|\n\
        | `Plan` | a plan |\n";

    const FILES: [(&str, &str); 2] = [
        ("crates/a/src/lib.rs", "//! x\npub struct Bus(u8);\n"),
        ("crates/b/src/lib.rs", "pub trait Plan<T> {}\n"),
    ];

    fn check_files(page: &str, files: &[(&str, &str)]) -> Vec<String> {
        told(check(&Repository::of(&[&[(GLOSSARY, page)][..], &FILES, files].concat())))
    }

    #[test]
    fn each_type_that_programs_name_has_an_entry() {
        assert_eq!(check_files(PAGE, &[]), [""; 0]);
        let more =
            ("crates/b/src/node.rs", "pub enum Node {\n}\npub enum Leaf {\n}\npub struct ReadNodeError;\n");
        let exports =
            ("crates/lineside/src/lib.rs", "pub use b::{NODES, Node, ReadNodeError};\npub use a as b;\n");
        assert_eq!(
            check_files(PAGE, &[more, exports]),
            ["docs/glossary.md:1: `Node`, which programs name, has no entry"]
        );
    }

    #[test]
    fn a_word_has_one_entry_with_its_type_and_a_meaning() {
        let page =
            PAGE.replace("| `Plan` | a plan |", "| `Plan` | |\n| `Bus` | a plan |\n| `SignalBus` | x |");
        assert_eq!(
            check_files(&page, &[("crates/b/src/bus.rs", "pub struct SignalBus;\n")]),
            [
                "docs/glossary.md:17: an entry says what the word means",
                "docs/glossary.md:18: `Bus` has two entries",
                "docs/glossary.md:18: `b` has no public type `Bus`",
                "docs/glossary.md:19: `SignalBus` has two entries",
            ]
        );
    }

    #[test]
    fn the_words_are_counted() {
        let rows: String = (0..MOST).map(|n| format!("| word {n} | x |\n")).collect();
        let page = PAGE.replace("| signal bus | x |\n", &rows);
        assert_eq!(check_files(&page, &[]), ["docs/glossary.md:1: has 252 words; 250 is the most"]);
    }
}
