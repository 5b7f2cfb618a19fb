//! What `lineside_core::json` reads is read the same, with lines; what it refuses is refused.

use lineside_core::json::{Map, Value};
use proptest::prelude::*;

use super::{Document, MOST_NODES, Node, line_of, read, read_any};
use crate::tree::Content;

fn value(node: &Node) -> Value {
    match &node.content {
        Content::Null => Value::Null,
        Content::Boolean(value) => Value::Bool(*value),
        Content::Integer(_) | Content::Float(_) => Value::Number(node.number().unwrap()),
        Content::Text(text) => Value::String(text.clone()),
        Content::List(items) => Value::Array(items.iter().map(value).collect()),
        Content::Mapping(entries) => {
            let mut map = Map::new();
            for (key, item) in entries {
                map.insert(key.label(), value(item));
            }
            Value::Object(map)
        }
    }
}

#[test]
fn keys_and_values_have_their_lines() {
    let text = "\n{\r\n  \"a\":\n    [1,\n\n \"x\\ny\"],\n\"b\": {}\n}\n";
    let Document { root, duplicates } = read(text).unwrap();
    assert_eq!((root.line, duplicates), (2, Vec::new()));
    let a = root.entry("a").unwrap();
    assert_eq!((a.0.line, a.1.line), (3, 4));
    let Content::List(items) = &a.1.content else { panic!() };
    assert_eq!((items[0].line, items[1].line), (4, 6));
    assert_eq!(items[1].text(), Some("x\ny"));
    assert_eq!(root.entry("b").unwrap().0.line, 7);
    assert_eq!(root.entry("c"), None);
}

#[test]
fn keys_that_occur_twice_are_told_and_both_are_kept() {
    let document = read("{\"a\":1,\n\"b\":{\"a\":1},\n\"\\u0061\":2}").unwrap();
    let [duplicate] = &document.duplicates[..] else { panic!("{:?}", document.duplicates) };
    assert_eq!((duplicate.key.as_str(), duplicate.line), ("a", 3));
    assert_eq!(document.root.mapping().unwrap().len(), 3);
    assert_eq!(document.root.value("a").unwrap().json_label(), "2");
}

#[test]
fn what_is_no_json_is_told_with_its_line() {
    for (text, line, detail) in [
        ("", 1, "the text ends where a value is expected"),
        ("\n{\"a\":\n", 3, "the text ends where a value is expected"),
        ("{\"a\": 1,\n }", 2, "a key in double quotes is expected"),
        ("[1,\n2 3]", 2, "`,` or `]` is expected"),
        ("{\"a\" 1}", 1, "`:` is expected after a key"),
        ("{\"a\":1 \"b\":2}", 1, "`,` or `}` is expected"),
        ("[\n\"a\nb\"]", 2, "a string has a control character that is not escaped"),
        ("\"a\\", 1, "a string has an escape that JSON does not have"),
        ("\"\\x\"", 1, "a string has an escape that JSON does not have"),
        ("\"\\ud800\"", 1, "a string has an escape that is no character"),
        ("01", 1, "a number is not written as JSON demands"),
        ("[1.]", 1, "a number is not written as JSON demands"),
        ("nul", 1, "a value is expected"),
        ("// x\n{}", 1, "a value is expected"),
        ("\u{feff}{}", 1, "a value is expected"),
        ("{}\n{}", 2, "there is more after the end of the value"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.detail(), line_of(&error)), (detail, line), "{text:?}");
    }
}

#[test]
fn the_depth_is_bounded() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(&nested(64)).is_ok());
    assert_eq!(read(&nested(65)).unwrap_err().detail(), "nested more than 64 levels deep");
    assert!(read(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn values_are_named_for_people() {
    let label = |text: &str| read(text).unwrap().root.json_label();
    assert_eq!(label("\"a\\n\""), "\"a\\n\"");
    assert_eq!(label("1.50"), "1.50");
    assert_eq!([label("null"), label("true"), label("[1]"), label("{}")], ["null", "true", "[…]", "{…}"]);
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| lineside_core::json::Number::from_f64(number)
            .map(Value::Number)),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(value in json()) {
        for text in [lineside_core::json::to_string(&value).unwrap(), value.to_text(lineside_core::json::Layout::Indented)] {
            let document = read(&text).unwrap();
            prop_assert_eq!(super::tests::value(&document.root).to_string(), value.to_string());
            prop_assert_eq!(document.duplicates, Vec::new());
        }
    }

    #[test]
    fn any_text_is_read_exactly_if_it_is_json(text in "[\\[\\]{}:,\"\\\\0-9.eE+\\- \\nnulltrefasx\\u{e9}]{0,24}") {
        let theirs: Result<Value, _> = lineside_core::json::from_str(&text);
        match read(&text) {
            Ok(document) => prop_assert_eq!(Some(value(&document.root)), theirs.ok()),
            Err(_) => prop_assert!(theirs.is_err(), "{}", text),
        }
    }
}

#[test]
fn more_values_than_there_may_be_are_refused() {
    // Keys count as values do.
    for (text, values) in [("[0,", 2), ("{\"a\":0,\"b\":[", 5)] {
        let close = if text.starts_with('{') { "0]}" } else { "0]" };
        let of = |values: usize| format!("{text}{}{close}", "0,".repeat(values));
        assert!(read(&of(MOST_NODES - values - 1)).is_ok());
        let error = read(&of(MOST_NODES - values)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("100000 values"), "{error}");
        assert!(read_any(&of(MOST_NODES)).is_ok());
    }
}
