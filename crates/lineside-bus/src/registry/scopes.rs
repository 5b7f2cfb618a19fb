//! The scopes that a session was put into.

use std::sync::{Arc, OnceLock};

use super::own::Own;

/// Scopes, in the order in which they were entered. They are added and never taken out, and looked at without a lock.
pub(super) struct Scopes<I, O> {
    first: OnceLock<Arc<Own<I, O>>>,
    further: OnceLock<Box<Self>>,
}

impl<I, O> Default for Scopes<I, O> {
    fn default() -> Self {
        Self { first: OnceLock::new(), further: OnceLock::new() }
    }
}

impl<I, O> Scopes<I, O> {
    pub(super) fn of(scope: Option<Arc<Own<I, O>>>) -> Self {
        Self { first: scope.map(OnceLock::from).unwrap_or_default(), further: OnceLock::new() }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Own<I, O>>> {
        std::iter::successors(Some(self), |at| at.further.get().map(|further| &**further))
            .filter_map(|at| at.first.get())
    }

    /// Adds the first one; `false` when there is one.
    pub(super) fn begin(&self, scope: Arc<Own<I, O>>) -> bool {
        self.first.set(scope).is_ok()
    }

    /// Adds one behind the others; `false` when it is among them.
    pub(super) fn add(&self, mut scope: Arc<Own<I, O>>) -> bool {
        let mut at = self;
        loop {
            match at.first.set(scope) {
                Ok(()) => return true,
                Err(again) => scope = again,
            }
            if at.first.get().is_some_and(|there| Arc::ptr_eq(there, &scope)) {
                return false;
            }
            at = at.further.get_or_init(Box::default);
        }
    }
}
