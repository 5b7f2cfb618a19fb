//! What a foreign hook runs for an event, and how what came of it is read. Both are pure: running is somebody else's.

use std::time::Duration;

use lineside_core::invocation::{Ended, Invocation};
use lineside_core::{Answer, AnyEvent, Failure};

/// The pure half of a foreign hook: event to call, result to answer.
pub trait Handler: Send + Sync {
    /// What is to be run for this event.
    ///
    /// # Errors
    /// The hook cannot be started, which is found out without starting anything.
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure>;

    /// Reads how the call ended.
    ///
    /// # Errors
    /// The hook could not answer: it failed to start, ran out of time, exited with a failing status, or printed what
    /// its format does not allow.
    fn read(&self, event: &AnyEvent, ended: &Ended) -> Result<Answer, Failure>;

    /// What a failure amounts to when the hook declares that its failure refuses the event; `None` for the usual
    /// block. For formats that put the refusal of a stop in words of their own, or in which some stops are final.
    fn refuse(&self, event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        let _ = (event, failure);
        None
    }

    /// The lines of the dialect's own debug log for a moment of a run. They are written together.
    fn log(&self, moment: &Moment<'_>) -> Vec<String> {
        let _ = moment;
        Vec::new()
    }
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// A command.
    Command(Invocation),
}

/// A moment of a run that a debug log may tell of.
#[derive(Debug, Clone, Copy)]
pub enum Moment<'a> {
    /// It is about to start.
    Starting {
        /// What it is started with.
        call: &'a Call,
    },
    /// It has ended.
    Finished {
        /// How the process ended; absent when none was started.
        ended: Option<&'a Ended>,
        /// What was made of it.
        result: &'a Result<Answer, Failure>,
        /// From before the start to the end.
        took: Duration,
    },
}
