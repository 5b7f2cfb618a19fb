//! The decision log of a run: fed beside it, and written to its end when the run is over.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use lineside::Bus;
use lineside::log::{Follower, Log, Options};
use tokio::sync::Mutex;

use crate::painter::one_line;
use crate::style::{Style, Tone, tell};
use crate::tasks::Beside;

/// A log that takes everything that happens on a bus.
pub(super) struct Logged {
    follower: Arc<Mutex<Follower>>,
    beside: Beside,
}

impl Logged {
    /// Opens the log, and feeds it from now on.
    ///
    /// # Errors
    /// The thread that writes it cannot be started.
    pub(super) fn start(path: &Path, bus: &Bus) -> Result<Self> {
        let log = Log::open(path, Options::default()).context("failed to begin the decision log")?;
        let follower = Arc::new(Mutex::new(Follower::new(bus, log)));
        let followed = Arc::clone(&follower);
        let beside = Beside::start(async move { followed.lock().await.follow().await });
        Ok(Self { follower, beside })
    }

    /// Writes the rest, and says what is wrong with the log. Returns whether it has everything.
    pub(super) async fn end(self, style: Style) -> bool {
        let Self { follower, beside } = self;
        drop(beside);
        let mut follower = follower.lock().await;
        follower.end();
        let state = follower.state();
        let lost = (state.lost > 0).then(|| format!("{} records are not in the decision log", state.lost));
        for text in state.notes.iter().chain(&state.trouble).chain(&lost) {
            tell(&format!("{}: {}", style.paint(Tone::Warning, "warning"), one_line(text)));
        }
        state.lost == 0
    }
}
