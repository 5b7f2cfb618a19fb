//! What calls of a session leave for later ones: holds, counts of blocks, calls under way, subagents
//! and tasks that are known (HO-5, HO-8, HO-29 to HO-34, HO-64).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use lineside_core::json::{Map, Value, json};
use lineside_core::plan::Generation;
use lineside_core::{Agent, Point as _, Strength, Verdict};
use lineside_points::AfterSession;

use super::call::{HostAnswer, HostEvent};
use super::coming::Coming;
use super::holds::Holds;
use super::incoming::Incoming;
use super::outcome::{Decided, Outcome};
use super::root::{Root, set};
use super::roots::{Begun, Entered, Not, Roots};
use super::words::{ContextFate, Put, RenderInput, refused, render};
use crate::hosts::program::Host;
use crate::hosts::quirks;
use crate::hosts::table::Words;

pub use super::calls::CallId;

/// For a session that cannot be remembered.
const NO_ROOM: &str = "lineside: too many sessions are held by hooks, so this was denied; start the daemon anew with: lineside stop";

/// All that is known of the sessions of hosts. Give the same one every call; calls may come at the same time, and none of
/// them waits for what another one has to do with its document.
#[derive(Debug, Default)]
pub struct Served(Mutex<Roots>);

/// What is to be done with a call.
#[derive(Debug)]
pub enum NextStep {
    /// An event is to be published.
    Publish(Box<Publishing>),
    /// It is to be given once more when something was settled or abandoned.
    Later(Box<Coming>),
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
    /// The hooks that its session was under before it was published: a call that comes again when these are in force no
    /// longer is judged anew.
    pub under: Option<Generation>,
    pub(super) words: Words,
    pub(super) arrival: Box<HostEvent>,
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
    /// Whether a block was printed.
    pub is_blocked: bool,
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

    /// Whether the host can put a question to a person here (HO-28).
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.words.can_ask()
    }

    /// The refusal that an outcome comes to, where the host can neither ask nor change what it is about.
    pub fn refused(&self) -> impl Fn(&Outcome) -> Option<Verdict> + Send + Sync + use<> {
        let (words, point, host) = (self.words, self.incoming.point.name, self.arrival.speaks);
        move |outcome| {
            let (event, stop_active, waiting) = ("", false, &[][..]);
            refused(&RenderInput { words: &words, point, host, event, stop_active, waiting }, outcome)
        }
    }

    fn is_prompt(&self) -> bool {
        self.incoming.point.name == "before_prompt" && self.agent.is_none()
    }

    fn after(self, outcome: &Outcome, is_refused: bool) -> Vec<Derived> {
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
    pub fn arrive(&self, coming: impl Into<Coming>, now: Instant) -> NextStep {
        let mut coming = coming.into();
        let mut words =
            coming.arrival.words.map_or(
                Words { quiet: quirks(coming.arrival.speaks).documents.quiet, ..Words::FACT },
                |row| row.words,
            );
        let begun = self.roots().begin(&mut coming, now);
        let Begun { session, before, event } = match begun {
            Ok(begun) => begun,
            Err(Not::Again(decided)) => {
                return NextStep::Answer(again(&coming.arrival, &coming.incoming, &words, &decided));
            }
            Err(not) => return not.arrived(coming),
        };
        let Coming { arrival, incoming, .. } = &mut coming;
        if let Some(before) = before {
            before.read(arrival, incoming, &mut words);
        }
        let entered = self.roots().enter(&coming, &session, now);
        let Entered { call, child, counts, stop_active, decided } = match entered {
            Ok(entered) => entered,
            Err(Not::Again(decided)) => {
                return NextStep::Answer(again(&coming.arrival, &coming.incoming, &words, &decided));
            }
            Err(not) => return not.arrived(coming),
        };
        let Coming { mut arrival, incoming, under, .. } = coming;
        let mut incoming = *incoming;
        // Everything in it is in the event now.
        drop(std::mem::take(&mut arrival.document));
        if let Some(child) = &child {
            set(&mut incoming, "child_session", child.as_str().into());
        }
        if incoming.point.name == "before_stop" {
            set(&mut incoming, "stop_active", stop_active.into());
        }
        NextStep::Publish(Box::new(Publishing {
            parent: incoming.agent.is_some().then(|| incoming.root.clone()),
            agent: incoming.agent.clone(),
            is_start: incoming.point.name == "before_session",
            session,
            incoming,
            decided,
            under,
            words,
            arrival,
            call: call.or(event),
            stop_active,
            counts,
            child,
        }))
    }

    /// An event was decided; `waiting` is the context of earlier events of its session that no answer could carry.
    pub fn settle(&self, publishing: Publishing, outcome: &Outcome, waiting: &[String]) -> Settled {
        let mut decided = publishing.call.map(|call| (call, Arc::new(Decided::of(outcome))));
        let telling = RenderInput {
            words: &publishing.words,
            point: publishing.incoming.point.name,
            host: publishing.arrival.speaks,
            event: &publishing.arrival.answered_as,
            stop_active: publishing.stop_active,
            waiting,
        };
        let mut put = render(&telling, outcome);
        let root_id = publishing.incoming.root.as_str();
        let too_many = publishing.counts.as_ref().and_then(|counted| {
            self.roots().root(root_id).count(&publishing, counted, put.blocked.as_deref())
        });
        // One block too many is none: the agent ends.
        let is_taken_back = too_many.is_some();
        if let Some(notice) = too_many {
            let mut outcome = outcome.clone();
            outcome.verdict = Verdict::Continue;
            outcome.after.clone_from(&outcome.before);
            outcome.notices.push(notice);
            put = super::words::render(&telling, &outcome);
            decided = publishing.call.map(|call| (call, Arc::new(Decided::of(&outcome))));
        }
        let ends = publishing.incoming.point == AfterSession::INFO && publishing.agent.is_none();
        {
            let mut roots = self.roots();
            let root = roots.root(root_id);
            if let Some((call, decided)) = &decided {
                root.calls.decide(*call, decided, publishing.under);
            }
            root.take_in(&publishing, &put);
            if publishing.is_start {
                root.starting = root.starting.saturating_sub(1);
            }
            if ends {
                roots.end(root_id);
            } else {
                roots.weigh(root_id);
                roots.make_room(root_id);
            }
        }
        let Put { answer, context, waits, blocked, log, .. } = put;
        let is_final = outcome.is_refused() && !is_taken_back;
        let is_blocked = blocked.is_some();
        let after = publishing.after(outcome, is_final || is_blocked);
        Settled { answer, after, ends, is_blocked, log, context, waits }
    }

    /// An event will not be decided: its publisher has gone.
    pub fn abandon(&self, root: &str, call: Option<CallId>, is_start: bool) {
        let mut roots = self.roots();
        if let Some(known) = roots.roots.get_mut(root) {
            if let Some(call) = call {
                known.calls.abandon(call);
            }
            if is_start {
                known.starting = known.starting.saturating_sub(1);
            }
            roots.weigh(root);
        }
    }

    /// Forgets what is too old, which every call does as well.
    pub fn expire(&self, now: Instant) {
        self.roots().expire(now);
    }

    /// What holds a session; `None` where nothing is known of that.
    #[must_use]
    pub fn holds(&self, root: &str) -> Option<Holds> {
        self.roots().roots.get(root).map(Root::holds)
    }

    /// How many sessions are remembered, and about how many bytes they take.
    #[must_use]
    pub fn kept(&self) -> (usize, usize) {
        let roots = self.roots();
        (roots.roots.len(), roots.weight)
    }

    pub(super) fn roots(&self) -> MutexGuard<'_, Roots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publishing {
    /// What [`Served::abandon`] has to know.
    #[must_use]
    pub fn if_abandoned(&self) -> (String, Option<CallId>, bool) {
        (self.incoming.root.clone(), self.call, self.is_start)
    }
}

/// The answer to a call that came before (HO-42).
fn again(arrival: &HostEvent, incoming: &Incoming, words: &Words, decided: &Decided) -> HostAnswer {
    let telling = RenderInput {
        words,
        point: incoming.point.name,
        host: arrival.speaks,
        event: &arrival.answered_as,
        stop_active: false,
        waiting: &[],
    };
    render(&telling, &decided.again(incoming.payload.to_json())).answer
}

impl Not {
    fn arrived(self, coming: Coming) -> NextStep {
        match self {
            Self::Yet | Self::Again(_) => NextStep::Later(Box::new(coming)),
            Self::Possible => NextStep::Answer(coming.arrival.undecided(NO_ROOM)),
        }
    }
}

#[cfg(test)]
mod tests;
