//! How a hook that nobody waits for ended: counted and signalled, never waited for.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::hook::Hook;
use lineside_core::{AnyEvent, Failure, FailureKind, Outcome, Said, Verdict};

use crate::session::Session;
use crate::signal::Signal;

/// Who reports what of which event.
pub(crate) struct Report {
    pub(crate) session: Session,
    pub(crate) hook: Arc<Hook>,
    pub(crate) event: AnyEvent,
}

impl Report {
    /// It came to its own end.
    pub(crate) fn send(self, result: Result<Said, Failure>, took: Duration) {
        let outcome = match result {
            Ok(_) => Outcome::Answered(Verdict::Continue),
            Err(failure) => {
                self.session.shared().count_failure();
                failed(failure)
            }
        };
        self.session.node().background().count_finished();
        self.signal(outcome, took);
    }

    /// The session ended first.
    pub(crate) fn cut_short(self) {
        self.session.node().background().count_cut_short();
        let failure = Failure::new(FailureKind::Closed, "still running when the session closed");
        self.signal(failed(failure), Duration::ZERO);
    }

    fn signal(self, outcome: Outcome, took: Duration) {
        self.session.shared().signals.emit(|| Signal::DetachedFinished {
            event: self.event.envelope().id,
            session: self.event.envelope().source.session.clone(),
            hook: self.hook,
            outcome,
            took,
        });
    }
}

/// A detached hook has no authority, so its failure refuses nothing.
fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { failure: Box::new(failure), verdict: Verdict::Continue }
}
