//! Ctrl-C and the polite request to end, as something that can be waited for.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The two signals. From the first one made, they no longer end the process by themselves.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

/// Which signal came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// `SIGINT`.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
}

impl Interrupted {
    /// The exit status that shells give to a program that such a signal has ended.
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Self::Interrupt => 128 + 2,
            Self::Terminate => 128 + 15,
        }
    }
}

impl Interrupt {
    /// Takes the signals over.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn watch() -> Result<Self> {
        let take = |kind| signal(kind).context("failed to take over signals");
        Ok(Self { interrupt: take(SignalKind::interrupt())?, terminate: take(SignalKind::terminate())? })
    }

    /// The next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> Interrupted {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupted::Interrupt,
            _ = self.terminate.recv() => Interrupted::Terminate,
        }
    }
}
