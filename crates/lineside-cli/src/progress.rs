//! The line that tells a person how far it is, redrawn in place and gone at the end.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::painter::one_line;
use crate::style::on_this_terminal;

/// How often it is redrawn at most.
const EVERY: Duration = Duration::from_millis(100);

/// The line; nothing at all where standard error is no terminal.
pub(crate) struct Progress {
    on_terminal: bool,
    drawn: bool,
    last: Option<Instant>,
}

impl Progress {
    /// The line on standard error; nothing where rows for people show how far it is.
    pub(crate) fn on_stderr(shows_rows: bool) -> Self {
        let on_terminal = !shows_rows && std::io::stderr().is_terminal();
        Self { on_terminal, drawn: false, last: None }
    }

    /// Draws it, if the last time was long enough ago.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String) {
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
