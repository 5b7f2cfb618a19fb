//! A module is called by its idea, never by its being useful.

use super::finding::Finding;
use super::repository::{File, Repository};

const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "helpers", "types", "manager"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository.rust().flat_map(|file| path_names(file).into_iter().chain(inline_modules(file))).collect()
}

fn path_names(file: &File) -> Vec<Finding> {
    let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
    let empty = path.split('/').filter(|name| EMPTY_NAMES.contains(name));
    let mut findings: Vec<Finding> = empty.map(|name| empty_name(file, 1, name)).collect();
    if path.ends_with("/mod") {
        findings.push(Finding::fault(
            &file.path,
            1,
            "write `idea.rs` beside the folder `idea/` instead of `mod.rs`",
        ));
    }
    findings
}

/// A module in a file of its own is found by its path.
fn inline_modules(file: &File) -> Vec<Finding> {
    let module = |code: &str| Some(code.trim().strip_suffix('{')?.trim().rsplit_once("mod ")?.1.to_owned());
    let modules = file.code_lines().into_iter().filter_map(|(line, code)| Some((line, module(&code)?)));
    let empty = modules.filter(|(_, name)| EMPTY_NAMES.contains(&name.as_str()));
    empty.map(|(line, name)| empty_name(file, line, &name)).collect()
}

fn empty_name(file: &File, line: usize, name: &str) -> Finding {
    Finding::fault(&file.path, line, format!("`{name}` says nothing; name it after what it holds"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    fn check_file(path: &str, text: &str) -> Vec<String> {
        told(check(&Repository::of(&[(path, text)])))
    }

    #[test]
    fn a_name_may_contain_such_a_word() {
        assert_eq!(check_file("crates/a/src/content_types.rs", "mod common_law {\n}\n"), [""; 0]);
    }

    #[test]
    fn files_folders_and_modules_are_judged() {
        let says_nothing = |name: &str| format!("`{name}` says nothing; name it after what it holds");
        let utils = format!("crates/a/src/utils.rs:1: {}", says_nothing("utils"));
        assert_eq!(check_file("crates/a/src/utils.rs", ""), [utils]);
        let common = format!("crates/a/tests/common/setup.rs:1: {}", says_nothing("common"));
        assert_eq!(check_file("crates/a/tests/common/setup.rs", ""), [common]);
        let inline = format!("crates/a/src/lib.rs:2: {}", says_nothing("helpers"));
        assert_eq!(check_file("crates/a/src/lib.rs", "//! x\npub(crate) mod helpers {\n}\n"), [inline]);
    }

    #[test]
    fn a_folder_is_described_beside_itself() {
        assert_eq!(
            check_file("crates/a/src/yaml/mod.rs", ""),
            ["crates/a/src/yaml/mod.rs:1: write `idea.rs` beside the folder `idea/` instead of `mod.rs`"]
        );
    }
}
