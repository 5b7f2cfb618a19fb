//! Which crate may depend on which: only along the edges that the architecture lists.
//!
//! A crate's tests may use the crate of doubles without an edge.

use super::finding::Finding;
use super::markdown::{fenced, table, ticked};
use super::repository::{ARCHITECTURE, Crate, Repository};
use crate::workspace::DependencyKind;

const DOUBLES: &str = "lineside-testing";

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let page = repository.architecture();
    let Some(listed) = fenced(page, "edges") else {
        return vec![Finding::fault(ARCHITECTURE, 1, "holds no block fenced with `edges`")];
    };
    let (mut edges, mut findings) = (Vec::new(), Vec::new());
    for (line, text) in listed.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        match text.split_once("->") {
            Some((from, to)) => edges.push((line, from.trim(), to.trim())),
            None => {
                findings.push(Finding::fault(
                    ARCHITECTURE,
                    line,
                    format!("`{text}` is not `crate -> crate`"),
                ));
            }
        }
    }
    findings.extend(repository.crates.iter().flat_map(|from| unlisted(repository, from, &edges)));
    findings.extend(edges.iter().filter_map(|edge| unused(repository, edge)));
    findings.extend(repository.crates.iter().filter_map(|described| undescribed(page, described)));
    findings
}

/// The edges of a crate that are not on the list.
fn unlisted(repository: &Repository, from: &Crate, edges: &[(usize, &str, &str)]) -> Vec<Finding> {
    let is_ours = |name: &str| repository.crates.iter().any(|other| other.name == name);
    let is_listed = |name: &str| edges.iter().any(|(_, a, b)| *a == from.name && *b == name);
    let mut findings = Vec::new();
    for (name, kind) in &from.dependencies {
        let doubled = *kind == Some(DependencyKind::Dev) && name == DOUBLES;
        // A crate's tests may be of itself with another feature.
        let is_itself = *name == from.name;
        if is_ours(name) && !is_itself && !is_listed(name) && !doubled {
            let text = format!("`{} -> {name}` is not among the edges of {ARCHITECTURE}", from.name);
            findings.push(Finding::fault(&from.manifest, repository.line_of(from, name), text));
        }
    }
    findings
}

fn unused(repository: &Repository, (line, from, to): &(usize, &str, &str)) -> Option<Finding> {
    for name in [from, to] {
        if !repository.crates.iter().any(|known| known.name == *name) {
            return Some(Finding::fault(ARCHITECTURE, *line, format!("there is no crate `{name}`")));
        }
    }
    let taken = |known: &Crate| known.name == *from && known.dependencies.iter().any(|(name, _)| name == to);
    let used = repository.crates.iter().any(taken);
    (!used).then(|| Finding::warning(ARCHITECTURE, *line, format!("nothing uses `{from} -> {to}`")))
}

/// A crate without a row in the table of crates.
fn undescribed(page: &str, described: &Crate) -> Option<Finding> {
    let rows = table(page, "crate").unwrap_or_default();
    let has_row = rows
        .iter()
        .any(|row| row.cells.first().is_some_and(|cell| ticked(cell) == [described.name.as_str()]));
    (!has_row).then(|| {
        Finding::fault(&described.manifest, 1, format!("{ARCHITECTURE} has no row for `{}`", described.name))
    })
}

impl Repository {
    /// The line of a crate's manifest that names a dependency; the first one if none does.
    pub(super) fn line_of(&self, of: &Crate, dependency: &str) -> usize {
        let text = self.file(&of.manifest).map(|file| file.text.as_str()).unwrap_or_default();
        let names = |line: &str| {
            line.trim_start().strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        text.lines().position(names).map_or(1, |index| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: &str = "| crate | what |\n|---|---|\n| `a` | x |\n| `b` | y |\n| `lineside-testing` | z |\n\n\
        ```edges\na -> b\n```\n";

    fn repository(page: &str) -> Repository {
        Repository::of(&[(ARCHITECTURE, page)]).with_crate("b", &[]).with_crate(DOUBLES, &[])
    }

    #[test]
    fn a_listed_edge_and_the_doubles_of_tests_are_allowed() {
        let needs = [("serde", None), ("b", None), (DOUBLES, Some(DependencyKind::Dev))];
        assert_eq!(told(check(&repository(PAGE).with_crate("a", &needs))), [""; 0]);
    }

    #[test]
    fn an_edge_that_is_not_listed_is_a_fault() {
        let backwards = Repository::of(&[(ARCHITECTURE, PAGE)])
            .with_crate("a", &[("b", None)])
            .with_crate("b", &[("serde", None), ("a", Some(DependencyKind::Dev))])
            .with_crate(DOUBLES, &[]);
        assert_eq!(
            told(check(&backwards)),
            ["crates/b/Cargo.toml:2: `b -> a` is not among the edges of docs/architecture.md"]
        );
    }

    #[test]
    fn a_listed_edge_that_nothing_uses_is_a_warning() {
        assert_eq!(
            told(check(&repository(PAGE).with_crate("a", &[]))),
            ["docs/architecture.md:8: warning: nothing uses `a -> b`"]
        );
    }

    #[test]
    fn a_crate_needs_a_row_and_an_edge_needs_crates() {
        let page = PAGE.replace("| `b` | y |\n", "").replace("a -> b", "a -> c");
        assert_eq!(
            told(check(&repository(&page).with_crate("a", &[]))),
            [
                "crates/b/Cargo.toml:1: docs/architecture.md has no row for `b`",
                "docs/architecture.md:7: there is no crate `c`"
            ]
        );
    }
}
