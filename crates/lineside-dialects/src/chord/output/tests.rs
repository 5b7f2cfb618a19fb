//! What may stand beside the object, and which of its keys count.

use lineside_core::invocation::Captured;
use lineside_core::json::{Value, json};
use proptest::prelude::*;

use super::Reply;
use crate::chord::samples::captured;

/// The value of the key `action`, or a part of the error.
fn check(stdout: &str, expected: Result<Value, &str>) {
    match (Reply::read(&captured(stdout)), expected) {
        (Ok(reply), Ok(value)) => {
            assert_eq!(reply.value("action").unwrap().unwrap_or_default(), value, "{stdout}");
        }
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{stdout}: {error}"),
        (got, expected) => panic!("{stdout}: {got:?} instead of {expected:?}"),
    }
}

#[test]
fn scalars_beside_the_one_object_are_passed_over() {
    // CH-37
    check("", Ok(Value::Null));
    check(" \n\t", Ok(Value::Null));
    check("null", Ok(Value::Null));
    check("null null", Ok(Value::Null));
    check("{}", Ok(Value::Null));
    check("{\n \"action\": \"x\"\n}\n", Ok(json!("x")));
    check("true\n{\"action\":\"x\"}\n5 \"text\" null", Ok(json!("x")));
    check("{\"data\": {\"action\": 1}, \"action\": \"x\"}", Ok(json!("x")));
}

#[test]
fn anything_else_cannot_be_read() {
    // CH-37
    check("done", Err("not JSON"));
    check("x{\"action\":1}", Err("not JSON"));
    check("{\"action\":1}\ndone", Err("not JSON"));
    check("{\"action\":1}x", Err("white space"));
    check("{\"action\":1}{}", Err("white space"));
    check("true{\"action\":1}", Err("white space"));
    check("{} {}", Err("more than one object"));
    check("[]", Err("an array"));
    check("{} [1]", Err("an array"));
    check("true", Err("no object"));
    check("null 5", Err("no object"));
    check("{\"action\":1", Err("not JSON"));
    check("\u{feff}{}", Err("not JSON"));
    let cut = Captured { bytes: b"{}".to_vec(), dropped: 1 };
    // CH-35
    assert_eq!(Reply::read(&cut).unwrap_err().to_string(), "longer than 2 bytes");
}

#[test]
fn keys_are_compared_without_case_and_the_last_one_counts() {
    // CH-37
    check("{\"Action\": 1}", Ok(json!(1)));
    check("{\"action\": 1, \"ACTION\": 2, \"action\": 3, \"aCtion\": 4}", Ok(json!(4)));
    check("{\"action\": 1, \"Action\": 2, \"action\": 3}", Ok(json!(3)));
    check("{\"action\": 1, \"action\": null}", Ok(Value::Null));
    check("{\"a\\u0063tion\": 1.50, \"other\": []}", Ok(lineside_core::json::from_str("1.50").unwrap()));
}

#[test]
fn what_nobody_asks_for_may_be_odd() {
    // CH-37
    let deep =
        format!("{{\"x\": {}{}, \"n\": 1e9999, \"action\": \"x\"}}", "[".repeat(5000), "]".repeat(5000));
    check(&deep, Ok(json!("x")));
    let reply = Reply::read(&captured(&deep)).unwrap();
    assert!(reply.value("X").is_err());
}

#[test]
fn what_is_no_text_is_replaced() {
    // CH-37
    let bytes = b"{\"action\": \"a\xffb\"}".to_vec();
    let reply = Reply::read(&Captured { bytes, dropped: 0 }).unwrap();
    assert_eq!(reply.value("action").unwrap(), Some(json!("a\u{fffd}b")));
    check("{\"action\": \"\\ud83d\"}", Ok(json!("\u{fffd}")));
    check("{\"action\": \"\\ude00\\ud83d!\\\\ud83d\"}", Ok(json!("\u{fffd}\u{fffd}!\\ud83d")));
    check("{\"action\": \"\\ud83d\\ude00\\\"\\u00e9\"}", Ok(json!("😀\"é")));
}

#[test]
fn a_wrong_type_is_told() {
    // CH-38, CH-39
    let read = || Reply::read(&captured("{\"a\": 5, \"b\": \"true\", \"c\": null}")).unwrap();
    assert_eq!(read().string("a").unwrap_err().to_string(), "`a` is 5, not a string");
    assert_eq!(read().boolean("b").unwrap_err().to_string(), "`b` is \"true\", not a boolean");
    assert_eq!(read().string("c"), Ok(None));
    assert_eq!(read().boolean("c"), Ok(false));
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _read = Reply::read(&Captured { bytes, dropped: 0 });
    }

    #[test]
    fn any_text_like_json_is_read(text in "[{}\\[\\]\":, a-d0-9\\\\u.]{0,40}") {
        let _read = Reply::read(&captured(&text));
    }

    #[test]
    fn whole_texts_stay_as_they_are(text in ".{0,40}") {
        let reply = Reply::read(&captured(&json!({"action": text}).to_string())).unwrap();
        prop_assert_eq!(reply.string("action"), Ok(Some(text)));
    }
}
