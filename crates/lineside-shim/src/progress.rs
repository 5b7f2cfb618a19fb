//! How far a call has come, and until when it may go on: shared by the thread that makes it and the one that ends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Closed;

/// How often the limit is looked at while it is further away than this; a nearer one is met exactly.
const LOOK: Duration = Duration::from_millis(250);

/// The progress of a call.
pub(crate) struct Progress(Mutex<State>);

struct State {
    document: Arc<Vec<u8>>,
    until: Instant,
    /// What it means when that moment comes.
    late: Closed,
    is_off: bool,
    is_ended: bool,
}

impl Progress {
    /// A call that may go on until that moment.
    pub(crate) fn new(until: Instant) -> Self {
        Self(Mutex::new(State {
            document: Arc::default(),
            until,
            late: Closed::Unreachable,
            is_off: false,
            is_ended: false,
        }))
    }

    /// Whether hooks are switched off is known.
    pub(crate) fn switch(&self, is_off: bool) {
        self.state().is_off = is_off;
    }

    /// Whether hooks are switched off, as far as that is known.
    pub(crate) fn is_off(&self) -> bool {
        self.state().is_off
    }

    /// The document was read; what comes next may last until that moment.
    pub(crate) fn read(&self, document: &Arc<Vec<u8>>, until: Instant) {
        let mut state = self.state();
        state.document = Arc::clone(document);
        state.until = until;
    }

    /// What comes next may last until that moment, at which it has this meaning.
    pub(crate) fn until(&self, until: Instant, late: Closed) {
        let mut state = self.state();
        state.until = until;
        state.late = late;
    }

    /// Ends the call; `false` when the other thread has ended it.
    pub(crate) fn end(&self) -> bool {
        !std::mem::replace(&mut self.state().is_ended, true)
    }

    /// Waits for the limit, and ends the call; the document as far as it was read, and what it means. `None` when it has ended before.
    ///
    /// The other thread never waits for this one, and never wakes it: most calls end long before.
    pub(crate) fn limit(&self) -> Option<(Arc<Vec<u8>>, Closed)> {
        loop {
            let left = self.state().until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let (document, late) = {
                    let state = self.state();
                    (Arc::clone(&state.document), state.late)
                };
                return self.end().then_some((document, late));
            }
            // A limit that comes nearer meanwhile is at least eight times as far away as the next look.
            thread::sleep(left.min(LOOK));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_ended_once() {
        let now = Instant::now();
        let progress = Progress::new(now + Duration::from_secs(600));
        progress.read(&Arc::new(b"x".to_vec()), now);
        progress.until(now, Closed::Silent);
        assert_eq!(progress.limit(), Some((Arc::new(b"x".to_vec()), Closed::Silent)));
        assert!(!progress.end(), "the limit was first");
        let progress = Progress::new(now);
        assert!(progress.end());
        assert_eq!(progress.limit(), None);
    }
}
