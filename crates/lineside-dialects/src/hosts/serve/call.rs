//! A call of `lineside hook HOST`: which host runs, which of its events it is, and in whose words it is answered (HO-3,
//! HO-35 to HO-37, HO-44, HO-45).
//!
//! The entry names the host, and the document may name another one. The environment of the process is not looked at:
//! each host hands its variables to every program that its agent starts, other hosts among them.

use lineside_core::Verdict;
use lineside_core::json::read_strict;
use lineside_core::json::{Map, Value};

use super::incoming::hides_its_input;
use super::outcome::Outcome;
use super::spelling::spellings;
use super::words::{RenderInput, render};
use crate::hosts::program::{Host, SERVED};
use crate::hosts::quirks::OF_PROJECT;
use crate::hosts::table::{Row, Scope};
use crate::hosts::{quirks, tables};
use crate::raw_object::RawObject;

/// E
const UNREACHABLE: &str =
    "lineside: the runtime cannot be reached, so this was denied; repair it with: lineside doctor";
/// F
const UNREADABLE: &str =
    "lineside: the hook input could not be read, so this was denied; check it with: lineside doctor";
/// For an event that the host does not have, under the name of a gate.
const FOREIGN: &str = "lineside: the agent program of this entry has no such event, so this was denied; check the entry with: lineside doctor";
/// For a host whose feature is off.
const UNSUPPORTED: &str =
    "lineside: this build does not support the agent program, so this was denied; build it with its feature";

/// What a host has called `lineside hook` with.
#[derive(Debug, Clone)]
pub struct HostCall {
    /// The argument: whose words are answered.
    pub host: Host,
    /// `--event`.
    pub event: Option<String>,
    /// The standard input, to its end; of a notification of Codex the last argument.
    pub stdin: Vec<u8>,
}

/// What the process prints, and how it exits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostAnswer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code: 0 or 2.
    pub exit: u8,
}

impl HostAnswer {
    pub(super) fn line(text: &str) -> Self {
        Self { stdout: format!("{text}\n"), ..Self::default() }
    }

    pub(super) fn refusal(text: &str) -> Self {
        Self { stderr: format!("{text}\n"), exit: 2, ..Self::default() }
    }
}

/// A call that was read.
#[derive(Debug)]
pub enum Reading {
    /// It is an event.
    Event(Box<HostEvent>),
    /// It is none, and this is the answer.
    Answer(HostAnswer),
}

/// An event of a host before its document is looked into.
#[derive(Debug)]
pub struct HostEvent {
    /// The host that runs.
    pub(super) host: Host,
    /// Through which entry it came: the argument.
    pub(super) entry: Host,
    /// In whose words it is answered.
    pub(super) speaks: Host,
    /// Its name, as the document or the entry has it.
    pub(super) event: String,
    /// Whether the entry states the name, or that it is a project's where each states the name: of two entries of a program,
    /// that of a project may and that of the user not.
    pub(super) is_stated: bool,
    /// What the page of the host that runs says of it; `None` for an event that the page does not have.
    pub(super) row: Option<&'static Row>,
    /// The row whose words are spoken.
    pub(super) words: Option<&'static Row>,
    /// The name of the event in the answer.
    pub(super) answered_as: String,
    pub(super) document: Map,
    /// The fields of the document that are written in another way than here.
    pub(super) spelled: Vec<(String, String)>,
}

impl HostEvent {
    /// The answer while its event cannot be decided, for a reason that people read: its gate is closed with that, and
    /// what is no gate passes.
    #[must_use]
    pub fn undecided(&self, why: &str) -> HostAnswer {
        match self.words {
            // A hold of later gates needs a runtime.
            Some(words) if self.row.is_some_and(is_closed_gate) && !is_closed_gate(words) => {
                HostAnswer::refusal(FOREIGN)
            }
            Some(words) => closed(words, self.speaks, &self.answered_as, why),
            None => quiet(self.speaks),
        }
    }
}

/// Reads a call. One of a host whose feature is off is answered as without a runtime.
#[must_use]
pub fn read(call: HostCall) -> Reading {
    read_if(call, Host::is_supported)
}

fn read_if(call: HostCall, is_supported: impl Fn(Host) -> bool) -> Reading {
    let HostCall { host: entry, event, stdin } = call;
    let (event, is_projects) = match event.as_deref().and_then(|event| event.strip_suffix(OF_PROJECT)) {
        Some(event) => (Some(event.to_owned()), true),
        None => (event, false),
    };
    let Ok(Value::Object(document)) = read_strict(&stdin) else {
        return Reading::Answer(unreadable(entry, event, &stdin));
    };
    let host = running(entry, &document);
    let is_stated = is_projects || event.is_some() && !quirks(entry).entries.names_event;
    let Some(name) = name_of(host, event, &document) else {
        return Reading::Answer(HostAnswer::refusal(UNREADABLE));
    };
    let speaks = host.answered_by(entry);
    let row = row_of(host, &name, &document);
    let words = answering(speaks, &name, row, &document);
    if is_foreign_gate(host, &name, row, words) {
        return Reading::Answer(HostAnswer::refusal(FOREIGN));
    }
    let answered_as = words.map_or(name.as_str(), |words| words.event).to_owned();
    if !is_supported(host) || !is_supported(entry) {
        let answer = words.map(|words| closed(words, speaks, &answered_as, UNSUPPORTED));
        return Reading::Answer(answer.unwrap_or_else(|| quiet(speaks)));
    }
    let hides = row.is_some_and(|row| is_closed_gate(row) && hides_its_input(row, &document));
    let arrival = Box::new(HostEvent {
        host,
        entry,
        speaks,
        event: name,
        is_stated,
        row,
        words,
        answered_as,
        spelled: spellings(&stdin, &document),
        document,
    });
    if hides { Reading::Answer(arrival.undecided(UNREADABLE)) } else { Reading::Event(arrival) }
}

/// The name of an event (HO-3).
fn name_of(host: Host, event: Option<String>, document: &Map) -> Option<String> {
    let in_document =
        ["hook_event_name", "hookEventName"].into_iter().find_map(|field| document.get(field)?.as_str());
    let in_document = in_document.filter(|name| !name.is_empty()).map(str::to_owned);
    let in_document = in_document.or_else(|| (quirks(host).documents.unnamed)(document));
    if quirks(host).documents.is_named_by_argument { event.or(in_document) } else { in_document.or(event) }
}

/// The answer to input that is no document (HO-37), or one with something in it that can be read in two ways or goes too
/// deep: beside that it may still name its event.
fn unreadable(entry: Host, event: Option<String>, stdin: &[u8]) -> HostAnswer {
    let Some(document) = readable_fields(stdin) else {
        return closed_by_name(entry, event.as_deref());
    };
    let host = running(entry, &document);
    let Some(name) = name_of(host, event, &document) else {
        return closed_by_name(entry, None);
    };
    let speaks = host.answered_by(entry);
    let of_host = named(host, &name);
    let row = named(speaks, &name).or_else(|| answering(speaks, &name, of_host, &document));
    match row {
        _ if is_foreign_gate(host, &name, of_host, row) => HostAnswer::refusal(UNREADABLE),
        Some(row) => closed(row, speaks, row.event, UNREADABLE),
        None => quiet(speaks),
    }
}

/// The fields of an object that stand there once and can be read.
fn readable_fields(stdin: &[u8]) -> Option<Map> {
    let fields: RawObject = serde_json::from_slice(stdin).ok()?;
    let mut readable = Map::new();
    let values = fields.by_name();
    for name in fields.names() {
        if let Some([value]) = values.get(name).map(Vec::as_slice)
            && let Ok(value) = read_strict(value.get().as_bytes())
        {
            readable.insert(name.to_owned(), value);
        }
    }
    Some(readable)
}

/// The answer to a call when the runtime cannot be reached (HO-36).
///
/// ```
/// use lineside_dialects::hosts::Host;
/// use lineside_dialects::hosts::serve::{HostCall, unreachable};
///
/// let answer = unreachable(HostCall {
///     host: Host::Claude,
///     event: None,
///     stdin: br#"{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}"#.to_vec(),
/// });
/// assert!(answer.stdout.contains(r#""permissionDecision":"deny""#));
/// ```
#[must_use]
pub fn unreachable(call: HostCall) -> HostAnswer {
    match read(call) {
        Reading::Answer(answer) => answer,
        Reading::Event(arrival) => arrival.undecided(UNREACHABLE),
    }
}

/// The answer that lets the call pass, as while hooks are switched off.
#[must_use]
pub fn silent(call: HostCall) -> HostAnswer {
    let (entry, event) = (call.host, call.event.clone());
    match read(call) {
        Reading::Event(arrival) => match arrival.words {
            Some(words) => passed(words, arrival.speaks, &arrival.answered_as),
            None => quiet(arrival.speaks),
        },
        Reading::Answer(_) => match event.as_deref().and_then(|event| Some((named(entry, event)?, event))) {
            Some((row, event)) => passed(row, entry, event),
            None => quiet(entry),
        },
    }
}

/// The answer to input that is no document (HO-37).
fn closed_by_name(entry: Host, event: Option<&str>) -> HostAnswer {
    let Some(event) = event else { return HostAnswer::refusal(UNREADABLE) };
    match named(entry, event) {
        Some(row) => closed(row, entry, event, UNREADABLE),
        None if is_like_a_gate(event) => HostAnswer::refusal(UNREADABLE),
        None => quiet(entry),
    }
}

/// Whether an event is a gate, by the page of its host or by its name, for which the entry has no word that closes it: its
/// host does not have it, or the entry is that of a program without such a gate. To answer nothing would open it.
fn is_foreign_gate(host: Host, event: &str, row: Option<&Row>, words: Option<&Row>) -> bool {
    match row {
        Some(row) => words.is_none() && is_closed_gate(row),
        None => named(host, event).is_none() && is_like_a_gate(event),
    }
}

/// Whether a name is that of a gate of any host, or begins as those of gates do.
fn is_like_a_gate(event: &str) -> bool {
    let begins =
        |prefix: &str| event.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let mut gates = SERVED.into_iter().flat_map(tables).copied().flatten().filter(|row| is_closed_gate(row));
    ["pre", "before", "permission"].into_iter().any(begins)
        || gates.any(|row| row.event.eq_ignore_ascii_case(event))
}

/// The row of a name. Of several the strictest counts, as nothing tells them apart.
fn named(host: Host, event: &str) -> Option<&'static Row> {
    let strictest = |event: &str| {
        let mut rows = table(host, event, &Map::new()).iter().filter(|row| row.event == event);
        rows.clone().find(|row| is_closed_gate(row)).or_else(|| rows.next())
    };
    strictest(event).or_else(|| strictest(&(quirks(host).documents.own_name)(event)?))
}

/// The host's empty answer.
fn quiet(host: Host) -> HostAnswer {
    match quirks(host).documents.quiet {
        "" => HostAnswer::default(),
        quiet => HostAnswer::line(quiet),
    }
}

/// A gate is closed with a text; any other event gets nothing.
fn closed(row: &'static Row, host: Host, event: &str, text: &str) -> HostAnswer {
    if is_closed_gate(row) {
        answered(row, host, event, Verdict::block(text.to_owned()))
    } else {
        passed(row, host, event)
    }
}

/// Nothing is wished.
fn passed(row: &'static Row, host: Host, event: &str) -> HostAnswer {
    answered(row, host, event, Verdict::Continue)
}

fn answered(row: &'static Row, host: Host, event: &str, verdict: Verdict) -> HostAnswer {
    let outcome = Outcome { verdict, ..Outcome::default() };
    let telling =
        RenderInput { words: &row.words, point: row.point, host, event, stop_active: false, waiting: &[] };
    render(&telling, &outcome).answer
}

/// Whether nothing passes at an event while nothing can be decided (HO-36).
pub(in crate::hosts) fn is_closed_gate(row: &Row) -> bool {
    let is_gate =
        matches!(row.point, "before_prompt" | "before_tool" | "before_permission" | "before_subagent")
            || row.point.strip_prefix("x.").is_some_and(|rest| rest.contains(".before_"));
    is_gate && row.words.can_refuse() && matches!(row.words.block.hold, None | Some(Scope::Turn))
}

/// The program whose event it is: the one of the entry, unless the document is that of Cursor or Copilot (HO-45).
fn running(entry: Host, document: &Map) -> Host {
    SERVED.into_iter().find(|host| (quirks(*host).documents.is_own)(entry, document)).unwrap_or(entry)
}

/// The table of a host for an event of this name.
pub(super) fn table(host: Host, event: &str, document: &Map) -> &'static [Row] {
    let other = (quirks(host).documents.table)(event, document);
    other.unwrap_or_else(|| tables(host).first().copied().unwrap_or_default())
}

fn row_of(host: Host, event: &str, document: &Map) -> Option<&'static Row> {
    let named = |name: &str| {
        table(host, name, document).iter().find(|row| row.event == name && row.when.is_meant(document))
    };
    named(event).or_else(|| named(&(quirks(host).documents.own_name)(event)?))
}

/// The row of a host's table that answers an event: that of its name, else that of its point.
fn answering(entry: Host, event: &str, row: Option<&'static Row>, document: &Map) -> Option<&'static Row> {
    row_of(entry, event, document).or_else(|| {
        let point = row?.point;
        let table = table(entry, event, document);
        table.iter().find(|row| row.point == point && row.when.is_meant(document))
    })
}

#[cfg(test)]
mod tests;
