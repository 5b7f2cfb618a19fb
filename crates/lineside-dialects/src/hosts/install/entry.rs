//! Our entries: at which events a host gets one, and what it is (HO-38, HO-58, HO-63, QW-9).

use std::ops::RangeInclusive;
use std::time::Duration;

use super::super::program::Host;
use super::super::quirks::{Closing, FileKind, OF_PROJECT};
use super::super::serve::is_closed_gate;
use super::super::table::{Row, Standing};
use super::super::{quirks, tables};
use super::piece::{Content, Piece};
use crate::hosts::import::{are_ours, is_ours, shell_words};
use crate::native::{ApprovalSettings, WhoseAsks};

/// How long an entry lets its command run unless questions wait, in seconds.
const USUAL: u32 = 60;
/// How much longer than a question waits an entry allows, in seconds: the command and the daemon end before it does.
const FOR_THE_WAY: u32 = 5;

/// The program that an entry starts, its name or its absolute path where the name would not find it; and where the daemon
/// is that it asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    program: String,
    /// The arguments that name places.
    places: Vec<String>,
    /// For an entry that takes no arguments.
    pub(super) socket: String,
    /// The same.
    pub(super) state: String,
    /// What starts the daemon, for an entry that is no call of the program.
    pub(super) start: Vec<String>,
    /// For how long questions wait in the daemon, and whose.
    waits: Option<(Duration, WhoseAsks)>,
}

impl Program {
    /// A program by its name or its absolute path. The last part of it must be `lineside`, as an entry is known by it.
    /// The daemon that it asks is that of the account.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Option<Self> {
        let program = program.into();
        is_ours(&program, "hook").then_some(Self { program, ..Self::default() })
    }

    /// The same with a daemon: the arguments that name its places, where they are not those of the account, and its socket
    /// and state folder, for a plugin.
    #[must_use]
    pub fn of_daemon(self, places: Vec<String>, socket: String, state: String) -> Self {
        Self { places, socket, state, ..self }
    }

    /// The same with the absolute path of the program, by which a plugin has it start the daemon.
    #[must_use]
    pub fn at(self, path: String) -> Self {
        let command = [path, "hook".to_owned(), "--start".to_owned()];
        Self { start: command.into_iter().chain(self.places.iter().cloned()).collect(), ..self }
    }

    /// The same for a daemon in which questions wait: an entry at which one may wait lets its command run for as long, as
    /// far as its host does.
    #[must_use]
    pub fn waiting(self, settings: &ApprovalSettings) -> Self {
        Self { waits: Some((settings.wait, settings.of.clone())), ..self }
    }

    /// How long an entry lets its command run, in seconds.
    fn time(&self, host: Host, rows: &[&Row]) -> u32 {
        self.waiting_time(host, rows).unwrap_or(USUAL)
    }

    /// The same where a question may wait.
    fn waiting_time(&self, host: Host, rows: &[&Row]) -> Option<u32> {
        let (wait, of) = self.waits.as_ref()?;
        let may_wait = |row: &&Row| row.words.hears_asks() && (of.all_of(host) || !row.words.can_ask());
        rows.iter().any(may_wait).then(|| {
            let wait = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
            wait.saturating_add(FOR_THE_WAY).clamp(USUAL, host.longest())
        })
    }

    /// The program, as it is started.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.program
    }

    /// The arguments of an entry of a host.
    fn arguments(&self, host: Host) -> Vec<String> {
        let own = ["hook", host.name()].map(str::to_owned);
        own.into_iter().chain(self.places.iter().cloned()).collect()
    }
}

/// For how long the entry of an event has to let its command run, for questions to wait as these settings say; as far as
/// its host can wait; `None` where none does.
#[must_use]
pub fn needed(host: Host, event: &str, settings: &ApprovalSettings) -> Option<Duration> {
    let of_event: Vec<&Row> = rows(host).filter(|row| row.event == event).collect();
    let time = Program::default().waiting(settings).waiting_time(host, &of_event)?;
    Some(Duration::from_secs(time.into()))
}

/// The limit of a handler, in the unit of its host.
pub(super) fn limit(handler: &Piece) -> Option<u64> {
    let limit = ["timeout", "timeoutSec"].into_iter().find_map(|name| handler.member(name))?;
    match &limit.value.content {
        Content::Other(number) => number.parse().ok(),
        _ => None,
    }
}

/// For how long an entry lets its command run: as long as that has itself, and its host waits for it.
pub(super) fn allowed(host: Host, words: &[String], limit: Option<u64>) -> Duration {
    let own = words.windows(2).find(|pair| pair[0] == "--within").and_then(|pair| pair[1].parse().ok());
    let own = Duration::from_secs(own.unwrap_or(USUAL.into()));
    let limit = limit.map(|limit| match quirks(host).entries.in_milliseconds {
        true => Duration::from_millis(limit),
        false => Duration::from_secs(limit),
    });
    limit.map_or(own, |limit| limit.min(own))
}

/// A word of a shell line.
fn word(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+@%".contains(char);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) event: &'static str,
    /// The handler, on one line of JSON, or of TOML.
    pub(super) handler: String,
    /// The element of the list, on one line: the handler itself, or a group that has it.
    pub(super) element: String,
    /// The fields of the same in TOML: its event, its command and its limit.
    pub(super) fields: [String; 3],
    /// The command, as `words` has it.
    command: Vec<String>,
    /// The limits that do, in the unit of the host: a user may have given it more, but where the host cuts it.
    limits: RangeInclusive<u64>,
}

impl Closing {
    fn line(self) -> &'static str {
        if let Self::Line(end) = self { end } else { "" }
    }

    /// As the last member of a handler.
    fn member(self) -> String {
        if let Self::Member(name, value) = self { format!(r#","{name}":{value}"#) } else { String::new() }
    }

    /// Whether a handler has it.
    fn is_in(self, handler: &Piece) -> bool {
        match self {
            Self::Itself => true,
            Self::Line(end) => handler.text("command").is_some_and(|line| line.ends_with(end)),
            Self::Member(name, value) => match handler.member(name).map(|member| &member.value.content) {
                Some(Content::Text(text)) => value.trim_matches('"') == text,
                Some(Content::Other(other)) => value == other,
                _ => false,
            },
        }
    }
}

/// Whether a handler of ours lets what it should decide about pass when its program cannot run.
pub(super) fn fails_open(host: Host, event: &str, handler: &Piece) -> bool {
    rows(host).any(|row| row.event == event && is_closed_gate(row))
        && !quirks(host).entries.closing.is_in(handler)
}

/// An event that a host does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} has no event `{event}`; the nearest is `{nearest}`")]
pub struct UnknownEvent {
    host: Host,
    event: String,
    nearest: &'static str,
}

/// All rows of a host. Those of Kimi's two programs are of the same events.
pub(super) fn rows(host: Host) -> impl Iterator<Item = &'static Row> {
    tables(host).iter().copied().flatten()
}

/// The entries of a file: those that the page of the host names, and those that were asked for by name.
///
/// # Errors
/// The host has no event of that name.
pub(super) fn wanted(
    host: Host,
    kind: FileKind,
    program: &Program,
    more: &[String],
) -> Result<Vec<Wanted>, UnknownEvent> {
    for event in more {
        if !rows(host).any(|row| row.event == event) {
            let names = rows(host).map(|row| row.event);
            let nearest = lineside_core::nearest::nearest(event, names).unwrap_or_default();
            return Err(UnknownEvent { host, event: event.clone(), nearest });
        }
    }
    let is_of_file = |row: &&Row| kind != FileKind::Usual || (quirks(host).entries.of_usual)(row.event);
    let mut found: Vec<Wanted> = Vec::new();
    for (first, row) in
        tables(host).iter().enumerate().flat_map(|(at, table)| table.iter().map(move |row| (at == 0, row)))
    {
        let is_usual = first && row.standing == Standing::Usual && is_of_file(&row);
        let is_known = found.iter().any(|known| known.event == row.event);
        if !is_known && (is_usual || more.iter().any(|event| event == row.event)) {
            let of_event: Vec<&Row> = rows(host).filter(|other| other.event == row.event).collect();
            found.push(entry(host, kind, row.event, &of_event, program));
        }
    }
    Ok(found)
}

/// The events of a file that get an entry unasked.
pub(super) fn usual(host: Host, kind: FileKind) -> Vec<&'static str> {
    let entries = wanted(host, kind, &Program::default(), &[]).unwrap_or_default();
    entries.into_iter().map(|entry| entry.event).collect()
}

fn entry(host: Host, kind: FileKind, event: &'static str, rows: &[&Row], program: &Program) -> Wanted {
    let is_gate = rows.iter().any(|row| is_closed_gate(row));
    let is_stop = rows.iter().any(|row| row.point == "before_stop");
    let quirks = &quirks(host).entries;
    let closing = if is_gate { quirks.closing } else { Closing::Itself };
    let quoted = |text: &str| lineside_core::json::Value::from(text).to_string();
    let time = program.time(host, rows);
    let mut arguments = program.arguments(host);
    if time != USUAL {
        // The command ends before its host does.
        arguments.extend(["--within".to_owned(), time.to_string()]);
    }
    if quirks.names_event || kind == FileKind::Shared {
        let whose = if kind == FileKind::Beside { OF_PROJECT } else { "" };
        arguments.extend(["--event".to_owned(), format!("{event}{whose}")]);
    }
    let mut command = vec![program.program.clone()];
    command.extend(arguments.iter().cloned());
    let line = command.iter().map(|part| word(part)).collect::<Vec<_>>().join(" ") + closing.line();
    command.extend(shell_words(closing.line()));
    let starts = match quirks.has_arguments && kind != FileKind::Shared {
        true => {
            let arguments = arguments.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(",");
            format!(r#"{},"args":[{arguments}]"#, quoted(&program.program))
        }
        false => quoted(&line),
    };
    let cut = quirks.cut.filter(|(points, _)| rows.iter().any(|row| points.contains(&row.point)));
    let time = cut.map_or(time, |(_, most)| most);
    let unit = if quirks.in_milliseconds { 1000 } else { 1 };
    let limit = u64::from(time) * unit;
    let fields = fields(event, &quoted(&line), time);
    let handler = if quirks.is_one_list {
        format!("{{{}}}", fields.join(", "))
    } else {
        let (start, name) = (quirks.start, quirks.limit);
        let loops = match is_stop && quirks.has_loop_limit {
            true => format!(r#","loop_limit":{}"#, host.cap()),
            false => String::new(),
        };
        format!(r#"{{{start}"command":{starts},"{name}":{limit}{}{loops}}}"#, closing.member())
    };
    let element = if quirks.is_grouped { format!(r#"{{"hooks":[{handler}]}}"#) } else { handler.clone() };
    let limits = limit..=if cut.is_some() { limit } else { u64::MAX };
    Wanted { event, handler, element, fields, command, limits }
}

/// The fields of an entry in TOML, in which a text is quoted as in JSON.
fn fields(event: &str, command: &str, time: u32) -> [String; 3] {
    [format!("event = \"{event}\""), format!("command = {command}"), format!("timeout = {time}")]
}

impl Wanted {
    /// Whether a handler starts the same command, and lets it run for as long.
    pub(super) fn is_said_by(&self, handler: &Piece) -> bool {
        words(handler) == self.command && limit(handler).is_some_and(|limit| self.limits.contains(&limit))
    }

    /// The same as a table of TOML, without the end of its last line.
    pub(super) fn table(&self) -> String {
        format!("[[hooks]]\n{}", self.fields.join("\n"))
    }
}

/// The command of a handler, word by word; none of what starts no command.
pub(super) fn words(handler: &Piece) -> Vec<String> {
    let Some(command) = handler.text("command") else { return Vec::new() };
    match handler.member("args").map(|args| &args.value.content) {
        Some(Content::List(args)) => {
            let args = args.iter().filter_map(|arg| match &arg.content {
                Content::Text(text) => Some(text.clone()),
                _ => None,
            });
            std::iter::once(command.to_owned()).chain(args).collect()
        }
        _ => shell_words(command),
    }
}

/// Whether a handler of ours has arguments beside its program, which are lost where another program runs it too.
pub(super) fn has_arguments(handler: &Piece) -> bool {
    is_our_handler(handler) && handler.member("args").is_some()
}

/// Whether a handler is ours (HO-38).
pub(super) fn is_our_handler(handler: &Piece) -> bool {
    are_ours(&words(handler))
}
