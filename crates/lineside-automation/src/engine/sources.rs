//! Which automations files have declared: each load puts its own in the place of those of the one before.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use crate::machine::job::AutomationId;

/// The automations that files declare, by what has declared them.
#[derive(Default)]
pub(crate) struct Sources(Mutex<HashMap<String, HashSet<AutomationId>>>);

impl Sources {
    /// A source declares these from now on; gives those that it declared before.
    pub(crate) fn replace(&self, source: &str, ids: HashSet<AutomationId>) -> HashSet<AutomationId> {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.is_empty() {
            return sources.remove(source).unwrap_or_default();
        }
        sources.insert(source.to_owned(), ids).unwrap_or_default()
    }
}
