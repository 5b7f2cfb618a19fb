//! A seeded fault is a patch that still fits: what it takes as the context of each of its changes stands in the file.

use super::finding::Finding;
use super::repository::Repository;

const FOLDER: &str = "tests/faults/";

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let patches =
        repository.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".patch"));
    let mut findings = Vec::new();
    for patch in patches {
        for hunk in hunks(&patch.text) {
            let before = repository.file(&hunk.file).map(|file| file.text.as_str()).unwrap_or_default();
            if !stands_in(&hunk.before, before) {
                let text = format!("does not fit {} any more", hunk.file);
                findings.push(Finding::fault(&patch.path, hunk.line, text));
            }
        }
    }
    findings
}

/// One change of a patch.
struct Hunk<'a> {
    /// Its line in the patch.
    line: usize,
    file: String,
    /// The lines that have to be there, one after the other.
    before: Vec<&'a str>,
}

fn hunks(patch: &str) -> Vec<Hunk<'_>> {
    let (mut hunks, mut file): (Vec<Hunk<'_>>, _) = (Vec::new(), "");
    // How many lines of the file the hunk has still to name; what looks like a head within one is text.
    let mut left = 0;
    for (index, line) in patch.lines().enumerate() {
        if left > 0 {
            let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
            if matches!(sign, " " | "-") {
                left -= 1;
                hunks.last_mut().into_iter().for_each(|hunk| hunk.before.push(text));
            }
        } else if let Some(name) = line.strip_prefix("--- ") {
            file = name.strip_prefix("a/").unwrap_or_default();
        } else if let Some(head) = line.strip_prefix("@@ -") {
            left = lines_of(head);
            hunks.push(Hunk { line: index + 1, file: file.to_owned(), before: Vec::new() });
        }
    }
    hunks
}

/// How many lines a hunk replaces: `49,7 +49,7 @@`, or `49 +49 @@` for one.
fn lines_of(head: &str) -> usize {
    let range = head.split(' ').next().unwrap_or_default();
    range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok()).unwrap_or_default()
}

fn stands_in(before: &[&str], text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    before.is_empty() || lines.windows(before.len()).any(|window| window == before)
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PATCH: &str = "test of a b\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@ fn f\n one\n---- two\n+2\n three\n\
        @@ -9 +9 @@\n-nine\n+9\n";

    fn of(text: &str) -> Vec<String> {
        told(check(&Repository::of(&[("tests/faults/law_01_x.patch", PATCH), ("x.rs", text)])))
    }

    #[test]
    fn a_fault_fits_wherever_its_lines_stand() {
        assert_eq!(of("zero\none\n--- two\nthree\nfour\nnine\n"), [""; 0]);
        assert_eq!(
            of("one\n--- two\n\nthree\nnine\n"),
            ["tests/faults/law_01_x.patch:4: does not fit x.rs any more"]
        );
        assert_eq!(
            of(""),
            [
                "tests/faults/law_01_x.patch:4: does not fit x.rs any more",
                "tests/faults/law_01_x.patch:9: does not fit x.rs any more"
            ]
        );
    }
}
