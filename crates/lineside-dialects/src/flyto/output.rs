//! What came of a run, whatever ran, in the terms of the page: a status or why there is none, the texts, the JSON
//! output (FL-17, FL-18, FL-34).

use std::borrow::Cow;
use std::time::Duration;

use lineside_core::exchange::Posted;
use lineside_core::invocation::{Captured, Ended, Exit};
use lineside_core::json::read_strict;
use lineside_core::json::{Map, Value};

use crate::raw_object::{RawObject, string};
use crate::text::may_decide;

/// The longest body of a webhook's answer, in bytes (FL-34).
pub(super) const LONGEST_BODY: usize = 1_048_576;

/// What a function returned (FL-35).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookResult {
    /// The exit status that it stands for; 0 is success, 2 an intended block.
    pub exit_code: i32,
    /// What a command would have printed.
    pub stdout: String,
    /// What a command would have printed to standard error.
    pub stderr: String,
    /// The JSON output; that of `stdout`, when absent.
    pub json_output: Option<Map>,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// How it ended.
    pub(super) end: End,
    /// Standard output, trimmed; at `post_compact` of a webhook its `summary`.
    pub(super) text: String,
    /// The JSON output.
    pub(super) json: Option<Map>,
    /// Why what was printed cannot be taken for what its author meant.
    pub(super) doubt: Option<Doubt>,
    /// Standard error, trimmed.
    pub(super) stderr: String,
    /// What the record should say.
    pub(super) remarks: Vec<Cow<'static, str>>,
}

/// Why what was printed cannot be taken for what its author meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// So many bytes of it were kept, and there were more.
    Cut(usize),
    /// It is text in which an answer that decides may stand.
    Buried,
    /// A key occurs twice: readers differ in which one counts.
    Twice {
        /// Every text that `decision` is given.
        decisions: Vec<String>,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with a status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// At its deadline.
    TimedOut(Duration),
    /// It never began.
    NotStarted(String),
    /// It began and ended; the outcome is not known.
    Lost,
    /// A webhook answered with a status that is none of success.
    Refused(u16),
    /// A webhook answered that it is elsewhere; where, as far as it said so.
    Redirected(u16, Option<String>),
    /// There was no connection to a webhook, or it broke off.
    Unreachable(String),
    /// A webhook answered something that cannot be read.
    Unreadable(&'static str),
}

impl Default for End {
    fn default() -> Self {
        Self::Status(0)
    }
}

impl Output {
    /// What came of a command.
    pub(super) fn of_command(ended: &Ended) -> Self {
        let end = match &ended.exit {
            Exit::Code(code) => End::Status(*code),
            Exit::Signal(signal) => End::Signal(*signal),
            Exit::TimedOut { after } => End::TimedOut(*after),
            Exit::NotStarted { why } => End::NotStarted(why.clone()),
            Exit::Lost => End::Lost,
        };
        let text = ended.stdout.trimmed_text();
        // FL-16: of a run that timed out nothing is interpreted, and what is cut is plain text.
        let timed_out = matches!(end, End::TimedOut(_));
        let is_cut = ended.stdout.is_cut();
        let json = if timed_out || is_cut { None } else { object(&text) };
        let doubt = if is_cut {
            Some(Doubt::Cut(ended.stdout.bytes.len()))
        } else if json.is_none() && !timed_out && may_decide(&text) {
            Some(Doubt::Buried)
        } else {
            json.as_ref().and_then(|_| doubled(&text))
        };
        let remarks = [("standard output", &ended.stdout), ("standard error", &ended.stderr)];
        Self {
            end,
            text: if timed_out { String::new() } else { text },
            json,
            doubt,
            stderr: ended.stderr.trimmed_text(),
            remarks: remarks.into_iter().filter_map(|(name, output)| cut(name, output)).collect(),
        }
    }

    /// What came of a request.
    pub(super) fn of_post(posted: &Posted) -> Self {
        let ended = |end| Self { end, ..Self::default() };
        let (status, body) = match posted {
            Posted::Answered { status, body, .. } => (*status, body),
            Posted::Redirected { status, to } => return ended(End::Redirected(*status, to.clone())),
            Posted::TimedOut { after } => return ended(End::TimedOut(*after)),
            Posted::Unreachable { why } => return ended(End::Unreachable(why.clone())),
        };
        if !(200..300).contains(&status) {
            return ended(End::Refused(status));
        }
        if body.is_cut() {
            return ended(End::Unreadable("a body of more than 1048576 bytes"));
        }
        let text = body.trimmed_text();
        if text.is_empty() {
            return Self::default();
        }
        let Some(json) = object(&text) else {
            return ended(End::Unreadable("a body that is not a JSON object"));
        };
        let summary = json.get("summary").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        Self { doubt: doubled(&text), text: summary, json: Some(json), ..Self::default() }
    }

    /// What came of a function; nothing is a success without output.
    pub(super) fn of_function(result: Option<HookResult>) -> Self {
        let Some(HookResult { exit_code, stdout, stderr, json_output }) = result else {
            return Self::default();
        };
        let text = stdout.trim().to_owned();
        let printed = if json_output.is_some() { None } else { object(&text) };
        Self {
            end: End::Status(exit_code),
            doubt: printed.as_ref().and_then(|_| doubled(&text)),
            json: json_output.or(printed),
            text,
            stderr: stderr.trim().to_owned(),
            remarks: Vec::new(),
        }
    }

    /// A text of the JSON output that is not blank.
    pub(super) fn reason(&self) -> Option<&str> {
        let reason = self.json.as_ref()?.get("reason")?.as_str()?;
        (!reason.trim().is_empty()).then_some(reason)
    }
}

/// FL-18: one object and nothing else.
fn object(text: &str) -> Option<Map> {
    if text.starts_with('{') { lineside_core::json::from_str(text).ok() } else { None }
}

/// Whether a key occurs twice in an object, at any depth, and what is decided by any of its readings.
fn doubled(text: &str) -> Option<Doubt> {
    let fields: RawObject = serde_json::from_str(text).ok()?;
    let within =
        || read_strict(text.as_bytes()).is_err_and(|error| error.to_string().contains("duplicate key"));
    if !fields.has_doubles() && !within() {
        return None;
    }
    Some(Doubt::Twice { decisions: fields.all("decision").filter_map(string).collect() })
}

fn cut(name: &str, output: &Captured) -> Option<Cow<'static, str>> {
    let kept = output.bytes.len();
    output.is_cut().then(|| format!("{name} was cut to {kept} bytes, {} were dropped", output.dropped).into())
}

#[cfg(test)]
mod tests;
