//! The line that tells a person how far it is, redrawn in place and gone at the end.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::painter::one_line;
use crate::style::{on_this_terminal, tell};

/// How often it is redrawn at most.
const EVERY: Duration = Duration::from_millis(100);

/// How often it stands in a log, where it is wanted there.
const EVERY_IN_A_LOG: Duration = Duration::from_secs(5);

/// The line; nothing at all where standard error is no terminal, unless it is wanted in logs.
pub(crate) struct Progress {
    on_terminal: bool,
    in_logs: Option<Instant>,
    drawn: bool,
    last: Option<Instant>,
}

impl Progress {
    /// The line on standard error; nothing where rows for people show how far it is.
    pub(crate) fn on_stderr(shows_rows: bool) -> Self {
        let on_terminal = !shows_rows && std::io::stderr().is_terminal();
        Self { on_terminal, in_logs: None, drawn: false, last: None }
    }

    /// Where standard error is no terminal, has a line written to it every few seconds.
    pub(crate) fn also_in_logs(mut self) -> Self {
        self.in_logs = (!self.on_terminal).then(Instant::now);
        self
    }

    /// Draws it, if the last time was long enough ago.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String) {
        if let Some(last) = self.in_logs.as_mut().filter(|last| last.elapsed() >= EVERY_IN_A_LOG) {
            *last = Instant::now();
            return tell(&one_line(&line()));
        }
        let recent = self.last.is_some_and(|last| last.elapsed() < EVERY);
        if !self.on_terminal || recent {
            return;
        }
        self.last = Some(Instant::now());
        self.drawn = true;
        let mut stderr = std::io::stderr();
        // A terminal that is gone shows nothing; the work goes on.
        let line = one_line(&line());
        write!(stderr, "\r\x1b[2K{}", on_this_terminal(&line)).and_then(|()| stderr.flush()).ok();
    }

    /// Takes it off the screen, so that something else can be written there.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut stderr = std::io::stderr();
            write!(stderr, "\r\x1b[2K").and_then(|()| stderr.flush()).ok();
        }
    }
}
