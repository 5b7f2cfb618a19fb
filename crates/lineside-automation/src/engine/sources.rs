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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_declares_nothing_any_more_is_not_remembered() {
        let sources = Sources::default();
        let ids = Declared::from([(AutomationId::from("a"), 1)]);
        for source in 0..10 {
            assert!(sources.replace(&source.to_string(), ids.clone()).is_empty());
            assert_eq!(sources.replace(&source.to_string(), Declared::new()), ids);
        }
        assert!(sources.0.lock().unwrap().is_empty());
    }
}
