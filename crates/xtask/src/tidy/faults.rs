//! Each row of the table of faults has a test that bears its number, or a reason why not, and no test bears the number
//! of a row that there is not.

use std::collections::BTreeSet;

use super::code::bare;
use super::finding::Finding;
use super::repository::Repository;
use crate::faults::{PAGE, row_of, rows};

/// The letters of the rows that the table holds.
const LETTERS: [char; 4] = ['P', 'D', 'I', 'C'];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.file(PAGE) else {
        return vec![Finding::warning(PAGE, 1, "does not exist yet")];
    };
    let rows = rows(&page.text);
    let mut tested = BTreeSet::new();
    let mut findings = Vec::new();
    for file in repository.rust() {
        for (index, line) in bare(&file.text).lines().enumerate() {
            let Some(row) = function(line).and_then(row_of) else { continue };
            if !row.starts_with(LETTERS) {
                continue;
            }
            if !rows.iter().any(|known| known.name == row) {
                let text = format!("{PAGE} has no row {row}");
                findings.push(Finding::fault(&file.path, index + 1, text));
            }
            tested.insert(row);
        }
    }
    for row in rows {
        let text = match (&row.why_not, tested.contains(&row.name)) {
            (None, false) => format!("no test bears the number of {}", row.name),
            (Some(_), true) => format!("{} has a test by now", row.name),
            _ => continue,
        };
        findings.push(Finding::fault(PAGE, row.line, text));
    }
    findings
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ")?;
    rest.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const TABLE: &str = "| row | fault | tests |\n|---|---|---|\n| P3 | x | |\n| D1 | y | none: z |\n";

    fn check_file(test: &str) -> Vec<String> {
        told(check(&Repository::of(&[(PAGE, TABLE), ("crates/a/tests/x.rs", test)])))
    }

    #[test]
    fn every_row_has_a_test_or_a_reason() {
        assert_eq!(check_file("async fn p03_x() {}"), [""; 0]);
        assert_eq!(check_file("// fn p03_x() {}"), ["docs/faults.md:3: no test bears the number of P3"]);
        assert_eq!(
            check_file("fn p03_x() {}\nfn d01_y() {}\nfn p04_z() {}"),
            ["crates/a/tests/x.rs:3: docs/faults.md has no row P4", "docs/faults.md:4: D1 has a test by now"]
        );
    }
}
