//! What a sync hook says to what it does (CH-38, CH-42 to CH-47).

use std::borrow::Cow;

use lineside_core::json::{Map, Value};
use lineside_core::{Amendment, Answer, AnyEvent, Notice, Verdict};

use super::data::{self, Data};
use super::output::Reply;
use super::points::{ChordPoint, Kind};
use crate::raw_object::Unreadable;

/// What the key `action` of an answer asks for (CH-38).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Continue,
    Block,
    Modify,
}

/// Reads a sync result.
///
/// # Errors
/// It breaks the shape of the point; nothing of it counts.
pub(super) fn answer(point: &ChordPoint, event: &AnyEvent, reply: &Reply) -> Result<Answer, Unreadable> {
    let action = action(reply)?;
    let message = reply.string("message")?.filter(|message| !message.trim().is_empty());
    if action == Action::Block {
        return Ok(block(message.unwrap_or_else(|| no_reason(point))));
    }
    let mut answer = Answer::default();
    let new = if action == Action::Modify { reply.value("data")? } else { None };
    if let Some(new) = new {
        let Value::Object(new) = new else {
            return Err(Unreadable::of_word("data", &new, "an object"));
        };
        let given = data::of(point.kind, event);
        let (amendment, refused) = match point.kind {
            Kind::ToolCall => tool_call(new, &given),
            Kind::BeforeLlmCall => llm_call(&new, &given)?,
            Kind::BeforeToolResultAppend => tool_result(&new, &given, event)?,
            // No other point has sync hooks.
            _ => Default::default(),
        };
        answer.amendment = amendment;
        answer.remarks.extend(refused);
    }
    answer.remarks.extend(message.map(Cow::Owned));
    Ok(answer)
}

/// A block for this reason, which the user reads too (CH-43).
pub(super) fn block(reason: String) -> Answer {
    let notices = vec![Notice::warning(reason.clone())];
    Answer { verdict: Verdict::block(reason), notices, ..Answer::default() }
}

/// The reason of a block that gives none (CH-43).
fn no_reason(point: &ChordPoint) -> String {
    match point.kind {
        Kind::BeforeLlmCall => format!("blocked by {} hook", point.name),
        _ => "blocked by hook".to_owned(),
    }
}

fn action(reply: &Reply) -> Result<Action, Unreadable> {
    // Of an action that is there twice the last one counts, unless another one blocks.
    if reply.has("action", "block") {
        return Ok(Action::Block);
    }
    let Some(action) = reply.value("action")? else { return Ok(Action::Continue) };
    match action.as_str() {
        Some("continue") => Ok(Action::Continue),
        Some("modify") => Ok(Action::Modify),
        _ => Err(Unreadable::of_word("action", &action, "continue, block or modify")),
    }
}

/// What changes, and what was not allowed to.
type Modified = (Amendment, Vec<Cow<'static, str>>);

/// New arguments of a tool call, bare or within a changed payload (CH-45).
fn tool_call(new: Map, given: &Data) -> Modified {
    let is_payload =
        new.get("args").is_some_and(Value::is_object) && new.keys().all(|key| given.contains_key(key));
    let (args, refused) = if is_payload {
        let refused = refused(&new, given, &["args"]);
        (new.get("args").cloned().unwrap_or_default(), refused)
    } else {
        (Value::Object(new), Vec::new())
    };
    (Amendment::default().with("tool_input", args), refused)
}

/// A changed request to the model (CH-46).
fn llm_call(new: &Map, given: &Data) -> Result<Modified, Unreadable> {
    let mut amendment = Amendment::default();
    for (name, fits, expected) in [
        ("model", Value::is_string as fn(&Value) -> bool, "a string"),
        ("messages", Value::is_array, "an array"),
        ("system_prompt", Value::is_string, "a string"),
    ] {
        let Some(value) = named(new, name) else { continue };
        if !fits(value) {
            return Err(Unreadable::of_word(name, value, expected));
        }
        if given.get(name) != Some(value) {
            amendment = amendment.with(name, value.clone());
        }
    }
    let refused = refused(new, given, &["model", "messages", "system_prompt", "message_count"]);
    Ok((amendment, refused))
}

/// A changed result of a tool (CH-47).
fn tool_result(new: &Map, given: &Data, event: &AnyEvent) -> Result<Modified, Unreadable> {
    let changed = |name: &'static str| match named(new, name) {
        None => Ok(None),
        Some(value @ Value::String(_)) => Ok((given.get(name) != Some(value)).then_some(value)),
        Some(other) => Err(Unreadable::of_word(name, other, "a string")),
    };
    let output = changed("output")?;
    let context = changed("context_result")?;
    let display = changed("display_result")?;
    let mut amendment = Amendment::default();
    if let Some(value) = output.or(context) {
        amendment = amendment.with("tool_output", value.clone());
    }
    // What is redacted is redacted where it is shown too.
    let shown = event.payload_json().get("display_output").filter(|shown| !shown.is_null());
    let shows_output = shown.is_some_and(|shown| {
        given.get("output").and_then(Value::as_str) == Some(data::text_of(Some(shown)).as_str())
    });
    if let Some(value) = display.or(output.filter(|_| shows_output)) {
        amendment = amendment.with("display_output", value.clone());
    }
    Ok((amendment, refused(new, given, &["output", "context_result", "display_result"])))
}

/// A field that `data` names; null counts as absent.
fn named<'a>(new: &'a Map, name: &str) -> Option<&'a Value> {
    new.get(name).filter(|value| !value.is_null())
}

/// The other fields that were to be changed (CH-44).
fn refused(new: &Map, given: &Data, read: &[&str]) -> Vec<Cow<'static, str>> {
    new.iter()
        .filter(|(name, value)| !read.contains(&name.as_str()) && given.get(name) != Some(*value))
        .map(|(name, _)| format!("`data.{name}` cannot be changed here").into())
        .collect()
}

#[cfg(test)]
mod tests;
