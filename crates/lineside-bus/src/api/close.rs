//! The end of a session: its events are decided, what it runs ends, and its hooks are released.

use std::time::Duration;

use lineside_core::budget::after;

use crate::base::signal::Signal;
use crate::hook::cx::is_part_of;
use crate::hook::state::Session;

impl Session {
    /// Ends the session: its events are refused from now on. Waits until the events under way are decided, and then
    /// until detached hooks and automations have ended, those of these last events
    /// among them, each within its own time. Nothing of the session starts after that.
    ///
    /// A hook of this session would wait for itself: called by one, this returns at once, and the session comes to its
    /// end behind the hook. An actor, a task or a thread that a hook waits for is not known to be one; there it waits
    /// until the hook's time is over.
    ///
    /// Cancel safe: the session is closed at the first poll; waiting can be taken up by calling it again.
    pub async fn close(&self) {
        self.end(None).await;
    }

    /// As [`close`](Self::close), but what still runs after `limit` is cut short. An event that is undecided then is left
    /// to its publisher; post-decision hooks and automations are not started for it.
    pub async fn close_within(&self, limit: Duration) {
        self.end(Some(after(tokio::time::Instant::now(), limit))).await;
    }

    /// Ends what it runs. The session itself is closed afterwards: until then it is found by callers that take
    /// up a drain that was given up.
    pub(crate) fn begin_end(&self) {
        if let Some(background) = self.node().state.background_so_far() {
            background.end(self.id(), &self.shared().failures);
        }
    }

    /// Waits until everything that it runs has ended.
    pub(crate) async fn has_ended(&self) {
        if let Some(background) = self.node().state.background_so_far() {
            background.ended(self.id(), &self.shared().failures).await;
        }
    }

    /// What it runs has no more time.
    pub(crate) fn cut(&self) {
        if let Some(background) = self.node().state.background_so_far() {
            background.cut(self.id(), &self.shared().failures);
        }
    }

    pub(crate) async fn end(&self, deadline: Option<tokio::time::Instant>) {
        let node = self.node();
        self.shared().tree.close(node);
        node.state.in_flight.close();
        if is_part_of(node) {
            let session = self.clone();
            // Without a runtime there is nothing that would have to be waited for.
            self.shared().endings.start(|| async move { session.come_to_its_end(deadline).await });
        } else {
            self.come_to_its_end(deadline).await;
        }
    }

    async fn come_to_its_end(&self, deadline: Option<tokio::time::Instant>) {
        let state = &self.node().state;
        // Told at its end, which comes too when this is dropped.
        let _closing = Closing(self);
        let decided = match deadline {
            Some(deadline) => tokio::time::timeout_at(deadline, state.in_flight.emptied()).await.is_ok(),
            None => {
                state.in_flight.emptied().await;
                true
            }
        };
        if !decided {
            state.background().cut(self.id(), &self.shared().failures);
        }
        if let Some(background) = state.background_so_far() {
            background.drain(self.id(), deadline, &self.shared().failures).await;
        }
    }
}

/// A session about to come to its end.
struct Closing<'a>(&'a Session);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Self(session) = self;
        if session.shared().tree.end(session.node()) {
            let (id, last_seq) = (session.id().clone(), session.last_seq());
            session.shared().signals.emit(|| Signal::SessionClosed { session: id, last_seq });
        }
    }
}
