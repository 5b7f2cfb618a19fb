//! What a sync hook may do, point by point.

use lineside_core::json::{Value, json};
use lineside_core::{Answer, AnyEvent, NoticeLevel, Verdict};

use super::answer;
use crate::chord::output::Reply;
use crate::chord::points;
use crate::chord::samples::{amended, captured, event};

fn said(event: &AnyEvent, result: &Value) -> Result<Answer, String> {
    let point = match event.point().name {
        "before_tool" => "on_tool_call",
        "before_model" => "on_before_llm_call",
        _ => "on_before_tool_result_append",
    };
    let reply = Reply::read(&captured(&result.to_string())).unwrap();
    answer(points::find(point).unwrap(), event, &reply).map_err(|error| error.to_string())
}

/// The amended fields and the remarks that `data` comes to.
#[allow(clippy::needless_pass_by_value, reason = "values are made to be given away")]
fn check(event: &AnyEvent, data: Value, fields: Value, remarks: &[&str]) {
    let answer = said(event, &json!({"action": "modify", "data": data})).unwrap();
    assert_eq!(answer.verdict, Verdict::Continue);
    assert_eq!(Value::Object(answer.amendment.fields().clone()), fields, "{data}");
    assert_eq!(answer.remarks, remarks, "{data}");
    assert!(answer.notices.is_empty());
}

fn tool() -> AnyEvent {
    event("before_tool", json!({"tool_name": "Shell", "tool_input": {"command": "rm"}, "timeout_ms": 5}))
}

#[test]
fn i02_an_action_that_occurs_twice_blocks_if_any_of_them_does() {
    let said = |text: &str| {
        let reply = Reply::read(&captured(text)).unwrap();
        answer(points::find("on_tool_call").unwrap(), &tool(), &reply).unwrap().verdict
    };
    for text in [
        "{\"action\": \"block\", \"action\": \"continue\"}",
        "{\"ACTION\": \"block\", \"action\": null}",
        "{\"action\": \"continue\", \"Action\": \"block\"}",
    ] {
        assert!(matches!(said(text), Verdict::Block(_)), "{text}");
    }
    assert_eq!(said("{\"action\": \"modify\", \"action\": \"continue\"}"), Verdict::Continue);
}

#[test]
fn continue_changes_nothing() {
    // CH-38, CH-42
    for result in [
        json!({}),
        json!({"action": "continue", "data": {"command": "ls"}}),
        json!({"action": null, "message": " "}),
        json!({"action": "modify"}),
        json!({"action": "modify", "data": null}),
    ] {
        assert_eq!(said(&tool(), &result), Ok(Answer::default()), "{result}");
    }
    let answer = said(&tool(), &json!({"message": "for the log"})).unwrap();
    assert_eq!(answer, Answer { remarks: vec!["for the log".into()], ..Answer::default() });
}

#[test]
fn a_block_has_a_reason_that_the_user_sees() {
    // CH-43
    let check = |event: &AnyEvent, result: Value, reason: &str| {
        let answer = said(event, &result).unwrap();
        assert_eq!(answer.verdict, Verdict::block(reason.to_owned()));
        assert_eq!(answer.notices.len(), 1);
        assert_eq!((answer.notices[0].level, &*answer.notices[0].text), (NoticeLevel::Warning, reason));
        assert!(answer.amendment.is_empty());
    };
    let model = event("before_model", json!({"model": "m"}));
    check(&tool(), json!({"action": "block", "message": " no\n"}), " no\n");
    check(&tool(), json!({"action": "block", "message": " ", "data": 5}), "blocked by hook");
    check(&model, json!({"action": "block"}), "blocked by on_before_llm_call hook");
    let result = event("before_result_append", json!({"tool_name": "T", "tool_output": "x"}));
    check(&result, json!({"action": "block"}), "blocked by hook");
}

#[test]
fn another_action_or_type_cannot_be_read() {
    // CH-38, CH-44
    for (result, part) in [
        (json!({"action": "Block"}), "`action` is \"Block\""),
        (json!({"action": true}), "`action` is true"),
        (json!({"action": "deny"}), "`action`"),
        (json!({"action": "block", "message": 5}), "`message` is 5"),
        (json!({"message": {}}), "`message`"),
        (json!({"action": "modify", "data": [1]}), "`data` is [1]"),
        (json!({"action": "modify", "data": "ls"}), "`data`"),
    ] {
        let error = said(&tool(), &result).unwrap_err();
        assert!(error.contains(part), "{result}: {error}");
    }
}

#[test]
fn the_arguments_of_a_tool_are_given_in_two_forms() {
    // CH-45
    let new = |args: Value| json!({"tool_input": args});
    check(&tool(), json!({"command": "ls"}), new(json!({"command": "ls"})), &[]);
    check(&tool(), json!({}), new(json!({})), &[]);
    check(&tool(), json!({"args": ["-l"]}), new(json!({"args": ["-l"]})), &[]);
    check(&tool(), json!({"args": {"command": "ls"}}), new(json!({"command": "ls"})), &[]);
    let other = json!({"args": {"command": "ls"}, "other": 1});
    check(&tool(), other.clone(), new(other), &[]);
    check(
        &tool(),
        json!({"tool_name": "Write", "timeout_ms": 5, "args": {"command": "ls"}}),
        new(json!({"command": "ls"})),
        &["`data.tool_name` cannot be changed here"],
    );
}

#[test]
fn a_model_call_is_changed_by_field() {
    // CH-46
    let model = event("before_model", json!({"model": "big", "messages": [{"c": 1}], "system_prompt": "s"}));
    check(
        &model,
        json!({"model": "small", "messages": [], "system_prompt": "s", "message_count": 9}),
        json!({"model": "small", "messages": []}),
        &[],
    );
    check(&model, json!({"system_prompt": "t", "model": null}), json!({"system_prompt": "t"}), &[]);
    check(&model, json!({"tools": [], "model": "big"}), json!({}), &["`data.tools` cannot be changed here"]);
    for data in [json!({"model": 5}), json!({"messages": {}, "model": "x"}), json!({"system_prompt": []})] {
        let error = said(&model, &json!({"action": "modify", "data": data})).unwrap_err();
        assert!(error.contains(", not a"), "{error}");
    }
}

#[test]
fn a_result_has_a_form_for_the_context_and_one_for_the_user() {
    // CH-47
    let result = |payload: Value| event("before_result_append", payload);
    let same = result(json!({"tool_name": "T", "tool_output": "raw", "display_output": "raw"}));
    let apart = result(json!({"tool_name": "T", "tool_output": "raw", "display_output": "shown"}));
    let plain = result(json!({"tool_name": "T", "tool_output": "raw"}));
    let both = json!({"tool_output": "new", "display_output": "new"});
    check(&same, json!({"output": "new"}), both, &[]);
    check(&apart, json!({"output": "new"}), json!({"tool_output": "new"}), &[]);
    check(&plain, json!({"output": "new"}), json!({"tool_output": "new"}), &[]);
    check(&same, json!({"context_result": "new"}), json!({"tool_output": "new"}), &[]);
    check(&plain, json!({"display_result": "new"}), json!({"display_output": "new"}), &[]);
    check(
        &same,
        json!({"output": "a", "context_result": "b", "display_result": "c"}),
        json!({"tool_output": "a", "display_output": "c"}),
        &[],
    );
    check(
        &same,
        json!({"output": "raw", "context_result": "short", "display_result": "raw", "raw_result": "x"}),
        json!({"tool_output": "short"}),
        &["`data.raw_result` cannot be changed here"],
    );
    // What is given back as its text is unchanged.
    let structured = result(json!({"tool_name": "T", "tool_output": {"k": 1}, "display_output": {"k": 1}}));
    check(&structured, json!({"output": "{\"k\":1}", "tool_name": "T"}), json!({}), &[]);
    check(&structured, json!({"output": "x"}), json!({"tool_output": "x", "display_output": "x"}), &[]);
    let error = said(&same, &json!({"action": "modify", "data": {"output": 5, "display_result": "x"}}));
    assert_eq!(error.unwrap_err(), "`output` is 5, not a string");
}

#[test]
fn what_is_unchanged_is_judged_by_what_the_hook_was_given() {
    // CH-44
    let before = event("before_result_append", json!({"tool_name": "T", "tool_output": "raw"}));
    let event = amended(&before, "tool_output", json!("first"));
    check(&event, json!({"output": "first", "raw_result": "raw"}), json!({}), &[]);
    check(&event, json!({"output": "raw"}), json!({"tool_output": "raw"}), &[]);
}
