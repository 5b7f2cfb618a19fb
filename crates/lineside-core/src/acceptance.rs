//! What a background worker does with an event that it is offered: held, queued, started, or not accepted.
//!
//! When and how it runs is left to the worker.

use std::borrow::Cow;
use std::sync::Arc;

use crate::acknowledgement::{AcknowledgedAs, Acknowledgement};
use crate::journal::{Durability, Unavailable};
use crate::json::{Map, json};

/// What a background worker did with an event that it was offered.
///
/// It is returned before its record is kept, because no publisher waits for a disk: the durability is what the event
/// survives from the moment on at which the taker tells that it is kept.
///
/// ```
/// use lineside_core::Acceptance;
/// use lineside_core::journal::Durability;
///
/// let queued = Acceptance::Queued(Durability::Disk);
/// assert!(queued.is_accepted());
/// assert_eq!(queued.as_str(), "queued");
/// assert!(!Acceptance::Refused("the session has ended".into()).is_accepted());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acceptance {
    /// It is held, and there will be one run for it and others.
    Held(Durability),
    /// There is a job for it, which waits for its turn.
    Queued(Durability),
    /// There is a job for it, which starts now.
    Started(Durability),
    /// It cancels this many jobs that wait.
    Cancels(usize),
    /// There will be no run for it, for this reason.
    Refused(Cow<'static, str>),
    /// Nothing is accepted, because records are no longer kept. There will be no run for it.
    Unavailable(Unavailable),
}

impl Acceptance {
    /// Whether there will be a run for the event.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Held(_) | Self::Queued(_) | Self::Started(_))
    }

    /// The word for it, as in JSON.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Held(_) => "held",
            Self::Queued(_) => "queued",
            Self::Started(_) => "started",
            Self::Cancels(_) => "cancels",
            Self::Refused(_) => "refused",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// What it says before any record is kept, of the hook that has taken the event.
    #[must_use]
    pub fn unkept(&self, hook: Arc<str>) -> Acknowledgement {
        let (verb, durability, why) = match self {
            Self::Held(durability) => (AcknowledgedAs::Held, Some(*durability), None),
            Self::Queued(durability) => (AcknowledgedAs::Queued, Some(*durability), None),
            Self::Started(durability) => (AcknowledgedAs::Started, Some(*durability), None),
            Self::Cancels(_) => (AcknowledgedAs::Cancels, None, None),
            Self::Refused(why) => (AcknowledgedAs::Refused, None, Some(why.to_string())),
            Self::Unavailable(unavailable) => {
                (AcknowledgedAs::Unavailable, None, Some(unavailable.to_string()))
            }
        };
        Acknowledgement { hook, verb, job: None, durability, why }
    }

    pub(crate) fn write(&self, map: &mut Map) {
        let value = match self {
            Self::Held(_) | Self::Queued(_) | Self::Started(_) => json!(true),
            Self::Cancels(jobs) => json!(jobs),
            Self::Refused(why) => json!(why),
            Self::Unavailable(unavailable) => json!(unavailable.why),
        };
        map.insert(self.as_str().into(), value);
        if let Self::Held(durability) | Self::Queued(durability) | Self::Started(durability) = self {
            map.insert("durability".into(), json!(durability.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;

    fn written(acceptance: &Acceptance) -> Value {
        let mut map = Map::new();
        acceptance.write(&mut map);
        Value::Object(map)
    }

    #[test]
    fn acceptance_says_how_durable_it_is_and_refusal_says_why() {
        let held = Acceptance::Held(Durability::Disk);
        assert_eq!(written(&held), json!({"held": true, "durability": "disk"}));
        assert!(held.is_accepted());
        let full = Acceptance::Unavailable(Unavailable::because("no space"));
        assert_eq!(written(&full), json!({"unavailable": "no space"}));
        assert!(!full.is_accepted());
        assert_eq!(written(&Acceptance::Refused("twice".into())), json!({"refused": "twice"}));
        assert_eq!(written(&Acceptance::Cancels(2)), json!({"cancels": 2}));
    }
}
