//! What waits to be done in order, and the wait for it: who has had something accepted learns when it is kept.

use std::collections::VecDeque;

use tokio::sync::watch;

/// What is to be done, with how much there ever was and how much of it is done.
pub(crate) struct Outbox<T> {
    waiting: VecDeque<T>,
    wanted: u64,
    done: u64,
}

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), wanted: 0, done: 0 }
    }
}

impl<T> Outbox<T> {
    pub(crate) fn push(&mut self, wanted: T) {
        self.wanted += 1;
        self.waiting.push_back(wanted);
    }

    /// How much waits to be taken.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Everything that waits. It is not done before [`done`](Self::done) says so.
    pub(crate) fn take(&mut self) -> VecDeque<T> {
        std::mem::take(&mut self.waiting)
    }

    /// So much of what was taken is done.
    pub(crate) fn done(&mut self, count: usize) {
        self.done += count as u64;
    }

    /// The place of what was wanted last.
    pub(crate) fn wanted(&self) -> u64 {
        self.wanted
    }

    /// Whether everything up to this place is done.
    pub(crate) fn has_done(&self, wanted: u64) -> bool {
        self.done >= wanted
    }
}

/// Waits until a look finds something; there is another look whenever something is done. `None` when nothing is any more.
///
/// Cancel safe.
pub(crate) async fn until<T>(done: &watch::Sender<u64>, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    // Before the first look: what is done after it is not missed.
    let mut done = done.subscribe();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        done.changed().await.ok()?;
    }
}
