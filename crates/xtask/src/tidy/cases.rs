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
        |file: &&File| file.path.starts_with("tests/conformance/") && file.path.ends_with(".cases.json");
    for file in repository.files.iter().filter(is_suite) {
        match serde_json::from_str::<Suite>(&file.text) {
            Err(error) => findings.push(Finding::fault(&file.path, error.line().max(1), error.to_string())),
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
    let quoted = format!("\"{id}\"");
    let lines: Vec<&str> = file.text.lines().collect();
    lines.iter().rposition(|line| line.contains(&quoted)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const A: &str = "tests/conformance/a.cases.json";
    const B: &str = "tests/conformance/b.cases.json";

    #[test]
    fn an_id_is_taken_once_in_all_suites() {
        let suites =
            [(A, r#"{"cases": [{"id": "x"}]}"#), (B, "{\"cases\": [\n{\"id\": \"y\"},\n{\"id\": \"x\"}]}")];
        assert_eq!(
            told(check(&Repository::of(&suites))),
            [
                "tests/conformance/b.cases.json:3: the id `x` is taken by a case of tests/conformance/a.cases.json"
            ]
        );
    }

    #[test]
    fn a_suite_that_cannot_be_read_is_shown_where() {
        let found = told(check(&Repository::of(&[(A, "{\"cases\": [\n{\"name\": \"x\"}]}")])));
        assert_eq!(found, ["tests/conformance/a.cases.json:2: missing field `id` at line 2 column 13"]);
        assert_eq!(told(check(&Repository::of(&[(A, "")]))).len(), 1);
    }
}
