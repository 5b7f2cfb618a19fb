//! What a hook reads.

use std::path::Path;

use lineside_core::AnyEvent;
use lineside_core::envelope::Model;
use lineside_core::json::{Value, json};

use super::{Reader, line};
use crate::jcli::{events, samples};

fn text(name: &str, event: &AnyEvent) -> String {
    let reader = Reader {
        name: "h",
        folder: Some(Path::new("/hooks/h")),
        event: events::find(name).unwrap(),
        cwd: Path::new("/w"),
    };
    line(&reader, event)
}

/// The fields between `event` and `session_id`, as they are written.
fn check(name: &str, payload: Value, expected: &str) {
    let event = samples::event(events::find(name).unwrap().point.name, payload);
    let text = text(name, &event);
    let rest = text.strip_prefix(&format!("{{\"event\":\"{name}\"")).unwrap_or_else(|| panic!("{text}"));
    let (fields, rest) = rest.split_once(",\"session_id\":\"s1\",\"cwd\":\"/w\",\"lineside\":").unwrap();
    assert_eq!(fields, expected, "{name}");
    let lineside: Value = lineside_core::json::from_str(rest.strip_suffix("}\n").unwrap()).unwrap();
    assert_eq!(lineside["point"], event.point().name);
    assert_eq!(lineside["turn"], 7);
    assert_eq!(lineside["hook"], "h");
    assert_eq!(lineside["hook_dir"], "/hooks/h");
    assert_eq!(lineside.get("payload"), None);
}

#[test]
fn each_event_has_its_fields_in_their_order() {
    // JC-13, JC-25
    let messages = json!([{"role": "user", "content": "é\n"}]);
    let all = |mut payload: Value| {
        payload["messages"] = messages.clone();
        payload["system_prompt"] = json!("S");
        payload["model"] = json!("m");
        payload
    };
    let shown = ",\"messages\":[{\"role\":\"user\",\"content\":\"é\\n\"}]";
    let model = ",\"model\":\"m\"";
    let system = ",\"system_prompt\":\"S\"";
    let prompt = || all(json!({"prompt": "p"}));
    check("pre_send_message", prompt(), &format!("{shown},\"user_input\":\"p\""));
    check("post_send_message", prompt(), &format!("{shown},\"user_input\":\"p\""));
    check("pre_llm_request", all(json!({})), &format!("{shown}{system}{model}"));
    let reply = || all(json!({"output": "o"}));
    check("post_llm_response", reply(), &format!("{shown}{model},\"assistant_output\":\"o\""));
    let stop = all(json!({"output": "o", "stop_active": false}));
    check("stop", stop, &format!("{shown}{system}{model},\"user_input\":\"o\""));
    let compact = |kind: &str| all(json!({"kind": kind}));
    check("pre_micro_compact", compact("micro"), &format!("{shown}{model}"));
    check("post_micro_compact", compact("micro"), shown);
    check("pre_auto_compact", compact("auto"), &format!("{shown}{system}{model}"));
    check("post_auto_compact", compact("manual"), shown);
    check("session_start", all(json!({"source": "startup"})), shown);
    check("session_end", all(json!({"reason": "exit"})), shown);
    let tool = |mut more: Value| {
        more["tool_name"] = json!("Bash");
        more["tool_input"] =
            lineside_core::json::from_str("{\"command\": \"ls \\\"é\\\"\", \"n\": 1.50}").unwrap();
        all(more)
    };
    let arguments = ",\"tool_name\":\"Bash\",\
                     \"tool_arguments\":\"{\\\"command\\\":\\\"ls \\\\\\\"é\\\\\\\"\\\",\\\"n\\\":1.50}\"";
    check("pre_tool_execution", tool(json!({})), arguments);
    check(
        "post_tool_execution",
        tool(json!({"tool_output": {"code": 0, "lines": [1.5]}})),
        &format!("{arguments},\"tool_result\":\"{{\\\"code\\\":0,\\\"lines\\\":[1.5]}}\""),
    );
    check(
        "post_tool_execution",
        tool(json!({"tool_output": ""})),
        &format!("{arguments},\"tool_result\":\"\""),
    );
    check(
        "post_tool_execution_failure",
        tool(json!({"error": "e"})),
        &format!("{arguments},\"tool_error\":\"e\""),
    );
}

#[test]
fn a_field_without_a_value_is_left_out() {
    // JC-13, JC-25
    check("stop", json!({"stop_active": false, "messages": null}), "");
    check("post_llm_response", json!({"model": "", "output": null}), "");
    check("pre_tool_execution", json!({"tool_name": "T", "tool_input": null}), ",\"tool_name\":\"T\"");
    check("session_start", json!({"source": "startup", "messages": "none"}), "");
}

#[test]
fn the_model_is_the_one_that_is_known() {
    // JC-12, JC-13
    let event = samples::event("before_stop", json!({"stop_active": false}));
    let event = samples::of_source(&event, |source| {
        source.model = Some(Model { selected: Some("a".into()), running: Some("b".into()) });
    });
    assert!(text("stop", &event).starts_with("{\"event\":\"stop\",\"model\":\"b\","));
}

#[test]
fn what_the_catalogue_does_not_have_at_a_point_is_found_beside_the_envelope() {
    // JC-13
    let event = samples::event(
        "before_stop",
        json!({"stop_active": false, "payload.messages": [1], "messages": [2], "system_prompt": "S"}),
    );
    assert!(
        text("stop", &event).starts_with("{\"event\":\"stop\",\"messages\":[1],\"system_prompt\":\"S\",")
    );
}

#[test]
fn a_hook_without_a_folder_has_an_empty_one() {
    // JC-6, JC-25
    let event = samples::event("before_stop", json!({"stop_active": false}));
    let reader = Reader {
        name: "session:0",
        folder: None,
        event: events::find("stop").unwrap(),
        cwd: Path::new("/w"),
    };
    assert!(line(&reader, &event).ends_with("\"hook\":\"session:0\",\"hook_dir\":\"\"}}\n"));
}
