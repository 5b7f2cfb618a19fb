//! Which arrivals are one call (HO-40 to HO-43).

use std::time::{Duration, Instant};

use lineside_core::json::Value;

use super::incoming::Incoming;
use super::outcome::Outcome;
use crate::hosts::program::Host;

/// How long an arrival may find its partner.
const OPEN: Duration = Duration::from_secs(600);

/// How many calls of one session are remembered.
const MOST: usize = 1024;

/// A call that is under way or was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(u64);

/// The calls of a session and its subagents, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    next: u64,
}

#[derive(Debug)]
struct Call {
    id: CallId,
    of: Arriving,
    /// The other entries and events through which it came.
    partners: Vec<(Host, String)>,
    since: Instant,
    is_open: bool,
    /// What was decided; nothing while it is under way.
    outcome: Option<Outcome>,
}

/// What an arrival is known by.
#[derive(Debug, Clone)]
pub(super) struct Arriving {
    session: String,
    point: &'static str,
    call: Option<String>,
    class: Option<String>,
    input: Value,
    entry: (Host, String),
}

/// What an arrival is.
pub(super) enum Found {
    /// A call of its own.
    New(CallId),
    /// One that is under way.
    Undecided,
    /// One that was decided.
    Decided(Box<Outcome>),
}

impl Arriving {
    /// That of an event about a tool call.
    pub(super) fn of(incoming: &Incoming, session: &str, entry: Host, event: &str) -> Option<Self> {
        let point = incoming.point.name;
        if !matches!(point, "before_tool" | "before_permission" | "after_tool" | "after_tool_error") {
            return None;
        }
        let text = |field: &str| incoming.payload.text(field).map(str::to_owned);
        Some(Self {
            session: session.to_owned(),
            point,
            call: text("tool_call_id"),
            class: text("tool_class"),
            input: incoming.payload.value("tool_input").cloned().unwrap_or_default(),
            entry: (entry, event.to_owned()),
        })
    }

    fn is_review(&self) -> bool {
        matches!(self.point, "after_tool" | "after_tool_error")
    }

    /// Whether the members that both inputs have are equal, and there is one.
    fn agrees(&self, class: Option<&str>, input: &Value) -> bool {
        let (Value::Object(own), Value::Object(other)) = (&self.input, input) else { return false };
        let mut shared = own.iter().filter_map(|(name, value)| Some((value, other.get(name)?))).peekable();
        self.class.as_deref() == class && shared.peek().is_some() && shared.all(|(own, other)| own == other)
    }

    /// Whether no member that both inputs have differs.
    fn is_compatible(&self, input: &Value) -> bool {
        let (Value::Object(own), Value::Object(other)) = (&self.input, input) else { return true };
        own.iter().all(|(name, value)| other.get(name).is_none_or(|other| other == value))
    }
}

impl Call {
    fn is_same(&self, arriving: &Arriving, now: Instant) -> bool {
        if self.of.session != arriving.session || self.of.point != arriving.point {
            return false;
        }
        let is_young = now.saturating_duration_since(self.since) <= OPEN;
        let is_open = self.is_open || arriving.is_review();
        if let (Some(own), Some(other)) = (&self.of.call, &arriving.call) {
            // Some models number their calls anew in each answer, so an id alone does not name what was judged.
            let is_current = is_open && (is_young || self.outcome.is_none());
            return own == other && is_current && self.has_input_of(arriving);
        }
        is_open
            && is_young
            && self.of.entry != arriving.entry
            && !self.partners.contains(&arriving.entry)
            && self.agrees(arriving)
    }

    fn amended(&self) -> Option<&Value> {
        self.outcome.as_ref().and_then(|outcome| outcome.after.get("tool_input"))
    }

    /// Whether an arrival with the same id has this call's input, as it came or as it was amended. One event of a host
    /// says it in full; two events may have different members of it.
    fn has_input_of(&self, arriving: &Arriving) -> bool {
        let is_same = |input: &Value| {
            if self.of.entry == arriving.entry {
                arriving.input == *input
            } else {
                arriving.is_compatible(input)
            }
        };
        is_same(&self.of.input) || self.amended().is_some_and(is_same)
    }

    fn agrees(&self, arriving: &Arriving) -> bool {
        let class = self.of.class.as_deref();
        arriving.agrees(class, &self.of.input)
            || self.amended().is_some_and(|input| arriving.agrees(class, input))
    }
}

impl Calls {
    /// An arrival comes.
    pub(super) fn arrive(&mut self, arriving: Arriving, now: Instant) -> Found {
        if let Some(call) = self.calls.iter_mut().find(|call| call.is_same(&arriving, now)) {
            return match &call.outcome {
                None => Found::Undecided,
                Some(outcome) => {
                    let outcome = Box::new(outcome.clone());
                    call.partners.push(arriving.entry);
                    Found::Decided(outcome)
                }
            };
        }
        if arriving.is_review() {
            self.close(&arriving);
        } else {
            self.forget_results(&arriving);
        }
        self.calls.retain(|call| now.saturating_duration_since(call.since) <= OPEN || call.outcome.is_none());
        if self.calls.len() >= MOST {
            self.calls.remove(0);
        }
        let id = CallId(self.next);
        self.next += 1;
        self.calls.push(Call {
            id,
            of: arriving,
            partners: Vec::new(),
            since: now,
            is_open: true,
            outcome: None,
        });
        Found::New(id)
    }

    /// A result ends the call that it is of, at each gate that the call has passed.
    fn close(&mut self, review: &Arriving) {
        for point in ["before_tool", "before_permission"] {
            let gate = self.calls.iter_mut().find(|call| {
                let same = match (&call.of.call, &review.call) {
                    (Some(own), Some(other)) => own == other,
                    _ => call.agrees(review),
                };
                call.is_open && call.of.point == point && call.of.session == review.session && same
            });
            if let Some(gate) = gate {
                gate.is_open = false;
            }
        }
    }

    /// A new call ends what is known of the results of an earlier one with the same id.
    fn forget_results(&mut self, gate: &Arriving) {
        let is_earlier = |of: &Arriving| {
            of.is_review() && of.session == gate.session && of.call.is_some() && of.call == gate.call
        };
        self.calls.retain(|call| call.outcome.is_none() || !is_earlier(&call.of));
    }

    /// A call was decided.
    pub(super) fn decide(&mut self, id: CallId, outcome: &Outcome) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.outcome = Some(outcome.clone());
        }
    }

    /// A call was given up before it was decided.
    pub(super) fn abandon(&mut self, id: CallId) {
        self.calls.retain(|call| call.id != id || call.outcome.is_some());
    }
}

#[cfg(test)]
mod tests;
