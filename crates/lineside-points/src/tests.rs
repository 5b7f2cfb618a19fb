//! The catalogue is that of the specification, and payloads survive the way through JSON.

use std::collections::BTreeSet;

use lineside_core::amendment::{Amendment, ApplyAmendmentError};
use lineside_core::json::{Map, Value, json};
use lineside_core::point::PointRole;
use lineside_core::{Answer, Append, Notice, Phase, Reply, Response, Verdict};

use super::{BeforeTool, CATALOGUE, find};

fn object(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

#[test]
fn names_are_unique_and_state_their_phase() {
    let names: BTreeSet<_> = CATALOGUE.iter().map(|point| point.name).collect();
    assert_eq!(names.len(), CATALOGUE.len());
    for point in CATALOGUE {
        assert_eq!(Phase::of(point.name), Some(point.phase), "{}", point.name);
        assert!(point.phase != Phase::On || point.amendable().count() == 0, "{}", point.name);
    }
}

#[test]
fn few_points_have_a_role() {
    let with_role = CATALOGUE.iter().filter(|point| point.role != PointRole::None);
    let roles: Vec<_> = with_role.map(|point| (point.name, point.role)).collect();
    let expected = [
        ("before_prompt", PointRole::NewWork),
        ("on_prompt", PointRole::NewWork),
        ("before_agent", PointRole::NewWork),
        ("after_subagent", PointRole::SubagentStop),
        ("before_stop", PointRole::Stop),
    ];
    assert_eq!(roles, expected);
    let stopped = find("after_subagent").unwrap();
    assert!(stopped.field("child_session").is_some(), "the session whose subagent it is");
}

#[test]
fn an_unknown_point_names_the_nearest() {
    let error = find("before_tol").unwrap_err();
    assert_eq!(error.to_string(), "unknown point `before_tol`; the nearest is `before_tool`");
}

#[test]
fn a_missing_field_is_named() {
    let point = find("before_tool").unwrap();
    let error = (point.decode)(point, object(json!({"tool_name": "Shell"}))).unwrap_err();
    assert_eq!(error.to_string(), "before_tool needs the field `tool_input`");
    let error = (point.decode)(point, object(json!({"tool_name": 5, "tool_input": {}}))).unwrap_err();
    assert!(error.to_string().starts_with("field `tool_name` of before_tool: invalid type"), "{error}");
}

#[test]
fn a_wrong_part_of_a_field_is_told_in_words_of_the_payload() {
    for (point, payload, part) in [
        ("after_tool_batch", json!({"tool_calls": [5], "changed_files": []}), "an object with `tool_name`"),
        ("after_tool_batch", json!({"tool_calls": [], "changed_files": [5]}), "an object with `path`"),
        (
            "after_model",
            json!({"model": "m", "usage": 5}),
            "an object with `input_tokens` and `output_tokens`",
        ),
    ] {
        let point = find(point).unwrap();
        let error = (point.decode)(point, object(payload)).unwrap_err().to_string();
        assert!(error.ends_with(&format!("invalid type: integer `5`, expected {part}")), "{error}");
    }
}

#[test]
fn payloads_keep_digits_and_order() {
    let point = find("before_tool").unwrap();
    let text = r#"{"tool_name":"T","tool_input":{"z":1.10,"a":9007199254740993,"m":1e+999}}"#;
    let payload = (point.decode)(point, lineside_core::json::from_str(text).unwrap()).unwrap();
    assert_eq!(lineside_core::json::to_string(&payload.to_json()).unwrap(), text);
    assert_eq!(payload.to_text(), text);
}

/// A value that some field takes.
fn values() -> [Value; 7] {
    let call =
        json!({"tool_name": "T", "tool_input": {"b": 1, "a": []}, "ok": true, "call_id": "c", "output": "o"});
    [
        json!("say \"hi\"\n"),
        json!(true),
        json!(3),
        json!({"input_tokens": 1, "output_tokens": 2, "running": "m", "path": "/p"}),
        json!([call]),
        json!([{"path": "/p", "kind": "modified"}]),
        json!(["/a", "/b"]),
    ]
}

#[test]
fn the_text_of_a_payload_is_that_of_its_json() {
    let mut compared = 0;
    for point in CATALOGUE {
        let mut fields = Map::new();
        // Each field with the first value that it takes: a field that is wrong is named.
        for field in point.fields {
            for value in values() {
                fields.insert(field.name.to_owned(), value);
                let decoded = (point.decode)(point, fields.clone());
                if decoded.is_ok_and(|payload| payload.to_json().contains_key(field.name)) {
                    break;
                }
                let error = (point.decode)(point, fields.clone()).map(drop).unwrap_err().to_string();
                if !error.contains(&format!("`{}`", field.name)) {
                    break;
                }
                fields.remove(field.name);
            }
        }
        let Ok(payload) = (point.decode)(point, fields) else { continue };
        assert_eq!(payload.to_text(), Value::Object(payload.to_json()).to_string(), "{}", point.name);
        compared += 1;
    }
    assert!(compared > CATALOGUE.len() / 2, "{compared} of {}", CATALOGUE.len());
}

#[test]
fn only_amendable_fields_change_and_all_or_none() {
    let point = find("before_tool").unwrap();
    let payload = (point.decode)(point, object(json!({"tool_name": "T", "tool_input": {"a": 1}}))).unwrap();
    let both = Amendment::default().with("tool_input", json!({"a": 2})).with("tool_name", json!("U"));
    assert!(matches!(both.apply(&*payload), Err(ApplyAmendmentError::Fixed { .. })));
    let amended = Amendment::default().with("tool_input", json!({"a": 2})).apply(&*payload).unwrap().unwrap();
    assert_eq!(amended.changes[0].before, json!({"a": 1}));
    assert_eq!(amended.payload.value("tool_input"), Some(&json!({"a": 2})));
    assert!(Amendment::default().with("tool_input", json!({"a": 1})).apply(&*payload).unwrap().is_none());
}

#[test]
fn declared_points_take_any_object() {
    let point = super::custom::declare("x.acme.before_deploy", &["target"]).unwrap();
    assert_eq!(find("x.acme.before_deploy").unwrap(), point);
    let payload = (point.decode)(point, object(json!({"target": "a", "n": 1}))).unwrap();
    assert!(Amendment::default().with("n", json!(2)).apply(&*payload).is_err());
    assert!(Amendment::default().with("target", json!("b")).apply(&*payload).unwrap().is_some());
    assert!(super::custom::declare("x.acme.before_deploy", &[]).is_err());
    assert!(super::custom::declare("before_mine", &[]).is_err());
}

#[test]
fn an_amendment_is_empty_until_it_names_a_field() {
    assert!(Amendment::default().is_empty());
    assert!(Amendment::from_json(Map::new()).is_empty());
    let one = Amendment::default().with("tool_input", json!(1));
    assert!(!one.is_empty());
    assert_eq!(one, Amendment::from_json(object(json!({"tool_input": 1}))));
    assert_eq!(one.with("tool_input", json!(2)).fields(), &object(json!({"tool_input": 2})));
}

#[test]
fn a_change_says_what_was_there_and_what_is_there_now() {
    let point = find("after_tool").unwrap();
    let payload = object(json!({"tool_name": "T", "tool_input": {}, "tool_output": "out"}));
    let payload = (point.decode)(point, payload).unwrap();
    let amendable: Vec<_> = point.amendable().collect();
    assert!(amendable.contains(&"tool_output"), "{amendable:?}");
    let amended = Amendment::default().with("tool_output", json!("short")).apply(&*payload).unwrap().unwrap();
    let [change] = &amended.changes[..] else { panic!("{:?}", amended.changes) };
    assert_eq!(
        (&*change.field, &change.before, &change.after),
        ("tool_output", &json!("out"), &json!("short"))
    );
    assert_eq!(amended.payload.text("tool_name"), Some("T"));
    assert_eq!(payload.value("tool_output"), Some(&json!("out")), "the original stays");
}

#[test]
fn a_field_that_the_point_does_not_have_is_named() {
    let point = find("before_tool").unwrap();
    let payload = (point.decode)(point, object(json!({"tool_name": "T", "tool_input": {}}))).unwrap();
    let error = Amendment::default().with("tool_inputs", json!({})).apply(&*payload).unwrap_err();
    assert_eq!(error.to_string(), "before_tool has no field `tool_inputs`");
    let error = Amendment::default().with("tool_name", json!("U")).apply(&*payload).unwrap_err();
    assert_eq!(error.to_string(), "`tool_name` of before_tool cannot be amended");
}

#[test]
fn a_reply_carries_its_amendment_and_what_stands_beside_it() {
    let reply = Reply::<BeforeTool>::amend(BeforeTool::amend().tool_input(json!({"a": 2})));
    let answer = Answer::from(Response::from(reply.append("why").notify(Notice::info("seen"))));
    assert_eq!(answer.amendment, Amendment::default().with("tool_input", json!({"a": 2})));
    assert_eq!(answer.verdict, Verdict::Continue);
    assert_eq!((answer.context, answer.notices), (vec![Append::from("why")], vec![Notice::info("seen")]));
    let refusal = Reply::<BeforeTool>::from(Verdict::block("no"));
    assert_eq!(Response::from(refusal), Response::from(Verdict::block("no")));
}

/// How many bytes all strings in a JSON value have, its names among them.
fn letters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(letters).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + letters(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[test]
fn a_payload_weighs_at_least_its_texts_and_no_multiple_of_them() {
    let x = |mebibytes: usize| "x".repeat(mebibytes << 20);
    let call = json!({
        "tool_name": x(1), "tool_call_id": x(1), "tool_input": {"a": [x(1)]}, "tool_output": x(1), "error": x(1),
        "paths": [x(1), x(1)],
    });
    let file = json!({"path": x(1), "tool_name": x(1), "is_new": true, "is_deleted": false, "diff": x(2)});
    let payloads = [
        ("before_tool", json!({"tool_name": x(1), "tool_input": {"deep": [{"er": x(3)}], "n": 7}})),
        ("before_tool", json!({"tool_name": "Shell", "tool_input": {"text": x(1)}, "paths": [x(1)]})),
        ("before_model", json!({"model": x(1), "system_prompt": x(1), "messages": [{"text": x(1)}, x(1)]})),
        ("after_tool_batch", json!({"tool_calls": [call, call], "changed_files": [file, file]})),
        ("before_session", json!({"source": x(1)})),
    ];
    let custom = crate::custom::declare("x.weights.on_lift", &[]).unwrap();
    let mut weighed: Vec<_> = payloads.map(|(name, payload)| (find(name).unwrap(), payload)).into();
    weighed.push((custom, json!({"one": x(1), "other": [x(1), {"third": x(1)}]})));
    for (point, payload) in weighed {
        let letters = letters(&payload) - object(payload.clone()).keys().map(String::len).sum::<usize>();
        let weight = (point.decode)(point, object(payload)).unwrap().weight();
        assert!(weight >= letters && weight <= letters + (4 << 10), "{}: {weight} for {letters}", point.name);
    }
}
