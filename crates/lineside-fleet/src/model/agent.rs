//! One agent: what it does now, and what of that a person should look at.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lineside_core::envelope::Source;
use lineside_core::json::Value;
use lineside_core::{SessionId, Strength, tool_class};

use super::decided::Decided;
use super::times::Times;
use crate::text::head;

/// The longest name that is remembered, in bytes.
pub(super) const NAME: usize = 96;

/// For how long an agent counts as running after its last event, in milliseconds.
const RUNS: i64 = 15_000;
/// For how long a tool may run without an event before the agent counts as stuck.
const STUCK: i64 = 300_000;
/// For how long a failure and a mismatch are shown.
const SHOWN: i64 = 600_000;
/// Over how many seconds the pace is a mean.
const PACE: f64 = 10.0;
/// How many refusals in a row are worth a look.
const REPEATED: u32 = 3;
/// How many of the last calls are compared, and how many of the same make a loop.
const CALLS: usize = 12;
const LOOP: usize = 6;
/// How much of the argument of a call is compared, in bytes.
const ARGUMENT: usize = 512;

/// How an agent stands; the first ones want a person more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// A question about it waits for a person.
    Waiting,
    /// A tool runs for minutes, and nothing is heard of it.
    Stuck,
    /// Its last event was refused.
    Blocked,
    /// Something was heard of it within seconds, or a tool runs.
    Running,
    /// Nothing is heard of it.
    #[default]
    Idle,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Stuck, Self::Blocked, Self::Running, Self::Idle];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Stuck => "stuck",
            Self::Blocked => "blocked",
            Self::Running => "running",
            Self::Idle => "idle",
        }
    }
}

/// What of an agent a person should look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It was refused several times in a row.
    Refused = 1,
    /// It does the same again and again.
    Loop = 2,
    /// A hook has not answered in time.
    Timeout = 4,
    /// Hooks of its project do not run, because that is not trusted.
    Untrusted = 8,
    /// It believes in other hooks than it is under.
    Mismatch = 16,
}

impl Sign {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Mismatch, Self::Loop, Self::Refused, Self::Timeout, Self::Untrusted];

    /// What it says.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused repeatedly",
            Self::Loop => "the same call again and again",
            Self::Timeout => "a hook did not answer in time",
            Self::Untrusted => "its project is not trusted",
            Self::Mismatch => "it believes in other hooks than it is under",
        }
    }
}

/// One agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Agent {
    /// Its session, the one above, and the one at the root.
    pub session: SessionId,
    /// See [`session`](Self::session).
    pub parent: Option<SessionId>,
    /// See [`session`](Self::session).
    pub root: SessionId,
    /// How far below the root it is.
    pub depth: u32,
    /// Its name.
    pub label: String,
    /// Its program.
    pub host: String,
    /// The folder of its project.
    pub project: String,
    /// The machine that it is on, where that is another one of the daemon's cluster.
    pub machine: String,
    /// How its place in the tree was found.
    pub attributed: Option<&'static str>,
    /// Its process.
    pub process: Option<u32>,
    /// How it stands, as of the last settling.
    pub state: State,
    /// When something was heard of it last, in milliseconds since 1970.
    pub last: i64,
    /// How many events there were, by their verdict, in the order of [`Strength::ALL`].
    pub verdicts: [u64; Strength::ALL.len()],
    /// How many hooks have failed.
    pub failures: u64,
    /// How long the hooks of an event took, of those where one ran.
    pub times: Times,
    /// What the last decision was.
    pub verdict: Strength,
    /// What that was about.
    doing: String,
    /// What waits for a person longest, where a question does.
    pub(super) waits: Option<String>,
    signs: u8,
    /// Events a second, as of the last one.
    pace: f64,
    in_row: u32,
    tools: u32,
    calls: [u64; CALLS],
    timed_out: i64,
    mismatched: i64,
    is_untrusted: bool,
    has_stopped: bool,
    shown: (State, u8),
}

/// The name of an agent, as a person knows it.
pub(super) fn label(source: &Source) -> String {
    head(source.agent.role.as_deref().unwrap_or(&source.agent.id), NAME)
}

/// The folder of its project.
pub(super) fn project(source: &Source) -> String {
    let root = source.project_root.as_deref().unwrap_or_default();
    head(root.rsplit('/').next().unwrap_or_default(), NAME)
}

impl Agent {
    pub(super) fn of(source: &Source, now: i64) -> Self {
        let text = |text: &Option<std::sync::Arc<str>>| head(text.as_deref().unwrap_or_default(), NAME);
        Self {
            session: source.session.clone(),
            parent: source.parent_session.clone(),
            root: source.root_session.clone(),
            depth: source.depth,
            label: label(source),
            host: text(&source.host),
            project: project(source),
            machine: head(source.machine().unwrap_or_default(), NAME),
            attributed: source.attribution.map(|attribution| attribution.by.as_str()),
            process: source.attribution.and_then(|attribution| attribution.process),
            state: State::Idle,
            last: now,
            verdicts: [0; Strength::ALL.len()],
            failures: 0,
            times: Times::default(),
            verdict: Strength::Continue,
            doing: String::new(),
            waits: None,
            signs: 0,
            pace: 0.0,
            in_row: 0,
            tools: 0,
            calls: [0; CALLS],
            timed_out: 0,
            mismatched: 0,
            is_untrusted: false,
            has_stopped: false,
            shown: (State::Idle, 0),
        }
    }

    pub(super) fn mismatches(&mut self, now: i64) {
        self.mismatched = now;
    }

    pub(super) fn decided(&mut self, decided: &Decided<'_>, now: i64) {
        let Decided { point, verdict, .. } = *decided;
        self.pace = self.pace(now) + 1.0 / PACE;
        self.last = now;
        self.verdict = verdict;
        if let Some(count) = self.verdicts.get_mut(verdict as usize) {
            *count += 1;
        }
        self.failures += u64::from(decided.failures);
        if let Some(took) = decided.took {
            self.times.add(took);
        }
        self.has_stopped =
            matches!(point, "before_stop" | "after_stop" | "after_session") && !verdict.is_final();
        let tool = decided.tool;
        let is_refused = verdict.is_final();
        match point {
            "before_tool" => {
                self.in_row = if is_refused { self.in_row + 1 } else { 0 };
                self.tools += u32::from(!is_refused);
                self.calls.rotate_left(1);
                if let Some(last) = self.calls.last_mut() {
                    *last = call(tool.unwrap_or_default(), decided.input);
                }
            }
            "after_tool" | "after_tool_error" => self.tools = self.tools.saturating_sub(1),
            "before_prompt" => (self.tools, self.in_row, self.calls) = (0, 0, [0; CALLS]),
            "before_model" | "after_tool_batch" | "before_stop" => self.tools = 0,
            _ => {}
        }
        if decided.has_timed_out {
            self.timed_out = now;
        }
        self.is_untrusted |= decided.is_untrusted;
        self.doing = phrase([point, tool.unwrap_or_default(), ""]);
    }

    /// A question about this point, tool and argument waits for a person.
    pub(super) fn waits(&mut self, words: [&str; 3]) {
        self.waits.get_or_insert_with(|| phrase(words));
    }

    /// What waits for a person, else what the last decision was about.
    #[must_use]
    pub fn doing(&self) -> &str {
        self.waits.as_ref().unwrap_or(&self.doing)
    }

    /// Finds out how it stands, and says whether that is shown otherwise than before.
    pub(super) fn settle(&mut self, now: i64) -> bool {
        let quiet = now - self.last;
        self.state = if self.waits.is_some() || (self.verdict == Strength::Ask && quiet < SHOWN) {
            State::Waiting
        } else if self.verdict.is_final() && self.events() > 0 && quiet < SHOWN {
            State::Blocked
        } else if self.tools > 0 && quiet >= STUCK {
            State::Stuck
        } else if !self.has_stopped && self.events() > 0 && (self.tools > 0 || quiet < RUNS) {
            State::Running
        } else {
            State::Idle
        };
        let within = |then: i64| then > 0 && now - then < SHOWN;
        let last = self.calls.last().copied().unwrap_or_default();
        let same = self.calls.iter().filter(|call| **call == last).count();
        let sign = |sign: Sign, has: bool| if has { sign as u8 } else { 0 };
        self.signs = sign(Sign::Refused, self.in_row >= REPEATED)
            | sign(Sign::Loop, last != 0 && same >= LOOP)
            | sign(Sign::Timeout, within(self.timed_out))
            | sign(Sign::Untrusted, self.is_untrusted)
            | sign(Sign::Mismatch, within(self.mismatched));
        let before = std::mem::replace(&mut self.shown, (self.state, self.signs));
        before != self.shown
    }

    /// How many events there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.verdicts.iter().sum()
    }

    /// How many of them were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        Strength::ALL
            .iter()
            .zip(self.verdicts)
            .filter(|(verdict, _)| verdict.is_final())
            .map(|(_, n)| n)
            .sum()
    }

    /// How many events a second there are, over the last seconds.
    #[must_use]
    pub fn pace(&self, now: i64) -> f64 {
        let seconds = (now - self.last).max(0) as f64 / 1_000.0;
        self.pace * (-seconds / PACE).exp()
    }

    /// What a person should look at, as bits of [`Sign`].
    #[must_use]
    pub fn signs(&self) -> u8 {
        self.signs
    }

    /// Whether it has a sign.
    #[must_use]
    pub fn has(&self, sign: Sign) -> bool {
        self.signs & sign as u8 != 0
    }

    /// Whether a person should look at it.
    #[must_use]
    pub fn wants_a_look(&self) -> bool {
        self.signs != 0 || matches!(self.state, State::Waiting | State::Stuck)
    }
}

/// Words of outside in a line; those that are empty are left out.
fn phrase(words: [&str; 3]) -> String {
    let shown: Vec<String> =
        words.iter().filter(|word| !word.is_empty()).map(|word| head(word, NAME)).collect();
    shown.join(" ")
}

/// A call, to be compared with others: never 0.
fn call(tool: &str, input: Option<&Value>) -> u64 {
    let argument = input.and_then(tool_class::about).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    tool.hash(&mut hasher);
    argument.len().hash(&mut hasher);
    argument.as_bytes().get(..ARGUMENT.min(argument.len())).hash(&mut hasher);
    // A call without an argument that is known here is like no other one.
    if argument.is_empty() { 0 } else { hasher.finish() | 1 }
}
