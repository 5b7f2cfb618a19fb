//! The table of sessions: which columns a screen has room for, what stands in each, and in which order rows come.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use lineside::core::{SessionId, Strength};
use lineside::fleet::{Agent, Model, State};

use crate::page::fitting::{column, cut, width};
use crate::page::milliseconds;
use crate::style::{Style, Tone};
use crate::top::view::Row;

/// How a state looks: a sign, so that it is known without its colour.
pub(super) fn sign(state: State) -> (&'static str, Tone) {
    match state {
        State::Waiting => ("?", Tone::Asked),
        State::Stuck => ("!", Tone::Warning),
        State::Blocked => ("✗", Tone::Bad),
        State::Running => ("●", Tone::Good),
        State::Idle => ("·", Tone::Dim),
    }
}

/// What stands in a cell.
#[derive(Clone, Copy)]
enum Cell<'a> {
    State(State),
    Word(&'a str),
    Count(u64, Tone),
    Pace(f64),
    Time(Option<Duration>),
    Since(i64),
}

impl Cell<'_> {
    fn text(self, now: i64) -> (String, Tone) {
        let nothing = || ("–".to_owned(), Tone::Dim);
        match self {
            Self::State(state) => (state.as_str().to_owned(), sign(state).1),
            Self::Word(word) => (word.to_owned(), Tone::Plain),
            Self::Count(0, _) | Self::Time(None) => nothing(),
            Self::Count(count, tone) => (short(count), tone),
            Self::Pace(pace) if pace < 0.05 => nothing(),
            Self::Pace(pace) if pace < 10.0 => (format!("{pace:.1}"), Tone::Plain),
            Self::Pace(pace) => (format!("{pace:.0}"), Tone::Plain),
            Self::Time(Some(time)) => (milliseconds(time), Tone::Plain),
            Self::Since(then) => {
                let seconds = (now - then).max(0) / 1_000;
                let ago = match seconds {
                    0..60 => format!("{seconds} s"),
                    60..3_600 => format!("{} min", seconds / 60),
                    3_600..86_400 => format!("{} h", seconds / 3_600),
                    _ => format!("{} d", seconds / 86_400),
                };
                (ago, Tone::Dim)
            }
        }
    }

    /// Words by the alphabet, states by how much they want a person, numbers by their size, the greatest first.
    fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::State(one), Self::State(other)) => one.cmp(&other),
            (Self::Word(one), Self::Word(other)) => one.cmp(other),
            (Self::Count(one, _), Self::Count(other, _)) => other.cmp(&one),
            (Self::Pace(one), Self::Pace(other)) => other.total_cmp(&one),
            (Self::Time(one), Self::Time(other)) => other.cmp(&one),
            (Self::Since(one), Self::Since(other)) => other.cmp(&one),
            _ => Ordering::Equal,
        }
    }
}

/// A column of the table: its heading and width, the narrowest screen that has it, and what stands in it.
struct Column(&'static str, usize, usize, fn(&Agent, i64) -> Cell<'_>);

/// The columns behind the name of the agent. Words stand on the left of theirs, numbers on the right.
const COLUMNS: [Column; 13] = [
    Column("state", 7, 110, |agent, _| Cell::State(agent.state)),
    Column("program", 8, 70, |agent, _| Cell::Word(&agent.host)),
    Column("project", 10, 80, |agent, _| Cell::Word(&agent.project)),
    Column("machine", 10, 0, |agent, _| Cell::Word(&agent.machine)),
    Column("ev/s", 5, 0, |agent, now| Cell::Pace(agent.pace(now))),
    Column("events", 6, 0, |agent, _| Cell::Count(agent.events(), Tone::Plain)),
    Column("allow", 6, 132, |agent, _| Cell::Count(said(agent, Strength::Allow), Tone::Good)),
    Column("ask", 4, 100, |agent, _| Cell::Count(said(agent, Strength::Ask), Tone::Asked)),
    Column("refused", 7, 0, |agent, _| Cell::Count(agent.refused(), Tone::Bad)),
    Column("failed", 6, 92, |agent, _| Cell::Count(agent.failures, Tone::Warning)),
    Column("p50", 8, 118, |agent, _| Cell::Time(agent.times.quantile(0.5))),
    Column("p99", 8, 60, |agent, _| Cell::Time(agent.times.quantile(0.99))),
    Column("last", 6, 0, |agent, _| Cell::Since(agent.last)),
];
/// How many of them are words, the last of them the machine: it is there where the daemon has joined a cluster.
const WORDS: usize = 4;
const MACHINE: usize = WORDS - 1;

/// What a table has room for.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    /// The width of the screen.
    pub(super) columns: usize,
    /// What this machine is called in its cluster.
    pub(super) machine: Option<&'a str>,
}

impl Room<'_> {
    fn has(self, at: usize) -> bool {
        // With the machine the other columns need a screen that is so much wider.
        let taken = if self.machine.is_some() { COLUMNS[MACHINE].1 + 1 } else { 0 };
        if at == MACHINE { taken > 0 } else { COLUMNS[at].2 + taken <= self.columns }
    }
}

/// The narrowest screen that also has what an agent does, and how wide that is at most.
const DOING: (usize, usize) = (140, 40);
/// What stands before the name: the mark of the chosen row, the sign of the state, that of what wants a look.
const BEFORE: usize = 5;

fn said(agent: &Agent, verdict: Strength) -> u64 {
    agent.verdicts.get(verdict as usize).copied().unwrap_or_default()
}

/// A number in at most six columns.
pub(super) fn short(number: u64) -> String {
    match number {
        0..100_000 => number.to_string(),
        100_000..10_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// In which order sessions stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sort {
    /// The column; without one the tree.
    by: Option<usize>,
    is_reversed: bool,
}

impl Sort {
    /// By the next column that there is room for, and at last as the tree again.
    pub(super) fn next(self, room: Room<'_>) -> Self {
        let after = self.by.map_or(0, |by| by + 1);
        let next = (after..COLUMNS.len()).find(|at| *at == 0 || room.has(*at));
        Self { by: next, is_reversed: false }
    }

    pub(super) fn reversed(self) -> Self {
        Self { is_reversed: !self.is_reversed, ..self }
    }

    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        self.by.map_or("tree", |by| COLUMNS[by].0)
    }
}

/// The rows of the sessions in their order, without their lines.
pub(super) fn rows(fleet: &Model, only: Option<&HashSet<String>>, sort: Sort, now: i64) -> Vec<Row> {
    let of = |depth, agent: &Agent| Row { about: agent.session.to_string(), depth, ..Row::default() };
    let is_shown = |agent: &&Agent| only.is_none_or(|only| only.contains(agent.session.as_str()));
    let mut agents: Vec<&Agent> = fleet.agents().filter(is_shown).collect();
    if let Some(by) = sort.by {
        let cell = COLUMNS[by].3;
        agents.sort_by(|one, other| cell(one, now).order(cell(other, now)));
        if sort.is_reversed {
            agents.reverse();
        }
        return agents.into_iter().map(|agent| of(0, agent)).collect();
    }
    let known: HashSet<&str> = agents.iter().map(|agent| agent.session.as_str()).collect();
    let mut below: HashMap<&str, Vec<&Agent>> = HashMap::new();
    let mut waiting: Vec<(usize, &Agent)> = Vec::new();
    for agent in &agents {
        match agent.parent.as_ref().map(SessionId::as_str).filter(|parent| known.contains(parent)) {
            Some(parent) => below.entry(parent).or_default().push(agent),
            None => waiting.push((0, agent)),
        }
    }
    if !sort.is_reversed {
        waiting.reverse();
    }
    let mut rows = Vec::with_capacity(agents.len());
    while let Some((depth, agent)) = waiting.pop() {
        rows.push(of(depth, agent));
        let children = below.remove(agent.session.as_str()).unwrap_or_default();
        waiting.extend(children.into_iter().rev().map(|child| (depth + 1, child)));
    }
    rows
}

/// The columns that there is room for, with their places, and how wide the name is and what an agent does.
fn columns(room: Room<'_>) -> (impl Iterator<Item = (usize, &'static Column)> + Clone, usize, usize) {
    let screen = room.columns;
    let shown = COLUMNS.iter().enumerate().filter(move |(at, _)| room.has(*at));
    let taken: usize = shown.clone().map(|(_, column)| column.1 + 1).sum();
    let doing = if screen >= DOING.0 { DOING.1.min(screen.saturating_sub(taken + BEFORE + 34)) } else { 0 };
    let name = screen.saturating_sub(taken + BEFORE + if doing > 0 { doing + 2 } else { 0 });
    (shown, name.clamp(8, 60), doing)
}

/// The heading of the table.
pub(super) fn heading(room: Room<'_>, sort: Sort, style: Style) -> String {
    let (shown, name, doing) = columns(room);
    let mut line = format!("{:BEFORE$}{}", "", column("session", name));
    for (at, of) in shown {
        let mark = match (sort.by == Some(at), sort.is_reversed) {
            (false, _) => "",
            (true, false) => "↓",
            (true, true) => "↑",
        };
        line.push(' ');
        line.push_str(&placed(&format!("{}{mark}", of.0), at));
    }
    if doing > 0 {
        line.push_str("  doing");
    }
    style.paint(Tone::Dim, line.trim_end())
}

fn placed(text: &str, at: usize) -> String {
    let room = COLUMNS[at].1;
    let text = cut(text, room);
    if at < WORDS { column(&text, room) } else { " ".repeat(room.saturating_sub(width(&text))) + &text }
}

/// The line of an agent, behind the mark of the chosen one.
pub(super) fn line(agent: &Agent, depth: usize, table: Room<'_>, now: i64, style: Style) -> String {
    let (shown, name, doing) = columns(table);
    let (mark, tone) = sign(agent.state);
    let look = if agent.signs() != 0 { style.paint(Tone::Warning, "!") } else { " ".to_owned() };
    let mut line = format!("{}{look} ", style.paint(tone, mark));
    let branch = if depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat((depth - 1).min(6))) };
    let session = agent.session.as_str();
    let room = name.saturating_sub(width(&branch));
    let below = agent.parent.as_ref().and_then(|parent| session.strip_prefix(parent.as_str()));
    let id = below.and_then(|rest| rest.strip_prefix('/')).filter(|rest| !rest.is_empty()).unwrap_or(session);
    // A session that is named by its agent needs no second name, and one at the root is mostly that of the main agent.
    let is_said = agent.label == "main" || session.starts_with(&agent.label);
    let label = if is_said { "" } else { &*agent.label };
    let label = cut(label, room);
    let left = room.saturating_sub(width(&label));
    // A label that leaves no room for a second name has it all.
    let is_alone = !label.is_empty() && left < 3;
    let gap = if is_alone { left } else { usize::from(!label.is_empty()) };
    let id = if is_alone { String::new() } else { column(&crate::painter::in_passing(id), left - gap) };
    let id_tone = if gap > 0 { Tone::Dim } else { Tone::Plain };
    line.push_str(&style.paint(Tone::Dim, &branch));
    line.push_str(&label);
    line.push_str(&" ".repeat(gap));
    line.push_str(&style.paint(id_tone, &id));
    for (at, of) in shown {
        let cell = match (of.3)(agent, now) {
            Cell::Word("") if at == MACHINE => Cell::Word(table.machine.unwrap_or_default()),
            cell => cell,
        };
        let (text, tone) = cell.text(now);
        line.push(' ');
        line.push_str(&style.paint(tone, &placed(&text, at)));
    }
    if doing > 0 {
        line.push_str("  ");
        line.push_str(&style.paint(Tone::Dim, &cut(agent.doing(), doing)));
    }
    line
}
