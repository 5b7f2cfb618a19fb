//! Plays events through the hooks of the program `j`, by its own library.
//!
//! original EVENTS.jsonl
//! Each line has `jcli`: the context of one event. Its hooks are those of `J_DATA_PATH` and of the working directory. Prints
//! one JSON object for each event: which hooks ran and failed, and what came of them together.

use std::collections::BTreeMap;

use j_cli::command::chat::infra::hook::{HookContext, HookEvent, HookManager, HookResult};
use serde_json::{Value, json};

fn main() {
    let file = std::env::args().nth(1).expect("the file of events");
    let recorded = std::fs::read_to_string(file).expect("the events can be read");
    let manager = HookManager::load();
    for line in recorded.lines() {
        let line: Value = serde_json::from_str(line).expect("each line is JSON");
        let given = &line["jcli"];
        let text = |field: &str| given[field].as_str().map(str::to_owned);
        let event = HookEvent::parse(given["event"].as_str().unwrap_or_default()).expect("a known event");
        let context = HookContext {
            event,
            messages: None,
            system_prompt: text("system_prompt"),
            model: text("model"),
            user_input: text("user_input"),
            assistant_output: text("assistant_output"),
            tool_name: text("tool_name"),
            tool_arguments: text("tool_arguments"),
            tool_result: text("tool_result"),
            tool_error: text("tool_error"),
            session_id: text("session_id"),
            ..HookContext::default()
        };
        let before = counts(&manager, event);
        let result = manager.execute(event, context, &[]);
        let after = counts(&manager, event);
        let mut outcome = json!({ "event": event.as_str(), "result": result.map(|result| seen(&result)) });
        for (at, name) in ["ran", "failed"].into_iter().enumerate() {
            let more = after.iter().filter(|(hook, now)| now[at] > before.get(*hook).map_or(0, |then| then[at]));
            outcome[name] = more.map(|(hook, _)| hook.as_str()).collect();
        }
        println!("{outcome}");
    }
}

/// How often each hook of an event ran and failed.
fn counts(manager: &HookManager, event: HookEvent) -> BTreeMap<String, [u64; 2]> {
    let hooks = manager.list_hooks().into_iter().filter(|hook| hook.event == event);
    let counted = hooks.map(|hook| {
        let metrics = hook.metrics.unwrap_or_default();
        (hook.name.unwrap_or_default(), [metrics.executions, metrics.failures])
    });
    counted.collect()
}

fn seen(result: &HookResult) -> Value {
    json!({
        "stop": result.is_stop(),
        "skip": result.is_skip(),
        "user_input": result.user_input,
        "assistant_output": result.assistant_output,
        "system_prompt": result.system_prompt,
        "tool_arguments": result.tool_arguments,
        "tool_result": result.tool_result,
        "tool_error": result.tool_error,
        "retry_feedback": result.retry_feedback,
        "additional_context": result.additional_context,
        "system_message": result.system_message,
    })
}
