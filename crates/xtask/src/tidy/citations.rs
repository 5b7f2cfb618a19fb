//! Each numbered rule of a foreign format is cited by a test or a case.
//!
//! How many rules a format has stands in the table of `docs/dialects.md`; a row is
//! ``| [Chord](dialects/chord.md) | `chord` | CH-1 to CH-63 |``. A citation is `CH-7`, or a range, `CH-7 to CH-9`.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::markdown::{Row, table};
use super::repository::{File, Repository};

const PAGE: &str = "docs/dialects.md";

/// The rules of one format.
struct Rules<'a> {
    prefix: &'a str,
    last: u32,
}

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.file(PAGE) else {
        return vec![Finding::warning(PAGE, 1, "does not exist yet")];
    };
    let Some(rows) = table(&page.text, "format") else {
        return vec![Finding::fault(PAGE, 1, "has no table that begins with a column `format`")];
    };
    let mut findings = Vec::new();
    for row in &rows {
        let Some(rules) = rules(row) else {
            findings.push(Finding::fault(PAGE, row.line, "the last cell must be like `CH-1 to CH-63`"));
            continue;
        };
        let cited: BTreeSet<u32> =
            repository.files.iter().flat_map(|file| citations(tests_of(file), rules.prefix)).collect();
        let missing: Vec<String> = (1..=rules.last)
            .filter(|number| !cited.contains(number))
            .map(|number| format!("{}{number}", rules.prefix))
            .collect();
        if !missing.is_empty() {
            let text = format!("no test and no case cites {}", missing.join(", "));
            findings.push(Finding::fault(PAGE, row.line, text));
        }
    }
    findings
}

fn rules<'a>(row: &Row<'a>) -> Option<Rules<'a>> {
    let (first, last) = row.cells.last()?.split_once(" to ")?;
    let prefix = first.strip_suffix('1')?;
    Some(Rules { prefix, last: last.strip_prefix(prefix)?.parse().ok()? })
}

/// What of a file is a test or a case.
fn tests_of(file: &File) -> &str {
    let in_tests = file.path.split('/').any(|part| part == "tests" || part == "tests.rs");
    if in_tests {
        return &file.text;
    }
    let at_end = || file.text.find("#[cfg(test)]").and_then(|start| file.text.get(start..));
    if file.path.ends_with(".rs") { at_end().unwrap_or_default() } else { "" }
}

/// The numbers that a text cites, ranges included.
fn citations<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = u32> + 'a {
    text.match_indices(prefix).flat_map(move |(start, _)| {
        let rest = text.get(start + prefix.len()..).unwrap_or_default();
        let (first, rest) = number(rest);
        let range = rest.strip_prefix(" to ").and_then(|rest| rest.strip_prefix(prefix)).map(number);
        match (first, range) {
            (Some(first), Some((Some(last), _))) if last >= first && last - first < 100 => first..=last,
            (Some(first), _) => first..=first,
            // No rule has the number 0.
            (None, _) => 0..=0,
        }
    })
}

fn number(text: &str) -> (Option<u32>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.parse().ok(), rest)
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const DIALECTS: &str = "# D\n\n| format | name | rules |\n|---|---|---|\n| X | `x` | XX-1 to XX-4 |\n";

    #[test]
    fn a_rule_that_no_test_cites_is_named() {
        let cited = [
            (PAGE, DIALECTS),
            ("tests/conformance/x.cases.yaml", "from: XX-1; a page"),
            ("crates/x/src/room.rs", "// XX-4\n#[cfg(test)]\nmod tests { // XX-2\n}"),
        ];
        assert_eq!(
            told(check(&Repository::of(&cited))),
            ["docs/dialects.md:5: no test and no case cites XX-3, XX-4"]
        );
    }

    #[test]
    fn a_range_cites_all_of_its_rules() {
        let cited = [(PAGE, DIALECTS), ("crates/x/src/room/tests.rs", "// XX-1 to XX-3, XX-4")];
        assert_eq!(told(check(&Repository::of(&cited))), [""; 0]);
    }

    #[test]
    fn a_row_without_a_range_is_a_fault() {
        let page = DIALECTS.replace("XX-1 to XX-4", "many");
        let findings = told(check(&Repository::of(&[(PAGE, &page)])));
        assert_eq!(findings, ["docs/dialects.md:5: the last cell must be like `CH-1 to CH-63`"]);
    }
}
