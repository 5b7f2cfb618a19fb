//! What calls of a session leave for later ones: holds, counts of blocks, calls under way, subagents
//! and tasks that are known (HO-5, HO-8, HO-29 to HO-34, HO-64).

use std::collections::HashMap;
use std::time::Instant;

use lineside_core::json::{Map, Value, json};
use lineside_core::{Agent, Point as _, Strength, Verdict};
use lineside_points::AfterSession;

use super::call::{Arrival, HostAnswer};
use super::calls::{Arriving, Found};
use super::incoming::{self, Incoming};
use super::outcome::Outcome;
use super::root::{Root, set};
use super::words::{ContextFate, Put, Telling, put};
use crate::hosts::program::Host;
use crate::hosts::table::Words;

pub use super::calls::CallId;

/// How many sessions are remembered; beyond that the one that was silent longest is forgotten.
const MOST_SESSIONS: usize = 4096;

/// All that is known of the sessions of hosts. Give the same one every call.
#[derive(Debug, Default)]
pub struct Served {
    pub(super) roots: HashMap<String, Root>,
    clock: u64,
}

/// What is to be done with a call.
#[derive(Debug)]
pub enum Arrived {
    /// An event is to be published.
    Publish(Box<Publishing>),
    /// It is to be given once more when something was settled or abandoned.
    Later(Box<Arrival>),
    /// The answer is known.
    Answer(HostAnswer),
}

/// An event about to be published for a host.
#[derive(Debug)]
pub struct Publishing {
    /// The event.
    pub incoming: Incoming,
    /// Its session.
    pub session: String,
    /// The session above it, for one of a subagent.
    pub parent: Option<String>,
    /// The agent, for one of a subagent.
    pub agent: Option<Agent>,
    /// What was decided already: interceptors do not run then.
    pub decided: Option<Verdict>,
    pub(super) words: Words,
    pub(super) arrival: Box<Arrival>,
    pub(super) call: Option<CallId>,
    pub(super) stop_active: bool,
    /// The session whose blocks are counted.
    pub(super) counts: Option<String>,
    pub(super) child: Option<String>,
    pub(super) is_start: bool,
}

/// An event that follows from another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Its point.
    pub point: &'static str,
    /// Its payload.
    pub payload: Map,
}

/// How a call ends.
#[derive(Debug)]
pub struct Settled {
    /// What is printed.
    pub answer: HostAnswer,
    /// Events to be published afterwards, without a waiter.
    pub after: Vec<Derived>,
    /// Whether the session has ended.
    pub ends: bool,
    /// What the host has no words for.
    pub log: Vec<String>,
    /// What became of the context.
    pub context: ContextFate,
    /// Texts that are not printed and belong to the context of a later event.
    pub waits: Vec<String>,
}

impl Publishing {
    /// The event that is published before the answer, and whose outcome is folded into it (HO-5).
    #[must_use]
    pub fn folded(&self, outcome: &Outcome) -> Option<Derived> {
        let goes_on = outcome.strength() < Strength::Ask && self.decided.is_none();
        if !(self.is_prompt() && goes_on) {
            return None;
        }
        let mut payload = Map::new();
        payload.insert("prompt".to_owned(), outcome.after.get("prompt").cloned().unwrap_or_default());
        Some(Derived { point: "before_agent", payload })
    }

    /// The entry through which it came, for the log.
    #[must_use]
    pub fn host(&self) -> Host {
        self.arrival.host
    }

    fn is_prompt(&self) -> bool {
        self.incoming.point.name == "before_prompt" && self.agent.is_none()
    }

    fn after(&self, outcome: &Outcome, is_refused: bool) -> Vec<Derived> {
        if is_refused {
            return Vec::new();
        }
        let value = |field: &str| outcome.after.get(field).cloned().unwrap_or_default();
        let derived = |point, payload: Value| {
            let Value::Object(payload) = payload else { return Vec::new() };
            vec![Derived {
                point,
                payload: payload.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            }]
        };
        match self.incoming.point.name {
            "before_prompt" if self.agent.is_none() => {
                derived("on_prompt", json!({"prompt": value("prompt")}))
            }
            "before_stop" if self.agent.is_none() => {
                let output = Some(value("output")).filter(Value::is_string);
                derived("after_agent", json!({"success": true, "output": output}))
            }
            "x.claude.before_task_create" => derived(
                "on_task_created",
                json!({"task_id": text_of(&value("task_id")), "description": described(outcome)}),
            ),
            "x.claude.before_task_complete" => derived(
                "on_task_completed",
                json!({"task_id": text_of(&value("task_id")), "description": described(outcome)}),
            ),
            "x.claude.before_config_change" => derived(
                "on_config_change",
                json!({"path": Some(value("file_path")).filter(Value::is_string)}),
            ),
            _ => Vec::new(),
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn described(outcome: &Outcome) -> Option<&str> {
    ["task_description", "description", "task_subject"]
        .iter()
        .find_map(|field| outcome.after.get(field)?.as_str())
}

impl Served {
    /// A call comes. `now` never goes back.
    pub fn arrive(&mut self, arrival: Box<Arrival>, now: Instant) -> Arrived {
        let mut incoming = incoming::read(&arrival);
        self.clock += 1;
        let root_id = incoming.root.clone();
        self.forget_the_silent(&root_id);
        let root = self.roots.entry(root_id.clone()).or_default();
        root.last = self.clock;
        if root.first_cwd.is_none() {
            root.first_cwd.clone_from(&incoming.cwd);
        }
        if incoming.project_root.is_none() {
            incoming.project_root.clone_from(&root.first_cwd);
        }
        let name = incoming.point.name;
        if arrival.host == Host::Copilot && name == "before_prompt" && root.starting > 0 {
            return Arrived::Later(arrival);
        }
        root.attribute(&arrival, &mut incoming);
        let session = match &incoming.agent {
            Some(agent) => format!("{root_id}/{}", agent.id),
            None => root_id.clone(),
        };
        let mut words = arrival.words.map_or(
            Words { quiet: if arrival.entry == Host::Cursor { "{}" } else { "" }, ..Words::FACT },
            |row| row.words,
        );
        if name == "before_prompt" {
            root.prompted(&arrival, &mut incoming, &session, &mut words);
        }
        let child = root.subagent(&root_id, &mut incoming);
        root.tasks.extend(incoming.agent.iter().map(|agent| agent.id.to_string()));
        root.tasks.extend(incoming.child.clone());
        root.tasks.extend(std::mem::take(&mut incoming.tasks));
        let mut call = None;
        if let Some(arriving) = Arriving::of(&incoming, &session, arrival.entry, &arrival.event) {
            match root.calls.arrive(arriving, now) {
                Found::New(id) => call = Some(id),
                Found::Undecided => return Arrived::Later(arrival),
                Found::Decided(outcome) => {
                    return Arrived::Answer(again(&arrival, &incoming, &words, &outcome));
                }
            }
        }
        let counts = match incoming.point.name {
            "before_stop" => Some(session.clone()),
            "after_subagent" => child.clone(),
            _ => None,
        };
        let stop_active =
            counts.as_ref().is_some_and(|counted| root.stop_active(&arrival, &incoming, counted));
        if incoming.point.name == "before_stop" {
            set(&mut incoming, "stop_active", stop_active.into());
        }
        let decided = root.held(incoming.point.name, &session);
        let is_start = incoming.point.name == "before_session";
        root.starting += u32::from(is_start);
        let parent = incoming.agent.is_some().then(|| root_id.clone());
        Arrived::Publish(Box::new(Publishing {
            session,
            parent,
            agent: incoming.agent.clone(),
            incoming,
            decided,
            words,
            arrival,
            call,
            stop_active,
            counts,
            child,
            is_start,
        }))
    }

    /// An event was decided; `waiting` is the context of earlier events of its session that no answer could carry.
    pub fn settle(&mut self, publishing: Publishing, outcome: &Outcome, waiting: &[String]) -> Settled {
        let Some(root) = self.roots.get_mut(&publishing.incoming.root) else {
            // It was forgotten meanwhile: its events are those of a new session.
            self.roots.insert(publishing.incoming.root.clone(), Root { last: self.clock, ..Root::default() });
            return self.settle(publishing, outcome, waiting);
        };
        if let Some(call) = publishing.call {
            root.calls.decide(call, outcome);
        }
        let telling = Telling {
            words: &publishing.words,
            point: publishing.incoming.point.name,
            host: publishing.arrival.entry,
            event: &publishing.arrival.answered_as,
            stop_active: publishing.stop_active,
            waiting,
        };
        let mut put = put(&telling, outcome);
        let was_blocked = put.blocked.is_some();
        if let Some(counted) = &publishing.counts {
            put = root.count(&publishing, counted, &telling, outcome, put);
        }
        // One block too many is none: the agent ends.
        let is_taken_back = was_blocked && put.blocked.is_none();
        root.take_in(&publishing, &put);
        let Put { answer, context, waits, blocked, log, .. } = put;
        let ends = publishing.incoming.point == AfterSession::INFO && publishing.agent.is_none();
        let is_final = outcome.is_refused() && !is_taken_back;
        let after = publishing.after(outcome, is_final || blocked.is_some());
        if publishing.is_start {
            root.starting = root.starting.saturating_sub(1);
        }
        if ends {
            self.roots.remove(&publishing.incoming.root);
        }
        Settled { answer, after, ends, log, context, waits }
    }

    /// An event will not be decided: its publisher has gone.
    pub fn abandon(&mut self, root: &str, call: Option<CallId>, is_start: bool) {
        if let Some(root) = self.roots.get_mut(root) {
            if let Some(call) = call {
                root.calls.abandon(call);
            }
            if is_start {
                root.starting = root.starting.saturating_sub(1);
            }
        }
    }

    /// Makes room for one more session.
    fn forget_the_silent(&mut self, coming: &str) {
        if self.roots.len() < MOST_SESSIONS || self.roots.contains_key(coming) {
            return;
        }
        let is_held = |root: &Root| {
            root.session_hold.is_some() || root.turn_hold.is_some() || !root.child_holds.is_empty()
        };
        let oldest = self.roots.iter().min_by_key(|(_, root)| (is_held(root), root.last));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            self.roots.remove(&id);
        }
    }
}

impl Publishing {
    /// What [`Served::abandon`] has to know.
    #[must_use]
    pub fn if_abandoned(&self) -> (String, Option<CallId>, bool) {
        (self.incoming.root.clone(), self.call, self.is_start)
    }
}

/// Whether a value is what a hook has amended, as far as it has the members of that: an input that was amended must not run
/// as it came because the second arrival has one member more.
fn is_original(before: Option<&Value>, after: Option<&Value>, now: Option<&Value>) -> bool {
    let agrees = |with: Option<&Value>| {
        let (Some(Value::Object(now)), Some(Value::Object(with))) = (now, with) else { return false };
        now.iter().all(|(name, value)| with.get(name).is_none_or(|other| other == value))
    };
    before == now || (agrees(before) && !agrees(after))
}

/// The answer to a call that came before (HO-42).
fn again(arrival: &Arrival, incoming: &Incoming, words: &Words, outcome: &Outcome) -> HostAnswer {
    let now = incoming.payload.to_json();
    let field = ["tool_input", "tool_output"].into_iter().find(|field| {
        let [before, after, now] = [&outcome.before, &outcome.after, &now].map(|payload| payload.get(field));
        before != after && is_original(before, after, now)
    });
    // What stays as it is needs no words.
    let mut again = Outcome { verdict: outcome.verdict.clone(), before: now, ..Outcome::default() };
    if let Some(field) = field {
        again.after.insert(field.to_owned(), outcome.after.get(field).cloned().unwrap_or_default());
        again.amenders.clone_from(&outcome.amenders);
    }
    let telling = Telling {
        words,
        point: incoming.point.name,
        host: arrival.entry,
        event: &arrival.answered_as,
        stop_active: false,
        waiting: &[],
    };
    put(&telling, &again).answer
}

#[cfg(test)]
mod tests;
