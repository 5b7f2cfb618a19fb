//! The fields of `data`, point by point, in their order.

use lineside_core::json::{Value, json};

use super::of;
use crate::chord::points;
use crate::chord::samples::{Sample, amended, event};

fn data(point: &str, canonical: &str, payload: Value) -> String {
    Value::Object(of(points::find(point).unwrap().kind, &event(canonical, payload))).to_string()
}

/// To the byte: numbers keep their digits.
fn check(point: &str, canonical: &str, payload: Value, expected: &str) {
    assert_eq!(data(point, canonical, payload), expected, "{point}");
}

#[test]
fn sessions_and_models() {
    // CH-13, CH-14
    check(
        "on_session_start",
        "before_session",
        json!({"source": "resume"}),
        r#"{"source":"resume","session_id":"s1","cwd":"/repo/sub"}"#,
    );
    check(
        "on_session_end",
        "after_session",
        json!({"reason": "exit", "stats": {"n": 1}}),
        r#"{"reason":"exit","stats":{"n":1},"session_id":"s1"}"#,
    );
    check(
        "on_before_llm_call",
        "before_model",
        json!({"model": "m"}),
        r#"{"model":"m","messages":[],"message_count":0}"#,
    );
    check(
        "on_before_llm_call",
        "before_model",
        json!({"model": "m", "messages": [{"c": 1.50}], "message_count": 9, "system_prompt": "s", "tools": []}),
        r#"{"model":"m","messages":[{"c":1.5}],"message_count":9,"system_prompt":"s","tools":[]}"#,
    );
    check(
        "on_after_llm_call",
        "after_model",
        json!({"model": "m", "usage": {"input_tokens": 7}, "stop_reason": "end", "output": "o"}),
        r#"{"model":"m","usage":{"input_tokens":7},"input_tokens":7,"stop_reason":"end","output":"o"}"#,
    );
    check(
        "on_after_llm_call",
        "after_model",
        json!({"model": "m", "error": "503"}),
        r#"{"model":"m","error":"503"}"#,
    );
}

#[test]
fn tools() {
    // CH-14, CH-15
    check(
        "on_tool_call",
        "before_tool",
        json!({"tool_name": "T", "tool_input": null}),
        r#"{"tool_name":"T","args":{}}"#,
    );
    check(
        "on_tool_call",
        "before_tool",
        json!({"tool_name": "T", "tool_input": {"file_path": "a"}, "tool_call_id": "c", "timeout_ms": 5}),
        r#"{"tool_name":"T","args":{"file_path":"a"},"call_id":"c","timeout_ms":5,"path":"a","paths":["a"]}"#,
    );
    check(
        "on_tool_result",
        "after_tool",
        json!({"tool_name": "T", "tool_output": {"k": [1, "é"]}, "duration_ms": 3}),
        r#"{"tool_name":"T","output":"{\"k\":[1,\"é\"]}","result":"{\"k\":[1,\"é\"]}","diff":"","duration_ms":3}"#,
    );
    check(
        "on_tool_result",
        "after_tool_error",
        json!({"tool_name": "T", "tool_input": {}, "error": "e", "error_kind": "k", "paths": ["p", "q"]}),
        r#"{"tool_name":"T","args":{},"output":"","result":"","diff":"","error":"e","error_kind":"k","path":"p","paths":["p","q"]}"#,
    );
    check(
        "on_before_tool_result_append",
        "before_result_append",
        json!({"tool_name": "T", "tool_output": null}),
        r#"{"tool_name":"T","output":"","context_result":"","display_result":"","raw_result":""}"#,
    );
    check(
        "on_before_tool_result_append",
        "before_result_append",
        json!({"tool_name": "T", "tool_output": "o", "display_output": [1], "error": "e"}),
        r#"{"tool_name":"T","output":"o","context_result":"o","display_result":"[1]","raw_result":"o","error":"e"}"#,
    );
}

#[test]
fn batches() {
    // CH-14, CH-15, CH-16
    check(
        "on_tool_batch_complete",
        "after_tool_batch",
        json!({"tool_calls": [], "changed_files": []}),
        r#"{"tool_calls":[],"changed_files":[]}"#,
    );
    check(
        "on_tool_batch_complete",
        "after_tool_batch",
        json!({
            "tool_calls": [
                {"tool_name": "A"},
                {"tool_name": "B", "tool_call_id": "c", "tool_input": {"paths": ["x", "", 5, "y"]},
                 "tool_output": "o", "error": "e"}
            ],
            "changed_files": [{"path": "x"}, {"path": "y", "tool_name": "B", "is_new": true, "diff": "d"}]
        }),
        concat!(
            r#"{"tool_calls":[{"tool_name":"A","output":"","result":"","error":""},"#,
            r#"{"call_id":"c","tool_name":"B","args":{"paths":["x","",5,"y"]},"output":"o","result":"o","error":"e","path":"x","paths":["x","y"]}],"#,
            r#""changed_files":[{"path":"x","paths":["x"],"is_new":false,"is_deleted":false,"diff":""},"#,
            r#"{"path":"y","paths":["y"],"tool_name":"B","tool":"B","is_new":true,"is_deleted":false,"diff":"d"}]}"#,
        ),
    );
}

#[test]
fn the_others() {
    // CH-14
    check(
        "on_before_compress",
        "before_compact",
        json!({"kind": "manual", "messages": [1, 2], "usage": 5}),
        r#"{"reason":"manual","kind":"manual","manual":true,"usage":5,"message_count":2}"#,
    );
    check(
        "on_before_compress",
        "before_compact",
        json!({"kind": "auto", "reason": "full"}),
        r#"{"reason":"full","kind":"auto","manual":false}"#,
    );
    check(
        "on_after_compress",
        "after_compact",
        json!({"kind": "auto", "usage_before": 9, "usage_after": 1, "summary": "s"}),
        r#"{"reason":"auto","kind":"auto","manual":false,"usage_before":9,"usage_after":1,"summary":"s"}"#,
    );
    check("on_idle", "on_idle", json!({}), r#"{"agent_id":"main-1"}"#);
    check(
        "on_wait_confirm",
        "on_wait_confirm",
        json!({"tool_name": "T", "tool_input": {"a": "é"}, "message": "m"}),
        r#"{"tool_name":"T","args":{"a":"é"},"args_json":"{\"a\":\"é\"}","message":"m"}"#,
    );
    check("on_wait_confirm", "on_wait_confirm", json!({}), "{}");
    check(
        "on_wait_question",
        "on_wait_question",
        json!({"question": "q"}),
        r#"{"question":"q","options":[]}"#,
    );
    check(
        "on_agent_error",
        "on_error",
        json!({"error": "e", "error_kind": "k"}),
        r#"{"error":"e","message":"e","error_kind":"k"}"#,
    );
}

#[test]
fn values_pass_through_unchanged() {
    // CH-16
    let input = r#"{"n":1.10,"big":12345678901234567890123,"s":"\u0001é","list":[]}"#;
    let payload = format!(r#"{{"tool_name":"T","tool_input":{input}}}"#);
    let expected = format!(r#"{{"tool_name":"T","args":{input}}}"#);
    check("on_tool_call", "before_tool", lineside_core::json::from_str(&payload).unwrap(), &expected);
}

#[test]
fn fields_of_the_host_join_behind_its_own() {
    // CH-16
    let extra = Some(json!({"sandbox": true, "tool_name": "Forged", "paths": ["x"]}));
    let sample = Sample { extra, ..Sample::default() };
    let event = sample.event("before_tool", json!({"tool_name": "T", "tool_input": {}}));
    let data = of(points::find("on_tool_call").unwrap().kind, &event);
    assert_eq!(
        Value::Object(data).to_string(),
        r#"{"tool_name":"T","args":{},"sandbox":true,"paths":["x"]}"#
    );
}

#[test]
fn amended_arguments_name_the_paths() {
    // CH-15, CH-45
    let published =
        event("before_tool", json!({"tool_name": "T", "tool_input": {"path": "a"}, "paths": ["host"]}));
    let paths = |input: Value| {
        let event = amended(&published, "tool_input", input);
        of(points::find("on_tool_call").unwrap().kind, &event).get("paths").cloned().unwrap_or_default()
    };
    let unamended = of(points::find("on_tool_call").unwrap().kind, &published);
    assert_eq!(unamended["paths"], json!(["host"]));
    assert_eq!(paths(json!({"notebook_path": "b", "path": ""})), json!(["b"]));
    assert_eq!(paths(json!({"command": "ls"})), json!(["host"]));
}

#[test]
fn amended_messages_are_counted_anew() {
    // CH-46
    let published = event("before_model", json!({"model": "m", "messages": [1, 2, 3], "message_count": 3}));
    let kind = points::find("on_before_llm_call").unwrap().kind;
    assert_eq!(of(kind, &amended(&published, "messages", json!([1])))["message_count"], json!(1));
    assert_eq!(of(kind, &amended(&published, "model", json!("n")))["message_count"], json!(3));
}

#[test]
fn a_burst_has_the_paths_of_all_its_events() {
    // CH-15, CH-54
    let result = |input: Value, paths: Option<Value>| {
        event(
            "after_tool",
            json!({"tool_name": "T", "tool_output": "o", "tool_input": input, "paths": paths}),
        )
    };
    let burst = [
        result(json!({"path": "a"}), None),
        result(json!({"path": "b"}), Some(json!(["x", "y"]))),
        event("after_tool_error", json!({"tool_name": "U", "error": "e", "tool_input": {"file_path": "c"}})),
    ];
    let data =
        of(points::find("on_tool_result").unwrap().kind, &lineside_core::burst::merge(&burst).unwrap());
    assert_eq!(data["paths"], json!(["a", "x", "y", "c"]));
    assert_eq!((&data["tool_name"], &data["error"]), (&json!("U"), &json!("e")));
}
