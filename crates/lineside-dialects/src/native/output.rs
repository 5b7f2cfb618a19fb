//! What came of a run to an answer: all of it, or a failure and nothing of it.

use std::time::Duration;

use lineside_core::exchange::Posted;
use lineside_core::failure::seconds;
use lineside_core::invocation::{Captured, Ended};
use lineside_core::json::read_strict;
use lineside_core::json::{Map, Value};
use lineside_core::{
    Amendment, Answer, AnyEvent, Append, Failure, FailureKind, Notice, Phase, PointInfo, Role, Strength,
    Verdict,
};

use crate::ending;
use crate::handler::Returned;
use crate::near_keys::AnswerKeys;
use crate::text::truncated;

/// The longest reason, in characters.
const LONGEST: usize = 10_000;
/// The longest word of an answer that a failure shows, in characters.
const SHOWN: usize = 60;

const KEYS: [&str; 5] = ["verdict", "reason", "amend", "context", "notice"];
const MESSAGE_KEYS: [&str; 4] = ["text", "role", "key", "expires_ms"];

/// Whose answer is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    /// The point of the event.
    pub(super) point: &'static PointInfo,
    /// Whether the hook has a say there.
    pub(super) judges: bool,
    /// Whether the hook is not waited for.
    pub(super) is_async: bool,
    /// Whether it may change the payload.
    pub(super) amends: bool,
}

/// Why an answer cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadAnswerError {
    #[error("longer than the limit of {0} bytes")]
    Cut(usize),
    #[error("not one JSON object: {0}")]
    Broken(String),
    #[error("a JSON value that is not an object")]
    NoObject,
    #[error("unknown key `{key}`{hint}", hint = .nearest.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    UnknownKey { key: String, nearest: Option<&'static str> },
    #[error("`verdict` is {0}, not continue, allow, ask, block or stop")]
    Verdict(String),
    #[error("`verdict` is {verdict}, and at {point} a hook may say {allowed}")]
    NotAllowed { verdict: Strength, point: &'static str, allowed: &'static str },
    #[error("`{0}` is not {1}")]
    Type(&'static str, &'static str),
    #[error("`amend`, and its entry has no `amends: true`")]
    NoAmender,
    #[error("`amend`: {0}")]
    Amend(String),
    #[error("`amend`: nothing can be amended at {0}")]
    NothingToAmend(&'static str),
}

impl ReadAnswerError {
    /// The same without a word of what was answered.
    pub(super) fn unquoted(self) -> String {
        match self {
            Self::Broken(_) => "not one JSON object".to_owned(),
            Self::UnknownKey { .. } => "an unknown key".to_owned(),
            Self::Verdict(_) => "`verdict` is not continue, allow, ask, block or stop".to_owned(),
            Self::Amend(_) => "`amend` has a field or a value that cannot be".to_owned(),
            other => other.to_string(),
        }
    }
}

/// Reads what came of a run.
///
/// # Errors
/// The hook could not answer, or what it answered is not to be taken.
pub(super) fn read(asker: Asker, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
    match returned {
        Returned::Worker(_) => {
            let text = returned.warm()?;
            answer(asker, event, text.as_bytes()).map_err(|error| unreadable(&error.to_string()))
        }
        Returned::Post(posted) => of_post(asker, event, posted),
        Returned::Command(_) | Returned::Nothing => of_command(asker, event, returned.command()?),
    }
}

fn of_command(asker: Asker, event: &AnyEvent, ended: &Ended) -> Result<Answer, Failure> {
    match ending::status(ended)? {
        0 => captured(asker, event, &ended.stdout).map_err(|error| {
            let is_text = matches!(error, ReadAnswerError::Broken(_))
                && !ended.stdout.bytes.trim_ascii_start().starts_with(b"{");
            let hint = if is_text { "; a hook without an opinion prints nothing there" } else { "" };
            ending::unreadable(format_args!("{error}{hint}"), ended)
        }),
        2 if asker.judges && is_blank(&ended.stdout) => {
            Ok(Verdict::block(truncated(&ended.stderr.trimmed_text(), LONGEST)).into())
        }
        code => Err(ending::bad_status(code, ended)),
    }
}

/// No message quotes what a server answers: it may have been shown a secret.
fn of_post(asker: Asker, event: &AnyEvent, posted: &Posted) -> Result<Answer, Failure> {
    captured(asker, event, body(posted)?).map_err(|error| unreadable(&error.unquoted()))
}

/// The body of an answer with a status that is none of a failure.
///
/// # Errors
/// There is none.
pub(super) fn body(posted: &Posted) -> Result<&Captured, Failure> {
    let (status, body) = match posted {
        Posted::Answered { status, body, .. } => (*status, body),
        Posted::Redirected { status, to } => {
            let to = to.as_ref().map(|to| format!(", which points to {to}")).unwrap_or_default();
            return Err(Failure::new(FailureKind::Exit, format!("HTTP status {status}{to}")));
        }
        Posted::TimedOut { after } => {
            let detail = format!("timed out after {} s", seconds(*after));
            return Err(Failure::new(FailureKind::Timeout, detail));
        }
        Posted::Unreachable { why } => {
            return Err(Failure::new(FailureKind::Spawn, format!("cannot start: {why}")));
        }
    };
    if !(200..300).contains(&status) {
        return Err(Failure::new(FailureKind::Exit, format!("HTTP status {status}")));
    }
    Ok(body)
}

pub(super) fn unreadable(why: &str) -> Failure {
    Failure::new(FailureKind::Output, format!("unreadable output: {why}"))
}

fn is_blank(output: &Captured) -> bool {
    !output.is_cut() && output.bytes.trim_ascii().is_empty()
}

fn captured(asker: Asker, event: &AnyEvent, output: &Captured) -> Result<Answer, ReadAnswerError> {
    if asker.is_async {
        // The hook is not waited for, and its output is not read.
        return Ok(Answer::default());
    }
    if output.is_cut() {
        return Err(ReadAnswerError::Cut(output.bytes.len()));
    }
    answer(asker, event, &output.bytes)
}

fn answer(asker: Asker, event: &AnyEvent, text: &[u8]) -> Result<Answer, ReadAnswerError> {
    let text = text.trim_ascii();
    if asker.is_async || text.is_empty() {
        return Ok(Answer::default());
    }
    let fields = object(text, &KEYS)?;
    let reason = string(&fields, "reason")?.unwrap_or_default();
    Ok(Answer {
        verdict: verdict(asker, &fields, reason)?,
        amendment: amendment(asker, event, &fields)?,
        context: context(&fields)?,
        notices: string(&fields, "notice")?
            .filter(|text| !text.trim().is_empty())
            .map(Notice::info)
            .into_iter()
            .collect(),
        ..Answer::default()
    })
}

/// One object with no other keys than these.
pub(super) fn object(text: &[u8], known: &'static [&'static str]) -> Result<Map, ReadAnswerError> {
    match read_strict(text) {
        Ok(Value::Object(fields)) => {
            only(&fields, known)?;
            Ok(fields)
        }
        Ok(_) => Err(ReadAnswerError::NoObject),
        Err(error) => Err(ReadAnswerError::Broken(error.to_string())),
    }
}

/// A field that is not null.
fn field<'a>(fields: &'a Map, key: &str) -> Option<&'a Value> {
    fields.get(key).filter(|value| !value.is_null())
}

pub(super) fn string<'a>(fields: &'a Map, key: &'static str) -> Result<Option<&'a str>, ReadAnswerError> {
    match field(fields, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ReadAnswerError::Type(key, "a string")),
    }
}

fn only(fields: &Map, known: &'static [&'static str]) -> Result<(), ReadAnswerError> {
    let Some(key) = fields.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let decides = if known.contains(&"verdict") { "verdict" } else { "" };
    let nearest = AnswerKeys { names: known, decides, ..AnswerKeys::default() }.meant(key);
    Err(ReadAnswerError::UnknownKey { key: truncated(key, SHOWN), nearest })
}

fn verdict(asker: Asker, fields: &Map, reason: &str) -> Result<Verdict, ReadAnswerError> {
    let verdict = match field(fields, "verdict") {
        None => Verdict::Continue,
        Some(Value::String(word)) => match Strength::named(word) {
            Some(strength) => Verdict::of(strength, truncated(reason, LONGEST)),
            None => return Err(ReadAnswerError::Verdict(truncated(&format!("{word:?}"), SHOWN))),
        },
        Some(other) => return Err(ReadAnswerError::Verdict(truncated(&other.to_string(), SHOWN))),
    };
    let strength = verdict.strength();
    let (is_allowed, allowed) = match asker.point.phase {
        _ if !asker.judges => (strength == Strength::Continue, "continue"),
        Phase::Before => (true, ""),
        Phase::After | Phase::On => {
            (!matches!(strength, Strength::Allow | Strength::Ask), "continue, block or stop")
        }
    };
    if is_allowed {
        return Ok(verdict);
    }
    Err(ReadAnswerError::NotAllowed { verdict: strength, point: asker.point.name, allowed })
}

fn amendment(asker: Asker, event: &AnyEvent, fields: &Map) -> Result<Amendment, ReadAnswerError> {
    let amended = match field(fields, "amend") {
        None => return Ok(Amendment::default()),
        Some(Value::Object(amended)) if amended.is_empty() => return Ok(Amendment::default()),
        Some(Value::Object(amended)) => amended,
        Some(_) => return Err(ReadAnswerError::Type("amend", "an object")),
    };
    if !asker.judges || asker.point.amendable().next().is_none() {
        return Err(ReadAnswerError::NothingToAmend(asker.point.name));
    }
    if !asker.amends {
        return Err(ReadAnswerError::NoAmender);
    }
    let amendment = Amendment::from_json(amended.clone());
    match amendment.apply(event.payload()) {
        Ok(_) => Ok(amendment),
        Err(error) => Err(ReadAnswerError::Amend(truncated(&error.to_string(), 500))),
    }
}

fn context(fields: &Map) -> Result<Vec<Append>, ReadAnswerError> {
    const EXPECTED: &str = "a string or a list of messages";
    match field(fields, "context") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Append::system(text)]),
        Some(Value::Array(messages)) => messages.iter().map(message).collect(),
        Some(_) => Err(ReadAnswerError::Type("context", EXPECTED)),
    }
}

fn message(message: &Value) -> Result<Append, ReadAnswerError> {
    let Value::Object(fields) = message else {
        return Err(ReadAnswerError::Type("context[]", "an object with `text`"));
    };
    only(fields, &MESSAGE_KEYS)?;
    let text = string(fields, "text")?.filter(|text| !text.trim().is_empty());
    let text = text.ok_or(ReadAnswerError::Type("context[].text", "a text that is not blank"))?;
    // The user's voice is for formats whose page promises it.
    let role = match string(fields, "role")? {
        None => Role::System,
        Some(word) => Role::named(word)
            .filter(|role| *role != Role::User)
            .ok_or(ReadAnswerError::Type("context[].role", "system, assistant or tool"))?,
    };
    let mut append = Append::new(role, text);
    if let Some(key) = string(fields, "key")? {
        append = append.key(key);
    }
    match field(fields, "expires_ms") {
        None => Ok(append),
        Some(expires) => {
            let millis = expires.as_u64().filter(|millis| *millis > 0);
            let millis = millis.ok_or(ReadAnswerError::Type("context[].expires_ms", "a positive integer"))?;
            Ok(append.expires(Duration::from_millis(millis)))
        }
    }
}

#[cfg(test)]
mod tests;
