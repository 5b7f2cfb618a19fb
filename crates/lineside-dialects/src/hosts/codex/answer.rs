//! What a hook of Codex answers: one field too many makes it a failure (CX-20 to CX-22).

use lineside_core::json::{Map, Value};
use lineside_core::{Answer, AnyEvent, Failure, Verdict};

use crate::hosts::import::{Entry, Heard, Saying, flag_field, object_field, reason_or, text_field};

/// Reads what came of a run.
pub(super) fn read(entry: &Entry, _event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
    if let Some(failure) = heard.failure.clone() {
        return Err(failure);
    }
    let stderr = heard.stderr.trim();
    let stdout = heard.stdout.trim();
    let mut saying = Saying::default();
    match heard.code.unwrap_or_default() {
        2 if !stderr.is_empty() => {
            if may_block(entry.event) {
                saying.verdict(Verdict::block(stderr.to_owned()));
            }
            Ok(saying.0)
        }
        0 if stdout.is_empty() => Ok(saying.0),
        0 if stdout.starts_with(['{', '[']) => match heard.object() {
            Some(object) => accepted(entry, &object)
                .map(|saying| saying.0)
                .map_err(|why| heard.output_failure(format!("the answer is refused: {why}"))),
            None => Err(heard.output_failure("the answer is no JSON object")),
        },
        0 => match entry.event {
            "SessionStart" | "UserPromptSubmit" | "SubagentStart" => {
                saying.context(stdout);
                Ok(saying.0)
            }
            "Stop" | "SubagentStop" => Err(heard.output_failure("plain text is no answer here")),
            _ => Ok(saying.0),
        },
        _ => Err(heard.exit_failure()),
    }
}

/// Whether exit code 2 has an effect (CX-22).
fn may_block(event: &str) -> bool {
    matches!(
        event,
        "PreToolUse" | "PermissionRequest" | "UserPromptSubmit" | "PostToolUse" | "Stop" | "SubagentStop"
    )
}

/// What an answer says.
///
/// # Errors
/// A field is not expected or has the wrong type (CX-21).
fn accepted(entry: &Entry, object: &Map) -> Result<Saying, String> {
    let event = entry.event;
    let may_decide =
        matches!(event, "PreToolUse" | "PostToolUse" | "UserPromptSubmit" | "Stop" | "SubagentStop");
    let common = ["continue", "stopReason", "suppressOutput", "systemMessage", "hookSpecificOutput"];
    only(object, |name| common.contains(&name) || (may_decide && matches!(name, "decision" | "reason")))?;
    let mut saying = Saying::default();
    if flag_field(object, "suppressOutput")? == Some(true) {
        return Err("`suppressOutput` is not supported".to_owned());
    }
    if let Some(message) = text_field(object, "systemMessage")? {
        saying.notice(message);
    }
    let reason = text_field(object, "reason")?;
    match text_field(object, "decision")? {
        None => {}
        Some("block") => match reason.filter(|reason| !reason.trim().is_empty()) {
            Some(reason) => saying.verdict(Verdict::block(reason.to_owned())),
            None => return Err("a block needs a `reason`".to_owned()),
        },
        Some(other) => return Err(format!("`decision` cannot be `{other}`")),
    }
    if let Some(specific) = object_field(object, "hookSpecificOutput")? {
        own(entry, specific, &mut saying)?;
    }
    let stop_reason = text_field(object, "stopReason")?;
    let goes_on = flag_field(object, "continue")?.unwrap_or(true);
    if matches!(event, "PreToolUse" | "PermissionRequest") && !goes_on {
        return Err("`continue` is not supported here".to_owned());
    }
    if event == "PreToolUse" && stop_reason.is_some() {
        return Err("`stopReason` is not supported here".to_owned());
    }
    if !goes_on {
        saying.verdict(Verdict::stop(reason_or(entry, [stop_reason])));
    }
    Ok(saying)
}

/// The fields of one event.
fn own(entry: &Entry, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let event = entry.event;
    if text_field(specific, "hookEventName")? != Some(event) {
        return Err("`hookEventName` is missing or that of another event".to_owned());
    }
    let has_context =
        matches!(event, "PreToolUse" | "PostToolUse" | "UserPromptSubmit" | "SessionStart" | "SubagentStart");
    let decides = match event {
        "PreToolUse" => &["permissionDecision", "permissionDecisionReason", "updatedInput"][..],
        "PermissionRequest" => &["decision"][..],
        _ => &[],
    };
    only(specific, |name| {
        name == "hookEventName" || decides.contains(&name) || (has_context && name == "additionalContext")
    })?;
    if let Some(context) = text_field(specific, "additionalContext")? {
        saying.context(context);
    }
    match event {
        "PreToolUse" => permission(specific, saying),
        "PermissionRequest" => answered(entry, specific, saying),
        _ => Ok(()),
    }
}

fn permission(specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let reason = text_field(specific, "permissionDecisionReason")?;
    let input = object_field(specific, "updatedInput")?;
    match (text_field(specific, "permissionDecision")?, input) {
        (None, None) => Ok(()),
        (Some("allow"), Some(input)) => {
            // It is no approval, which has an event of its own.
            saying.amend("tool_input", Value::Object(input.clone()));
            Ok(())
        }
        (Some("deny"), None) => match reason.filter(|reason| !reason.trim().is_empty()) {
            Some(reason) => {
                saying.verdict(Verdict::block(reason.to_owned()));
                Ok(())
            }
            None => Err("a denial needs a reason".to_owned()),
        },
        (Some("allow"), None) => Err("`allow` needs `updatedInput`".to_owned()),
        (_, Some(_)) => Err("`updatedInput` needs `allow`".to_owned()),
        (Some(other), None) => Err(format!("`permissionDecision` cannot be `{other}`")),
    }
}

fn answered(entry: &Entry, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let Some(decision) = object_field(specific, "decision")? else { return Ok(()) };
    only(decision, |name| matches!(name, "behavior" | "message"))?;
    let message = text_field(decision, "message")?;
    match text_field(decision, "behavior")? {
        Some("allow") => saying.verdict(Verdict::allow()),
        Some("deny") => saying.verdict(Verdict::block(reason_or(entry, [message]))),
        _ => return Err("`behavior` is `allow` or `deny`".to_owned()),
    }
    Ok(())
}

fn only(object: &Map, is_known: impl Fn(&str) -> bool) -> Result<(), String> {
    match object.keys().find(|name| !is_known(name)) {
        Some(name) => Err(format!("unknown field `{name}`")),
        None => Ok(()),
    }
}
