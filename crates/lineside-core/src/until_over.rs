//! What is held until everything that a call has started has ended, also after the call was given up.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A guard that is handed on with a call, to what starts processes for it: the last clone is dropped when the call is over
/// and its processes have ended. A call that is given up leaves processes behind that are still ending.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_core::UntilOver;
///
/// let key = Arc::new("k");
/// let held = UntilOver::new(Arc::clone(&key));
/// let of_a_process = held.clone();
/// drop(held);
/// assert_eq!(Arc::strong_count(&key), 2);
/// drop(of_a_process);
/// assert_eq!(Arc::strong_count(&key), 1);
/// ```
#[derive(Clone)]
pub struct UntilOver(
    /// Never read: it is dropped.
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    Arc<dyn Any + Send + Sync>,
);

impl UntilOver {
    /// Holds this until all clones are dropped.
    #[must_use]
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self(Arc::new(held))
    }
}

impl fmt::Debug for UntilOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilOver").finish_non_exhaustive()
    }
}
