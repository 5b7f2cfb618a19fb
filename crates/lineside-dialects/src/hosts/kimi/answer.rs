//! What a hook of Kimi answers: a refusal, or context for a prompt (KI-17 to KI-20).

use lineside_core::json::{Map, Value};
use lineside_core::{Answer, Failure, Verdict};

use crate::hosts::import::{Entry, Heard, Saying, reason_or};

/// Reads what came of a run.
pub(super) fn read(entry: &Entry, heard: &Heard) -> Result<Answer, Failure> {
    if let Some(failure) = heard.failure.clone() {
        return Err(failure);
    }
    let decides = matches!(entry.event, "PreToolUse" | "UserPromptSubmit" | "Stop");
    let mut saying = Saying::default();
    match heard.code.unwrap_or_default() {
        2 => {
            if decides {
                saying.verdict(Verdict::block(reason_or(entry, [Some(heard.stderr.as_str())])));
            }
            Ok(saying.0)
        }
        0 => {
            let object = heard.object();
            let specific = object.as_ref().and_then(|object| object.get("hookSpecificOutput")?.as_object());
            let of = |field: &str| specific.and_then(|specific| specific.get(field)?.as_str());
            if decides && of("permissionDecision") == Some("deny") {
                saying.verdict(Verdict::block(reason_or(entry, [of("permissionDecisionReason")])));
            } else if entry.event == "UserPromptSubmit" {
                saying.context(&context(object.as_ref(), heard.stdout.trim()));
            }
            Ok(saying.0)
        }
        _ => Err(heard.exit_failure()),
    }
}

/// What a hook adds to the prompt: the message of its answer, else all of its output (KI-18).
fn context(object: Option<&Map>, stdout: &str) -> String {
    let message = |object: &Map| object.get("message").and_then(Value::as_str).map(str::to_owned);
    let specific = |object: &Map| message(object.get("hookSpecificOutput")?.as_object()?);
    let said = object.and_then(|object| message(object).or_else(|| specific(object)));
    said.unwrap_or_else(|| stdout.to_owned())
}
