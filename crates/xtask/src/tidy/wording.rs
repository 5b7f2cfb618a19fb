//! What is said in one place only: reading the clock, reading the environment, starting processes.
//!
//! The architecture lists the words and the crates or files that may say them; tests and benches may say anything.

use super::code::says;
use super::finding::Finding;
use super::markdown::{table, ticked};
use super::repository::{ARCHITECTURE, File, Repository};

/// The heading of the table's first column.
const HEADING: &str = "words";

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let page = repository.architecture();
    let Some(rows) = table(page, HEADING) else {
        return vec![Finding::fault(ARCHITECTURE, 1, format!("holds no table headed `{HEADING}`"))];
    };
    let rows: Vec<_> =
        rows.iter().map(|row| [0, 1].map(|cell| ticked(row.cells.get(cell).unwrap_or(&"")))).collect();
    let mut findings = Vec::new();
    for file in repository.production() {
        let refused: Vec<_> =
            rows.iter().filter(|[_, places]| !places.iter().any(|place| lies_in(file, place))).collect();
        for (line, code) in file.code_lines() {
            for [words, places] in &refused {
                let said = words.iter().filter(|words| says(&code, words));
                findings.extend(said.map(|words| {
                    let text = format!("`{words}` is said only in {}", places.join(", "));
                    Finding::fault(&file.path, line, text)
                }));
            }
        }
    }
    findings
}

/// A place is a crate's name, or the path of a file.
fn lies_in(file: &File, place: &str) -> bool {
    file.path == place || file.crate_name() == Some(place)
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: &str = "| words | said only in |\n|---|---|\n\
        | `Timestamp::now` | `crates/bus/src/clock.rs` |\n| `std::fs`, `std::net` | `exec` |\n";

    fn check_file(path: &str, text: &str) -> Vec<String> {
        told(check(&Repository::of(&[(ARCHITECTURE, PAGE), (path, text)])))
    }

    #[test]
    fn the_place_itself_may_say_it() {
        assert_eq!(check_file("crates/bus/src/clock.rs", "let now = Timestamp::now();"), [""; 0]);
        assert_eq!(check_file("crates/exec/src/spawn.rs", "use std::fs;"), [""; 0]);
    }

    #[test]
    fn no_other_place_may() {
        assert_eq!(
            check_file("crates/core/src/event.rs", "//! x\nuse std::fs::File;\n"),
            ["crates/core/src/event.rs:2: `std::fs` is said only in exec"]
        );
        assert_eq!(
            check_file("crates/bus/src/bus.rs", "let now = jiff::Timestamp::now();"),
            ["crates/bus/src/bus.rs:1: `Timestamp::now` is said only in crates/bus/src/clock.rs"]
        );
    }

    #[test]
    fn comments_and_tests_may() {
        assert_eq!(check_file("crates/core/src/event.rs", "//! unlike std::fs\n"), [""; 0]);
        assert_eq!(
            check_file("crates/core/src/a.rs", "\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
            [""; 0]
        );
        assert_eq!(check_file("crates/core/tests/it.rs", "use std::fs;"), [""; 0]);
    }
}
