//! `cargo xtask api`: the public items of each library, beside the listings in `docs/reference/api`.
//!
//! A change of a listing is a change of the interface; it is committed with the code, so that it is seen.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::glossary::{declared_type, is_library};
use super::listing;
use super::repository::Repository;
use crate::test::step::{Counts, Outcome};
use crate::workspace::Workspace;

/// The folder with a listing of each library.
const FOLDER: &str = "docs/reference/api";

/// How many differences of one library are shown.
const SHOWN: usize = 40;

/// The step of the test: each library counts as a test.
pub(crate) fn judge(workspace: &Workspace) -> Result<Outcome> {
    let mut counts = Counts::default();
    let repository = Repository::read(workspace)?;
    for (name, listing) in listings(&repository) {
        let path = format!("{FOLDER}/{name}.txt");
        let known = repository.file(&path).map(|file| file.text.as_str()).unwrap_or_default();
        let changes = changes(known, &listing);
        for change in changes.iter().take(SHOWN) {
            println!("{path}: {change}");
        }
        if changes.is_empty() && known == listing {
            counts += Counts::ONE_PASSED;
        } else {
            println!("{path}: is not what the sources say; `cargo xtask api` writes it");
            counts += Counts::ONE_FAILED;
        }
    }
    Ok(Outcome::Judged(counts))
}

/// The chore: writes the listings.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let folder = workspace.root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {FOLDER}"))?;
    for (name, listing) in listings(&Repository::read(workspace)?) {
        let path = folder.join(format!("{name}.txt"));
        fs::write(&path, listing).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The listing of each library: its files in order, each with its public items.
fn listings(repository: &Repository) -> BTreeMap<String, String> {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in repository.production() {
        let Some(name) = file.crate_name().filter(|name| is_library(name)) else { continue };
        let lines = file.code_lines();
        let declared = lines.iter().filter_map(|(_, code)| declared_type(code)).map(str::to_owned);
        types.entry(name).or_default().extend(declared);
    }
    let mut listings: BTreeMap<String, String> = BTreeMap::new();
    for file in repository.production() {
        let Some((name, types)) = file.crate_name().and_then(|name| types.get_key_value(name)) else {
            continue;
        };
        let items = listing::items(&file.text, |word| types.iter().any(|known| known == word));
        if items.is_empty() {
            continue;
        }
        let path = file.path.strip_prefix("crates/").unwrap_or(&file.path);
        let listing = listings.entry((*name).to_owned()).or_default();
        let _ok = writeln!(listing, "{path}");
        for item in items {
            let _ok = writeln!(listing, "    {item}");
        }
    }
    listings
}

/// The lines that one text has and the other has not.
fn changes(known: &str, listing: &str) -> Vec<String> {
    let mut left: BTreeMap<&str, i32> = BTreeMap::new();
    known.lines().for_each(|line| *left.entry(line).or_default() -= 1);
    listing.lines().for_each(|line| *left.entry(line).or_default() += 1);
    let sign = |(line, count): (&str, i32)| match count {
        0 => None,
        ..0 => Some(format!("- {}", line.trim_start())),
        _ => Some(format!("+ {}", line.trim_start())),
    };
    left.into_iter().filter_map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_has_the_libraries_and_their_files() {
        let repository = Repository::of(&[
            (
                "crates/lineside-bus/src/bus.rs",
                "//! x\npub struct Bus;\nimpl Clone for Bus {}\nimpl Drop for Own {}\n",
            ),
            ("crates/lineside-bus/src/own.rs", "struct Own;\n"),
            ("crates/lineside-cli/src/main.rs", "pub struct Page;\n"),
        ]);
        let expected = "lineside-bus/src/bus.rs\n    pub struct Bus\n    impl Clone for Bus\n".to_owned();
        assert_eq!(listings(&repository), BTreeMap::from([("lineside-bus".to_owned(), expected)]));
    }

    #[test]
    fn what_was_added_and_taken_away_is_named() {
        assert_eq!(changes("a\n    b\n", "a\n    c\n"), ["- b", "+ c"]);
        assert_eq!(changes("a\n", "a\n"), [""; 0]);
    }
}
