//! Scalars, escapes, lines and bounds.

use proptest::prelude::*;

use super::{Content, Document, Node, UnknownEscapes, read};

fn keep(text: &str) -> Document {
    read(text, 1, UnknownEscapes::Keep).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Content {
    match keep(&format!("k: {text}")).root.content {
        Content::Mapping(entries) => entries[0].1.content.clone(),
        other => panic!("{other:?}"),
    }
}

fn text(value: &str) -> Content {
    Content::Text(value.to_owned())
}

#[test]
fn scalars_follow_the_core_schema() {
    for (written, expected) in [
        ("null", Content::Null),
        ("~", Content::Null),
        ("", Content::Null),
        ("nUll", text("nUll")),
        ("TRUE", Content::Boolean(true)),
        ("yes", text("yes")),
        ("12", Content::Integer(12)),
        ("-0", Content::Integer(0)),
        ("012", Content::Integer(12)),
        ("0o14", Content::Integer(12)),
        ("0x1F", Content::Integer(31)),
        ("-0x1F", text("-0x1F")),
        ("0x", text("0x")),
        ("1_000", text("1_000")),
        ("99999999999999999999999999999999999999999", Content::Integer(i128::MAX)),
        ("1e3", Content::Float(1000.0)),
        ("1.", Content::Float(1.0)),
        (".5", Content::Float(0.5)),
        (".", text(".")),
        ("1e", text("1e")),
        ("-.INF", Content::Float(f64::NEG_INFINITY)),
        ("'12'", text("12")),
        ("\"12\"", text("12")),
        ("!!str 12", text("12")),
        ("!!int \"12\"", Content::Integer(12)),
        ("!other 12", text("12")),
        ("2001-12-14", text("2001-12-14")),
    ] {
        assert_eq!(value(written), expected, "{written}");
    }
    assert!(read("k: !!int abc", 1, UnknownEscapes::Keep).is_err());
}

#[test]
fn unknown_escapes_stay() {
    for (written, expected, kept) in [
        (r#""\.py$""#, r"\.py$", Some('.')),
        (r#""\.(py|js|ts)$""#, r"\.(py|js|ts)$", Some('.')),
        (r#""a\d+\s""#, r"a\d+\s", Some('d')),
        (r#""\\.py$""#, r"\.py$", None),
        (r"'\.py$'", r"\.py$", None),
        (r"\.py$", r"\.py$", None),
        (r#""a\tb""#, "a\tb", None),
        (r#""say \"hi\"\tand \q""#, "say \"hi\"\tand \\q", Some('q')),
        (r#""\x4g\u12\U1234567""#, r"\x4g\u12\U1234567", Some('x')),
        (r#""\x41\'""#, r"A\'", Some('\'')),
        (r#""\é""#, r"\é", Some('é')),
        ("\"a\\\n  b\\.c\"", r"ab\.c", Some('.')),
        ("\"a\\\r\n  b\"", "ab", None),
        ("\"a\\.\n\n  b\"", "a\\.\nb", Some('.')),
        (r"plain 'with' \q", r"plain 'with' \q", None),
        (r"it's \. 'and'", r"it's \. 'and'", None),
        (r#"a "quoted\q" b"#, r#"a "quoted\q" b"#, None),
        ("|\n  \"\\q\"\n", "\"\\q\"\n", None),
        ("a\n  \"\\q\"", "a \"\\q\"", None),
        (
            r#""\0\a\b\t\n\v\f\r\e\"\/\\\N\_\L\P\ x""#,
            "\0\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1b}\"/\\\u{85}\u{a0}\u{2028}\u{2029} x",
            None,
        ),
    ] {
        let document = keep(&format!("k: {written}"));
        assert_eq!(value(written), text(expected), "{written}");
        assert_eq!(document.kept.first().map(|kept| kept.character), kept, "{written}");
    }
    let document = keep("a: \"\\q\" # \"\\w\"\nb: '\"\\q'\nc:\n- \"x\\\"\\s\"\n- {d: \"\\d\", \"\\k\": 1}\n");
    let lines: Vec<_> = document.kept.iter().map(|kept| (kept.line, kept.character)).collect();
    assert_eq!(lines, [(1, 'q'), (4, 's'), (5, 'd'), (5, 'k')]);
    assert!(read("k: \"\\q\"", 1, UnknownEscapes::Refuse).is_err());
    // Has its digits, but is no character.
    assert!(read("k: \"\\uD800\"", 1, UnknownEscapes::Keep).is_err());
}

#[test]
fn an_escape_of_yaml_can_be_left_as_it_is_written() {
    let check = |written: &str, expected: Option<&str>| {
        let document = keep(&format!("k: {written}"));
        let Content::Mapping(entries) = &document.root.content else { panic!() };
        assert_eq!(entries[0].1.text_keeping('b').as_deref(), expected, "{written}");
    };
    check(r#""\bmkfs\b""#, Some(r"\bmkfs\b"));
    check(r#""\b\.\t""#, Some("\\b\\.\t"));
    check(r#""\\bmkfs""#, None);
    check(r"'\bmkfs'", None);
    check(r"\bmkfs", None);
    check("\"\\bx\n   y\"", Some("\\bx y"));
}

#[test]
fn lines_and_duplicates_are_told() {
    let document =
        read("a: 1\nb:\n  c: 1\n  'c': 2\n\"a\": 2\n1: x\n'1': y\n", 5, UnknownEscapes::Keep).unwrap();
    let duplicates: Vec<_> = document.duplicates.iter().map(|one| (one.key.as_str(), one.line)).collect();
    assert_eq!(duplicates, [("c", 8), ("a", 9)]);
    let error = read("a: 1\nb: one: two\n", 3, UnknownEscapes::Keep).unwrap_err();
    assert_eq!(error.line, 4, "{error}");
    let error = read("a: \"unclosed\n", 3, UnknownEscapes::Keep).unwrap_err();
    assert_eq!(error.line, 4, "{error}");
}

#[test]
fn everything_is_bounded() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    for text in [
        bomb,
        "[".repeat(10_000),
        "- ".repeat(10_000),
        "a: &a [*a]".to_owned(),
        "a: *b".to_owned(),
        "x".repeat(2 << 20),
        "a: 1\n--- b".to_owned(),
        "- \"\\q\"\n".repeat(100_000),
    ] {
        assert!(read(&text, 1, UnknownEscapes::Keep).is_err(), "{}", &text[..20.min(text.len())]);
    }
}

/// Whether a text is read, on a stack as a thread of the daemon has it.
fn is_read(text: String) -> bool {
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let read = move || read(&text, 1, UnknownEscapes::Keep).is_ok();
    small.spawn(read).unwrap().join().unwrap()
}

#[test]
fn texts_behind_aliases_count_with_their_bytes() {
    let of = |bytes: usize, aliases: usize| {
        format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(bytes), "*a, ".repeat(aliases))
    };
    // A text counts as one value for each 64 bytes of it, and as one more.
    for (bytes, aliases, fits) in
        [(64_000, 97, true), (64_000, 99, false), (600_000, 99_000, false), (9, 99_000, true)]
    {
        assert_eq!(is_read(of(bytes, aliases)), fits, "{bytes} {aliases}");
    }
    assert!(is_read(of(1_000_000, 1)));
}

#[test]
fn levels_behind_aliases_count_as_those_that_are_written() {
    // Lists within one another, of which each next one ends in an alias for the one before it.
    let chain = |links: usize, levels: usize| {
        let link = |link: usize| {
            let within = if link == 0 { "x".to_owned() } else { format!("*a{}", link - 1) };
            format!("- &a{link} {}{within}{}\n", "[".repeat(levels), "]".repeat(levels))
        };
        (0..links).map(link).collect::<String>()
    };
    for (links, levels, fits) in
        [(55, 60, false), (400, 1, false), (31, 2, true), (63, 1, true), (32, 2, false), (64, 1, false)]
    {
        assert_eq!(is_read(chain(links, levels)), fits, "{links} {levels}");
    }
}

fn nothing_but_a_tree(node: &Node) -> usize {
    match &node.content {
        Content::List(items) => 1 + items.iter().map(nothing_but_a_tree).sum::<usize>(),
        Content::Mapping(entries) => {
            1 + entries.iter().map(|(k, v)| nothing_but_a_tree(k) + nothing_but_a_tree(v)).sum::<usize>()
        }
        _ => 1,
    }
}

proptest! {
    #[test]
    fn any_text_is_a_document_or_an_error(text in "[a-c\"'\\\\\n :,\\[\\]{}&*!|>#%@`?~0-9.-]{0,60}") {
        if let Ok(document) = read(&text, 1, UnknownEscapes::Keep) {
            prop_assert!(nothing_but_a_tree(&document.root) <= super::MOST_NODES);
        }
    }

    #[test]
    fn a_double_quoted_text_keeps_every_backslash(text in "[a-z.$()|+*\\\\d\\\\s\\\\.\\\\w]{0,20}") {
        // Only sequences that YAML does not know.
        let text = text.replace('\\', "").replace('.', "\\.");
        let document = keep(&format!("\"{text}\""));
        prop_assert_eq!(document.root.text(), Some(text.as_str()));
    }
}
