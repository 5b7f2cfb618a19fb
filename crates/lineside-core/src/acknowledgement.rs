//! What a hook in the background has accepted of an event: which job it is, and what that survives.
//!
//! Unlike an [`Acceptance`](crate::Acceptance) of a receipt, it comes after the record is kept.

use std::sync::Arc;

use crate::journal::Durability;
use crate::json::{Map, Value, json};

/// What a hook has made of an event that it runs for in the background.
///
/// ```
/// use lineside_core::journal::Durability;
/// use lineside_core::{AcknowledgedAs, Acknowledgement};
///
/// let accepted = Acknowledgement {
///     hook: "lint".into(),
///     verb: AcknowledgedAs::Started,
///     job: Some(7),
///     durability: Some(Durability::Disk),
///     why: None,
/// };
/// assert!(!accepted.is_unkept());
/// assert_eq!(Acknowledgement::from_json(&accepted.to_json()), Some(accepted));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The name of the hook.
    pub hook: Arc<str>,
    /// What it has made of the event.
    pub verb: AcknowledgedAs,
    /// The number of the job; `None` where there is none.
    pub job: Option<u64>,
    /// What the run survives from now on; `None` where there is no run, or its record is not known to be kept.
    pub durability: Option<Durability>,
    /// Why there is no run, or why its record is not kept.
    pub why: Option<String>,
}

/// What a hook has made of an event, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcknowledgedAs {
    /// It is held, and there will be one run for it and others.
    Held,
    /// There is a job for it, which waits for its turn.
    Queued,
    /// There is a run for it, which starts now.
    Started,
    /// It cancels work that waits.
    Cancels,
    /// There will be no run for it.
    Refused,
    /// Its record is not kept, or is not known to be kept.
    Unavailable,
}

impl AcknowledgedAs {
    const ALL: [Self; 6] =
        [Self::Held, Self::Queued, Self::Started, Self::Cancels, Self::Refused, Self::Unavailable];

    /// The word for it, as in receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Queued => "queued",
            Self::Started => "started",
            Self::Cancels => "cancels",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }

    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word)
    }
}

impl Acknowledgement {
    /// Whether the record of a run that was to be kept is not.
    #[must_use]
    pub fn is_unkept(&self) -> bool {
        self.verb != AcknowledgedAs::Refused && self.why.is_some()
    }

    /// As JSON: `hook`, `as`, and where there is any, `job`, `durability` and `why`.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let mut map = Map::new();
        map.insert("hook".to_owned(), json!(self.hook));
        map.insert("as".to_owned(), json!(self.verb.as_str()));
        if let Some(job) = self.job {
            map.insert("job".to_owned(), json!(job));
        }
        if let Some(durability) = self.durability {
            map.insert("durability".to_owned(), json!(durability.as_str()));
        }
        if let Some(why) = &self.why {
            map.insert("why".to_owned(), json!(why));
        }
        map
    }

    /// What [`to_json`](Self::to_json) has written; `None` for anything that claims what this programme does not know.
    #[must_use]
    pub fn from_json(map: &Map) -> Option<Self> {
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        let durability = match text("durability") {
            Some(word) => {
                let all = [Durability::Memory, Durability::Process, Durability::Disk];
                Some(all.into_iter().find(|one| one.as_str() == word)?)
            }
            None => None,
        };
        Some(Self {
            hook: text("hook")?.into(),
            verb: AcknowledgedAs::read(text("as")?)?,
            job: map.get("job").and_then(Value::as_u64),
            durability,
            why: text("why").map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_not_known_is_nothing() {
        for verb in AcknowledgedAs::ALL {
            for (job, durability, why) in
                [(None, None, None), (Some(7), Some(Durability::Disk), None), (None, None, Some("full"))]
            {
                let why = why.map(str::to_owned);
                let known = Acknowledgement { hook: "lint".into(), verb, job, durability, why };
                assert_eq!(Acknowledgement::from_json(&known.to_json()).as_ref(), Some(&known));
                assert_eq!(known.is_unkept(), known.why.is_some() && verb != AcknowledgedAs::Refused);
            }
        }
        for unknown in [
            json!({"hook": "h", "as": "promised"}),
            json!({"as": "held"}),
            json!({"hook": "h", "as": "held", "durability": "forever"}),
        ] {
            assert_eq!(Acknowledgement::from_json(unknown.as_object().unwrap()), None);
        }
    }
}
