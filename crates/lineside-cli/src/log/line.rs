//! Logged decisions as lines: a row for each, and below it why it was refused or what was changed.

use std::time::Duration;

use lineside::core::{Payload, Strength};
use lineside::json::{Map, Value};
use lineside::log::Decision;
use lineside::points;

use crate::page::fitting::{column, cut, width, wrapped};
use crate::page::milliseconds;
use crate::page::subject::subject;
use crate::painter::in_passing;
use crate::style::{AGENTS, Style, Tone};

/// The columns of a row; what it is about gets the rest.
const TIME: usize = 8;
const SESSION: usize = 12;
const POINT: usize = 16;
/// The column of the agent program, on pages that have the room.
const PROGRAM: usize = 9;
const WIDE: usize = 110;
const TOOK: usize = 9;
/// What stands there of a question that waits, without its dashes.
const WAITS: usize = " waits ".len();
/// Where the session begins, and under it the label of a detail.
const INDENT: usize = TIME + 3;
/// Where the point begins, and under it the text of a detail.
const TEXT: usize = INDENT + SESSION + 1;
/// A page is never narrower, and rows are not spread over a wider one.
const NARROWEST: usize = 64;
const WIDEST: usize = 160;

/// What is shown with a warning.
const FAILURES: [&str; 10] = [
    "abandoned", "context_dropped", "coverage_mismatch", "detached_failed", "job_dead", "job_refused",
    "job_retried", "lost", "machine_away", "observer_lagged",
];

/// In which order events stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    ByTime,
    /// Those of a tree of sessions together.
    ByTree,
}

/// Whether a row is that of a question which waits.
#[derive(Clone, Copy)]
enum Waits {
    No,
    Yes,
}

/// The page of the log.
pub(crate) struct Lines {
    width: usize,
    order: Order,
    style: Style,
    /// The sessions so far, for their colours.
    sessions: Vec<String>,
    /// What the last heading said.
    heading: String,
}

impl Lines {
    pub(crate) fn new(columns: usize, order: Order, style: Style) -> Self {
        let width = columns.clamp(NARROWEST, WIDEST);
        Self { width, order, style, sessions: Vec::new(), heading: String::new() }
    }

    /// The lines of these decisions, which come after those before.
    pub(crate) fn of(&mut self, decisions: &[Decision]) -> Vec<String> {
        let mut ordered: Vec<&Decision> = decisions.iter().collect();
        if self.order == Order::ByTree {
            let first = |tree: &str| decisions.iter().position(|other| other.tree == tree);
            ordered.sort_by_key(|decision| (first(&decision.tree), decision.row));
        }
        let mut lines = Vec::new();
        for decision in ordered {
            let (heading, row) = self.of_one(decision);
            lines.extend(heading);
            lines.extend(row);
        }
        lines
    }

    /// The heading where the decision begins a day or a tree, and its row with what stands below it.
    pub(crate) fn of_one(&mut self, decision: &Decision) -> (Option<String>, Vec<String>) {
        let heading = self.heading(decision);
        let mut row = vec![self.row(decision, Waits::No)];
        row.extend(self.below(decision));
        (heading, row)
    }

    /// The same of a question that waits for a person, dashed.
    pub(crate) fn of_waiting(&mut self, asked: &Decision) -> (Option<String>, Vec<String>) {
        let (heading, mut row) = self.of_one(asked);
        row[0] = self.row(asked, Waits::Yes);
        (heading, row)
    }

    /// The lines of something that happened beside decisions, as the stream of the daemon has it.
    pub(crate) fn of_news(&mut self, news: &Map) -> Vec<String> {
        let text = |field: &str| news.get(field).and_then(Value::as_str).unwrap_or_default();
        let (kind, time) = (text("kind"), text("time"));
        let mut lines: Vec<String> =
            self.rule(&format!("{} UTC", time.get(..10).unwrap_or_default())).into_iter().collect();
        let about = match news.get("lost") {
            Some(lost) => format!("{lost} records: the daemon was faster"),
            None => [text("hook"), text("detail")]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(": "),
        };
        let (symbol, tone) = if FAILURES.contains(&kind) { ("!", Tone::Warning) } else { ("·", Tone::Dim) };
        let (symbol, tone) = if kind == "approval_asked" { ("?", Tone::Asked) } else { (symbol, tone) };
        let took =
            news.get("took_us").and_then(Value::as_u64).map(|took| milliseconds(Duration::from_micros(took)));
        let program = self.program(None);
        let room = self.width - TEXT - width(&program) - POINT - 1 - TOOK;
        let row = format!(
            "{} {} {} {program}{} {}{}",
            self.style.paint(Tone::Dim, time.get(11..19).unwrap_or_default()),
            self.style.paint(tone, symbol),
            self.session(text("session"), ""),
            self.style.paint(Tone::Dim, &column(&kind.replace('_', " "), POINT)),
            self.style.paint(Tone::Dim, &column(&in_passing(&about), room)),
            self.style.paint(Tone::Dim, &format!("{:>TOOK$}", took.unwrap_or_default())),
        );
        lines.push(row.trim_end().to_owned());
        lines
    }

    /// The day, or the tree, where it is another one than before.
    fn heading(&mut self, decision: &Decision) -> Option<String> {
        let heading = match self.order {
            Order::ByTime => day(decision),
            Order::ByTree => {
                let host = decision.host.as_deref().map(|host| format!(", {host}")).unwrap_or_default();
                in_passing(&format!("{} {}{host}", day(decision), decision.tree))
            }
        };
        self.rule(&heading)
    }

    fn rule(&mut self, heading: &str) -> Option<String> {
        if heading == self.heading {
            return None;
        }
        heading.clone_into(&mut self.heading);
        let rule = "─".repeat(self.width.saturating_sub(heading.chars().count() + 4));
        Some(self.style.paint(Tone::Dim, &cut(&format!("── {heading} {rule}"), self.width)))
    }

    fn row(&mut self, decision: &Decision, waits: Waits) -> String {
        let (symbol, tone) = mark(decision);
        let about = about(decision);
        let branch = self.branch(decision);
        let program = self.program(decision.host.as_deref());
        let room = self.width - TEXT - width(&program) - POINT - 1 - TOOK;
        let took = if decision.runs > 0 { milliseconds(decision.took) } else { String::new() };
        let (about, took, took_tone) = match waits {
            Waits::No => (column(&about, room), format!("{took:>TOOK$}"), Tone::Dim),
            Waits::Yes => {
                let about = cut(&about, room);
                let dashes = "┄".repeat(room + TOOK - width(&about) - WAITS);
                (about, format!(" {dashes} waits"), Tone::Asked)
            }
        };
        let loud = if decision.verdict > Strength::Allow { Tone::Bold } else { Tone::Plain };
        let row = format!(
            "{} {} {} {}{} {}{}",
            self.style.paint(Tone::Dim, &clock(decision)),
            self.style.paint(tone, symbol),
            self.session(&decision.session, &branch),
            self.style.paint(Tone::Dim, &program),
            column(&decision.point, POINT),
            self.style.paint(loud, &about),
            self.style.paint(took_tone, &took),
        );
        row.trim_end().to_owned()
    }

    /// The column of the agent program; of a tree the heading has it.
    fn program(&self, host: Option<&str>) -> String {
        let has_room = self.width >= WIDE && self.order == Order::ByTime;
        if has_room { column(&in_passing(host.unwrap_or_default()), PROGRAM) } else { String::new() }
    }

    fn session(&mut self, session: &str, branch: &str) -> String {
        let number = self.sessions.iter().position(|known| known == session).unwrap_or_else(|| {
            if self.sessions.len() >= AGENTS.len() * 16 {
                self.sessions.clear();
            }
            self.sessions.push(session.to_owned());
            self.sessions.len() - 1
        });
        let name = column(&in_passing(session), SESSION - branch.chars().count());
        self.style.paint(Tone::Dim, branch) + &self.style.paint(Tone::Agent(number), &name)
    }

    /// What stands before the name of a session that another one has started.
    fn branch(&self, decision: &Decision) -> String {
        let depth = usize::try_from(decision.depth).unwrap_or_default();
        match (self.order, depth) {
            (_, 0) => String::new(),
            (Order::ByTime, _) => "└ ".to_owned(),
            (Order::ByTree, depth) => format!("{}└ ", "  ".repeat((depth - 1).min(2))),
        }
    }

    /// Why it was not let through as it was, by whom.
    fn below(&self, decision: &Decision) -> Vec<String> {
        let mut lines = Vec::new();
        let (_, tone) = mark(decision);
        if let Some(reason) = &decision.reason {
            // Whose word it is stands first, where nothing cuts it off.
            let by = decision.by.as_deref().map(|by| in_passing(by) + ": ").unwrap_or_default();
            let text = wrapped(&format!("{by}{reason}"), self.width - TEXT, 2);
            lines.extend(self.detail(tone, word(decision), Tone::Plain, &text));
        }
        let mut more = Vec::new();
        if decision.changes > 0 {
            let fields = if decision.changes == 1 { "a field was" } else { "several fields were" };
            more.push(format!("{fields} changed"));
        }
        if decision.failures > 0 {
            let hooks = if decision.failures == 1 { "a hook" } else { "several hooks" };
            more.push(format!("{hooks} failed"));
        }
        if decision.shadows > 0 {
            let hooks = if decision.shadows == 1 { "a hook" } else { "several hooks" };
            more.push(format!("{hooks} in shadow would have refused or asked"));
        }
        if !more.is_empty() {
            let id = decision.id.to_string();
            // The command stands first, where no line ends within it.
            let text = format!("lineside why {}: {}", id.get(24..).unwrap_or(&id), more.join(", "));
            let text = wrapped(&text, self.width - TEXT, usize::MAX);
            lines.extend(self.detail(Tone::Warning, "also", Tone::Dim, &text));
        }
        lines
    }

    fn detail(&self, tone: Tone, label: &str, text_tone: Tone, text: &[String]) -> Vec<String> {
        let mut lines = text.iter();
        let first = lines.next().map(String::as_str).unwrap_or_default();
        let label = self.style.paint(tone, &column(label, SESSION));
        let mut told = vec![format!("{:INDENT$}{label} {}", "", self.style.paint(text_tone, first))];
        told.extend(lines.map(|line| format!("{:TEXT$}{}", "", self.style.paint(text_tone, line))));
        told
    }
}

/// Whether an event was given up before it was decided, so that its agent program went on without an answer.
fn is_left(decision: &Decision) -> bool {
    decision.verdict == Strength::Continue && decision.reason.is_some()
}

/// The verdict of a decision, in a word.
pub(crate) fn word(decision: &Decision) -> &'static str {
    if is_left(decision) { "undecided" } else { decision.verdict.as_str() }
}

/// The symbol of a decision.
pub(crate) fn mark(decision: &Decision) -> (&'static str, Tone) {
    match decision.verdict {
        _ if is_left(decision) => ("!", Tone::Warning),
        Strength::Continue | Strength::Allow if decision.changes == 0 => ("✓", Tone::Good),
        Strength::Continue | Strength::Allow => ("~", Tone::Warning),
        Strength::Ask => ("?", Tone::Asked),
        Strength::Block | Strength::Stop => ("✗", Tone::Bad),
    }
}

/// What an event is about, in a few words.
pub(crate) fn about(decision: &Decision) -> String {
    payload(decision).map_or_else(
        || decision.tool.as_deref().map(in_passing).unwrap_or_default(),
        |payload| subject(&*payload),
    )
}

/// The payload by its point; `None` where it is none any more, as one that was too long to be kept.
fn payload(decision: &Decision) -> Option<std::sync::Arc<dyn Payload>> {
    let point = points::find(&decision.point).ok()?;
    let fields: Map = lineside::json::from_str(&decision.payload).ok()?;
    (point.decode)(point, fields).ok()
}

fn day(decision: &Decision) -> String {
    format!("{} UTC", format!("{:.0}", decision.time).get(..10).unwrap_or_default())
}

fn clock(decision: &Decision) -> String {
    format!("{:.0}", decision.time).get(11..19).unwrap_or_default().to_owned()
}
