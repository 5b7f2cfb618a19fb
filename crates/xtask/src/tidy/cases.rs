//! The suites of conformance cases can be read, and every case has an id of its own.

use std::collections::HashMap;

use serde::Deserialize;

use super::finding::Finding;
use super::repository::{File, Repository};

#[derive(Deserialize)]
struct Suite {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
}

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen: HashMap<String, &File> = HashMap::new();
    let is_suite =
        |file: &&File| file.path.starts_with("tests/conformance/") && file.path.ends_with(".cases.yaml");
    for file in repository.files.iter().filter(is_suite) {
        match serde_saphyr::from_str::<Suite>(&file.text) {
            Err(error) => {
                let line = error.location().map_or(1, |place| place.line());
                findings.push(Finding::fault(
                    &file.path,
                    usize::try_from(line).unwrap_or(1),
                    error.to_string(),
                ));
            }
            Ok(suite) => {
                for Case { id } in suite.cases {
                    if let Some(first) = seen.get(&id) {
                        let text = format!("the id `{id}` is taken by a case of {}", first.path);
                        findings.push(Finding::fault(&file.path, last_line_with(file, &id), text));
                    } else {
                        seen.insert(id, file);
                    }
                }
            }
        }
    }
    findings
}

fn last_line_with(file: &File, id: &str) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    lines.iter().rposition(|line| line.ends_with(&format!("id: {id}"))).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const A: &str = "tests/conformance/a.cases.yaml";
    const B: &str = "tests/conformance/b.cases.yaml";

    #[test]
    fn an_id_is_taken_once_in_all_suites() {
        let suites = [(A, "cases:\n  - id: x\n"), (B, "cases:\n  - id: y\n  - id: x\n")];
        assert_eq!(
            told(check(&Repository::of(&suites))),
            [
                "tests/conformance/b.cases.yaml:3: the id `x` is taken by a case of tests/conformance/a.cases.yaml"
            ]
        );
    }

    #[test]
    fn a_suite_that_cannot_be_read_is_shown_where() {
        let found = told(check(&Repository::of(&[(A, "cases:\n  - name: x\n")])));
        assert!(found.len() == 1 && found[0].contains("a.cases.yaml:2: "), "{found:?}");
        assert!(found[0].contains("`id`"), "{found:?}");
        assert_eq!(told(check(&Repository::of(&[(A, "")]))).len(), 1);
    }
}
