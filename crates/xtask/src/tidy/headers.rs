//! Every source opens with what it is for.

use super::finding::Finding;
use super::repository::Repository;

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let opens_well = |text: &str| {
        text.strip_prefix("//! ").is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
    };
    let silent = repository.rust().filter(|file| !opens_well(&file.text));
    let rust = silent.map(|file| Finding::fault(&file.path, 1, "open it with `//!` and what it is for"));
    // What is started as a program names that program first.
    let first = |text: &str| match text.split_once('\n') {
        Some((line, rest)) if line.starts_with("#!") => rest.starts_with("// "),
        _ => text.starts_with("// "),
    };
    let silent = repository.typescript().filter(|file| !first(&file.text));
    rust.chain(silent.map(|file| Finding::fault(&file.path, 1, "open it with `//` and what it is for")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    #[test]
    fn the_first_line_says_what_the_file_is_for() {
        let repository = Repository::of(&[
            ("crates/a/src/lib.rs", "//! What it is for.\n"),
            ("crates/a/src/bare.rs", "use std::fs;\n"),
            ("examples/empty.rs", "//!\n"),
            ("crates/a/src/well.ts", "// What it is for.\n"),
            ("crates/a/src/bare.ts", "import fs from 'node:fs';\n"),
            ("crates/a/src/program.ts", "#!/usr/bin/env node\n// What it is for.\n"),
        ]);
        assert_eq!(
            told(check(&repository)),
            [
                "crates/a/src/bare.rs:1: open it with `//!` and what it is for",
                "crates/a/src/bare.ts:1: open it with `//` and what it is for",
                "examples/empty.rs:1: open it with `//!` and what it is for"
            ]
        );
    }
}
