//! What a hook of Claude Code answers (CL-25, CL-27 to CL-31).

use lineside_core::json::{Map, Value};
use lineside_core::{Answer, AnyEvent, Failure, Strength, Verdict};

use crate::hosts::import::{
    Entry, Heard, Saying, approval, flag_field, given_reason, object_field, reason_or, text_field,
};
use crate::hosts::tools::class;

/// What exit code 2 does at an event (CL-28), and the decision `block` unless it is said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Block,
    /// The decision does nothing.
    BlockByExit,
    Stop,
    Context,
    Notice,
    Nothing,
}

#[rustfmt::skip]
fn refusal(event: &str) -> Refusal {
    match event {
        "PreToolUse" | "UserPromptSubmit" | "UserPromptExpansion" | "PreCompact" | "ConfigChange" | "TaskCreated"
        | "PreModelSwitch" | "Stop" | "SubagentStop" => Refusal::Block,
        "TaskCompleted" | "TeammateIdle" | "Elicitation" | "ElicitationResult" | "WorktreeCreate" => Refusal::BlockByExit,
        "PostToolBatch" => Refusal::Stop,
        "PostToolUse" | "PostToolUseFailure" => Refusal::Context,
        "SessionStart" | "Setup" | "SubagentStart" | "SessionEnd" | "CwdChanged" | "FileChanged" | "PostCompact" => {
            Refusal::Notice
        }
        _ => Refusal::Nothing,
    }
}

/// The events at which `additionalContext` is context.
const WITH_CONTEXT: [&str; 9] = [
    "SessionStart", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse",
    "PostToolUseFailure", "PostToolBatch", "SubagentStart",
];

/// The events at which a text that is no answer is context.
const PRINTED_AS_CONTEXT: [&str; 4] =
    ["SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"];

/// The events that `continue` does not stop.
const GOING_ON: [&str; 6] =
    ["TaskCreated", "PreCompact", "ConfigChange", "WorktreeCreate", "Elicitation", "ElicitationResult"];

/// Whether exit code 2 refuses an event.
pub(super) fn refuses(event: &str) -> bool {
    matches!(refusal(event), Refusal::Block | Refusal::BlockByExit | Refusal::Stop)
}

/// Reads what came of a run.
pub(super) fn read(entry: &Entry, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
    if let Some(failure) = heard.failure.clone() {
        return Err(closed(entry, heard, failure));
    }
    let code = heard.code.unwrap_or_default();
    let object = heard.object();
    if entry.handler.rewakes && code == 2 {
        let mut saying = Saying::default();
        let stderr = heard.stderr.trim();
        saying.context(if stderr.is_empty() { heard.stdout.trim() } else { stderr });
        return Ok(saying.0);
    }
    let mut saying = Saying::default();
    let mut broken = None;
    if let Some(object) = &object {
        match said(entry, event, object) {
            Ok(said) => saying = said,
            Err(why) => broken = Some(why),
        }
    }
    // No exit code but 0 makes a worktree, whatever is printed.
    if code == 2 || (code != 0 && entry.event == "WorktreeCreate") {
        let printed = object.as_ref().filter(|_| broken.is_none()).and_then(reason_of_block);
        return Ok(refused(entry, heard, printed, saying));
    }
    match (object, broken) {
        (Some(_), None) => Ok(saying.0),
        (Some(_), Some(why)) => Err(closed(entry, heard, heard.output_failure(why))),
        (None, _) if code == 0 => {
            if PRINTED_AS_CONTEXT.contains(&entry.event) {
                saying.context(heard.stdout.trim());
            }
            Ok(saying.0)
        }
        (None, _) => Err(closed(entry, heard, heard.exit_failure())),
    }
}

/// A failure, which blocks where its author has asked for that (CL-25).
fn closed(entry: &Entry, heard: &Heard, failure: Failure) -> Failure {
    if !entry.handler.closes {
        return failure;
    }
    let mut saying = Saying::default();
    let reason = reason_or(entry, [Some(heard.stderr.as_str()), Some(&*failure.detail)]);
    saying.verdict(match refusal(entry.event) {
        Refusal::Stop => Verdict::stop(reason),
        _ => Verdict::block(reason),
    });
    saying.taken_as(failure)
}

/// The reason of a block at the top level of an answer, also at an event that takes no decision there.
fn reason_of_block(object: &Map) -> Option<&str> {
    if object.get("decision")?.as_str()? == "block" { object.get("reason")?.as_str() } else { None }
}

/// Exit code 2: nothing that was printed takes it back.
fn refused(entry: &Entry, heard: &Heard, printed: Option<&str>, mut saying: Saying) -> Answer {
    let own = saying.0.verdict.clone();
    let reason = reason_or(entry, [given_reason(entry, &own), printed, Some(heard.stderr.as_str())]);
    let stderr = heard.stderr.trim();
    match refusal(entry.event) {
        Refusal::Block | Refusal::BlockByExit => {
            saying.0.verdict =
                if own.strength() == Strength::Stop { Verdict::stop(reason) } else { Verdict::block(reason) };
            saying.amends_nothing();
        }
        Refusal::Stop => saying.0.verdict = Verdict::stop(reason),
        Refusal::Context => saying.context(stderr),
        Refusal::Notice => saying.notice(stderr),
        Refusal::Nothing => {}
    }
    saying.0
}

/// What an answer says.
///
/// # Errors
/// It breaks the schema (CL-30).
fn said(entry: &Entry, event: &AnyEvent, object: &Map) -> Result<Saying, String> {
    let own = Map::new();
    let specific = object_field(object, "hookSpecificOutput")?;
    if let Some(specific) = specific {
        match specific.get("hookEventName").and_then(Value::as_str) {
            Some(name) if name == entry.event => {}
            Some(name) => return Err(format!("the answer is one for `{name}`")),
            None => return Err("`hookSpecificOutput` has no `hookEventName`".to_owned()),
        }
    }
    let specific = specific.unwrap_or(&own);
    let mut saying = Saying::default();
    if let Some(message) = text_field(object, "systemMessage")? {
        saying.notice(message);
    }
    flag_field(object, "suppressOutput")?;
    let reason = text_field(object, "reason")?;
    decided(entry, object, reason, &mut saying)?;
    match entry.event {
        "PreToolUse" | "PreModelSwitch" => permission(entry, specific, &mut saying)?,
        "PermissionRequest" => answered(entry, specific, &mut saying)?,
        _ => {}
    }
    if let Some(context) = text_field(specific, "additionalContext")? {
        match entry.event {
            event if WITH_CONTEXT.contains(&event) => saying.context(context),
            "Stop" | "SubagentStop" => saying.verdict(Verdict::block(reason_or(entry, [Some(context)]))),
            _ => {}
        }
    }
    amended(entry, event, specific, &mut saying)?;
    let goes_on = flag_field(object, "continue")?.unwrap_or(true);
    let stop_reason = text_field(object, "stopReason")?;
    if !goes_on && !GOING_ON.contains(&entry.event) {
        saying.verdict(Verdict::stop(reason_or(entry, [stop_reason, reason])));
        saying.amends_nothing();
    }
    Ok(saying)
}

fn decided(entry: &Entry, object: &Map, reason: Option<&str>, saying: &mut Saying) -> Result<(), String> {
    match text_field(object, "decision")? {
        None => {}
        Some("approve") if entry.event == "PreToolUse" => saying.verdict(approval(reason)),
        Some("block") => match refusal(entry.event) {
            Refusal::Block => saying.verdict(Verdict::block(reason_or(entry, [reason]))),
            Refusal::Stop => saying.verdict(Verdict::stop(reason_or(entry, [reason]))),
            Refusal::Context => saying.context(reason.unwrap_or_default()),
            Refusal::BlockByExit | Refusal::Notice | Refusal::Nothing => {}
        },
        Some(other) => return Err(format!("unknown decision `{other}`")),
    }
    Ok(())
}

fn permission(entry: &Entry, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let reason = text_field(specific, "permissionDecisionReason")?;
    let why = || reason_or(entry, [reason]);
    let decision = text_field(specific, "permissionDecision")?;
    match decision {
        None => {}
        Some("deny") => saying.verdict(Verdict::block(why())),
        Some("ask" | "defer") => saying.verdict(Verdict::ask(why())),
        Some("allow") => saying.verdict(approval(reason)),
        Some(other) => return Err(format!("unknown `permissionDecision` `{other}`")),
    }
    if let Some(input) = object_field(specific, "updatedInput")?
        && entry.event == "PreToolUse"
        && !matches!(decision, Some("deny" | "defer"))
    {
        saying.amend("tool_input", Value::Object(input.clone()));
    }
    Ok(())
}

fn answered(entry: &Entry, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let Some(decision) = object_field(specific, "decision")? else { return Ok(()) };
    let message = text_field(decision, "message")?;
    match text_field(decision, "behavior")? {
        Some("deny") => {
            let why = reason_or(entry, [message]);
            let ends = flag_field(decision, "interrupt")?.unwrap_or_default();
            saying.verdict(if ends { Verdict::stop(why) } else { Verdict::block(why) });
        }
        Some("allow") => {
            saying.verdict(Verdict::allow());
            if let Some(input) = object_field(decision, "updatedInput")? {
                saying.amend("tool_input", Value::Object(input.clone()));
            }
        }
        Some(other) => return Err(format!("unknown `behavior` `{other}`")),
        None => return Err("`decision` has no `behavior`".to_owned()),
    }
    Ok(())
}

/// What an answer may change at an event: its field, ours, and whether it must be a text.
const AMENDED: [(&str, &str, &str, bool); 6] = [
    ("MessageDisplay", "displayContent", "display_content", true),
    ("WorktreeCreate", "worktreePath", "worktree_path", true),
    ("Elicitation", "action", "action", false),
    ("Elicitation", "content", "content", false),
    ("ElicitationResult", "action", "action", false),
    ("ElicitationResult", "content", "content", false),
];

/// New values for fields of the payload.
fn amended(entry: &Entry, event: &AnyEvent, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let given = |name: &str| specific.get(name).filter(|value| !value.is_null()).cloned();
    if entry.event == "PostToolUse" {
        let of_mcp = given("updatedMCPToolOutput").filter(|_| class(event) == Some("mcp"));
        if let Some(output) = given("updatedToolOutput").or(of_mcp) {
            saying.amend("tool_output", output);
        }
    }
    for (_, theirs, ours, is_text) in AMENDED.into_iter().filter(|(of, ..)| *of == entry.event) {
        if is_text {
            text_field(specific, theirs)?;
        }
        if let Some(value) = given(theirs) {
            saying.amend(ours, value);
        }
    }
    Ok(())
}
