//! What a hook of Copilot answers (CP-22 to CP-24).

use lineside_core::json::{Map, Value};
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Verdict};

use super::import::is_pascal;
use crate::hosts::import::{Entry, Heard, Run, Saying, approval, blocking, reason_or};

/// What a denial says when a hook has failed before a tool.
const ERRORED: &str = "Denied by preToolUse hook (hook errored)";

/// The event in camelCase, which both forms contain.
fn event_of(entry: &Entry) -> &'static str {
    match entry.event {
        "PreToolUse" => "preToolUse",
        "PermissionRequest" => "permissionRequest",
        "PostToolUse" => "postToolUse",
        "PostToolUseFailure" => "postToolUseFailure",
        "UserPromptSubmit" => "userPromptSubmitted",
        "UserPromptTransformed" => "userPromptTransformed",
        "SessionStart" => "sessionStart",
        "SubagentStart" => "subagentStart",
        "SubagentStop" => "subagentStop",
        "Stop" => "agentStop",
        "Notification" => "notification",
        other => other,
    }
}

/// Reads what came of a run.
pub(super) fn read(entry: &Entry, _event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
    let name = event_of(entry);
    let closes = name == "preToolUse" && !matches!(entry.handler.run, Run::Http { .. });
    let failed = |failure: Failure| {
        let is_closed = closes && failure.kind != FailureKind::Timeout;
        Err(if is_closed { blocking(failure, ERRORED.to_owned()) } else { failure })
    };
    if let Some(failure) = heard.failure.clone() {
        return failed(failure);
    }
    let (stdout, progress) = without_progress(&heard.stdout);
    let object = lineside_core::json::from_str::<Map>(stdout.trim()).ok();
    let mut saying = Saying::default();
    for message in progress {
        saying.notice(&message);
    }
    match heard.code.unwrap_or_default() {
        0 => {
            if let Some(object) = &object {
                said(entry, name, object, &mut saying);
            }
            Ok(saying.0)
        }
        2 => {
            match name {
                "preToolUse" => {
                    let reason =
                        object.as_ref().and_then(|object| text(entry, object, "permissionDecisionReason"));
                    let reason = reason.filter(|reason| !reason.trim().is_empty());
                    saying.verdict(Verdict::block(reason.unwrap_or("hook exited with code 2").to_owned()));
                }
                "permissionRequest" => {
                    let message = object.as_ref().and_then(|object| text(entry, object, "message"));
                    saying.verdict(Verdict::block(reason_or(entry, [message])));
                }
                "postToolUseFailure" => saying.context(stdout.trim()),
                _ => saying.notice(heard.stderr.trim()),
            }
            Ok(saying.0)
        }
        _ => {
            // CP-22: what it has said while it ran stays said.
            if closes {
                saying.verdict(Verdict::block(ERRORED.to_owned()));
            }
            Err(saying.taken_as(heard.exit_failure()))
        }
    }
}

/// What was printed without the lines that tell of progress, and what these tell (CP-22).
fn without_progress(stdout: &str) -> (String, Vec<String>) {
    let mut progress = Vec::new();
    let mut rest = Vec::new();
    for line in stdout.lines() {
        let object = if line.trim_start().starts_with('{') {
            lineside_core::json::from_str::<Map>(line).ok()
        } else {
            None
        };
        match object.filter(|object| object.get("type").and_then(Value::as_str) == Some("progress")) {
            Some(object) => progress.extend(object.get("message").and_then(Value::as_str).map(str::to_owned)),
            None => rest.push(line),
        }
    }
    (rest.join("\n"), progress)
}

/// The values of a field, at the top level and, for pascal, in `hookSpecificOutput`.
fn values<'a>(entry: &Entry, object: &'a Map, name: &str) -> impl Iterator<Item = &'a Value> {
    let specific = object.get("hookSpecificOutput").filter(|_| is_pascal(entry.event));
    let values = [object.get(name), specific.and_then(|specific| specific.get(name))];
    values.into_iter().flatten().filter(|value| !value.is_null())
}

/// The first value of a field that is of its type.
fn field<'a>(entry: &Entry, object: &'a Map, name: &str, is: Is) -> Option<&'a Value> {
    values(entry, object, name).find(|value| is(value))
}

fn text<'a>(entry: &Entry, object: &'a Map, name: &str) -> Option<&'a str> {
    field(entry, object, name, Value::is_string)?.as_str()
}

/// What an answer says. A field of the wrong type is passed over and remarked.
fn said(entry: &Entry, name: &str, object: &Map, saying: &mut Saying) {
    let get = |field_name: &str| text(entry, object, field_name);
    let given = |field_name: &str| field(entry, object, field_name, Value::is_object);
    let why = |reason: Option<&str>| reason_or(entry, [reason]);
    remark_wrong(entry, object, saying);
    match name {
        "preToolUse" => {
            let reason = get("permissionDecisionReason");
            match get("permissionDecision") {
                Some("deny") => saying.verdict(Verdict::block(why(reason))),
                Some("ask") => saying.verdict(Verdict::ask(why(reason))),
                Some("allow") => saying.verdict(approval(reason)),
                _ => {}
            }
            let input = given("modifiedArgs").or_else(|| given("updatedInput"));
            if let (Some(input), false) = (input, saying.0.verdict.strength().is_final()) {
                saying.amend("tool_input", input.clone());
            }
        }
        "permissionRequest" => match get("behavior") {
            Some("deny") => {
                let ends = field(entry, object, "interrupt", Value::is_boolean) == Some(&Value::Bool(true));
                let why = why(get("message"));
                saying.verdict(if ends { Verdict::stop(why) } else { Verdict::block(why) });
            }
            Some("allow") => saying.verdict(Verdict::allow()),
            _ => {}
        },
        "userPromptSubmitted" | "postToolUse" | "agentStop" | "subagentStop" => {
            if get("decision") == Some("block") {
                saying.verdict(Verdict::block(why(get("reason"))));
            }
            let is_blocked = saying.0.verdict.strength().is_final();
            match name {
                "userPromptSubmitted" if !is_blocked => {
                    if let Some(prompt) = get("modifiedPrompt") {
                        saying.amend("prompt", prompt.into());
                    }
                }
                "subagentStop" if !is_blocked => {
                    if let Some(output) = get("modifiedResponse") {
                        saying.amend("output", output.into());
                    }
                }
                "postToolUse" if !is_blocked => modified_result(entry, object, saying),
                _ => {}
            }
        }
        "userPromptTransformed" => {
            if let Some(prompt) = get("modifiedTransformedPrompt").filter(|prompt| !prompt.is_empty()) {
                saying.amend("transformed_prompt", prompt.into());
            }
        }
        _ => {}
    }
    let takes_context = matches!(
        name,
        "sessionStart"
            | "userPromptSubmitted"
            | "preToolUse"
            | "postToolUse"
            | "postToolUseFailure"
            | "subagentStart"
            | "notification"
    );
    if let Some(context) = get("additionalContext").filter(|_| takes_context) {
        saying.context(context);
    }
}

/// A result in place of that of the tool.
fn modified_result(entry: &Entry, object: &Map, saying: &mut Saying) {
    let Some(result) = field(entry, object, "modifiedResult", Value::is_object) else { return };
    let Some(text) = result.get("textResultForLlm").and_then(Value::as_str) else { return };
    if result.get("resultType").and_then(Value::as_str) == Some("failure") {
        saying.verdict(Verdict::block(reason_or(entry, [Some(text)])));
    } else {
        saying.amend("tool_output", text.into());
    }
}

/// Whether a value is of a type.
type Is = fn(&Value) -> bool;

/// The fields, and what each is.
const FIELDS: [(&str, &str, Is); 14] = [
    ("permissionDecision", "text", Value::is_string),
    ("permissionDecisionReason", "text", Value::is_string),
    ("behavior", "text", Value::is_string),
    ("message", "text", Value::is_string),
    ("decision", "text", Value::is_string),
    ("reason", "text", Value::is_string),
    ("additionalContext", "text", Value::is_string),
    ("modifiedPrompt", "text", Value::is_string),
    ("modifiedResponse", "text", Value::is_string),
    ("modifiedTransformedPrompt", "text", Value::is_string),
    ("modifiedArgs", "object", Value::is_object),
    ("updatedInput", "object", Value::is_object),
    ("modifiedResult", "object", Value::is_object),
    ("interrupt", "boolean", Value::is_boolean),
];

fn remark_wrong(entry: &Entry, object: &Map, saying: &mut Saying) {
    for (name, kind, is) in FIELDS {
        if values(entry, object, name).any(|value| !is(value)) {
            saying.0.remarks.push(format!("`{name}` of its answer is no {kind} and was passed over").into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::Duration;

    use lineside_core::envelope::Source;
    use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
    use lineside_core::json::json;

    use crate::dialect::{Dialect as _, Places, Trust};
    use crate::handler::Returned;
    use crate::samples;

    /// What is remarked of an answer before a tool.
    fn remarks(answer: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let hooks = folder.path().join(".github/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join("h.json"), r#"{"hooks": {"PreToolUse": [{"bash": "x"}]}}"#).unwrap();
        let loaded = crate::hosts::COPILOT.load(&Places {
            environment: BTreeMap::new(),
            project_root: Some(folder.path().to_owned()),
            cwd: folder.path().to_owned(),
            trust: Trust::Granted,
        });
        let ended = Ended {
            exit: Exit::Code(0),
            stdout: Captured { bytes: answer.into(), dropped: 0 },
            stderr: Captured::default(),
            took: Duration::ZERO,
            leaked: Leaked::Nothing,
        };
        let call = json!({"tool_name": "Bash", "tool_input": {}});
        let event = samples::event("before_tool", call, Source::root("s1"));
        let read = loaded.hooks[0].handler.read(&event, &Returned::Command(ended)).unwrap();
        read.remarks.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_field_of_the_wrong_type_is_remarked_wherever_it_stands() {
        // CP-24
        let passed_over = |field: &str, kind: &str| {
            vec![format!("`{field}` of its answer is no {kind} and was passed over")]
        };
        for (answer, expected) in [
            (r#"{"permissionDecision": "allow", "modifiedArgs": {}, "interrupt": true}"#, Vec::new()),
            (r#"{"reason": null}"#, Vec::new()),
            (r#"{"permissionDecision": 7}"#, passed_over("permissionDecision", "text")),
            (r#"{"modifiedArgs": "ls"}"#, passed_over("modifiedArgs", "object")),
            (r#"{"hookSpecificOutput": {"interrupt": "yes"}}"#, passed_over("interrupt", "boolean")),
        ] {
            assert_eq!(remarks(answer), expected, "{answer}");
        }
    }
}
