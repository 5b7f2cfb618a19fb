//! The signals that ask the command to end, as something that can be waited for.

use std::pin::Pin;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// These signals. From the first one made, they no longer end the process by themselves.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
    /// Absent where it is ignored, as under `nohup`.
    hang_up: Option<Signal>,
    quit: Signal,
}

/// Which signal came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// `SIGINT`: Ctrl-C.
    Interrupt,
    /// `SIGTERM`: the polite request to end.
    Terminate,
    /// `SIGHUP`: the terminal is gone.
    HangUp,
    /// `SIGQUIT`: Ctrl-\. It leaves no core dump, which would hold the input of the hooks.
    Quit,
}

impl Interrupted {
    /// The exit status that shells give to a program that such a signal has ended.
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Self::HangUp => 128 + 1,
            Self::Interrupt => 128 + 2,
            Self::Quit => 128 + 3,
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
        Ok(Self {
            interrupt: take(SignalKind::interrupt())?,
            terminate: take(SignalKind::terminate())?,
            hang_up: if is_ignored(SignalKind::hangup()) { None } else { Some(take(SignalKind::hangup())?) },
            quit: take(SignalKind::quit())?,
        })
    }

    /// Does something unless a signal comes first, which drops it.
    ///
    /// # Errors
    /// The signal.
    pub(crate) async fn before<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            interrupted = self.next() => Err(interrupted),
        }
    }

    /// The next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> Interrupted {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupted::Interrupt,
            _ = self.terminate.recv() => Interrupted::Terminate,
            () = received(self.hang_up.as_mut()) => Interrupted::HangUp,
            _ = self.quit.recv() => Interrupted::Quit,
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether the process that started this one wants this signal to be ignored; where the system does not say so, it is not.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default();
    ignored >> (kind.as_raw_value() - 1) & 1 == 1
}

/// What a command does, in a box.
pub(crate) type Work<'a> = Pin<Box<dyn Future<Output = Result<ExitCode>> + 'a>>;

/// Does something until a signal comes; dropping it ends what it has started. Its errors are those of the work and of
/// [`Interrupt::watch`].
pub(crate) fn unless_interrupted<'a>(work: impl Future<Output = Result<ExitCode>> + 'a) -> Work<'a> {
    Box::pin(until_interrupted(Box::pin(work)))
}

async fn until_interrupted(work: Work<'_>) -> Result<ExitCode> {
    let mut interrupt = Interrupt::watch()?;
    tokio::select! {
        done = work => done,
        interrupted = interrupt.next() => Ok(ExitCode::from(interrupted.exit_status())),
    }
}
