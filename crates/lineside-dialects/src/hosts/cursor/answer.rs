//! What a hook of Cursor answers (CU-17 to CU-19).

use lineside_core::answer::Beyond;
use lineside_core::json::{Map, Value};
use lineside_core::{Answer, AnyEvent, Append, Failure, FailureKind, KeepWorking, Notice, Verdict};

use crate::hosts::import::{Entry, Heard, Saying, blocking, flag_field, object_field, reason_or, text_field};
use crate::hosts::table::Row;
use crate::hosts::tools::class;

/// Whether an event asks for permission.
fn permits(event: &str) -> bool {
    matches!(
        event,
        "preToolUse"
            | "beforeShellExecution"
            | "beforeMCPExecution"
            | "beforeReadFile"
            | "beforeTabFileRead"
            | "subagentStart"
    )
}

/// Whether a failure refuses an event, if its hook asks for that.
pub(super) fn is_gate(event: &str) -> bool {
    permits(event) || event == "beforeSubmitPrompt"
}

/// Reads what came of a run.
pub(super) fn read(entry: &Entry, row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
    let is_gate = is_gate(entry.event);
    let closes = entry.handler.closes;
    let closed = |failure: Failure| {
        let reason = reason_or(entry, [Some(heard.stderr.as_str()), Some(&*failure.detail)]);
        if closes { blocking(failure, reason) } else { failure }
    };
    if let Some(failure) = heard.failure.clone() {
        // CU-17: what is printed and no answer blocks in any case.
        if is_gate && failure.kind == FailureKind::Output {
            let reason = reason_or(entry, [Some(&*failure.detail)]);
            return Err(blocking(failure, reason));
        }
        return Err(closed(failure));
    }
    let object = heard.object();
    match heard.code.unwrap_or_default() {
        0 => match object {
            Some(object) => said(entry, row, event, &object).map(|saying| saying.0).map_err(|why| {
                // CU-19: of an answer whose fields are wrong a prompt is not refused.
                let failure = heard.output_failure(why);
                let reason = reason_or(entry, [Some(&*failure.detail)]);
                if permits(entry.event) { blocking(failure, reason) } else { closed(failure) }
            }),
            None if heard.stdout.trim().is_empty() => {
                let mut saying = Saying::default();
                if closes {
                    saying.verdict(Verdict::block(reason_or(entry, [Some(heard.stderr.as_str())])));
                }
                Ok(saying.0)
            }
            None => {
                let failure = heard.output_failure("the answer is no JSON object");
                let reason = reason_or(entry, [Some(&*failure.detail)]);
                Err(if is_gate { blocking(failure, reason) } else { failure })
            }
        },
        2 => {
            let mut saying = Saying::default();
            if is_gate {
                let of = |field: &str| object.as_ref().and_then(|object| object.get(field)?.as_str());
                let texts = [of("user_message"), of("agent_message"), Some(heard.stderr.as_str())];
                saying.verdict(Verdict::block(reason_or(entry, texts)));
            }
            Ok(saying.0)
        }
        _ => Err(closed(heard.exit_failure())),
    }
}

/// What an answer says.
///
/// # Errors
/// A field has the wrong type, or `permission` an unknown value.
fn said(entry: &Entry, row: &Row, event: &AnyEvent, object: &Map) -> Result<Saying, String> {
    let mut saying = Saying::default();
    let name = entry.event;
    let user_message = text_field(object, "user_message")?;
    let agent_message = text_field(object, "agent_message")?;
    let why = || reason_or(entry, [user_message, agent_message]);
    let mut is_denied = false;
    if permits(name) {
        match text_field(object, "permission")? {
            None | Some("allow") => {}
            Some("deny") => {
                is_denied = true;
                saying.verdict(Verdict::block(why()));
            }
            Some("ask") if matches!(name, "preToolUse" | "beforeShellExecution" | "beforeMCPExecution") => {
                saying.verdict(Verdict::ask(why()));
            }
            Some("ask") => saying.verdict(Verdict::block(why())),
            Some(other) => return Err(format!("unknown `permission` `{other}`")),
        }
    }
    match name {
        "preToolUse" => {
            if let Some(input) = object_field(object, "updated_input")?.filter(|_| !is_denied) {
                saying.amend("tool_input", Value::Object(input.clone()));
            }
        }
        "beforeSubmitPrompt" if flag_field(object, "continue")? == Some(false) => {
            saying.verdict(Verdict::block(why()));
        }
        "sessionStart" | "postToolUse" => {
            if let Some(context) = text_field(object, "additional_context")? {
                saying.context(context);
            }
            if name == "sessionStart" {
                texts_of(object, "env")?;
            }
            let output = object.get("updated_mcp_tool_output").filter(|output| !output.is_null());
            if let Some(output) = output.filter(|_| name == "postToolUse" && class(event) == Some("mcp")) {
                saying.amend("tool_output", output.clone());
            }
        }
        "stop" | "subagentStop" if matches!(row.point, "before_stop" | "after_subagent") => {
            let message = text_field(object, "followup_message")?.filter(|message| !message.is_empty());
            if let Some(message) = message {
                keep_working(entry, message, &mut saying);
            }
        }
        "preCompact" => saying.notice(user_message.unwrap_or_default()),
        _ => {}
    }
    Ok(saying)
}

/// An object of texts; null is as good as absent.
///
/// # Errors
/// It is something else.
fn texts_of(object: &Map, name: &str) -> Result<(), String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(texts)) if texts.values().all(Value::is_string) => Ok(()),
        Some(_) => Err(format!("`{name}` is no object of texts")),
    }
}

/// A follow-up. How many the hook may give is counted where it is heard.
fn keep_working(entry: &Entry, message: &str, saying: &mut Saying) {
    saying.verdict(Verdict::block(message.to_owned()));
    let beyond = format!("hook `{}` has kept the agent working too often; it may stop now", entry.name);
    saying.0.keep_working = Some(Box::new(KeepWorking {
        append: Append::system(message),
        beyond: Beyond::Continue(Notice::warning(beyond)),
        at_most: Some(u32::MAX),
    }));
}
