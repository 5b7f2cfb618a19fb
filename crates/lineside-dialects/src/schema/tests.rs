//! Each kind of value, right and wrong, and what else a schema finds.

use std::path::Path;

use super::*;
use crate::yaml::{UnknownEscapes, read};

const ROWS: Schema = Schema {
    rows: &[
        Row("any", Is::Any, "anything"),
        Row("text", Is::Text, "a text"),
        Row("stated", Is::Such(is_stated), "something"),
        Row("word", Is::Word(&["a", "b"]), "a or b"),
        Row("integer", Is::Integer(1, 9), "1 to 9"),
        Row("flag", Is::Flag, "a flag"),
        Row("list", Is::List, "a list"),
        Row("mapping", Is::Mapping, "a mapping"),
    ],
    text: Node::text,
    flag: Node::boolean,
    shown: Node::label,
    wrong: "{key} is {found}, not {expected}",
    severity: Severity::Error,
    unknown: "unknown {key} in {file}{hint}",
    hint: ", perhaps {near}",
    strict: false,
    twice: "{key} again",
    last: false,
};
const LAST: Schema = Schema { last: true, severity: Severity::Warning, ..ROWS };
const STRICT: Schema = Schema { strict: true, ..ROWS };

/// Reads a text by a schema; what this takes, whether the mapping is sound, and the findings.
fn check<T>(
    schema: &'static Schema,
    text: &str,
    take: impl FnOnce(&mut Keys<'_, '_>) -> T,
) -> (T, bool, Vec<String>) {
    let document = read(text, 1, UnknownEscapes::Refuse).unwrap();
    let mut findings = Findings::about(Path::new("/f"));
    let mut keys = Keys::new(schema, document.root.mapping().unwrap_or_default(), &mut findings);
    keys.about = "h: ".to_owned();
    let (taken, sound) = (take(&mut keys), keys.sound);
    let told = findings.diagnostics.iter();
    (taken, sound, told.map(|one| format!("{} {one}", one.severity.as_str())).collect())
}

#[test]
fn a_value_is_of_the_kind_of_its_row() {
    for (key, right, wrong, expected) in [
        ("text", "x", "5", "5, not a text"),
        ("stated", "x", "' '", " , not something"),
        ("word", "b", "c", "c, not a or b"),
        ("integer", "9", "10", "10, not 1 to 9"),
        ("integer", "1", "0", "0, not 1 to 9"),
        ("flag", "false", "0", "0, not a flag"),
        ("list", "[]", "{}", "{…}, not a list"),
        ("mapping", "{}", "[]", "[…], not a mapping"),
    ] {
        let (found, sound, told) = check(&ROWS, &format!("{key}: {right}"), |keys| keys.get(key).is_some());
        assert_eq!((found, sound, told), (true, true, Vec::new()), "{key}");
        let (found, sound, told) = check(&ROWS, &format!("\n{key}: {wrong}"), |keys| keys.get(key).is_some());
        assert_eq!((found, sound, told), (false, false, vec![format!("error /f:2: h: {key} is {expected}")]));
        let (found, sound, told) = check(&ROWS, &format!("{key}: null"), |keys| keys.get(key).is_some());
        assert_eq!((found, sound, told), (false, true, Vec::new()), "{key}");
    }
    let (found, sound, told) = check(&LAST, "text: 5", |keys| keys.text("text").is_some());
    assert_eq!(
        (found, sound, told),
        (false, true, vec!["warning /f:1: h: text is 5, not a text".to_owned()])
    );
}

#[test]
fn what_is_absent_has_a_default_and_what_is_wrong_has_none() {
    for (text, expected) in [("{}", Some("z")), ("text: x", Some("x")), ("text: 5", None)] {
        let (read, ..) = check(&ROWS, text, |keys| keys.text_or("text", "z").map(str::to_owned));
        assert_eq!(read.as_deref(), expected, "{text}");
    }
    let read = check(&ROWS, "integer: 3\nflag: true\nlist: [1, 2]", |keys| {
        (keys.integer("integer"), keys.flag("flag"), keys.list("list").map(<[Node]>::len), keys.line("list"))
    });
    assert_eq!(read, ((Some(3), Some(true), Some(2), 3), true, Vec::new()));
}

#[test]
fn unknown_keys_are_found_and_a_near_one_is_proposed() {
    let text = "Tex: 1\nzzzzz: 2\n5: 3\nother: null\nany: 4";
    let (.., told) = check(&ROWS, text, |keys| {
        keys.unknown();
    });
    assert_eq!(
        told,
        [
            "warning /f:1: h: unknown Tex in /f, perhaps text",
            "warning /f:2: h: unknown zzzzz in /f",
            "warning /f:3: h: unknown 5 in /f",
        ]
    );
    let (.., told) = check(&STRICT, "TEXT: null", |keys| {
        keys.unknown();
    });
    assert_eq!(told, ["warning /f:1: h: unknown TEXT in /f, perhaps text"]);
    let (.., told) = check(&ROWS, "TEXT: 1", |keys| {
        keys.unknown();
    });
    assert_eq!(told, ["warning /f:1: h: unknown TEXT in /f"]);
}

#[test]
fn of_two_entries_the_first_or_the_last_counts() {
    let text = "text: a\ntext: b";
    let read = |schema| check(schema, text, |keys| (keys.text("text").map(str::to_owned), keys.unknown()).0);
    let (taken, _, told) = read(&ROWS);
    assert_eq!((taken.as_deref(), told), (Some("a"), Vec::new()));
    let (taken, _, told) = read(&LAST);
    assert_eq!((taken.as_deref(), told), (Some("b"), vec!["warning /f:2: text again".to_owned()]));
    let (taken, _, told) = check(&LAST, "text: a\ntext: null", |keys| keys.text("text").map(str::to_owned));
    assert_eq!((taken, told), (None, Vec::new()));
    let twice = [DuplicateKey { key: "text".to_owned(), line: 2 }];
    let (_, sound, told) = check(&ROWS, text, |keys| keys.twice(&twice));
    assert_eq!((sound, told), (false, vec!["error /f:2: h: text again".to_owned()]));
}

#[test]
fn a_mapping_within_is_read_by_a_schema_of_its_own() {
    let ((inner, sound), outer, told) = check(&ROWS, "mapping: {text: 5, integer: 2}", |keys| {
        let mut within = keys.mapping("mapping", &ROWS).unwrap();
        let integer = within.integer("integer");
        assert_eq!(within.text("text"), None);
        (integer, within.sound)
    });
    assert_eq!((inner, sound, outer), (Some(2), false, true));
    assert_eq!(told, ["error /f:1: h: text is 5, not a text"]);
}
