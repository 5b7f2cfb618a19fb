//! Depending on lineside changes nothing in a program's own JSON: these types are read by `serde_json` as its
//! documentation says, in a program that has all of lineside in it.
#![allow(clippy::unwrap_used, clippy::float_cmp, missing_docs)]

use lineside::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record {
    Usage { cost: f64, tokens: u64 },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Loose {
    Number(f64),
    Text(String),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flat {
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, f64>,
}

#[test]
fn numbers_of_a_guest_are_numbers_in_every_kind_of_type() {
    let text = r#"{"type":"usage","cost":1.5,"tokens":3}"#;
    let usage: Record = serde_json::from_str(text).unwrap();
    assert_eq!(usage, Record::Usage { cost: 1.5, tokens: 3 });
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_value::<Record>(value).unwrap(), usage);
    assert_eq!(serde_json::from_str::<Loose>("1.5").unwrap(), Loose::Number(1.5));
    assert_eq!(serde_json::from_str::<Flat>(r#"{"a":1.5}"#).unwrap().rest["a"], 1.5);
}

#[test]
fn values_of_a_guest_are_what_they_are_without_features() {
    let value: serde_json::Value = serde_json::from_str(r#"{"b":1.10,"a":1e2}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"a":100.0,"b":1.1}"#);
    assert_eq!(serde_json::json!(1.0), serde_json::from_str::<serde_json::Value>("1.00").unwrap());
    assert!(serde_json::from_str::<serde_json::Value>("1e999").is_err());
}

/// A guest may have values of ours within its own types, and write and read them with either.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    input: lineside::json::Value,
    record: Record,
}

#[tokio::test]
async fn what_the_bus_hands_over_passes_through_the_types_of_a_guest() {
    let session = Bus::new().session("s").open().await.unwrap();
    let input: lineside::json::Value = lineside::json::from_str(r#"{"n":1.10,"m":7,"a":null}"#).unwrap();
    let decision = session.publish(BeforeTool::new("T", input)).await.unwrap();
    let input = decision.payload().tool_input.clone();
    let kept = Kept { input, record: Record::Usage { cost: 0.25, tokens: 1 } };

    let ours = lineside::json::to_string(&kept).unwrap();
    assert_eq!(
        ours,
        r#"{"input":{"n":1.10,"m":7,"a":null},"record":{"type":"usage","cost":0.25,"tokens":1}}"#
    );
    assert_eq!(lineside::json::from_str::<Kept>(&ours).unwrap(), kept);

    let theirs = serde_json::to_string(&kept).unwrap();
    assert_eq!(theirs, ours.replace("1.10", "1.1"));
    let back: Kept = serde_json::from_str(&theirs).unwrap();
    assert_eq!((back.input["n"].as_f64(), back.record), (Some(1.1), kept.record));
}
