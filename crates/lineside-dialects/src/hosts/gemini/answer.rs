//! What a hook of Gemini CLI answers; the stricter of its manual and its program holds (GE-18 to GE-22).

use lineside_core::json::{Map, Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, Strength, Verdict};

use crate::hosts::import::{
    Entry, Heard, Saying, flag_field, given_reason, object_field, reason_or, text_field,
};

/// Reads what came of a run.
pub(super) fn read(entry: &Entry, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
    if let Some(failure) = heard.failure.clone() {
        return Err(failure);
    }
    let (stdout, stderr) = (heard.stdout.trim(), heard.stderr.trim());
    let json = object(stdout);
    let said = json.as_ref().map(|object| said(entry, event, object)).transpose();
    let broken = |why: String| heard.output_failure(format!("the answer cannot be read: {why}"));
    match heard.code.unwrap_or_default() {
        0 => match said.map_err(broken)? {
            Some(saying) => Ok(saying.0),
            None if stdout.is_empty() => Ok(from_stderr(entry, event, stderr)),
            None => {
                let mut saying = Saying::default();
                saying.notice(stdout);
                Ok(saying.0)
            }
        },
        2 => {
            let mut saying = said.ok().flatten().unwrap_or_default();
            let own = saying.0.verdict.clone();
            let printed = json.as_ref().and_then(|object| object.get("reason")?.as_str());
            let plain = if json.is_some() { None } else { Some(stdout) };
            if decides(entry.event) && own.strength() != Strength::Stop {
                let given = given_reason(entry, &own);
                saying.0.verdict = Verdict::block(reason_or(entry, [given, printed, Some(stderr), plain]));
            }
            saying.amends_nothing();
            Ok(saying.0)
        }
        code => {
            let failure = heard.exit_failure();
            let text = if stdout.is_empty() { stderr } else { stdout };
            let mut saying = Saying::default();
            if json.is_some() {
                let verdict = said.ok().flatten().map(|saying| saying.0.verdict).unwrap_or_default();
                if verdict.strength().is_final() {
                    saying.verdict(verdict);
                }
            } else if code == 1 {
                if !text.is_empty() {
                    saying.notice(&format!("Warning: {text}"));
                }
            } else if !text.is_empty() && decides(entry.event) {
                saying.verdict(Verdict::block(text.to_owned()));
            }
            Err(saying.taken_as(failure))
        }
    }
}

/// A JSON object, or a JSON text that holds one.
fn object(text: &str) -> Option<Map> {
    match lineside_core::json::from_str(text).ok()? {
        Value::Object(object) => Some(object),
        Value::String(inner) => lineside_core::json::from_str(inner.trim()).ok(),
        _ => None,
    }
}

/// Standard error counts where nothing was printed and it is a block.
fn from_stderr(entry: &Entry, event: &AnyEvent, stderr: &str) -> Answer {
    let said = object(stderr).and_then(|object| said(entry, event, &object).ok());
    let verdict = said.map(|saying| saying.0.verdict).filter(|verdict| verdict.strength().is_final());
    verdict.map(Answer::from).unwrap_or_default()
}

/// Whether a decision has an effect at an event.
fn decides(event: &str) -> bool {
    !matches!(event, "SessionStart" | "SessionEnd" | "PreCompress" | "Notification")
}

/// What an answer says.
///
/// # Errors
/// A field has the wrong type or an unknown value (GE-22).
fn said(entry: &Entry, event: &AnyEvent, object: &Map) -> Result<Saying, String> {
    let name = entry.event;
    let none = Map::new();
    let specific = object_field(object, "hookSpecificOutput")?.unwrap_or(&none);
    let mut saying = Saying::default();
    let reason = text_field(object, "reason")?;
    match text_field(object, "decision")? {
        None | Some("allow" | "approve") => {}
        Some("deny" | "block") if decides(name) => saying.verdict(Verdict::block(reason_or(entry, [reason]))),
        Some("ask") if name == "BeforeTool" => saying.verdict(Verdict::ask(reason_or(entry, [reason]))),
        Some("deny" | "block" | "ask") => {}
        Some(other) => return Err(format!("unknown decision `{other}`")),
    }
    let stop_reason = text_field(object, "stopReason")?;
    if flag_field(object, "continue")? == Some(false) && decides(name) {
        saying.verdict(Verdict::stop(reason_or(entry, [stop_reason, reason])));
    }
    if let Some(message) = text_field(object, "systemMessage")?.filter(|_| name != "BeforeToolSelection") {
        saying.notice(message);
    }
    if let Some(context) = text_field(specific, "additionalContext")? {
        match name {
            "SessionStart" | "AfterTool" => saying.context(context),
            "BeforeAgent" => {
                saying.context(context);
                let prompt = event.payload().text("prompt").unwrap_or_default();
                saying.amend("prompt", format!("{prompt}\n\n{context}").into());
            }
            _ => {}
        }
    }
    own(entry, event, specific, &mut saying)?;
    for (of, field) in [("AfterAgent", "clearContext"), ("AfterTool", "tailToolCallRequest")] {
        let asked = specific.get(field).filter(|value| !matches!(value, Value::Null | Value::Bool(false)));
        if name == of && asked.is_some() {
            saying.notice(&format!("hook `{}`: `{field}` is not supported here", entry.name));
        }
    }
    Ok(saying)
}

/// The fields of one event.
fn own(entry: &Entry, event: &AnyEvent, specific: &Map, saying: &mut Saying) -> Result<(), String> {
    let object = |field: &str| object_field(specific, field);
    match entry.event {
        "BeforeTool" => {
            if let Some(input) = object("tool_input")? {
                saying.amend("tool_input", Value::Object(input.clone()));
            }
        }
        "BeforeModel" => {
            if let Some(response) = object("llm_response")? {
                saying.verdict(Verdict::block(reason_or(entry, [Some(texts(response).as_str())])));
            }
            if let Some(request) = object("llm_request")? {
                if let Some(model) = text_field(request, "model")? {
                    saying.amend("model", model.into());
                }
                if let Some(messages) = array(request, "messages")? {
                    let (system, rest): (Vec<&Value>, Vec<&Value>) = messages
                        .iter()
                        .partition(|message| message.get("role").and_then(Value::as_str) == Some("system"));
                    let system: Vec<&str> =
                        system.iter().filter_map(|message| message.get("content")?.as_str()).collect();
                    let before =
                        event.payload_json().get("system_prompt").and_then(Value::as_str).unwrap_or_default();
                    if !system.is_empty() || !before.is_empty() {
                        saying.amend("system_prompt", system.join("\n\n").into());
                    }
                    saying.amend("messages", rest.into_iter().cloned().collect());
                }
            }
        }
        "AfterModel" => {
            if let Some(response) = object("llm_response")? {
                saying.amend("output", texts(response).into());
            }
        }
        "BeforeToolSelection" => {
            if let Some(config) = object("toolConfig")? {
                saying.amend("tool_config", Value::Object(config.clone()));
            }
        }
        _ => {}
    }
    Ok(())
}

/// A list of an answer; null is as good as absent.
///
/// # Errors
/// It is something else.
fn array<'a>(object: &'a Map, name: &str) -> Result<Option<&'a Vec<Value>>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(format!("`{name}` is no list")),
    }
}

/// The texts of the first candidate, joined.
fn texts(response: &Map) -> String {
    let parts =
        response.get("candidates").and_then(|all| all.get(0)?.get("content")?.get("parts")?.as_array());
    let text = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).map(str::to_owned);
    parts.into_iter().flatten().filter_map(text).collect()
}

/// What the choices of tools of all hooks come to (GE-20).
pub(super) fn selection(given: &[FromHook<Answer>]) -> Option<Amendment> {
    let configs: Vec<&Value> =
        given.iter().filter_map(|by| by.what.amendment.fields().get("tool_config")).collect();
    if configs.is_empty() {
        return None;
    }
    let modes: Vec<&str> = configs.iter().filter_map(|config| config.get("mode")?.as_str()).collect();
    let mode = ["NONE", "ANY"].into_iter().find(|mode| modes.contains(mode)).unwrap_or("AUTO");
    let named = configs.iter().filter_map(|config| config.get("allowedFunctionNames")?.as_array()).flatten();
    let mut names: Vec<String> = named.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    let merged = if mode == "NONE" || names.is_empty() {
        json!({"mode": mode})
    } else {
        json!({"mode": mode, "allowedFunctionNames": names})
    };
    Some(Amendment::default().with("tool_config", merged))
}
