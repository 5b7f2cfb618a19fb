//! The table of CH-25, odd patterns, and patterns of which a search with backtracking never comes to an end.

use proptest::prelude::*;

use super::{Glob, LONGEST, MOST_STEPS, ReadGlobError};
use lineside_search::Search;

impl Glob {
    fn matches(&self, text: &str) -> bool {
        let mut left = MOST_STEPS;
        let found = self.search(text, &mut left);
        assert_ne!(found, Search::Exhausted, "{self} {text}");
        found == Search::Found
    }
}

fn check(pattern: &str, matches: &[&str], not: &[&str]) {
    let glob = Glob::read(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    for text in matches {
        assert!(glob.matches(text), "{pattern} does not match {text:?}");
    }
    for text in not {
        assert!(!glob.matches(text), "{pattern} matches {text:?}");
    }
}

#[test]
fn the_table_of_the_specification() {
    // CH-25
    check("Shell", &["Shell"], &["shell", "ShellX", "", "XShell", "Shell/"]);
    check("mcp__*", &["mcp__git__log", "mcp__"], &["xmcp__a"]);
    check("{Edit,Write}", &["Edit", "Write"], &["Edit,Write", "", "EditWrite"]);
    check("*", &["main", ""], &["a/b", "/"]);
    check("**", &["a/b/c", "", "/", "a//b/"], &[]);
    check(
        "anthropic/*",
        &["anthropic/claude-x@high", "anthropic/"],
        &["anthropic", "openrouter/anthropic/claude-x"],
    );
    check("claude-*", &["claude-x"], &["anthropic/claude-x"]);
    check("**/*.go", &["a.go", "x/y/a.go", "/repo/a.go", ".go"], &["a.gox", "go", "a.go/b"]);
    check("src/**/*.go", &["src/a.go", "src/x/y/a.go"], &["a.go", "lib/src/a.go", "src/a.go/"]);
    check("src/**", &["src", "src/.env", "src/", "src/a/b"], &["src2/a", "sr"]);
    check("src/*", &["src/a"], &["src/x/a", "src"]);
    check("abc**", &["abcd", "abc"], &["abc/b"]);
    check("a?b", &["a☺b"], &["a/b", "ab"]);
    check("[x-z]*", &["y1"], &["a", ""]);
    check("[!.]*", &["a"], &[".env", ""]);
    check("{a/{b,c},abc}", &["a/c", "abc", "a/b"], &["a/b/c", "a"]);
    check("a{,bc}", &["a", "abc"], &["ab"]);
    check("e/\\*", &["e/*"], &["e/x"]);
}

#[test]
fn malformed_patterns() {
    // CH-25
    for (pattern, error) in [
        ("[", ReadGlobError::OpenClass),
        ("[a", ReadGlobError::OpenClass),
        ("[a-", ReadGlobError::OpenClass),
        ("[a\\", ReadGlobError::OpenClass),
        ("src/[", ReadGlobError::OpenClass),
        ("[]a]", ReadGlobError::EmptyClass),
        ("[!]", ReadGlobError::EmptyClass),
        ("{a", ReadGlobError::OpenGroup),
        ("{a,{b}", ReadGlobError::OpenGroup),
        ("{[}", ReadGlobError::OpenClass),
        ("a}", ReadGlobError::NoGroup),
        ("{a}}", ReadGlobError::NoGroup),
        ("a\\", ReadGlobError::Backslash),
    ] {
        assert_eq!(Glob::read(pattern), Err(error), "{pattern}");
    }
}

#[test]
fn what_the_table_leaves_to_be_concluded() {
    // CH-25
    check("", &[""], &["a", "/"]);
    check("{}", &[""], &["a"]);
    check("a,b", &["a,b"], &["a", "b"]);
    check("]", &["]"], &[]);
    check("[a\\]-]", &["a", "]", "-"], &["\\"]);
    check("[-a]", &["-", "a"], &["b"]);
    check("[{,}]", &["{", ",", "}"], &["a"]);
    check("[^a-c]", &["d", "☺"], &["b", "", "de"]);
    check("\\{a\\,b\\}", &["{a,b}"], &["a"]);
    check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "a"]);
    check("**/a/**", &["a", "x/a", "a/x", "x/y/a/z"], &["b", "xa", "ax"]);
    check("**/**", &["", "a", "a/b"], &[]);
    check("**x", &["x", "ax"], &["a/x", "a/bx"]);
    check("x**/y", &["x/y", "xa/y"], &["x/a/y", "y"]);
    check("***", &["", "a"], &["a/b"]);
    check("{**,a}/b", &["b", "x/b", "a/b", "x/y/b"], &["a"]);
    check("a/{**,b}", &["a", "a/b", "a/b/c"], &["ab"]);
    check("{a/**,b}", &["a", "a/x", "b"], &["b/x"]);
    check("{a/,}**", &["", "a", "a/b", "x/y"], &[]);
    check("x{/,y}**", &["x", "x/a/b", "xy", "xya"], &["xy/a", "xa"]);
    check("/**", &["/a", "/a/b", "/"], &["a"]);
    check("a\\/b", &["a/b"], &[]);
    // The class says nothing of `/`, unlike `?`.
    check("a[!b]c", &["a/c", "axc"], &["abc"]);
}

#[test]
fn no_pattern_takes_long() {
    // CH-25
    let text = "a".repeat(2000);
    for pattern in
        ["*a".repeat(500) + "b", "{a,aa}".repeat(500) + "b", "{".repeat(2000) + &"}".repeat(2000) + "b"]
    {
        check(&pattern, &[], &[&text]);
    }
    let path = "a/".repeat(500);
    check(&("**/a/".repeat(100) + "b"), &[], &[&path]);
}

#[test]
fn a_search_has_a_number_of_steps() {
    let path = "a".repeat(9_900_000);
    let glob = Glob::read(&"*a".repeat(LONGEST / 2)).unwrap();
    let mut left = MOST_STEPS;
    assert_eq!(glob.search(&path, &mut left), Search::Exhausted);
    assert_eq!(left, 0);
    // What is left is for all searches of the event.
    assert_eq!(Glob::read("a*").unwrap().search("ab", &mut left), Search::Exhausted);
    assert_eq!(Glob::read(&"a".repeat(LONGEST + 1)), Err(ReadGlobError::TooLong));
}

/// All texts without groups that a pattern stands for.
fn expanded(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let close = open + pattern[open..].find('}').unwrap();
    pattern[open + 1..close]
        .split(',')
        .flat_map(|part| expanded(&format!("{}{part}{}", &pattern[..open], &pattern[close + 1..])))
        .collect()
}

/// The definition, by segments and with backtracking.
fn by_segments(pattern: &[&str], text: &[&str]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => (0..=text.len()).any(|skipped| by_segments(rest, &text[skipped..])),
        (Some((first, rest)), Some((segment, others))) => {
            in_segment(first.as_bytes(), segment.as_bytes()) && by_segments(rest, others)
        }
        _ => false,
    }
}

fn in_segment(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=text.len()).any(|skipped| in_segment(rest, &text[skipped..])),
        (Some((b'?', rest)), Some((_, others))) => in_segment(rest, others),
        (Some((first, rest)), Some((character, others))) => first == character && in_segment(rest, others),
        _ => false,
    }
}

proptest! {
    #[test]
    fn any_text_is_a_glob_or_an_error(pattern in "[a-c*?/{},!^\\[\\]\\\\-]{0,20}", text in "[a-c/]{0,12}") {
        if let Ok(glob) = Glob::read(&pattern) {
            let _matches = glob.matches(&text);
        }
    }

    #[test]
    fn the_automaton_does_what_the_definition_says(
        pattern in prop::collection::vec("a|b|/|\\*|\\*\\*|\\?|\\{a,b/\\}|\\{,\\*\\*\\}|\\{/,x\\}", 0..6),
        text in "[ab/x]{0,6}",
    ) {
        // Stars that touch are other stars; what they mean together is not said.
        let pattern = pattern.concat();
        let plain = expanded(&pattern);
        let touch = pattern.contains("*{,**}") || pattern.contains("{,**}*") || pattern.contains("}{,**}");
        if touch || plain.iter().any(|pattern| pattern.contains("***")) {
            return Ok(());
        }
        let segments: Vec<_> = text.split('/').collect();
        let expected = plain.iter().any(|pattern| by_segments(&pattern.split('/').collect::<Vec<_>>(), &segments));
        prop_assert_eq!(Glob::read(&pattern).unwrap().matches(&text), expected, "{} {}", pattern, text);
    }
}
