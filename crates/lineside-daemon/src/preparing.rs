//! Sessions that are opened together with hooks: until these are registered, no event of theirs is decided.

use lineside::{Bus, Session};
use tokio::sync::Notify;

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The sessions whose hooks are being registered.
#[derive(Default)]
pub(crate) struct Preparing {
    /// How many there are, for the events of all others.
    count: AtomicUsize,
    ids: Mutex<Vec<String>>,
    changed: Notify,
}

/// A session whose hooks are being registered. Dropping it lets its events in.
pub(crate) struct Prepared<'a> {
    preparing: &'a Preparing,
    id: String,
}

impl Preparing {
    /// The session of that id is about to be opened, or to get hooks: from here on its events wait.
    pub(crate) fn begin(&self, id: &str) -> Prepared<'_> {
        let mut ids = self.ids();
        ids.push(id.to_owned());
        self.count.store(ids.len(), Ordering::SeqCst);
        drop(ids);
        Prepared { preparing: self, id: id.to_owned() }
    }

    /// Waits until the hooks stand that a session and those above it were opened with. The session has been found
    /// before: one that is found is counted here already. Cancel safe.
    pub(crate) async fn stand(&self, bus: &Bus, session: &Session) {
        if self.count.load(Ordering::SeqCst) > 0 {
            // It hardly ever comes to that, and takes no place in the future of an event.
            Box::pin(self.wait(bus, session)).await;
        }
    }

    async fn wait(&self, bus: &Bus, session: &Session) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let ids = self.ids().clone();
            let concerns = |id: &String| {
                *id == *session.id().as_str() || bus.find(id).is_some_and(|above| session.is_below(&above))
            };
            if !ids.iter().any(concerns) {
                return;
            }
            changed.await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, Vec<String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        let mut ids = self.preparing.ids();
        if let Some(place) = ids.iter().position(|id| *id == self.id) {
            ids.swap_remove(place);
        }
        self.preparing.count.store(ids.len(), Ordering::SeqCst);
        drop(ids);
        self.preparing.changed.notify_waiters();
    }
}
