//! Nothing unfinished and nothing switched off, in tests neither; and no queue without an end.

use super::code::{bare, says};
use super::finding::Finding;
use super::repository::Repository;

/// What may not be said, and what to do instead.
const REFUSED: [(&str, &str); 6] = [
    ("todo!", "finish it, or return an error that says what is missing"),
    ("unimplemented!", "finish it, or return an error that says what is missing"),
    ("#[ignore", "a test that does not run proves nothing: let it run, or make it a bench"),
    ("unbounded_channel", "give the queue a bound and count what it drops"),
    ("mpsc::unbounded", "give the queue a bound and count what it drops"),
    ("mailbox::unbounded", "give the mailbox a bound"),
];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.rust() {
        for (index, code) in bare(&file.text).lines().enumerate() {
            let said = REFUSED.iter().filter(|(words, _)| says(code, words));
            findings.extend(said.map(|(words, instead)| {
                Finding::fault(&file.path, index + 1, format!("`{words}`: {instead}"))
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    fn check_text(text: &str) -> Vec<String> {
        told(check(&Repository::of(&[("crates/a/tests/it.rs", text)])))
    }

    #[test]
    fn talking_about_it_is_allowed() {
        assert_eq!(
            check_text("// todo!() was here\nlet text = \"todo!()\"; Budget::unbounded();\n"),
            [""; 0]
        );
    }

    #[test]
    fn each_is_found_where_it_stands() {
        let found = check_text(
            "fn f() {\n    todo!()\n}\n#[ignore = \"slow\"]\nlet x = mpsc::unbounded_channel();\n",
        );
        assert_eq!(
            found,
            [
                "crates/a/tests/it.rs:2: `todo!`: finish it, or return an error that says what is missing",
                "crates/a/tests/it.rs:4: `#[ignore`: a test that does not run proves nothing: let it run, or make it a bench",
                "crates/a/tests/it.rs:5: `unbounded_channel`: give the queue a bound and count what it drops",
            ]
        );
        assert_eq!(check_text("unimplemented!();mailbox::unbounded()").len(), 2);
    }
}
