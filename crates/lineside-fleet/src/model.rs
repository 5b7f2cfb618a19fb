//! What all agents do now: fed with signals or with lines of a stream, bounded in number and in texts, asked for what has
//! changed since.
//!
//! What a signal costs does not grow with the number of agents. Which agents are shown, and where signals come from, is
//! left to others.

use std::collections::{HashMap, VecDeque};

use lineside_bus::Signal;
use lineside_core::envelope::Source;
use lineside_core::json::{Map, Value};
use lineside_core::{EventId, Receipt, SessionId, Strength, Timestamp};

mod decided;
mod times;
mod agent;
mod frame;

use decided::{Decided, source};

pub use agent::{Agent, Sign, State};
pub use times::Times;

use crate::text::head;

/// How many agents are known at once; further ones are counted. One takes about a kilobyte.
const AGENTS: usize = 10_000;

/// How many decisions that a person may want to see are remembered.
const NOTABLE: usize = 200;

/// For how many seconds the rates are remembered.
pub(crate) const SECONDS: usize = 60;

/// The longest reason that is remembered, in bytes.
const REASON: usize = 240;

/// A decision that a person may want to see: a refusal, a question, a hook that has failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Notable {
    /// When it was published, in milliseconds since 1970.
    pub time: i64,
    /// The event.
    pub event: EventId,
    /// The session.
    pub session: SessionId,
    /// The agent, and the folder of its project.
    pub agent: String,
    /// See [`agent`](Self::agent).
    pub project: String,
    /// Its program.
    pub host: String,
    /// The point.
    pub point: String,
    /// The tool, where there is one.
    pub tool: Option<String>,
    /// The verdict.
    pub verdict: Strength,
    /// The hook whose verdict stands, or which has failed.
    pub by: Option<String>,
    /// The reason, or the failure; without secrets.
    pub reason: String,
    /// Whether a hook has failed.
    pub has_failed: bool,
}

/// What there is of everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Agents by their state, in the order of [`State::ALL`].
    pub states: [u32; State::ALL.len()],
    /// Events that were decided since the model was begun, and how many of them were refused.
    pub events: u64,
    /// See [`events`](Self::events).
    pub refused: u64,
    /// Signals that were lost before they came to the model.
    pub lost: u64,
    /// Agents for which there was no room.
    pub unshown: u64,
}

/// The place of an agent in the grid. It stays, and has another agent when that one has gone.
#[derive(Debug, Default)]
struct Slot {
    /// When the agent came, and when something of it changed last.
    born: u64,
    changed: u64,
    agent: Option<Agent>,
}

/// What all agents do now.
#[derive(Debug, Default)]
pub struct Model {
    slots: Vec<Slot>,
    free: Vec<u32>,
    places: HashMap<SessionId, u32>,
    /// Grows with each change.
    version: u64,
    counts: Counts,
    notable: VecDeque<Notable>,
    /// By the second: which, how many events, how many of them refused.
    rates: VecDeque<(i64, u32, u32)>,
    /// How many signals were heard.
    heard: u64,
    /// How long the hooks of an event took.
    times: Times,
}

impl Model {
    /// Takes a signal in. `source` finds what is known of a session that was opened; times are in milliseconds since 1970.
    pub fn hear(&mut self, signal: &Signal, now: i64, source: impl FnOnce(&SessionId) -> Option<Source>) {
        self.heard += 1;
        match signal {
            Signal::SessionOpened { session, parent, .. } => {
                let source = source(session).unwrap_or_else(|| Source {
                    parent_session: parent.clone(),
                    ..Source::root(session.clone())
                });
                self.open(&source, now);
            }
            Signal::SessionClosed { session, .. } => self.close(session),
            Signal::Decided(receipt) => self.decided(receipt, now),
            Signal::CoverageMismatch { session, .. } => {
                self.change(session.as_str(), |agent| agent.mismatches(now));
            }
            _ => {}
        }
    }

    /// So many signals were lost before they came here.
    pub fn lose(&mut self, lost: u64) {
        self.counts.lost += lost;
    }

    /// A session is open.
    pub fn open(&mut self, source: &Source, now: i64) {
        self.version += 1;
        if self.places.contains_key(&source.session) {
            return;
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.slots.len() < AGENTS => {
                self.slots.push(Slot::default());
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
            None => {
                self.counts.unshown += 1;
                return;
            }
        };
        self.places.insert(source.session.clone(), place);
        let agent = Agent::of(source, now);
        if let Some(slot) = self.slots.get_mut(place as usize) {
            *slot = Slot { born: self.version, changed: self.version, agent: Some(agent) };
        }
    }

    fn close(&mut self, session: &SessionId) {
        self.version += 1;
        let Some(place) = self.places.remove(session) else { return };
        if let Some(slot) = self.slots.get_mut(place as usize) {
            *slot = Slot { born: 0, changed: self.version, agent: None };
            self.free.push(place);
        }
    }

    /// Forgets what agents did, and all agents; what was counted stays.
    pub fn forget(&mut self) {
        self.notable.clear();
        self.retain(|_| false);
    }

    /// Keeps only the sessions that are open still, where the end of some may have been lost.
    pub fn retain(&mut self, is_open: impl Fn(&SessionId) -> bool) {
        let gone: Vec<SessionId> = self.places.keys().filter(|session| !is_open(session)).cloned().collect();
        gone.iter().for_each(|session| self.close(session));
        self.counts.unshown = 0;
    }

    /// The questions that wait for a person, the oldest first, as `GET /v1/approvals` lists them: there are no others. One may
    /// be older than the model, which therefore does not count what was asked and answered.
    pub fn questions<'a>(&mut self, waiting: impl Iterator<Item = &'a Map>) {
        for slot in &mut self.slots {
            if let Some(agent) = &mut slot.agent {
                agent.waits = None;
            }
        }
        for question in waiting {
            let text = |name: &str| question.get(name).and_then(Value::as_str).unwrap_or_default();
            let about = lineside_redact::redact(text("about"));
            self.change(text("session"), |agent| agent.waits([text("point"), text("tool"), &about]));
        }
    }

    fn change(&mut self, session: &str, change: impl FnOnce(&mut Agent)) {
        let Some(place) = self.places.get(session) else { return };
        if let Some(agent) = self.slots.get_mut(*place as usize).and_then(|slot| slot.agent.as_mut()) {
            change(agent);
        }
    }

    /// An event was decided.
    pub fn decided(&mut self, receipt: &Receipt, now: i64) {
        let source = &receipt.event.envelope().source;
        if !self.places.contains_key(&source.session) {
            self.open(source, now);
        }
        self.take(&Decided::of(receipt), now);
    }

    /// Takes a line in of a daemon's stream in the form of its log, and says whether that has changed which sessions are
    /// open without naming their agents: `GET /v1/sessions` does, for [`describe`](Self::describe). Times are in
    /// milliseconds since 1970.
    pub fn hear_line(&mut self, line: &Map, now: i64) -> bool {
        self.heard += 1;
        let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
        let session = text("session");
        match text("kind") {
            "decided" => {
                let Some(decided) = Decided::of_line(line) else { return false };
                if !self.places.contains_key(decided.session)
                    && let Some(source) = source(line)
                {
                    self.open(&source, now);
                }
                // Of what a daemon has kept the time is the line's.
                self.take(&decided, decided.time.min(now));
            }
            "session_opened" => return true,
            "session_closed" => {
                self.close(&session.into());
                return true;
            }
            "coverage_mismatch" => self.change(session, |agent| agent.mismatches(now)),
            "lost" => {
                self.lose(line.get("lost").and_then(Value::as_u64).unwrap_or_default());
                return true;
            }
            _ => {}
        }
        false
    }

    /// The sessions that are open, as `GET /v1/sessions` lists them: the others are not.
    pub fn describe<'a>(&mut self, sessions: impl Iterator<Item = &'a Map>, now: i64) {
        let since = |fields: &Map| fields.get("since")?.as_str()?.parse::<Timestamp>().ok();
        let known = |fields: &'a Map| {
            let since = since(fields).map_or(now, Timestamp::as_millisecond);
            source(fields).map(|source| (source.session.clone(), (source, since)))
        };
        let open: HashMap<SessionId, (Source, i64)> = sessions.filter_map(known).collect();
        self.retain(|session| open.contains_key(session));
        let is_new = |(source, _): &&(Source, i64)| !self.places.contains_key(&source.session);
        let mut new: Vec<&(Source, i64)> = open.values().filter(is_new).collect();
        new.sort_by(|(one, then), (other, since)| (then, &one.session).cmp(&(since, &other.session)));
        new.into_iter().for_each(|(source, since)| self.open(source, *since));
    }

    fn take(&mut self, decided: &Decided<'_>, now: i64) {
        let verdict = decided.verdict;
        self.change(decided.session, |agent| agent.decided(decided, now));
        self.counts.events += 1;
        self.counts.refused += u64::from(verdict.is_final());
        if let Some(took) = decided.took {
            self.times.add(took);
        }
        let second = now / 1_000;
        match self.rates.back_mut() {
            Some((last, events, refused)) if *last >= second => {
                *events += 1;
                *refused += u32::from(verdict.is_final());
            }
            _ => {
                if self.rates.len() >= SECONDS {
                    self.rates.pop_front();
                }
                self.rates.push_back((second, 1, u32::from(verdict.is_final())));
            }
        }
        let who = match self.agent(decided.session) {
            Some(agent) => [agent.label.clone(), agent.project.clone(), agent.host.clone()],
            None => [head(decided.session, agent::NAME), String::new(), String::new()],
        };
        self.note(decided, who);
    }

    /// Takes in what was decided in a session that has ended: what a person may want to see, and no agent.
    pub fn recall(&mut self, receipt: &Receipt) {
        let source = &receipt.event.envelope().source;
        let host = head(source.host.as_deref().unwrap_or_default(), agent::NAME);
        self.note(&Decided::of(receipt), [agent::label(source), agent::project(source), host]);
    }

    /// Keeps what a person may want to see, with the agent, the folder of its project and its program.
    fn note(&mut self, decided: &Decided<'_>, [agent, project, host]: [String; 3]) {
        let verdict = decided.verdict;
        if verdict <= Strength::Allow && decided.failures == 0 {
            return;
        }
        if self.notable.len() >= NOTABLE {
            self.notable.pop_front();
        }
        self.notable.push_back(Notable {
            time: decided.time,
            event: decided.event,
            session: decided.session.into(),
            agent,
            project,
            host,
            point: head(decided.point, agent::NAME),
            tool: decided.tool.map(|tool| head(tool, agent::NAME)),
            verdict,
            by: decided.by.map(|by| head(by, agent::NAME)),
            reason: head(decided.reason, REASON),
            has_failed: decided.failures > 0,
        });
    }

    /// Finds out how every agent stands at this time; to be called before the model is shown.
    pub fn settle(&mut self, now: i64) {
        let version = self.version + 1;
        let mut states = [0; State::ALL.len()];
        for slot in &mut self.slots {
            let Some(agent) = &mut slot.agent else { continue };
            if agent.settle(now) {
                slot.changed = version;
                self.version = version;
            }
            if let Some(count) = states.get_mut(agent.state as usize) {
                *count += 1;
            }
        }
        self.counts.states = states;
    }

    /// How much there is of everything, as of the last [`settle`](Self::settle).
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How often it has changed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How long the hooks of an event took, of those where one ran.
    #[must_use]
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// How many signals it has heard.
    #[must_use]
    pub fn heard(&self) -> u64 {
        self.heard
    }

    /// The decisions that a person may want to see, the latest first.
    pub fn notable(&self) -> impl Iterator<Item = &Notable> {
        self.notable.iter().rev()
    }

    /// The agents, in the order of their places.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.slots.iter().filter_map(|slot| slot.agent.as_ref())
    }

    /// The agent of a session.
    #[must_use]
    pub fn agent(&self, session: &str) -> Option<&Agent> {
        let place = self.places.get(session)?;
        self.slots.get(*place as usize)?.agent.as_ref()
    }

    /// Events and refusals of each of the last seconds, the latest last.
    #[must_use]
    pub fn rates(&self, now: i64) -> Vec<(u32, u32)> {
        let last = now / 1_000;
        let first = last - i64::try_from(SECONDS).unwrap_or_default() + 1;
        let mut rates = vec![(0, 0); SECONDS];
        for (second, events, refused) in &self.rates {
            let place = usize::try_from(second - first).ok().and_then(|at| rates.get_mut(at));
            if let Some(rate) = place {
                *rate = (*events, *refused);
            }
        }
        rates
    }
}

#[cfg(test)]
mod tests;
