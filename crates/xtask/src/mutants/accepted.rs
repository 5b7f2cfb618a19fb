//! The changes that no test has to notice, each with the reason.
//!
//! A block of the file is its reason, in lines that begin with `#`, and below it the changes as `cargo-mutants` names
//! them, without line and column: those move. One name may stand for several places of a function.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Where they are listed.
pub(super) const FILE: &str = "tests/mutants/accepted.txt";

#[derive(Debug, Default)]
pub(super) struct Accepted(BTreeSet<String>);

impl Accepted {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {FILE}"))?;
        Self::parse(&text)
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut accepted = BTreeSet::new();
        let mut has_reason = false;
        for (index, line) in text.lines().map(str::trim).enumerate() {
            match line {
                "" => has_reason = false,
                reason if reason.starts_with('#') => has_reason = true,
                change => {
                    ensure!(has_reason, "{FILE}:{}: there is no reason above this change", index + 1);
                    accepted.insert(change.to_owned());
                }
            }
        }
        Ok(Self(accepted))
    }

    /// Whether a change is on the list; it is named with its line and column.
    pub(super) fn holds(&self, change: &str) -> bool {
        self.0.contains(&without_place(change))
    }

    /// Those that are on the list and not among these, in the files that these are of.
    pub(super) fn beyond<'a>(&'a self, tried: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
        let tried: BTreeSet<String> = tried.into_iter().map(|change| without_place(change)).collect();
        let files: BTreeSet<&str> =
            tried.iter().filter_map(|change| Some(change.split_once(": ")?.0)).collect();
        let is_of_these = |change: &&String| {
            change.split_once(": ").is_some_and(|(file, _)| files.contains(file)) && !tried.contains(*change)
        };
        self.0.iter().filter(is_of_these).map(String::as_str).collect()
    }
}

/// `a.rs:174:58: replace < with ==` is `a.rs: replace < with ==`.
pub(super) fn without_place(change: &str) -> String {
    let mut parts = change.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(line), Some(column), Some(what))
            if [line, column].iter().all(|number| number.parse::<u32>().is_ok()) =>
        {
            format!("{file}:{what}")
        }
        _ => change.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Both sides are the same there.\na.rs: replace < with <= in f\na.rs: replace g -> u8 with 0\n";

    #[test]
    fn a_change_is_found_wherever_it_has_moved() {
        let accepted = Accepted::parse(TEXT).unwrap();
        assert!(accepted.holds("a.rs:3:7: replace < with <= in f"));
        assert!(accepted.holds("a.rs:99:1: replace < with <= in f"));
        assert!(!accepted.holds("a.rs:3:7: replace < with == in f"));
        assert!(!accepted.holds("b.rs:3:7: replace < with <= in f"));
    }

    #[test]
    fn a_change_without_a_reason_is_refused() {
        let error = Accepted::parse("# why\na.rs: b\n\na.rs: c\n").unwrap_err().to_string();
        assert_eq!(error, "tests/mutants/accepted.txt:4: there is no reason above this change");
    }

    #[test]
    fn what_is_listed_and_no_longer_there_is_told() {
        let accepted = Accepted::parse(TEXT).unwrap();
        let tried = ["a.rs:3:7: replace < with <= in f".to_owned()];
        assert_eq!(accepted.beyond(&tried), ["a.rs: replace g -> u8 with 0"]);
        assert!(accepted.beyond(&["b.rs:1:1: replace".to_owned()]).is_empty());
    }
}
