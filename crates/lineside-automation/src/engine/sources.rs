//! Which automations files have declared: each load puts its own in the place of those of the one before.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::machine::job::AutomationId;

/// The automations that a source declares, with their registrations.
type Declared = HashMap<AutomationId, u64>;

/// The automations that files declare, by what has declared them.
#[derive(Default)]
pub(crate) struct Sources(Mutex<HashMap<String, Declared>>);

impl Sources {
    /// A source declares these from now on; gives those that it declared before. One that declares none is not kept.
    pub(crate) fn replace(&self, source: &str, declared: Declared) -> Declared {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match declared.is_empty() {
            true => sources.remove(source),
            false => sources.insert(source.to_owned(), declared),
        };
        before.unwrap_or_default()
    }
}
