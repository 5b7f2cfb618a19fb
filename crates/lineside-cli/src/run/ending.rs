//! How the events of a run came to their end, and the exit status that this is.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::interrupt::{Interrupt, Interrupted};
use crate::is_broken_pipe;

/// How long a decision that is being written has for that once the run is to end.
const WRITING: Duration = Duration::from_millis(500);

/// The end of a run.
pub(super) enum Ending {
    /// The input has ended, or something kept the run from going on.
    Input(Result<()>),
    Interrupted(Interrupted),
}

impl Ending {
    /// Runs until the input ends or a signal comes. After a signal, waits until no decision is being written: one that
    /// its reader has already is not lost.
    pub(super) async fn of(
        running: impl Future<Output = Result<()>>,
        all_settled: impl Future<Output = ()>,
        interrupt: &mut Interrupt,
    ) -> Self {
        let mut running = std::pin::pin!(running);
        tokio::select! {
            biased;
            signal = interrupt.next() => {
                tokio::select! {
                    biased;
                    _ = &mut running => {}
                    () = all_settled => {}
                    () = sleep(WRITING) => {}
                }
                Self::Interrupted(signal)
            }
            result = &mut running => Self::Input(result),
        }
    }

    /// Whether the input was read to its end and everything was printed.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Input(Ok(())))
    }

    /// What the summary says of it.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Input(Ok(())) => None,
            Self::Input(Err(error)) if is_broken_pipe(error) => {
                Some("the reader of standard output has gone")
            }
            Self::Input(Err(_)) => Some("ended early"),
            Self::Interrupted(_) => Some("interrupted"),
        }
    }

    /// The exit status, with whether every line was an event and nothing was lost.
    ///
    /// # Errors
    /// What kept the run from going on.
    pub(super) fn exit_status(self, is_clean: bool) -> Result<ExitCode> {
        match self {
            Self::Input(Err(error)) => Err(error),
            Self::Interrupted(signal) => Ok(ExitCode::from(signal.exit_status())),
            Self::Input(Ok(())) if is_clean => Ok(ExitCode::SUCCESS),
            Self::Input(Ok(())) => Ok(ExitCode::FAILURE),
        }
    }
}
