//! What a file declares, and the findings about it.

use std::path::Path;

use super::{Declared, Run, check};
use crate::findings::Findings;
use crate::jcli::definition::OnError;
use crate::jcli::file::SYNTAX;
use crate::source::draft;

/// A hook `h`, and its diagnostics as `<severity> <line>: <text>`.
fn read(text: &str) -> (Option<Declared>, Vec<String>) {
    let mut findings = Findings::about(Path::new("/h/HOOK.yaml"));
    let draft = draft(text.as_bytes(), &SYNTAX, &mut findings).unwrap();
    let declared = check(&draft, "h", &mut findings);
    let told = findings.into_diagnostics().into_iter().map(|diagnostic| {
        let line = diagnostic.origin.as_ref().map_or(0, |origin| origin.line);
        format!("{} {line}: {}", diagnostic.severity.as_str(), diagnostic.text)
    });
    (declared, told.collect())
}

fn loads(text: &str, warnings: &[&str]) -> Declared {
    let (declared, told) = read(text);
    assert_eq!(told, warnings, "{text}");
    declared.unwrap()
}

fn fails(text: &str, errors: &[&str]) {
    let (declared, told) = read(text);
    assert_eq!(told, errors, "{text}");
    assert!(declared.is_none(), "{text}");
}

fn names(declared: &Declared) -> Vec<&str> {
    declared.events.iter().map(|event| event.name).collect()
}

#[test]
fn what_is_not_given_has_a_default() {
    // JC-8
    let bash = loads("events: [stop]\ncommand: x\n", &[]);
    assert!(matches!(&bash.definition.run, Run::Command(command) if command == "x"));
    let numbers = |declared: &Declared| (declared.definition.timeout.as_secs(), declared.definition.retry);
    assert_eq!(numbers(&bash), (10, 0));
    assert_eq!(bash.definition.on_error, OnError::Skip);
    let llm = loads("events: [stop]\ntype: llm\nprompt: ask\n", &[]);
    assert_eq!(numbers(&llm), (30, 1));
    assert!(matches!(llm.definition.run, Run::Prompt { model: None, .. }));
}

#[test]
fn what_is_given_counts_as_given() {
    // JC-8
    let llm = "events: [stop]\ntype: llm\nprompt: ask\nmodel: m\ntimeout: 10\nretry: 0\non_error: stop\n";
    let llm = loads(llm, &[]);
    assert_eq!((llm.definition.timeout.as_secs(), llm.definition.retry), (10, 0));
    assert_eq!(llm.definition.on_error, OnError::Stop);
    assert!(matches!(&llm.definition.run, Run::Prompt { model: Some(model), .. } if model == "m"));
    let null = "events: [stop]\ntype: shell\ncommand: x\nprompt: null\nmodel: ~\ntimeout:\nretry: null\n\
                on_error: null\nfilter: null\nother: null\n";
    assert_eq!(loads(null, &[]).definition.timeout.as_secs(), 10);
    let endless =
        loads("events: [stop]\ncommand: x\ntimeout: 99999999999999999999\nretry: 5000000000\n", &[]);
    assert_eq!(endless.definition.timeout.as_secs(), u64::from(u32::MAX));
    assert_eq!(endless.definition.retry, u32::MAX);
}

#[test]
fn events_are_bound_once_and_an_unknown_one_costs_only_itself() {
    // JC-9, JC-10, JC-11: E3, E4, W3
    let declared = loads(
        "command: x\nevents:\n  - stop\n  - pre_tool_exec\n  - pre_llm_request\n  - stop\n  - 5\n",
        &[
            "error 2: Unknown event 'pre_tool_exec'. Did you mean 'pre_tool_execution'?",
            "warning 2: Event 'stop' is listed twice",
            "error 2: Unknown event '5'. Did you mean 'stop'?",
        ],
    );
    assert_eq!(names(&declared), ["stop", "pre_llm_request"]);
    assert_eq!(declared.line, 2);
    let unbound =
        loads("events: [Stop]\ncommand: x\n", &["error 1: Unknown event 'Stop'. Did you mean 'stop'?"]);
    assert!(unbound.events.is_empty());
    fails("command: x\n", &["error 1: Missing required field: events"]);
    fails("command: x\nevents:\n", &["error 1: Missing required field: events"]);
    fails("command: x\nevents: stop\n", &["error 2: Field 'events' must be a list of event names"]);
    fails("command: x\nevents: []\n", &["error 2: Field 'events' is empty"]);
}

#[test]
fn no_type_is_taken_for_another() {
    // JC-8, JC-10: E5, E8 to E11
    let with = |line: &str| format!("events: [stop]\ncommand: x\n{line}\n");
    for timeout in ["\"5\"", "0", "-1", "5.0", "[5]", "true"] {
        let text = with(&format!("timeout: {timeout}"));
        fails(&text, &["error 3: Field 'timeout' must be an integer of at least 1"]);
    }
    for retry in ["\"0\"", "-1", "1.5", "no"] {
        let text = with(&format!("retry: {retry}"));
        fails(&text, &["error 3: Field 'retry' must be an integer of at least 0"]);
    }
    for on_error in ["abort", "true", "Stop", "[]"] {
        let text = with(&format!("on_error: {on_error}"));
        fails(&text, &["error 3: Field 'on_error' must be 'skip' or 'stop'"]);
    }
    for kind in ["python", "Bash", "5", "[llm]"] {
        fails(&with(&format!("type: {kind}")), &["error 3: Field 'type' must be 'bash' or 'llm'"]);
    }
    fails(&with("filter: Bash"), &["error 3: Field 'filter' must be a mapping"]);
    fails(&with("filter:\n  model_prefix: 4"), &["error 4: Field 'filter.model_prefix' must be a string"]);
    fails("events: [stop]\ncommand: [a, b]\n", &["error 2: Field 'command' must be a string"]);
    fails(&with("model: 4"), &["error 3: Field 'model' must be a string"]);
    fails(
        &with("timeout: x\nretry: x"),
        &[
            "error 3: Field 'timeout' must be an integer of at least 1",
            "error 4: Field 'retry' must be an integer of at least 0",
        ],
    );
}

#[test]
fn a_hook_has_something_to_run() {
    // JC-10: E6, E7
    fails("events: [stop]\n", &["error 1: bash hook 'h' has no command"]);
    fails("events: [stop]\ncommand: ' '\n", &["error 2: bash hook 'h' has no command"]);
    fails("events: [stop]\ntype: llm\n", &["error 1: llm hook 'h' has no prompt"]);
    fails("events: [stop]\ntype: llm\nprompt: ''\n", &["error 3: llm hook 'h' has no prompt"]);
}

#[test]
fn a_key_is_there_once() {
    // JC-10: E12
    fails("events: [stop]\ncommand: x\ncommand: y\n", &["error 3: Duplicate key 'command'"]);
    fails(
        "events: [pre_tool_execution]\ncommand: x\nfilter:\n  tool_name: a\n  tool_name: b\n",
        &["error 5: Duplicate key 'tool_name'"],
    );
}

#[test]
fn what_has_no_effect_is_told() {
    // JC-11: W2, W4, W5, W7, W8
    loads(
        "events: [pre_tool_execution]\npriority: 5\ncommand: x\nprompt: y\nmodel: z\nfilter:\n  tool: Bash\n",
        &[
            "warning 2: Unexpected field: 'priority'",
            "warning 4: Field 'prompt' has no effect on a bash hook",
            "warning 5: Field 'model' has no effect on a bash hook",
            "warning 7: Unexpected field in filter: 'tool'",
        ],
    );
    loads(
        "events: [stop]\ntype: llm\ncommand: x\nprompt: '{{model}} {{oops}} {{ event }} {{oops}}'\n",
        &[
            "warning 3: Field 'command' has no effect on a llm hook",
            "warning 4: unknown template variable '{{oops}}'",
            "warning 4: unknown template variable '{{ event }}'",
        ],
    );
    loads(
        "events: [stop, pre_tool_execution, session_end]\ncommand: x\nfilter:\n  tool_matcher: a\n  tool_name: b\n",
        &[
            "warning 4: filter.tool_matcher is ignored beside filter.tool_name",
            "warning 5: filter.tool_name never matches at 'stop', which has no tool",
            "warning 5: filter.tool_name never matches at 'session_end', which has no tool",
        ],
    );
    loads(
        "events: [stop]\ncommand: x\nfilter: {tool_matcher: 'a|b', model_prefix: g}\n",
        &["warning 3: filter.tool_matcher never matches at 'stop', which has no tool"],
    );
}
