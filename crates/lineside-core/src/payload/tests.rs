//! What matchers see of the fields of payloads, and how much those weigh.

use super::*;
use crate::json::json;
use crate::sample::Note;

#[test]
fn the_text_of_a_payload_is_its_json() {
    let note = Note { title: "a \"b\"".to_owned(), paths: vec!["c.md".to_owned()] };
    assert_eq!(note.to_text(), r#"{"title":"a \"b\"","paths":["c.md"]}"#);
}

/// A field shows this text, JSON and paths, whether or not it may be absent; what is absent shows nothing.
fn check_field(field: impl Probe, text: Option<&str>, value: Option<&Value>, paths: &[&str]) {
    fn seen(field: &impl Probe) -> (Option<&str>, Option<&Value>, Vec<String>) {
        let mut paths = Vec::new();
        field.each_path(&mut |path| paths.push(path.to_owned()));
        (field.text(), field.value(), paths)
    }
    let expected = (text, value, paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
    assert_eq!(seen(&field), expected);
    let weight = field.weight();
    let mut optional = Some(field);
    assert_eq!(seen(&optional), expected);
    assert_eq!(optional.weight(), weight);
    optional = None;
    assert_eq!((seen(&optional), optional.weight()), ((None, None, Vec::new()), 0));
}

#[test]
fn each_type_of_field_shows_what_it_holds() {
    check_field(true, None, None, &[]);
    check_field(7_u64, None, None, &[]);
    check_field(7_u16, None, None, &[]);
    check_field("text".to_owned(), Some("text"), None, &[]);
    check_field(json!("text"), Some("text"), Some(&json!("text")), &[]);
    check_field(json!(["text"]), None, Some(&json!(["text"])), &[]);
    check_field(vec!["a.md".to_owned(), "b.md".to_owned()], None, None, &["a.md", "b.md"]);
    check_field(Vec::<String>::new(), None, None, &[]);
    check_field(vec![json!("a.md")], None, None, &[]);
}

#[test]
fn a_field_weighs_its_bytes_and_its_items() {
    assert_eq!((true.weight(), 7_u64.weight(), Probe::weight(&"text".to_owned())), (0, 0, 4));
    assert_eq!(vec!["a".to_owned(), "bc".to_owned()].weight(), 2 * size_of::<String>() + 3);
    let (field, item) = (size_of::<String>() + size_of::<Value>(), size_of::<Value>());
    let cases = [
        (json!(null), 0),
        (json!(17), 0),
        (json!("four"), 4),
        (json!({}), 0),
        (json!({"": null}), field),
        (json!({"name": true}), field + 4),
        (json!({"name": "texts", "n": 1}), 2 * field + 4 + 5 + 1),
        (json!([1, "two", {"a": "b"}]), 3 * item + 3 + field + 2),
    ];
    for (value, weight) in cases {
        assert_eq!(Probe::weight(&value), weight, "{value}");
        assert_eq!(vec![value.clone()].weight(), item + weight, "{value}");
    }
}

#[test]
fn the_paths_of_a_tool_input_are_those_of_each_field_that_names_some() {
    let cases: [(Value, &[&str]); 9] = [
        (json!({"path": "a", "file_path": "b", "notebook_path": "c", "paths": ["d"]}), &["a", "b", "c", "d"]),
        (json!({"path": "", "file_path": "b", "notebook_path": "c"}), &["b", "c"]),
        (json!({"path": 7, "notebook_path": "c", "paths": ["d"]}), &["c", "d"]),
        (json!({"path": "", "paths": ["d", "", 7, "e"]}), &["d", "e"]),
        (json!({"paths": []}), &[]),
        (json!({"paths": "d"}), &["d"]),
        (json!({"command": "ls a"}), &[]),
        (json!("a"), &[]),
        (json!(null), &[]),
    ];
    for (input, expected) in cases {
        let mut paths = Vec::new();
        each_input_path(&input, &mut |path| paths.push(path.to_owned()));
        assert_eq!(paths, expected, "{input}");
    }
}
