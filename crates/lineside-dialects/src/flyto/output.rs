//! What came of a run, whatever ran, in the terms of the page: a status or why there is none, the texts, the JSON
//! output (FL-17, FL-18, FL-34).

use std::borrow::Cow;

use lineside_core::exchange::Posted;
use lineside_core::failure::seconds;
use lineside_core::invocation::{Captured, Ended, Exit};
use lineside_core::json::{Map, Value, read_strict};
use lineside_core::{Failure, FailureKind};

use crate::ending;
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
    /// The status with which it ended by itself.
    pub(super) status: i32,
    /// Why there is none: it was ended, never began, or a webhook did not answer as it should.
    pub(super) failure: Option<Failure>,
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

impl Output {
    /// What came of a command.
    pub(super) fn of_command(ended: &Ended) -> Self {
        let (status, failure) = match ending::status(ended) {
            Ok(status) => (status, None),
            Err(failure) => (0, Some(failure)),
        };
        let text = ended.stdout.trimmed_text();
        // Of a run that timed out nothing is interpreted, and what is cut is plain text (FL-16).
        let timed_out = matches!(ended.exit, Exit::TimedOut { .. });
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
            status,
            failure,
            text: if timed_out { String::new() } else { text },
            json,
            doubt,
            stderr: ended.stderr.trimmed_text(),
            remarks: remarks.into_iter().filter_map(|(name, output)| cut(name, output)).collect(),
        }
    }

    /// What came of a request.
    pub(super) fn of_post(posted: &Posted) -> Self {
        let failed = |kind, what: String| {
            let failure = Some(Failure::new(kind, what));
            Self { failure, ..Self::default() }
        };
        let unreadable = |why| failed(FailureKind::Output, format!("unreadable output: {why}"));
        let body = match posted {
            Posted::Answered { status: 200..=299, body, .. } => body,
            Posted::Answered { status, .. } | Posted::Redirected { status, to: None } => {
                return failed(FailureKind::Exit, format!("HTTP status {status}"));
            }
            Posted::Redirected { status, to: Some(to) } => {
                return failed(FailureKind::Exit, format!("HTTP status {status}, which points to {to}"));
            }
            Posted::TimedOut { after } => {
                return failed(FailureKind::Timeout, format!("timed out after {} s", seconds(*after)));
            }
            Posted::Unreachable { why } => return failed(FailureKind::Spawn, format!("cannot start: {why}")),
        };
        if body.is_cut() {
            return unreadable("a body of more than 1048576 bytes");
        }
        let text = body.trimmed_text();
        if text.is_empty() {
            return Self::default();
        }
        let Some(json) = object(&text) else {
            return unreadable("a body that is not a JSON object");
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
            status: exit_code,
            failure: None,
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

/// One object and nothing else (FL-18).
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
