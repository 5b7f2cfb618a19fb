//! What is written: decisions, and what else has happened.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::receipt::Given;
use lineside_core::{EventId, Hook, Outcome, Receipt, SessionId, Timestamp, Verdict};

/// The reason of a row whose event was given up before it was decided. No other row with the verdict `continue` has one.
pub const LEFT: &str = "left without an answer";

/// One thing for the log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Record {
    /// An event was decided.
    Decided(Arc<Receipt>),
    /// An event was given up before it was decided: a row as of one that was decided, with [`LEFT`] for its reason.
    Left(Arc<Receipt>),
    /// A hook in shadow has ended.
    Shadowed(Box<Shadowed>),
    /// Something else has happened.
    Happened(Box<Happened>),
    /// So many signals were lost before they came to the log.
    Lost(u64),
}

/// What a hook in shadow would have come to, for an event that was decided before.
#[derive(Debug, Clone)]
pub struct Shadowed {
    /// The event.
    pub event: EventId,
    /// The hook.
    pub hook: Arc<Hook>,
    /// What it would have said.
    pub outcome: Outcome,
    /// What it would have changed and given.
    pub given: Option<Box<Given>>,
    /// How long it took.
    pub took: Duration,
}

/// Something that has happened beside decisions: a session was opened, background work has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// When.
    pub at: Timestamp,
    /// What, in the word of its signal; of background work with what has become of it, as in `automation_finished`.
    pub what: &'static str,
    /// Its session; absent for what is about all of them.
    pub session: Option<SessionId>,
    /// The event that it comes from.
    pub event: Option<EventId>,
    /// The hook.
    pub hook: Option<Arc<str>>,
    /// The job of background work.
    pub job: Option<u64>,
    /// How long it took.
    pub took: Option<Duration>,
    /// What else there is to say, for people; may have secrets, which the log takes out.
    pub detail: String,
}

impl Happened {
    /// Something of this kind about nothing in particular; the fields are public.
    #[must_use]
    pub fn new(at: Timestamp, what: &'static str) -> Self {
        Self {
            at,
            what,
            session: None,
            event: None,
            hook: None,
            job: None,
            took: None,
            detail: String::new(),
        }
    }
}

impl Record {
    /// About how many bytes it keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        const BASE: usize = 128;
        match self {
            Self::Decided(receipt) | Self::Left(receipt) => receipt.weight(),
            Self::Shadowed(shadowed) => {
                let said = shadowed.outcome.verdict().map_or(0, Verdict::weight);
                BASE + said + shadowed.given.as_ref().map_or(0, |given| given.weight())
            }
            Self::Happened(happened) => BASE + happened.detail.len(),
            Self::Lost(_) => BASE,
        }
    }
}
