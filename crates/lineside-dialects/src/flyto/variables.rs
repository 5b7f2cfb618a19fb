//! An event to the variables that a hook gets (FL-10). Whether they fit is `environment`'s business.

use std::borrow::Cow;
use std::path::Path;

use lineside_core::AnyEvent;
use lineside_core::json::Value;

use super::catalogue::HookType;
use super::platform;
use crate::text::first_bytes;

/// How long a preview is, in bytes.
const PREVIEW: usize = 500;

/// Where the value of a variable comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// A text of the payload.
    Text(&'static str),
    /// A field of the payload that may be any JSON.
    Free(&'static str),
    /// The same, its first bytes only.
    Preview(&'static str),
    /// A boolean of the payload.
    Flag(&'static str),
    /// A list of texts of the payload.
    Words(&'static str),
    /// A number of the payload's `usage`.
    Tokens(&'static str),
    /// The tool's input.
    Input,
    /// How many messages there are.
    Messages,
    /// The turn.
    Turn,
    /// Always this.
    Fixed(&'static str),
}

/// Whether previews are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Previews {
    /// As the page cuts them: between bytes, which may leave half a character.
    Cut,
    /// They are not (FL-35).
    Whole,
}

/// One variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable<'e> {
    /// Its name.
    pub(super) name: &'static str,
    /// Its value; UTF-8 but for what a preview cuts.
    pub(super) value: Cow<'e, [u8]>,
}

/// All variables of a hook of that type, run in that directory.
pub(super) fn of<'e>(
    hook_type: &'static HookType,
    event: &'e AnyEvent,
    working_directory: &Path,
    previews: Previews,
) -> Vec<Variable<'e>> {
    let source = &event.envelope().source;
    let cwd = working_directory.to_string_lossy().into_owned();
    let common: [(&'static str, Cow<'e, str>); 8] = [
        ("HOOK_TYPE", hook_type.name().into()),
        ("PROJECT_ROOT", source.project_root.as_deref().unwrap_or_default().into()),
        ("PLATFORM", platform::system().into()),
        ("ARCH", platform::architecture().into()),
        ("CWD", cwd.into()),
        ("SESSION_ID", source.session.as_str().into()),
        ("AGENT_ID", (*source.agent.id).into()),
        ("AGENT_KIND", source.agent.kind.as_str().into()),
    ];
    let own = hook_type.variables().iter().map(|(name, of)| (*name, value(*of, event, previews)));
    let common = common.into_iter().map(|(name, text)| (name, bytes(text)));
    common.chain(own).map(|(name, value)| Variable { name, value }).collect()
}

/// The names of the variables of that type.
pub(super) fn names(hook_type: &'static HookType) -> impl Iterator<Item = &'static str> {
    let common =
        ["HOOK_TYPE", "PROJECT_ROOT", "PLATFORM", "ARCH", "CWD", "SESSION_ID", "AGENT_ID", "AGENT_KIND"];
    common.into_iter().chain(hook_type.variables().iter().map(|(name, _)| *name))
}

fn value(of: Of, event: &AnyEvent, previews: Previews) -> Cow<'_, [u8]> {
    let field = |name: &str| event.payload_json().get(name);
    match of {
        Of::Text(name) => bytes(field(name).and_then(Value::as_str).unwrap_or_default().into()),
        Of::Free(name) => bytes(free(field(name))),
        Of::Preview(name) => match previews {
            Previews::Cut => preview(free(field(name))),
            Previews::Whole => bytes(free(field(name))),
        },
        Of::Flag(name) => {
            let set = field(name).and_then(Value::as_bool).unwrap_or_default();
            bytes(if set { "true" } else { "false" }.into())
        }
        Of::Words(name) => {
            let words = field(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            bytes(words.join(",").into())
        }
        Of::Tokens(name) => number(field("usage").and_then(|usage| usage.get(name))),
        Of::Input => match field("tool_input") {
            None | Some(Value::Null) => bytes("{}".into()),
            Some(input) => bytes(input.to_string().into()),
        },
        Of::Messages => match field("messages").and_then(Value::as_array) {
            Some(messages) if field("message_count").is_none_or(Value::is_null) => {
                bytes(messages.len().to_string().into())
            }
            _ => number(field("message_count")),
        },
        Of::Turn => bytes(event.envelope().turn.unwrap_or_default().to_string().into()),
        Of::Fixed(text) => bytes(text.into()),
    }
}

/// A string as it is, null as empty, anything else as compact JSON.
fn free(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => text.into(),
        Some(other) => other.to_string().into(),
    }
}

/// A number that the event lacks is 0.
fn number(value: Option<&Value>) -> Cow<'_, [u8]> {
    bytes(match value {
        Some(Value::Number(number)) => number.to_string().into(),
        _ => "0".into(),
    })
}

fn preview(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    if text.len() <= PREVIEW {
        return bytes(text);
    }
    // An environment of Windows is text.
    let length = if cfg!(windows) { first_bytes(&text, PREVIEW).len() } else { PREVIEW };
    match bytes(text) {
        Cow::Borrowed(whole) => Cow::Borrowed(whole.get(..length).unwrap_or(whole)),
        Cow::Owned(mut whole) => {
            whole.truncate(length);
            Cow::Owned(whole)
        }
    }
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests;
