//! A law on the page of laws names the test that proves it, and that test exists and is compiled.
//!
//! A row of the page is `| 2 | A block is final | `a_block_is_final` |`: the first cell is the number, the last holds
//! the tests.

use super::code::{bare, says};
use super::finding::Finding;
use super::markdown::{Row, every_row, ticked};
use super::repository::Repository;

const PAGE: &str = "docs/laws.md";
/// Where these tests are: those of values and the library, and those from outside.
const TESTS: [&str; 2] = ["tests/laws", "tests/attacks"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.file(PAGE) else {
        return vec![Finding::warning(PAGE, 1, "does not exist yet")];
    };
    let is_one = |path: &str| TESTS.iter().any(|folder| is_in(folder, path));
    let tests: String =
        repository.rust().filter(|file| is_one(&file.path)).map(|file| bare(&file.text)).collect();
    let exists = |name: &str| tests.lines().any(|code| says(code, &format!("fn {name}")));
    let number = |row: &Row<'_>| row.cells.first().and_then(|cell| cell.parse::<u32>().ok());
    let laws: Vec<_> = every_row(&page.text).filter_map(|row| Some((number(&row)?, row))).collect();
    if laws.is_empty() {
        return vec![Finding::warning(PAGE, 1, "lists no law with its number and its test")];
    }
    let mut findings = Vec::new();
    for (law, row) in laws {
        let named = row.cells.last().map(|cell| ticked(cell)).unwrap_or_default();
        if named.is_empty() {
            findings.push(Finding::fault(PAGE, row.line, format!("law {law} names no test")));
        }
        for name in named.into_iter().filter(|name| !exists(name)) {
            findings.push(Finding::fault(
                PAGE,
                row.line,
                format!("law {law}: there is no `fn {name}` in {}", TESTS.join(" or ")),
            ));
        }
    }
    for folder in TESTS {
        let has_tests = repository.rust().any(|file| is_in(folder, &file.path));
        let mut targets = repository.crates.iter().flat_map(|known| &known.targets);
        if has_tests && !targets.any(|target| is_in(folder, target)) {
            let text = "no crate declares it as a [[test]], so it is never run";
            findings.push(Finding::fault(folder, 1, text));
        }
    }
    findings
}

fn is_in(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const LAWS: &str =
        "# Laws\n\n| | law | test |\n|---|---|---|\n| 2 | A block is final | `a_block_is_final` |\n";
    const TEST: (&str, &str) = ("tests/laws/verdicts.rs", "#[test]\nfn a_block_is_final() {}\n");

    fn check_files(files: &[(&str, &str)]) -> Vec<String> {
        let mut repository = Repository::of(files).with_crate("lineside", &[]);
        repository.crates[0].targets.push("tests/laws/main.rs".to_owned());
        told(check(&repository))
    }

    #[test]
    fn a_law_with_its_test_holds() {
        assert_eq!(check_files(&[(PAGE, LAWS), TEST]), [""; 0]);
    }

    #[test]
    fn a_test_that_does_not_exist_is_named() {
        let misspelt = ("tests/laws/verdicts.rs", "// fn a_block_is_final\nfn a_block_is_final_too() {}\n");
        assert_eq!(
            check_files(&[(PAGE, LAWS), misspelt]),
            ["docs/laws.md:5: law 2: there is no `fn a_block_is_final` in tests/laws or tests/attacks"]
        );
    }

    #[test]
    fn a_law_without_a_test_is_a_fault_and_no_page_a_warning() {
        let page = LAWS.replace("`a_block_is_final`", "later");
        assert_eq!(check_files(&[(PAGE, &page)]), ["docs/laws.md:5: law 2 names no test"]);
        assert_eq!(check_files(&[]), ["docs/laws.md:1: warning: does not exist yet"]);
        let empty = check_files(&[(PAGE, "# Laws\n")]);
        assert_eq!(empty, ["docs/laws.md:1: warning: lists no law with its number and its test"]);
    }

    #[test]
    fn laws_that_no_crate_compiles_are_a_fault() {
        let found = told(check(&Repository::of(&[(PAGE, LAWS), TEST])));
        assert_eq!(found, ["tests/laws:1: no crate declares it as a [[test]], so it is never run"]);
    }
}
