//! Which crate may know a library from outside: for those that the architecture lists, only the crates named there.
//!
//! What a crate's tests and benches use is their own affair.

use super::finding::Finding;
use super::markdown::{table, ticked};
use super::repository::{ARCHITECTURE, Repository};
use crate::workspace::DependencyKind;

/// The heading of the table's first column.
const HEADING: &str = "library";

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let page = repository.architecture();
    let Some(rows) = table(page, HEADING) else {
        return vec![Finding::fault(ARCHITECTURE, 1, format!("holds no table headed `{HEADING}`"))];
    };
    let mut findings = Vec::new();
    for row in rows {
        let [libraries, knowers] = [0, 1].map(|cell| ticked(row.cells.get(cell).unwrap_or(&"")));
        for library in libraries {
            findings.extend(intruders(repository, library, &knowers));
        }
    }
    findings
}

fn intruders(repository: &Repository, library: &str, knowers: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for intruder in repository.crates.iter().filter(|known| !knowers.contains(&known.name.as_str())) {
        let needs = |(name, kind): &(String, Option<DependencyKind>)| {
            name == library && *kind != Some(DependencyKind::Dev)
        };
        if intruder.dependencies.iter().any(needs) {
            let text =
                format!("`{}` may not know `{library}`; only {} may", intruder.name, knowers.join(", "));
            findings.push(Finding::fault(&intruder.manifest, repository.line_of(intruder, library), text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: &str = "| library | known only to |\n|---|---|\n| `kameo`, `ractor` | `bus`, `facade` |\n";

    #[test]
    fn the_named_crates_and_tests_may_know_it() {
        let repository = Repository::of(&[(ARCHITECTURE, PAGE)])
            .with_crate("bus", &[("kameo", None)])
            .with_crate("exec", &[("kameo", Some(DependencyKind::Dev)), ("tokio", None)]);
        assert_eq!(told(check(&repository)), [""; 0]);
    }

    #[test]
    fn any_other_crate_may_not() {
        let repository =
            Repository::of(&[(ARCHITECTURE, PAGE)]).with_crate("core", &[("serde", None), ("ractor", None)]);
        assert_eq!(
            told(check(&repository)),
            ["crates/core/Cargo.toml:2: `core` may not know `ractor`; only bus, facade may"]
        );
    }

    #[test]
    fn without_the_table_nothing_is_known() {
        assert_eq!(
            told(check(&Repository::of(&[]))),
            ["docs/architecture.md:1: holds no table headed `library`"]
        );
    }
}
