//! What becomes a value, what equals one, and what a value can be read as.

use std::borrow::Cow;
use std::fmt::Debug;

use super::*;
use crate::json::{Fields, ObjectText, any_string, to_vec};

#[test]
fn what_a_value_is_made_from_has_its_json() {
    fn check(value: impl Into<Value>, written: &str) {
        assert_eq!(value.into().to_string(), written);
    }
    check("1.10".parse::<Number>().unwrap(), "1.10");
    check(0.1_f64, "0.1");
    check(0.1_f32, "0.1");
    check(f64::NAN, "null");
    check(f32::INFINITY, "null");
    check(Cow::from("a"), "\"a\"");
    check(Map::from([("a".to_owned(), json!(1))]), r#"{"a":1}"#);
    check((), "null");
    check(vec!["a", "b"], r#"["a","b"]"#);
    check([1, 2], "[1,2]");
    check([true, false].as_slice(), "[true,false]");
    check(Some(1), "1");
    check(None::<u8>, "null");
    assert_eq!("[1.10]".parse::<Value>().unwrap().to_string(), "[1.10]");
    assert!("[1.10".parse::<Value>().is_err());
}

#[test]
fn a_value_equals_what_it_is_made_from_and_nothing_else() {
    fn check<T>(different: &[T])
    where
        T: Into<Value> + PartialEq<Value> + Clone + Debug,
        Value: PartialEq<T>,
    {
        for (left, one) in different.iter().enumerate() {
            for (right, other) in different.iter().enumerate() {
                let value = other.clone().into();
                assert_eq!((*one == value, value == *one), (left == right, left == right), "{one:?} {value}");
            }
            for value in [json!(null), json!([one.clone().into()])] {
                assert_eq!((*one == value, value == *one), (false, false), "{one:?} {value}");
            }
        }
    }
    check(&[true, false]);
    check(&[1.5, -0.5]);
    check(&[1_u8, 2]);
    check(&[u64::MAX, 0]);
    check(&[-1_i8, 1]);
    check(&[i64::MIN, i64::MAX]);
    check(&[1_usize, 2]);
    check(&["a", ""]);
    check(&["a".to_owned(), String::new()]);
}

#[test]
fn a_value_is_read_as_what_its_number_can_be() {
    let read = |text: &str| {
        let value: Value = text.parse().unwrap();
        (value.as_u64(), value.as_i64(), value.as_f64())
    };
    assert_eq!(read("7"), (Some(7), Some(7), Some(7.0)));
    assert_eq!(read("-7"), (None, Some(-7), Some(-7.0)));
    assert_eq!(read("2.5"), (None, None, Some(2.5)));
    assert_eq!(read("1e999"), (None, None, None));
    assert_eq!(read("\"7\""), (None, None, None));
}

#[test]
fn values_are_changed_by_key_and_place() {
    let mut value = json!({"list": [1, 2]});
    let name = "name".to_owned();
    assert_eq!(value.get(&name), None);
    assert_eq!(value.get_mut(&name), None);
    value[name.clone()] = json!("a");
    assert_eq!(value.get(name.clone()), Some(&json!("a")));
    *value.get_mut(name.clone()).unwrap() = json!("b");
    *value.get_mut("list").unwrap().get_mut(1).unwrap() = json!(3);
    let place = &0;
    *value["list"].get_mut(place).unwrap() = json!(0);
    assert_eq!(value.to_string(), r#"{"list":[0,3],"name":"b"}"#);
    assert_eq!(value.get_mut(0), None);
    assert_eq!(value["list"].get_mut("a"), None);
    assert_eq!(value["list"].get_mut(2), None);
}

#[test]
fn the_entries_of_an_object_are_changed_by_key() {
    let mut fields = Map::new();
    fields["a"] = json!(1);
    fields["b"]["c"] = json!(2);
    fields["a"] = json!(3);
    assert_eq!(fields.to_text(Layout::Spaced), r#"{"a": 3, "b": {"c": 2}}"#);
    assert_eq!((&fields["a"], &fields["z"]), (&json!(3), &Value::Null));
    assert_eq!(fields["a"].take(), 3);
    assert_eq!(fields.to_string(), r#"{"a":null,"b":{"c":2}}"#);
}

#[test]
fn objects_differ_by_a_key_a_value_or_their_length() {
    let different = [json!({}), json!({"a": 1}), json!({"b": 1}), json!({"a": 2}), json!({"a": 1, "b": 1})];
    for (left, one) in different.iter().enumerate() {
        for (right, other) in different.iter().enumerate() {
            assert_eq!(one == other, left == right, "{one} {other}");
        }
    }
}

#[test]
fn a_text_is_found_at_any_depth_and_a_key_is_none() {
    let value = json!({"key": ["a", {"deep": [1, "b"]}]});
    for (wanted, is_there) in [("a", true), ("b", true), ("key", false), ("deep", false), ("1", false)] {
        assert_eq!(any_string(&value, &mut |text| text == wanted), is_there, "{wanted}");
    }
}

#[test]
fn fields_are_the_same_in_a_map_and_as_text() {
    fn put(fields: &mut impl Fields) {
        fields.put("name", "a \"b\"");
        fields.put("without json", &BTreeMap::from([([1], 2)]));
        fields.put_either("either", || json!([1, 2]), || "[1,2]");
    }
    let (mut map, mut text) = (Map::new(), ObjectText::new());
    put(&mut map);
    put(&mut text);
    assert_eq!(map.to_string(), r#"{"name":"a \"b\"","without json":null,"either":[1,2]}"#);
    assert_eq!(text.end(), map.to_string());
    assert_eq!(to_vec(&map).unwrap(), map.to_string().into_bytes());
    assert_eq!(ObjectText::default().end(), "{}");
}
