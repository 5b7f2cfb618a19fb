//! How often something may happen before the verdict of a hook is given.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lineside_core::control::KeyTemplate;
use lineside_core::{AnyEvent, EventId, Timestamp};

/// The most events of one key that a limit may let pass.
pub const MOST: u32 = 1_000;

/// For how many keys events are counted at the same time.
const KEYS: usize = 1_024;

/// The longest key, in bytes; of a longer one its beginning counts.
const LONGEST: usize = 256;

/// So many events in so long a time, for each key. What passes it is what the verdict is about.
///
/// The time of an event is its own, so a machine under load decides the same. Events that were counted are forgotten when
/// the time has passed; a key for which there is no room counts as one that is past its limit.
#[derive(Debug)]
pub struct Limit {
    at_most: usize,
    per: Duration,
    key: KeyTemplate,
    passed: Mutex<HashMap<String, VecDeque<(Timestamp, EventId)>>>,
}

impl Limit {
    /// At most so many events, and [`MOST`], in this time, for each key.
    #[must_use]
    pub fn new(at_most: u32, per: Duration, key: KeyTemplate) -> Self {
        Self { at_most: at_most.min(MOST) as usize, per, key, passed: Mutex::default() }
    }

    /// Whether an event is one too many; else it is counted. One that is asked about once more, because it was amended,
    /// counts once.
    #[must_use]
    pub fn is_past(&self, event: &AnyEvent) -> bool {
        let mut key = String::new();
        self.key.render(event, &mut key);
        key.truncate(key.floor_char_boundary(LONGEST));
        let (now, id) = (event.envelope().time, event.envelope().id);
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if !passed.contains_key(&key) && passed.len() >= KEYS {
            passed.retain(|_, events| events.back().is_some_and(|(last, _)| self.counts(*last, now)));
            if passed.len() >= KEYS {
                return true;
            }
        }
        let events = passed.entry(key).or_default();
        if events.iter().any(|(_, counted)| *counted == id) {
            return false;
        }
        while events.front().is_some_and(|(first, _)| !self.counts(*first, now)) {
            events.pop_front();
        }
        if events.len() >= self.at_most {
            return true;
        }
        events.push_back((now, id));
        false
    }

    /// Whether an event of then counts now.
    fn counts(&self, then: Timestamp, now: Timestamp) -> bool {
        let since = now.as_millisecond().saturating_sub(then.as_millisecond());
        i128::from(since) < i128::try_from(self.per.as_millis()).unwrap_or(i128::MAX)
    }
}
