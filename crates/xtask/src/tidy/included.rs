//! What a crate has compiled into it lies in its own folder, because what lies beside it is not published with it. A link in the
//! folder will do: it is published as what it leads to.

use super::finding::Finding;
use super::repository::{File, Repository};

const MACROS: [&str; 2] = ["include_str!(", "include_bytes!("];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let is_published = |file: &&File| {
        let manifest = format!("crates/{}/Cargo.toml", file.crate_name().unwrap_or_default());
        repository.file(&manifest).is_none_or(|manifest| !manifest.text.contains("publish = false"))
    };
    repository.production().filter(is_published).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let depth = file.path.split('/').count().saturating_sub(3);
    // Where it is documentation, its examples are meant, which run here alone.
    let code = file.code_lines().into_iter().filter(|(_, code)| !code.trim_start().starts_with("#["));
    for (line, code) in code {
        let text = file.text.lines().nth(line - 1).unwrap_or_default();
        for at in MACROS.iter().flat_map(|name| code.match_indices(name)).map(|(at, _)| at) {
            let Some(path) = text.get(at..).and_then(|rest| rest.split('"').nth(1)) else { continue };
            if path.split('/').take_while(|part| *part == "..").count() > depth {
                let text = format!("`{path}` lies outside its crate, which is published without it");
                findings.push(Finding::fault(&file.path, line, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    #[test]
    fn what_lies_outside_the_crate_is_named() {
        let text = "const A: &str = include_str!(\"../../beside/a.txt\");\nconst B: &str = include_str!(concat!(\"../own/\", $b));\n\
                    #[doc = include_str!(\"../../../README.md\")]\nmod tests {\n    include_str!(\"../../../b\")\n}\n";
        let deeper = "const A: &[u8] = include_bytes!(\"../../own.bin\");\n";
        let text = text.replace("mod tests", "#[cfg(test)]\nmod tests");
        let repository = Repository::of(&[
            ("crates/a/src/a.rs", &text),
            ("crates/a/src/b/c.rs", deeper),
            ("crates/chores/Cargo.toml", "publish = false\n"),
            ("crates/chores/src/a.rs", "const A: &str = include_str!(\"../../a/a.txt\");\n"),
        ]);
        assert_eq!(
            told(check(&repository)),
            [
                "crates/a/src/a.rs:1: `../../beside/a.txt` lies outside its crate, which is published without it"
            ]
        );
    }
}
