//! What a hook prints on standard output, or a judge answers (JC-29 to JC-31).
//!
//! A halt is looked for before anything else is judged: nothing beside it can undo it.

use lineside_core::invocation::Captured;
use lineside_core::json::{Map, Value};
use lineside_core::{Append, Role};
use serde_json::value::RawValue;

use super::events::Event;
use crate::raw_object::{self, RawObject, Unreadable, string};
use crate::text::printed;

/// The fields of an object that count.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reply {
    /// The fields that amend, under their own names.
    pub(super) amends: Vec<(&'static str, Value)>,
    /// `inject_messages`; those without content are left out (JC-38).
    pub(super) inject: Option<Vec<Append>>,
    /// `additional_context`, never empty.
    pub(super) context: Option<String>,
    /// `retry_feedback`, never empty.
    pub(super) feedback: Option<String>,
    /// `system_message`, never empty.
    pub(super) notice: Option<String>,
    /// `action`, or what `abort` stands for.
    pub(super) action: Option<Action>,
}

/// What is to become of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Stop,
    Skip,
}

impl Action {
    /// Whether the event lists it (JC-32).
    pub(super) fn is_listed(self, event: &Event) -> bool {
        match self {
            Self::Stop => event.stop.is_some(),
            Self::Skip => event.skip,
        }
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Skip => "skip",
        }
    }
}

const TEXTS: [&str; 5] = ["user_input", "assistant_output", "system_prompt", "tool_result", "tool_error"];

/// Reads the output of a hook that has succeeded.
pub(super) fn read(stdout: &Captured, event: &Event) -> Result<Reply, Unreadable> {
    if stdout.is_cut() {
        return Err(Unreadable::cut(stdout));
    }
    let text = printed(stdout);
    if text.is_empty() { Ok(Reply::default()) } else { read_object(&text, event) }
}

/// Reads an object.
pub(super) fn read_object(text: &str, event: &Event) -> Result<Reply, Unreadable> {
    let fields = raw_object::read(text)?;
    // Nothing beside a halt undoes it (JC-31).
    let halt = halt(&fields, event);
    Fields { fields: &fields, halt }.reply()
}

/// The halt of an object, however often its field is there.
fn halt(fields: &RawObject, event: &Event) -> Option<Action> {
    let aborts = fields.all("abort").any(|value| value.get() == "true");
    let abort = (aborts && fields.may_lack("action")).then_some(Action::Stop);
    let halts = fields.all("action").filter_map(|value| action(value).ok()).chain(abort);
    let halts: Vec<Action> = halts.filter(|action| action.is_listed(event)).collect();
    // Of two the one that ends more.
    if halts.contains(&Action::Stop) { Some(Action::Stop) } else { halts.first().copied() }
}

fn action(value: &RawValue) -> Result<Action, Unreadable> {
    match string(value).as_deref() {
        Some("stop") => Ok(Action::Stop),
        Some("skip") => Ok(Action::Skip),
        _ => Err(Unreadable::of_word("action", value, "stop or skip")),
    }
}

/// The fields of an object, and its halt.
struct Fields<'a> {
    fields: &'a RawObject,
    halt: Option<Action>,
}

impl Fields<'_> {
    /// A field. Beside a halt one that cannot be read counts as absent.
    fn get<T>(
        &self,
        name: &'static str,
        read: impl Fn(&RawValue) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, Unreadable> {
        if self.halt.is_some() {
            return Ok(self.fields.all(name).rev().find_map(|value| read(value).ok()));
        }
        self.fields.one(name)?.map(read).transpose()
    }

    fn text(&self, name: &'static str) -> Result<Option<String>, Unreadable> {
        self.get(name, |value| string(value).ok_or_else(|| Unreadable::of_type(name, "a string")))
    }

    /// A text for which empty is as good as absent.
    fn said(&self, name: &'static str) -> Result<Option<String>, Unreadable> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    fn messages(&self, name: &'static str) -> Result<Option<Vec<Map>>, Unreadable> {
        let expected = "a list of messages with a role and a text";
        self.get(name, |value| messages(value).ok_or_else(|| Unreadable::of_type(name, expected)))
    }

    /// Reads the fields of an answer (JC-30).
    fn reply(&self) -> Result<Reply, Unreadable> {
        let mut amends = Vec::new();
        for name in TEXTS {
            amends.extend(self.text(name)?.map(|text| (name, Value::String(text))));
        }
        let arguments = self.get("tool_arguments", arguments)?;
        amends.extend(arguments.map(|arguments| ("tool_arguments", Value::Object(arguments))));
        let messages = self.messages("messages")?.map(|messages| messages.into_iter().map(Value::Object));
        amends.extend(messages.map(|messages| ("messages", messages.collect())));
        let inject = self.messages("inject_messages")?;
        let action = self.get("action", action)?;
        let abort = self.get("abort", |value| match value.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Unreadable::of_type("abort", "a boolean")),
        })?;
        Ok(Reply {
            amends,
            inject: inject.map(|messages| messages.iter().filter_map(append).collect()),
            context: self.said("additional_context")?,
            feedback: self.said("retry_feedback")?,
            notice: self.said("system_message")?,
            action: self.halt.or(action).or(abort.filter(|abort| *abort).map(|_| Action::Stop)),
        })
    }
}

/// A text that holds one JSON object.
fn arguments(value: &RawValue) -> Result<Map, Unreadable> {
    let text = string(value).ok_or_else(|| Unreadable::of_type("tool_arguments", "a string"))?;
    raw_object::strict("tool_arguments", &text, "the text of a JSON object")
}

fn messages(value: &RawValue) -> Option<Vec<Map>> {
    let messages: Vec<Map> = lineside_core::json::from_str(value.get()).ok()?;
    messages.iter().all(|message| role(message).is_some() && content(message).is_some()).then_some(messages)
}

fn role(message: &Map) -> Option<Role> {
    match message.get("role")?.as_str()? {
        "system" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "tool" => Some(Role::Tool),
        _ => None,
    }
}

/// Empty when absent.
fn content(message: &Map) -> Option<&str> {
    match message.get("content") {
        None | Some(Value::Null) => Some(""),
        Some(content) => content.as_str(),
    }
}

/// A message that is added to the context (JC-38).
fn append(message: &Map) -> Option<Append> {
    let text = content(message).filter(|text| !text.is_empty())?;
    Some(Append::new(role(message)?, text))
}

#[cfg(test)]
mod tests;
