//! What came of a run, in the terms of the pages: how it ended, and what it printed.

use std::borrow::Cow;

use lineside_core::exchange::Posted;
use lineside_core::failure::seconds;
use lineside_core::invocation::{Captured, Ended};
use lineside_core::json::{Map, Value};
use lineside_core::{Amendment, Answer, Append, Failure, FailureKind, Notice, Verdict};

use super::entry::Entry;
use crate::ending::status;
use crate::handler::Returned;
use crate::hosts::table::unreasoned;
use crate::lined_json;
use crate::text::{with_stderr, with_text_of_stderr};
use crate::tree::{Content, Node};

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard {
    /// The exit code, if it ended by itself.
    pub(crate) code: Option<i32>,
    /// Why there is none.
    pub(crate) failure: Option<Failure>,
    /// Standard output, or the body of an answer.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Heard {
    /// That of a run.
    pub(crate) fn of(returned: &Returned) -> Self {
        match returned {
            Returned::Command(ended) => Self::of_command(ended),
            Returned::Post(posted) => Self::of_post(posted),
            Returned::Worker(_) | Returned::Nothing => Self {
                failure: Some(Failure::not_started(
                    FailureKind::Error,
                    "a command was to be run, and none was",
                )),
                ..Self::default()
            },
        }
    }

    fn of_command(ended: &Ended) -> Self {
        let text = |stream: &Captured| String::from_utf8_lossy(&stream.bytes).into_owned();
        let (stdout, stderr) = (text(&ended.stdout), text(&ended.stderr));
        let (code, failure) = match status(ended) {
            // Another status speaks for itself.
            Ok(0) if ended.stdout.is_cut() => {
                let detail = format!("it printed more than {} bytes", ended.stdout.bytes.len());
                (None, Some(Failure::new(FailureKind::Output, with_stderr(&detail, &ended.stderr))))
            }
            Ok(code) => (Some(code), None),
            Err(failure) => (None, Some(failure)),
        };
        Self { code, failure, stdout, stderr }
    }

    fn of_post(posted: &Posted) -> Self {
        let failed =
            |kind, detail: String| Self { failure: Some(Failure::new(kind, detail)), ..Self::default() };
        match posted {
            Posted::Answered { status, body, .. } if (200..300).contains(status) => {
                let text = body.trimmed_text();
                if text.starts_with('{') && lineside_core::json::from_str::<Map>(&text).is_ok() {
                    return Self { code: Some(0), stdout: text, ..Self::default() };
                }
                failed(FailureKind::Output, "the endpoint answered no JSON object".to_owned())
            }
            Posted::Answered { status, .. } => {
                failed(FailureKind::Exit, format!("the endpoint answered {status}"))
            }
            Posted::Redirected { status, .. } => {
                failed(FailureKind::Exit, format!("the endpoint answered {status}, which is not followed"))
            }
            Posted::TimedOut { after } => {
                failed(FailureKind::Timeout, format!("timed out after {} s", seconds(*after)))
            }
            Posted::Unreachable { why } => failed(FailureKind::Spawn, format!("cannot be reached: {why}")),
        }
    }

    /// The same as a reader hears it who takes the first of several values of a key; `None` where no key stands there
    /// twice.
    pub(super) fn read_by_first_keys(&self) -> Option<Self> {
        let document = lined_json::read_any(self.text()).ok()?;
        if document.duplicates.is_empty() {
            return None;
        }
        Some(Self { stdout: first_values(&document.root).to_string(), ..self.clone() })
    }

    /// Standard output without a byte order mark and the blanks around it.
    fn text(&self) -> &str {
        let text = self.stdout.trim();
        text.strip_prefix('\u{feff}').unwrap_or(text).trim_start()
    }

    /// The failure of an exit code that is one.
    pub(crate) fn exit_failure(&self) -> Failure {
        let detail = format!("exit status {}", self.code.unwrap_or_default());
        Failure::new(FailureKind::Exit, with_text_of_stderr(&detail, self.stderr.trim()))
    }

    /// The failure of an answer that breaks the grammar.
    pub(crate) fn output_failure(&self, why: impl Into<Cow<'static, str>>) -> Failure {
        Failure::new(FailureKind::Output, why)
    }

    /// The JSON object on standard output, if that is one.
    pub(crate) fn object(&self) -> Option<Map> {
        let text = self.text();
        if text.starts_with('{') { lineside_core::json::from_str(text).ok() } else { None }
    }
}

/// A value in which the first of several values of a key counts.
fn first_values(node: &Node) -> Value {
    match &node.content {
        Content::Null => Value::Null,
        Content::Boolean(value) => (*value).into(),
        Content::Integer(_) | Content::Float(_) => node.number().map_or(Value::Null, Value::Number),
        Content::Text(text) => text.as_str().into(),
        Content::List(items) => items.iter().map(first_values).collect(),
        Content::Mapping(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                object.get_or_insert_with(&key.label(), || first_values(value));
            }
            object.into()
        }
    }
}

/// The first of these texts that is not blank, else one that names the hook (HO-19).
pub(crate) fn reason_or<'a>(entry: &Entry, texts: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let found = texts.into_iter().flatten().map(str::trim).find(|text| !text.is_empty());
    found.map_or_else(|| unreasoned(&entry.name), str::to_owned)
}

/// An approval, with the reason that the hook gives for it.
pub(crate) fn approval(reason: Option<&str>) -> Verdict {
    Verdict::allow_because(reason.unwrap_or_default().trim().to_owned())
}

/// The reason of a verdict that refuses, where the hook itself gave it.
pub(crate) fn given_reason<'a>(entry: &Entry, verdict: &'a Verdict) -> Option<&'a str> {
    let reason = verdict.reason().filter(|_| verdict.strength().is_final())?.as_str();
    (reason != reason_or(entry, [])).then_some(reason)
}

/// What a hook says, put together.
#[derive(Debug, Default)]
pub(crate) struct Saying(pub(crate) Answer);

impl Saying {
    /// A verdict; of several the strongest holds.
    pub(crate) fn verdict(&mut self, verdict: Verdict) {
        if verdict.strength() > self.0.verdict.strength() {
            self.0.verdict = verdict;
        }
    }

    /// A field of the payload has a new value.
    pub(crate) fn amend(&mut self, field: &str, value: Value) {
        self.0.amendment = std::mem::take(&mut self.0.amendment).with(field, value);
    }

    /// Takes amendments back.
    pub(crate) fn amends_nothing(&mut self) {
        self.0.amendment = Amendment::default();
    }

    /// A text for the context, unless it is blank.
    pub(crate) fn context(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.0.context.push(Append::system(text));
        }
    }

    /// A text for the user, unless it is blank.
    pub(crate) fn notice(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.0.notices.push(Notice::info(text));
        }
    }

    /// A failure that counts as this.
    pub(crate) fn taken_as(self, failure: Failure) -> Failure {
        Failure { taken_as: Some(Box::new(self.0)), ..failure }
    }
}

/// A failure that blocks.
pub(crate) fn blocking(failure: Failure, reason: String) -> Failure {
    let mut saying = Saying::default();
    saying.verdict(Verdict::block(reason));
    saying.taken_as(failure)
}

/// A text of an answer; null is as good as absent.
///
/// # Errors
/// It is something else.
pub(crate) fn text_field<'a>(object: &'a Map, name: &str) -> Result<Option<&'a str>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` is no text")),
    }
}

/// True or false of an answer; null is as good as absent.
///
/// # Errors
/// It is something else.
pub(crate) fn flag_field(object: &Map, name: &str) -> Result<Option<bool>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(format!("`{name}` is neither true nor false")),
    }
}

/// An object of an answer; null is as good as absent.
///
/// # Errors
/// It is something else.
pub(crate) fn object_field<'a>(object: &'a Map, name: &str) -> Result<Option<&'a Map>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(format!("`{name}` is no object")),
    }
}

#[cfg(test)]
mod tests;
