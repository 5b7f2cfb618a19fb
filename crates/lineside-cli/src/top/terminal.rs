//! The terminal while a screen is on it: taken over, and given back as it was, also after a panic.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// Whether there is something to be given back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, until this is dropped.
pub(super) struct Taken {
    pub(super) screen: Terminal<CrosstermBackend<Stdout>>,
}

impl Taken {
    /// Takes the terminal over. It is given back when this is dropped, and when the program panics, before that is reported.
    ///
    /// # Errors
    /// It cannot be taken over.
    pub(super) fn take() -> Result<Self> {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            give_back().ok();
            report(panicked);
        }));
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken = || {
            enable_raw_mode()?;
            execute!(stdout(), EnterAlternateScreen, EnableMouseCapture)?;
            Terminal::new(CrosstermBackend::new(stdout()))
        };
        let screen = taken().inspect_err(|_| drop(give_back()));
        Ok(Self { screen: screen.context("failed to take the terminal over")? })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        give_back().ok();
    }
}

/// Once: what is written after it stands on the screen from before.
fn give_back() -> io::Result<()> {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let left = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    disable_raw_mode().and(left)
}
