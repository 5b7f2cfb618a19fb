//! Values as they are read, written, and turned into types and back.

mod conversions;
mod typed;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Layout, Map, Number, Reader, Value, from_slice, from_str, from_value, json, read_strict,
    read_strict_within,
};
use super::{to_string, to_value};

fn check(text: &str, expected: Result<&str, &str>) {
    match (read_strict(text.as_bytes()), expected) {
        (Ok(value), Ok(expected)) => assert_eq!(value.to_string(), expected),
        (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
        (got, expected) => panic!("{text}: {got:?} instead of {expected:?}"),
    }
}

#[test]
fn values_are_kept_exactly() {
    let text =
        "{\"b\":1,\"a\":[1e999,-0,9007199254740993,1.10,1E+2,18446744073709551615,-9223372036854775808]}";
    check(text, Ok(text));
    check(" \"\\u00e9\\ud83d\\ude00\\/\\u001f\\n\" ", Ok("\"é😀/\\u001f\\n\""));
    check(
        "[123456789012345678901234567890,-123456789012345678901234567890,[],{}]",
        Ok("[123456789012345678901234567890,-123456789012345678901234567890,[],{}]"),
    );
}

#[test]
fn what_is_ambiguous_is_refused() {
    check("{\"d\":\"deny\",\n \"d\":1}", Err("duplicate key `d` at line 2 column 2"));
    check("{} {}", Err("there is more after the end of the value at line 1 column 4"));
    check("{\"a\":", Err("the text ends where a value is expected at line 1 column 6"));
    check("", Err("the text ends where a value is expected at line 1 column 1"));
    check("{a:1}", Err("a key in double quotes is expected at line 1 column 2"));
    check("{\"a\" 1}", Err("`:` is expected after a key at line 1 column 6"));
    check("[1 2]", Err("`,` or `]` is expected at line 1 column 4"));
    check("[1,]", Err("a value is expected at line 1 column 4"));
    check("{\"a\":1,}", Err("a key in double quotes is expected at line 1 column 8"));
    check("nul", Err("a value is expected at line 1 column 1"));
    check("truex", Err("there is more after the end of the value at line 1 column 5"));
    check("\"\\ud800\"", Err("a string has an escape that is no character at line 1 column 2"));
    check("\"\\ud800\\u0041\"", Err("a string has an escape that is no character at line 1 column 2"));
    check("\"\\u00g0\"", Err("a string has an escape that is no character at line 1 column 2"));
    check("\"\\x\"", Err("a string has an escape that JSON does not have at line 1 column 2"));
    check("\"a\nb\"", Err("a string has a control character that is not escaped at line 1 column 3"));
    check("\"a", Err("the text ends within a string at line 1 column 3"));
    assert_eq!(read_strict(b"\"\xff\"").unwrap_err().to_string(), "it is not UTF-8 at line 1 column 2");
}

#[test]
fn a_reader_knows_the_byte_that_it_reads_next() {
    let mut reader = Reader::new(b"  12 true ", 1).unwrap();
    assert_eq!((reader.at(), reader.next_token(), reader.at()), (0, Some(b'1'), 2));
    assert_eq!((reader.number().unwrap(), reader.at()), (12_u8.into(), 4));
    assert_eq!((reader.next_token(), reader.word().unwrap(), reader.at()), (Some(b't'), Some(true), 9));
    assert_eq!((reader.end(), reader.at()), (Ok(()), 10));
}

#[test]
fn an_error_tells_what_is_wrong_and_where() {
    let check = |text: &[u8], detail: &str, line: usize, column: usize| {
        let error = from_slice::<Vec<u8>>(text).unwrap_err();
        assert_eq!((error.detail(), error.line(), error.column()), (detail, Some(line), Some(column)));
        assert_eq!(error.to_string(), format!("{detail} at line {line} column {column}"));
    };
    check(b"[1 2]", "`,` or `]` is expected", 1, 4);
    check(b"[1,\n\n  2", "`,` or `]` is expected", 3, 4);
    check("[\n\"é\",]".as_bytes(), "invalid type: string \"é\", expected u8", 2, 5);
    check(b"[\n\xff]", "it is not UTF-8", 2, 1);
    let error = from_value::<u8>(&json!("a")).unwrap_err();
    assert_eq!((error.line(), error.column()), (None, None));
    assert_eq!(error.to_string(), error.detail());
}

#[test]
fn texts_are_escaped_and_read_as_serde_json_does() {
    let all: String = ('\0'..='\u{ff}').chain(['\u{2028}', '😀']).collect();
    let written = to_string(&all).unwrap();
    assert_eq!(written, serde_json::to_string(&all).unwrap());
    assert_eq!(from_str::<String>(&written).unwrap(), all);
    for byte in 0..=0x7f_u8 {
        let text = format!("\"a\\{}b\"", char::from(byte));
        let (ours, theirs) = (from_str::<String>(&text), serde_json::from_str::<String>(&text));
        assert_eq!(ours.ok(), theirs.ok(), "{text}");
    }
}

#[test]
fn depth_has_a_bound() {
    let nested = |levels| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    check(&nested(64), Ok(&nested(64)));
    check(&nested(65), Err("nested more than 64 levels deep at line 1 column 65"));
    assert!(read_strict("[".repeat(100_000).as_bytes()).is_err());
    assert!(read_strict_within(b"{\"a\":[1]}", 2).is_ok());
    assert!(read_strict_within(b"{\"a\":[[1]]}", 2).is_err());
    // Those that stand side by side are as deep as one of them.
    assert!(read_strict_within(b"[[1],[2],{\"a\":3}]", 2).is_ok());
    assert!(from_str::<Value>(&nested(127)).is_ok());
    assert!(from_str::<Value>(&nested(128)).is_err());
}

#[test]
fn numbers_are_what_the_grammar_says() {
    for written in ["0", "-0", "10", "0.5", "-1.5e-7", "1E2", "1e+2", "0e0"] {
        assert_eq!(written.parse::<Number>().unwrap().to_string(), written);
    }
    for other in
        ["", "-", "01", "-01", "+1", ".5", "1.", "1.e2", "1e", "1e+", "0x1", "1 ", "NaN", "1_0", "１"]
    {
        assert!(other.parse::<Number>().is_err(), "{other}");
        assert!(read_strict(other.as_bytes()).is_err() || other == "1 ", "{other}");
    }
}

#[test]
fn a_number_is_read_as_what_it_can_be() {
    let number = |text: &str| text.parse::<Number>().unwrap();
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(number("18446744073709551615").as_i64(), None);
    assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(number("-9223372036854775809").as_i128(), Some(-9_223_372_036_854_775_809));
    assert_eq!((number("-0").as_u64(), number("-0").as_i64()), (None, Some(0)));
    assert_eq!((number("1.0").as_u64(), number("1.0").as_f64()), (None, Some(1.0)));
    assert_eq!(number("1e999").as_f64(), None);

    assert_eq!(number("7"), Number::from(7_u8));
    assert_ne!(number("1.0"), number("1"));
    assert_eq!(Number::from_f64(1e16).unwrap().to_string(), "1e+16");
    assert_eq!(Number::from_f64(f64::NAN), None);
}

#[test]
fn layouts_differ_in_blanks_alone() {
    let value = json!({"a:b": ["x, y", 1, {}], "c": {"d": []}});
    assert_eq!(value.to_string(), r#"{"a:b":["x, y",1,{}],"c":{"d":[]}}"#);
    assert_eq!(value.to_text(Layout::Spaced), r#"{"a:b": ["x, y", 1, {}], "c": {"d": []}}"#);
    assert_eq!(
        format!("{value:#}"),
        "{\n  \"a:b\": [\n    \"x, y\",\n    1,\n    {}\n  ],\n  \"c\": {\n    \"d\": []\n  }\n}"
    );
    assert_eq!(value.to_text(Layout::Indented), format!("{value:#}"));
}

#[test]
fn objects_keep_their_order() {
    let mut fields: Map = from_str(r#"{"c":1,"a":2,"b":3,"a":4}"#).unwrap();
    assert_eq!(fields.to_string(), r#"{"c":1,"a":4,"b":3}"#);
    fields.remove("c");
    fields.insert("d".into(), json!(5));
    assert_eq!(fields.to_string(), r#"{"a":4,"b":3,"d":5}"#);
    assert_eq!(json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}));
}

#[test]
fn values_are_found_and_made_by_key_and_place() {
    let mut value = json!({"a": [1, {"b/c~": "x"}]});
    assert_eq!(value["a"][1]["b/c~"], "x");
    assert_eq!(value.pointer("/a/1/b~1c~0"), Some(&json!("x")));
    assert_eq!((value.pointer("/a/01"), value.pointer("/a/2"), value.pointer("a")), (None, None, None));
    assert!(value["z"][7]["y"].is_null());
    value["n"]["m"] = json!(true);
    value["a"][0] = json!(null);
    assert_eq!(value.to_string(), r#"{"a":[null,{"b/c~":"x"}],"n":{"m":true}}"#);
}

/// One type of each kind that serde knows.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    free: Value,
    number: Number,
    list: Vec<Value>,
    object: Map,
    some: Option<Value>,
    none: Option<u8>,
    real: f64,
    large: u128,
    tuple: (i8, char),
    keys: BTreeMap<u32, bool>,
    kinds: Vec<Kind>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Unit,
    New(Value),
    Tuple(u8, Value),
    Struct { free: Value },
}

#[test]
fn keys_that_are_no_texts_become_texts_or_are_refused() {
    fn check<K: serde::Serialize + Ord>(key: K, written: Option<&str>) {
        let map = BTreeMap::from([(key, 1)]);
        assert_eq!(to_string(&map).ok().as_deref(), written);
        assert_eq!(to_value(&map).ok().map(|value| value.to_string()).as_deref(), written);
    }
    check("a\"", Some(r#"{"a\"":1}"#));
    check('c', Some(r#"{"c":1}"#));
    check(-7, Some(r#"{"-7":1}"#));
    check(u128::MAX, Some(r#"{"340282366920938463463374607431768211455":1}"#));
    check(true, Some(r#"{"true":1}"#));
    check(Some("x"), Some(r#"{"x":1}"#));
    check(None::<u8>, None);
    check([1, 2], None);
    check(BTreeMap::from([("a", 1)]), None);
}

const EVERYTHING: &str = r#"{"free":{"n":1.10,"m":[-0,1e999]},"number":1e400,"list":[12345678901234567890123,"x"],"object":{"b":2.50,"a":null},"some":0.0,"none":null,"real":1.5,"large":340282366920938463463374607431768211455,"tuple":[-1,"é"],"keys":{"1":true,"20":false},"kinds":["Unit",{"New":1.00},{"Tuple":[7,2.00]},{"Struct":{"free":3.00}}]}"#;

#[test]
fn digits_pass_through_types() {
    let everything: Everything = from_str(EVERYTHING).unwrap();
    assert_eq!(to_string(&everything).unwrap(), EVERYTHING);
    let value = to_value(&everything).unwrap();
    assert_eq!(value.to_string(), EVERYTHING);
    assert_eq!(from_value::<Everything>(&value).unwrap(), everything);
    assert_eq!(to_value(&value).unwrap(), value);
}

#[test]
fn what_is_not_of_the_type_is_refused() {
    let error = |text: &str| from_str::<Kind>(text).unwrap_err().to_string();
    assert!(error(r#""Other""#).contains("unknown variant `Other`"));
    assert!(error(r#"{"Tuple":[1]}"#).contains("invalid length 1"));
    assert_eq!(error(r#"{"Tuple":[1,2,3]}"#), "there are more items than the type has at line 1 column 15");
    assert!(error(r#"{"Unit":1}"#).contains("invalid type: integer `1`, expected unit"));
    assert!(error(r#"{"New":1,"Unit":null}"#).contains("there are more items than the type has"));
    assert!(error("{}").contains("invalid type: map, expected enum"));
    assert!(error(r#"{"Struct":{}}"#).contains("missing field `free`"));
    assert!(error("[]").contains("a text or an object of one entry"));
    let found = |value: Value| from_value::<Kind>(&value).unwrap_err().to_string();
    assert!(found(json!({"Tuple": [1, 2, 3]})).contains("invalid length 3"));
    assert!(found(json!({"Unit": 1})).contains("integer `1`, expected unit"));
    assert!(found(json!("New")).contains("unit variant, expected newtype variant"));
    assert!(found(json!([])).contains("expected a text or an object of one entry"));
    let large = from_str::<u8>("256").unwrap_err();
    assert_eq!(large.to_string(), "invalid value: integer `256`, expected u8 at line 1 column 4");
    assert!(from_str::<u64>("1.0").unwrap_err().to_string().contains("floating point `1.0`, expected u64"));
    assert!(from_str::<f64>("1e999").unwrap_err().to_string().contains("1e999 is out of range"));
    assert!(from_slice::<String>(b"null").unwrap_err().to_string().contains("expected a string"));
    assert!(to_string(&BTreeMap::from([((1, 2), 3)])).is_err());
    assert_eq!(to_string(&[f64::NAN, f64::INFINITY]).unwrap(), "[null,null]");
}

#[test]
fn a_literal_takes_expressions() {
    let fields = ["x"];
    let key = "k";
    let value = json!({
        key: fields.len() + 1, (format!("{key}2")): Some("y"), "none": None::<u8>,
        "nested": [null, [], {}, [1, {"a": null}], fields, fields[0],], "block": [1, 2].len(),
    });
    assert_eq!(
        value.to_string(),
        r#"{"k":2,"k2":"y","none":null,"nested":[null,[],{},[1,{"a":null}],["x"],"x"],"block":2}"#
    );
    assert_eq!((json!(null), json!("a"), json!(-1)), (Value::Null, "a".into(), (-1).into()));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?"
            .prop_map(|text| Value::Number(text.parse().unwrap())),
        "\\PC*".prop_map(Value::String),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_in_every_layout(value in any_json()) {
        for layout in [Layout::Compact, Layout::Spaced, Layout::Indented] {
            let text = value.to_text(layout);
            prop_assert_eq!(&from_str::<Value>(&text).unwrap(), &value);
            prop_assert_eq!(layout == Layout::Indented || !text.contains('\n'), true);
        }
        prop_assert_eq!(value.to_string(), from_str::<Value>(&value.to_string()).unwrap().to_string());
        prop_assert_eq!(to_value(&value).unwrap().to_string(), value.to_string());
        prop_assert_eq!(from_value::<Value>(&value).unwrap().to_string(), value.to_string());
    }

    #[test]
    fn texts_are_read_as_serde_json_reads_them(
        text in prop_oneof![any_json().prop_map(|value| value.to_string()), "[\\[\\]{}\",:0-9a-z\\\\.eE+ -]{0,24}"],
        cut in 0_usize..64,
        with in prop_oneof![Just(""), Just("\""), Just("}"), Just(","), Just("\\u"), Just("1")],
    ) {
        let mut text = text;
        let cut = text.char_indices().map(|(at, _)| at).nth(cut);
        if let Some(cut) = cut {
            text.insert_str(cut, with);
        }
        let ours = from_str::<Value>(&text);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                // Theirs knows numbers within its types alone.
                prop_assert_eq!(!serde_json::to_value(&ours).unwrap().to_string().is_empty(), true);
                prop_assert_eq!(serde_json::to_value(&ours).unwrap().is_object(), theirs.is_object());
            }
            (Err(_), Err(_)) => {}
            (Ok(ours), Err(theirs)) => prop_assert!(theirs.to_string().contains("out of range"), "{ours} {theirs}"),
            (Err(ours), Ok(theirs)) => prop_assert!(false, "{ours} {theirs}"),
        }
    }
}

#[test]
fn a_number_has_1024_bytes_at_most_and_no_document_with_a_longer_one_is_read() {
    for (digits, is_read) in [(1_024, true), (1_025, false), (1 << 20, false)] {
        for number in [
            "7".repeat(digits),
            format!("-{}", "7".repeat(digits - 1)),
            format!("0.{}", "7".repeat(digits - 2)),
        ] {
            let document = format!("{{\"a\": [{number}]}}");
            assert_eq!(read_strict(document.as_bytes()).is_ok(), is_read, "{digits}");
            assert_eq!(from_str::<Value>(&document).is_ok(), is_read, "{digits}");
            assert_eq!(number.parse::<Number>().is_ok(), is_read, "{digits}");
            // Also where no field takes it.
            assert_eq!(from_str::<Named>(&format!("{{\"other\": {number}}}")).is_ok(), is_read, "{digits}");
        }
    }
}

#[derive(Debug, serde::Deserialize)]
struct Named {}
