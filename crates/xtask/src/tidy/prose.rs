//! Words that comments and pages do not use: the glossary lists them, and says what stands instead.
//!
//! Design notes are dated and stay as they were written. Text between backticks is code and may say anything.

use super::code;
use super::code::says;
use super::finding::Finding;
use super::markdown::table;
use super::repository::{File, GLOSSARY, Repository};

/// The heading of the first column of the glossary's list.
const HEADING: &str = "not used";

/// Files that say such words for a reason: the list itself, dated notes, licences, and what is generated.
const LEFT_OUT: [&str; 4] = [GLOSSARY, "docs/design/", "docs/licences/", "docs/reference/"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let page = repository.file(GLOSSARY).map(|file| file.text.as_str()).unwrap_or_default();
    let Some(rows) = table(page, HEADING) else {
        return vec![Finding::fault(GLOSSARY, 1, format!("holds no table headed `{HEADING}`"))];
    };
    let rows = rows.iter().filter(|row| !row.cells[0].starts_with('-'));
    let words: Vec<(&str, &str)> = rows
        .flat_map(|row| {
            row.cells[0].split(", ").map(|word| (word, row.cells.get(1).copied().unwrap_or_default()))
        })
        .collect();
    repository.files.iter().filter(|file| is_read(file)).flat_map(|file| judge(file, &words)).collect()
}

fn is_read(file: &File) -> bool {
    let is_prose = file.path.ends_with(".rs") || file.path.ends_with(".md");
    is_prose && !LEFT_OUT.iter().any(|path| file.path.starts_with(path))
}

fn judge(file: &File, words: &[(&str, &str)]) -> Vec<Finding> {
    let lines = if file.path.ends_with(".rs") { comments(&file.text) } else { paragraphs(&file.text) };
    let mut findings = Vec::new();
    for (line, text) in lines {
        let text = text.to_lowercase();
        for (word, instead) in words.iter().filter(|(word, _)| says(&text, word)) {
            let text = format!("`{word}` is not used; write: {instead}");
            findings.push(Finding::fault(&file.path, line, text));
        }
    }
    findings
}

/// The text of comments, line by line.
fn comments(source: &str) -> Vec<(usize, String)> {
    let bare = code::bare(source);
    let lines = source.lines().zip(bare.lines()).enumerate().map(|(index, (text, bare))| {
        let outside = text.chars().zip(bare.chars()).map(|(char, bare)| if bare == ' ' { char } else { ' ' });
        (index + 1, without_code(&outside.collect::<String>()))
    });
    lines.collect()
}

/// The text of a page outside its fenced blocks.
fn paragraphs(page: &str) -> Vec<(usize, String)> {
    let mut is_fenced = false;
    let mut lines = Vec::new();
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            lines.push((index + 1, without_code(line)));
        }
    }
    lines
}

/// Leaves out what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: &str =
        "| not used | but |\n|---|---|\n| nobody, no one | no caller |\n| is told | is notified |\n";

    fn check_files(files: &[(&str, &str)]) -> Vec<String> {
        told(check(&Repository::of(&[&[(GLOSSARY, PAGE)], files].concat())))
    }

    #[test]
    fn comments_and_pages_are_read_whatever_the_case() {
        assert_eq!(
            check_files(&[("crates/a/src/lib.rs", "//! x\nfn f() {} // Nobody is told.\n")]),
            [
                "crates/a/src/lib.rs:2: `is told` is not used; write: is notified",
                "crates/a/src/lib.rs:2: `nobody` is not used; write: no caller",
            ]
        );
        assert_eq!(
            check_files(&[("docs/laws.md", "# Laws\n\nNo one waits.\n")]),
            ["docs/laws.md:3: `no one` is not used; write: no caller"]
        );
    }

    #[test]
    fn code_is_not_prose() {
        let source = "fn nobody() -> &'static str { \"nobody\" } // unlike `nobody`\n";
        assert_eq!(check_files(&[("crates/a/src/lib.rs", source)]), [""; 0]);
        assert_eq!(check_files(&[("docs/a.md", "```text\nnobody\n```\n`nobody`\n")]), [""; 0]);
        assert_eq!(check_files(&[("docs/design/a.md", "nobody\n")]), [""; 0]);
    }

    #[test]
    fn the_glossary_has_the_list() {
        assert_eq!(
            told(check(&Repository::of(&[]))),
            ["docs/glossary.md:1: holds no table headed `not used`"]
        );
    }
}
