//! Context that was handed over and is not accepted yet: it goes back to its mailbox when it is not accepted in time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::Delivery;
use tokio::time::Instant;

/// How many deliveries are out at once, over all sessions.
const MOST: usize = 4_096;

/// The deliveries that are out.
#[derive(Default)]
pub(crate) struct Deliveries {
    out: Mutex<HashMap<String, (Delivery, Instant)>>,
}

impl Deliveries {
    /// Keeps a delivery until it is accepted, at most so long. Gives the name to accept it by.
    ///
    /// # Errors
    /// Too many are out; the messages are back in their mailbox.
    pub(crate) fn keep(&self, delivery: Delivery, name: String, within: Duration) -> Result<String, usize> {
        let until = Instant::now() + within;
        let mut out = self.out();
        if out.len() >= MOST {
            drop(out);
            // Dropping it puts the messages back, which takes the mailbox's lock and not this one.
            drop(delivery);
            return Err(MOST);
        }
        out.insert(name.clone(), (delivery, until));
        Ok(name)
    }

    /// Takes a delivery to accept it; `None` when there is none of that name, or it went back.
    pub(crate) fn take(&self, name: &str) -> Option<Delivery> {
        self.out().remove(name).map(|(delivery, _)| delivery)
    }

    /// Puts back what was not accepted in time. Gives how many deliveries that were.
    pub(crate) fn put_back(&self, now: Instant) -> usize {
        let mut late = Vec::new();
        let mut out = self.out();
        let names: Vec<String> =
            out.iter().filter(|(_, (_, until))| *until <= now).map(|(name, _)| name.clone()).collect();
        late.extend(names.iter().filter_map(|name| out.remove(name)));
        drop(out);
        late.len()
    }

    fn out(&self) -> MutexGuard<'_, HashMap<String, (Delivery, Instant)>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
