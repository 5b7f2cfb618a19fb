//! The events of the machine: as they were published, or as a record has them until more of them is needed.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lineside_bus::Ticket;
use lineside_core::json::{Map, Value};
use lineside_core::payload::fields_weight;
use lineside_core::{AnyEvent, EventId, SessionId, burst};
use lineside_points::{ReadEventError, read_event};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::control::KeyTemplate;
use crate::machine::Occurrence;

/// An event that was offered to an automation.
#[derive(Debug, Clone)]
pub struct Offered(Form, Option<TicketSlot>);

/// The right to run a hook for an event, which travels with the event until it is used.
#[derive(Clone, Default)]
struct TicketSlot(Arc<Slot>);

#[derive(Default)]
struct Slot(Mutex<Option<Ticket>>);

impl TicketSlot {
    fn slot(&self) -> MutexGuard<'_, Option<Ticket>> {
        let Slot(slot) = &*self.0;
        slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop_later(self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}

thread_local! {
    /// The tickets that nothing needs any more, while this thread collects them.
    static COLLECTED: Cell<Option<Vec<Ticket>>> = const { Cell::new(None) };
}

/// Collects the tickets that this thread drops, and drops them when it is dropped itself. A ticket may hold the last
/// reference to a hook that was taken away, whose drop may ask the engine: that has to be outside of the engine's lock.
pub(crate) struct CollectedTickets(());

impl CollectedTickets {
    pub(crate) fn begin() -> Self {
        COLLECTED.set(Some(Vec::new()));
        Self(())
    }
}

impl Drop for CollectedTickets {
    fn drop(&mut self) {
        // Not collected again.
        let collected = COLLECTED.take();
        drop(collected);
    }
}

fn drop_later(ticket: Option<Ticket>) {
    let Some(ticket) = ticket else { return };
    // A thread that ends collects nothing.
    let mut collected = COLLECTED.try_with(Cell::take).unwrap_or_default();
    match &mut collected {
        Some(tickets) => tickets.push(ticket),
        None => return drop(ticket),
    }
    COLLECTED.set(collected);
}

impl fmt::Debug for TicketSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Errand")
    }
}

#[derive(Debug, Clone)]
enum Form {
    Live(AnyEvent),
    Kept(Arc<Kept>),
}

#[derive(Debug)]
struct Kept {
    id: EventId,
    session: SessionId,
    json: Map,
    depth: u8,
    live: OnceLock<AnyEvent>,
}

impl Offered {
    /// An event that a hook is to run for.
    pub(crate) fn with(event: AnyEvent, ticket: Ticket) -> Self {
        Self(Form::Live(event), Some(TicketSlot(Arc::new(Slot(Mutex::new(Some(ticket)))))))
    }

    /// The right to run the hook, if it is of this life and was not used yet.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        self.1.as_ref()?.slot().take()
    }

    /// Returns whether it has the right to run a hook of this life.
    pub(crate) fn may_run(&self) -> bool {
        self.1.as_ref().is_some_and(|slot| slot.slot().is_some())
    }

    /// Gives an event of an earlier life the right to run a hook of this one.
    pub(crate) fn give(&self, ticket: Ticket) {
        if let Some(slot) = &self.1 {
            let before = slot.slot().replace(ticket);
            drop(before);
        }
    }

    /// The event.
    ///
    /// # Errors
    /// It comes from a record, and this programme cannot read it.
    pub fn event(&self) -> Result<AnyEvent, ReadEventError> {
        match &self.0 {
            Form::Live(event) => Ok(event.clone()),
            Form::Kept(kept) => match kept.live.get() {
                Some(event) => Ok(event.clone()),
                None => {
                    let event = read_event(&kept.json, kept.depth)?;
                    Ok(kept.live.get_or_init(|| event).clone())
                }
            },
        }
    }
}

impl Offered {
    /// Whether it is of an earlier life of the process.
    pub(crate) fn is_recovered(&self) -> bool {
        matches!(self.0, Form::Kept(_))
    }
}

impl From<AnyEvent> for Offered {
    fn from(event: AnyEvent) -> Self {
        Self(Form::Live(event), None)
    }
}

impl PartialEq for Offered {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Occurrence for Offered {
    fn id(&self) -> EventId {
        match &self.0 {
            Form::Live(event) => event.envelope().id,
            Form::Kept(kept) => kept.id,
        }
    }

    fn session(&self) -> &SessionId {
        match &self.0 {
            Form::Live(event) => &event.envelope().source.session,
            Form::Kept(kept) => &kept.session,
        }
    }

    fn weight(&self) -> usize {
        match &self.0 {
            Form::Live(event) => event.weight(),
            Form::Kept(kept) => fields_weight(&kept.json),
        }
    }

    /// An event that cannot be read has the id as its key, so that it delays no other job.
    fn render(&self, template: &KeyTemplate, key: &mut String) {
        match self.event() {
            Ok(event) => template.render(&event, key),
            Err(_) => key.push_str(&self.id().to_string()),
        }
    }

    /// Events that cannot be read are left out of what the others come to, unless there are no others. The last right
    /// to run a hook counts.
    fn merge(events: &[Self]) -> Option<Self> {
        // Most bursts.
        if let [alone @ Self(Form::Live(_), _)] = events {
            return Some(alone.clone());
        }
        let readable: Vec<AnyEvent> = events.iter().filter_map(|event| event.event().ok()).collect();
        let last = events.iter().rev().find(|event| event.may_run()).or(events.last())?;
        let merged = burst::merge(&readable).map(|event| Self(Form::Live(event), last.1.clone()));
        merged.or_else(|| events.last().cloned())
    }

    fn let_go(&self) {
        drop_later(self.ticket());
    }
}

#[derive(Serialize)]
struct Writing<'a> {
    event: &'a Map,
    #[serde(skip_serializing_if = "is_zero")]
    depth: u8,
}

#[derive(Deserialize)]
struct Reading {
    event: Map,
    #[serde(default)]
    depth: u8,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(depth: &u8) -> bool {
    *depth == 0
}

impl Serialize for Offered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Form::Live(event) => {
                let depth = event.envelope().cause.map_or(0, |cause| cause.depth);
                Writing { event: &event.to_json(), depth }.serialize(serializer)
            }
            Form::Kept(kept) => Writing { event: &kept.json, depth: kept.depth }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Offered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Reading { event: json, depth } = Reading::deserialize(deserializer)?;
        let id = id(&json, "id").map_err(de::Error::custom)?;
        let session = text(&json, "session").map_err(de::Error::custom)?.into();
        Ok(Self(
            Form::Kept(Arc::new(Kept { id, session, json, depth, live: OnceLock::new() })),
            Some(TicketSlot::default()),
        ))
    }
}

fn text<'a>(json: &'a Map, name: &'static str) -> Result<&'a str, ReadEventError> {
    json.get(name).and_then(Value::as_str).ok_or(ReadEventError::Envelope(name))
}

fn id(json: &Map, name: &'static str) -> Result<EventId, ReadEventError> {
    text(json, name)?.parse().map_err(|_| ReadEventError::Envelope(name))
}
