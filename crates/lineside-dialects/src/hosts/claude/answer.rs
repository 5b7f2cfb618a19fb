//! What a hook of Claude Code answers (CL-25, CL-27 to CL-31).

use lineside_core::json::{Map, Value};
use lineside_core::{Answer, AnyEvent, Failure, Strength, Verdict};

use crate::hosts::import::{
    Entry, Heard, Saying, flag_field, given_reason, object_field, reason_or, text_field,
};
use crate::hosts::tools::class;

/// What exit code 2 does at an event (CL-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Block,
    Stop,
    Context,
    Notice,
    Nothing,
}

fn refusal(event: &str) -> Refusal {
    match event {
        "PreToolUse"
        | "UserPromptSubmit"
        | "UserPromptExpansion"
        | "PreCompact"
        | "ConfigChange"
        | "TaskCreated"
        | "TaskCompleted"
        | "TeammateIdle"
        | "PreModelSwitch"
        | "Elicitation"
        | "ElicitationResult"
        | "Stop"
        | "SubagentStop"
        | "WorktreeCreate" => Refusal::Block,
        "PostToolBatch" => Refusal::Stop,
        "PostToolUse" | "PostToolUseFailure" => Refusal::Context,
        "SessionStart" | "Setup" | "SubagentStart" | "SessionEnd" | "CwdChanged" | "FileChanged"
        | "PostCompact" => Refusal::Notice,
        _ => Refusal::Nothing,
    }
}

/// Whether exit code 2 refuses an event.
pub(super) fn refuses(event: &str) -> bool {
    matches!(refusal(event), Refusal::Block | Refusal::Stop)
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
        saying.context(if heard.stderr.trim().is_empty() {
            heard.stdout.trim()
        } else {
            heard.stderr.trim()
        });
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
            let is_context = matches!(
                entry.event,
                "SessionStart" | "UserPromptSubmit" | "UserPromptExpansion" | "PostModelSwitch"
            );
            if is_context {
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
        Refusal::Block => {
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
    let specific = match object.get("hookSpecificOutput") {
        None | Some(Value::Null) => None,
        Some(Value::Object(specific)) => Some(specific),
        Some(_) => return Err("`hookSpecificOutput` is no object".to_owned()),
    };
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
    decided(entry, text_field(object, "decision")?, reason, &mut saying)?;
    match entry.event {
        "PreToolUse" | "PreModelSwitch" => permission(entry, specific, &mut saying)?,
        "PermissionRequest" => answered(entry, specific, &mut saying)?,
        _ => {}
    }
    if let Some(context) = text_field(specific, "additionalContext")? {
        match entry.event {
            "SessionStart"
            | "Setup"
            | "UserPromptSubmit"
            | "UserPromptExpansion"
            | "PreToolUse"
            | "PostToolUse"
            | "PostToolUseFailure"
            | "PostToolBatch"
            | "SubagentStart" => saying.context(context),
            "Stop" | "SubagentStop" => saying.verdict(Verdict::block(reason_or(entry, [Some(context)]))),
            _ => {}
        }
    }
    amended(entry, event, specific, &mut saying)?;
    let goes_on = flag_field(object, "continue")?.unwrap_or(true);
    let stop_reason = text_field(object, "stopReason")?;
    let may_stop = !matches!(
        entry.event,
        "TaskCreated"
            | "PreCompact"
            | "ConfigChange"
            | "WorktreeCreate"
            | "Elicitation"
            | "ElicitationResult"
    );
    if !goes_on && may_stop {
        saying.verdict(Verdict::stop(reason_or(entry, [stop_reason, reason])));
        saying.amends_nothing();
    }
    Ok(saying)
}

fn decided(
    entry: &Entry,
    decision: Option<&str>,
    reason: Option<&str>,
    saying: &mut Saying,
) -> Result<(), String> {
    let why = || reason_or(entry, [reason]);
    match (decision, entry.event) {
        (None, _) => {}
        (Some("approve"), "PreToolUse") => saying.verdict(Verdict::Allow),
        (Some("block"), "PostToolUse" | "PostToolUseFailure") => saying.context(reason.unwrap_or_default()),
        (Some("block"), "PostToolBatch") => saying.verdict(Verdict::stop(why())),
        (
            Some("block"),
            "PreToolUse"
            | "UserPromptSubmit"
            | "UserPromptExpansion"
            | "Stop"
            | "SubagentStop"
            | "PreCompact"
            | "ConfigChange"
            | "TaskCreated"
            | "PreModelSwitch",
        ) => saying.verdict(Verdict::block(why())),
        (Some("block"), _) => {}
        (Some(other), _) => return Err(format!("unknown decision `{other}`")),
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
        Some("allow") => saying.verdict(Verdict::Allow),
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
            saying.verdict(Verdict::Allow);
            if let Some(input) = object_field(decision, "updatedInput")? {
                saying.amend("tool_input", Value::Object(input.clone()));
            }
        }
        Some(other) => return Err(format!("unknown `behavior` `{other}`")),
        None => return Err("`decision` has no `behavior`".to_owned()),
    }
    Ok(())
}

/// New values for fields of the payload.
fn amended(entry: &Entry, event: &AnyEvent, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let given = |name: &str| specific.get(name).filter(|value| !value.is_null()).cloned();
    match entry.event {
        "PostToolUse" => {
            let of_mcp = given("updatedMCPToolOutput").filter(|_| class(event) == Some("mcp"));
            if let Some(output) = given("updatedToolOutput").or(of_mcp) {
                saying.amend("tool_output", output);
            }
        }
        "MessageDisplay" => {
            if let Some(content) = text_field(specific, "displayContent")? {
                saying.amend("display_content", content.into());
            }
        }
        "Elicitation" | "ElicitationResult" => {
            for field in ["action", "content"] {
                if let Some(value) = given(field) {
                    saying.amend(field, value);
                }
            }
        }
        "WorktreeCreate" => {
            if let Some(path) = text_field(specific, "worktreePath")? {
                saying.amend("worktree_path", path.into());
            }
        }
        _ => {}
    }
    Ok(())
}
