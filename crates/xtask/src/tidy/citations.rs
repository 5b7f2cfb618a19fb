//! Each numbered rule of a foreign format stands on a page of `docs/rules` and is cited by a test or a case, and each
//! citation leads to one.
//!
//! A rule is a heading, `### CH-7 Keys of an entry`. A citation is `CH-7`, or a range, `CH-7 to CH-9`. It stands beside the
//! words: a doc comment is never only a number.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::repository::{File, Repository};

const PAGES: &str = "docs/rules/";

/// The letters of a format with the hyphen, and the number.
type Rule<'a> = (&'a str, u32);

/// What agent programs were seen to do where lineside does nothing about it, so there is nothing to test: only these
/// need no test and no case.
const OBSERVED: [(Rule<'static>, &str); 4] = [
    (("CL-", 34), "the order in which Claude Code reports a subagent in the background"),
    (("CP-", 11), "the cloud agent of Copilot denies by itself what is to be asked"),
    (("GE-", 25), "Gemini CLI sends PreCompress without a compaction"),
    (("HO-", 75), "events that agent programs did not send"),
];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rules: BTreeMap<Rule<'_>, (&File, usize)> = BTreeMap::new();
    for file in repository.files.iter().filter(|file| is_page(file)) {
        for (rule, line) in headings(&file.text) {
            if let Some((first, _)) = rules.insert(rule, (file, line)) {
                let text = format!("{}{} stands in {} already", rule.0, rule.1, first.path);
                findings.push(Finding::fault(&file.path, line, text));
            }
        }
    }
    let prefixes: BTreeSet<&str> = rules.keys().map(|(prefix, _)| *prefix).collect();
    let mut tested: BTreeSet<Rule<'_>> = BTreeSet::new();
    for file in repository.rust() {
        let bare = bare_comments(&file.text, &prefixes);
        findings.extend(
            bare.map(|line| Finding::fault(&file.path, line, "a doc comment is never only a number")),
        );
    }
    for file in &repository.files {
        let tests = tests_of(file);
        // The tests of a file stand at its end.
        let production = file.text.len() - tests.len();
        for prefix in &prefixes {
            for (start, number) in citations(&file.text, prefix) {
                if !rules.contains_key(&(*prefix, number)) {
                    let line = file.text.get(..start).unwrap_or_default().lines().count().max(1);
                    findings.push(Finding::fault(&file.path, line, format!("{prefix}{number} is no rule")));
                }
                if start >= production {
                    tested.insert((prefix, number));
                }
            }
        }
    }
    let is_observed = |rule: &Rule<'_>| OBSERVED.iter().any(|(observed, _)| observed == rule);
    let untested = rules.iter().filter(|(rule, _)| !tested.contains(*rule) && !is_observed(rule));
    findings.extend(untested.map(|((prefix, number), (file, line))| {
        Finding::fault(&file.path, *line, format!("no test and no case cites {prefix}{number}"))
    }));
    findings
}

fn is_page(file: &File) -> bool {
    file.path.starts_with(PAGES)
}

/// The rules of a page, with the lines of their headings.
fn headings(page: &str) -> impl Iterator<Item = (Rule<'_>, usize)> {
    let numbered = page.lines().enumerate();
    numbered.filter_map(|(index, line)| Some((rule(line.strip_prefix("### ")?)?, index + 1)))
}

/// `CH-7 Keys of an entry`.
fn rule(heading: &str) -> Option<Rule<'_>> {
    let prefix = heading.get(..=heading.find('-')?)?;
    let is_prefix =
        prefix.len() > 2 && prefix.chars().rev().skip(1).all(|letter| letter.is_ascii_uppercase());
    let (number, _) = number(heading.strip_prefix(prefix)?);
    is_prefix.then_some((prefix, number?))
}

/// What of a file is a test or a case.
fn tests_of(file: &File) -> &str {
    let in_tests = file.path.split('/').any(|part| part == "tests" || part == "tests.rs");
    if in_tests {
        return &file.text;
    }
    let at_end = || file.text.find("#[cfg(test)]").and_then(|start| file.text.get(start..));
    if file.path.ends_with(".rs") { at_end().unwrap_or_default() } else { "" }
}

/// The numbers that a text cites, ranges included, each with where.
fn citations<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = (usize, u32)> + 'a {
    let starts_a_word = |start: &usize| {
        let before = text.get(..*start).and_then(|before| before.chars().next_back());
        before.is_none_or(|before| !before.is_alphanumeric() && before != '-')
    };
    let starts = text.match_indices(prefix).map(|(start, _)| start).filter(starts_a_word);
    starts.flat_map(move |start| {
        let rest = text.get(start + prefix.len()..).unwrap_or_default();
        let (first, rest) = number(rest);
        let range = rest.strip_prefix(" to ").and_then(|rest| rest.strip_prefix(prefix)).map(number);
        let numbers = match (first, range) {
            (Some(first), Some((Some(last), _))) if last >= first && last - first < 100 => Some(first..=last),
            (first, _) => first.map(|first| first..=first),
        };
        numbers.into_iter().flatten().map(move |number| (start, number))
    })
}

/// The lines of the doc comments of one line that hold numbers of rules and nothing else.
fn bare_comments<'a>(text: &'a str, prefixes: &'a BTreeSet<&str>) -> impl Iterator<Item = usize> + 'a {
    let lines: Vec<_> = text.lines().map(doc_comment).collect();
    let is_number = |word: &str| {
        let word = word.trim_end_matches([',', ';', '.', ':']);
        let digits = prefixes.iter().find_map(|prefix| word.strip_prefix(prefix));
        digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_bare = move |comment: &str| {
        let mut words = comment.split_whitespace().filter(|word| !["to", "and"].contains(word)).peekable();
        words.peek().is_some() && words.all(is_number)
    };
    (0..lines.len()).filter_map(move |index| {
        lines[index].filter(|comment| is_bare(comment))?;
        let beside = [index.checked_sub(1), index.checked_add(1)].into_iter().flatten();
        let is_alone = beside.filter_map(|index| *lines.get(index)?).next().is_none();
        is_alone.then_some(index + 1)
    })
}

/// What a line says, if it belongs to a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

fn number(text: &str) -> (Option<u32>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.parse().ok(), rest)
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: (&str, &str) =
        ("docs/rules/x.md", "# X\n\n### XX-1 A\n\n### XX-2 B\n\n### XX-3 C\n\n### XX-4 D\n");

    #[test]
    fn a_rule_that_no_test_cites_is_named() {
        let cited = [
            PAGE,
            ("tests/conformance/x.cases.yaml", "from: XX-1; a page"),
            ("crates/x/src/room.rs", "// XX-4\n#[cfg(test)]\nmod tests { // XX-2\n}"),
        ];
        assert_eq!(
            told(check(&Repository::of(&cited))),
            [
                "docs/rules/x.md:7: no test and no case cites XX-3",
                "docs/rules/x.md:9: no test and no case cites XX-4"
            ]
        );
    }

    #[test]
    fn a_range_cites_all_of_its_rules() {
        let cited = [PAGE, ("crates/x/src/room/tests.rs", "// XX-1 to XX-3, XX-4")];
        assert_eq!(told(check(&Repository::of(&cited))), [""; 0]);
    }

    #[test]
    fn a_citation_leads_to_a_rule() {
        let cited = [
            PAGE,
            ("crates/x/src/room.rs", "//! A room.\n\n// AXX-9, XX-0x5, XX-5\n"),
            ("crates/x/tests/room.rs", "// XX-1 to XX-4"),
        ];
        assert_eq!(
            told(check(&Repository::of(&cited))),
            ["crates/x/src/room.rs:3: XX-0 is no rule", "crates/x/src/room.rs:3: XX-5 is no rule"]
        );
    }

    #[test]
    fn a_doc_comment_is_never_only_a_number() {
        let code = "//! A room, XX-1.\n\n/// XX-1, XX-2.\nfn a() {}\n/// A key (XX-3).\nfn b() {}\n/// It waits:\n/// XX-4\nfn c() {}\n";
        let cited = [PAGE, ("crates/x/src/a.rs", code), ("crates/x/tests/a.rs", "// XX-1 to XX-4")];
        assert_eq!(
            told(check(&Repository::of(&cited))),
            ["crates/x/src/a.rs:3: a doc comment is never only a number"]
        );
    }

    #[test]
    fn a_rule_stands_once() {
        let cited = [
            PAGE,
            ("docs/rules/y.md", "### XX-4 Again\n"),
            ("crates/x/src/room/tests.rs", "// XX-1 to XX-4"),
        ];
        let expected = ["docs/rules/y.md:1: XX-4 stands in docs/rules/x.md already"];
        assert_eq!(told(check(&Repository::of(&cited))), expected);
    }
}
