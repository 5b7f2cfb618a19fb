//! A file holds one idea, and one idea fits in so many lines of code.
//!
//! Counted are lines that hold code; blank lines, comments and the module of tests at the end are free.

use super::finding::Finding;
use super::repository::Repository;

const MOST: usize = 400;

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let rust = repository.rust().map(|file| {
        let lines = file.code_lines();
        (file, lines.iter().filter(|(_, code)| !code.trim().is_empty()).map(|(line, _)| *line).collect())
    });
    let typescript = repository.typescript().map(|file| (file, lines_of_typescript(&file.text)));
    for (file, lines) in rust.chain(typescript) {
        let lines: Vec<usize> = lines;
        if let Some(first_over) = lines.get(MOST) {
            let text = format!(
                "{} lines of code; find the second idea and give it a file ({MOST} at most)",
                lines.len()
            );
            findings.push(Finding::fault(&file.path, *first_over, text));
        }
    }
    findings
}

/// The lines of code, without comments and blanks.
fn lines_of_typescript(text: &str) -> Vec<usize> {
    let is_code =
        |line: &str| !line.is_empty() && !["//", "/*", "*"].iter().any(|sign| line.starts_with(sign));
    let lines = text.lines().enumerate().filter(|(_, line)| is_code(line.trim()));
    lines.map(|(index, _)| index + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    fn check_text(text: &str) -> Vec<String> {
        told(check(&Repository::of(&[("crates/a/src/lib.rs", text)])))
    }

    #[test]
    fn comments_blanks_and_tests_are_free() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn g() {}\n".repeat(500));
        let text =
            format!("{}{}{}{tests}", "// why\n".repeat(500), "\n".repeat(500), "fn f() {}\n".repeat(400));
        assert_eq!(check_text(&text), [""; 0]);
    }

    #[test]
    fn typescript_has_as_many_lines_at_most() {
        let text = format!("// x\n/**\n * why\n */\n\n{}", "run();\n".repeat(401));
        assert_eq!(told(check(&Repository::of(&[("crates/a/src/a.ts", &text)]))).len(), 1);
        assert!(
            check(&Repository::of(&[("crates/a/src/a.ts", &text.replacen("run();\n", "", 1))])).is_empty()
        );
    }

    #[test]
    fn the_first_line_too_many_is_shown() {
        assert_eq!(
            check_text(&format!("//! x\n{}", "fn f() {}\n".repeat(401))),
            [
                "crates/a/src/lib.rs:402: 401 lines of code; find the second idea and give it a file (400 at most)"
            ]
        );
    }
}
