//! The end of a session: its events are decided, what it runs ends, and its hooks are released.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::budget::after;
use tokio::time::{Instant, timeout_at};

use crate::base::signal::Signal;
use crate::hook::cx::is_part_of;
use crate::hook::state::{Node, Session, Shared};

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
    ///
    /// ```
    /// use lineside_bus::{Bus, PublishError};
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").open().await?;
    /// session.close().await;
    /// assert!(matches!(session.publish(OnIdle::new()).await, Err(PublishError::Closed(_))));
    /// assert!(bus.sessions().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn close(&self) {
        self.shared().end(self.node(), None).await;
    }

    /// As [`close`](Self::close), but what still runs after `limit` is cut short. An event that is undecided then is left
    /// to its publisher; post-decision hooks and automations are not started for it.
    ///
    /// # Panics
    /// Outside a tokio runtime with time, when there is something to wait for.
    pub async fn close_within(&self, limit: Duration) {
        self.shared().end(self.node(), Some(after(Instant::now(), limit))).await;
    }
}

impl Shared {
    /// Ends what a session runs. The session itself is closed afterwards: until then it is found by callers that take
    /// up a drain that was given up.
    pub(crate) fn begin_end(&self, node: &Node) {
        if let Some(background) = node.state.background_so_far() {
            background.end(&node.source.session, &self.failures);
        }
    }

    /// Waits until everything that a session runs has ended.
    pub(crate) async fn has_ended(&self, node: &Node) {
        if let Some(background) = node.state.background_so_far() {
            background.ended(&node.source.session, &self.failures).await;
        }
    }

    /// What a session runs has no more time.
    pub(crate) fn cut(&self, node: &Node) {
        if let Some(background) = node.state.background_so_far() {
            background.cut(&node.source.session, &self.failures);
        }
    }

    /// Ends a session, of which a drain has no handle.
    pub(crate) async fn end(self: &Arc<Self>, node: &Arc<Node>, deadline: Option<Instant>) {
        self.close_session_to_events(node);
        self.tree.close(node);
        if is_part_of(node) {
            let (shared, node) = (Arc::clone(self), Arc::clone(node));
            // Without a runtime there is nothing that would have to be waited for.
            self.endings.start(|| async move { shared.come_to_its_end(&node, deadline).await });
        } else {
            self.come_to_its_end(node, deadline).await;
        }
    }

    async fn come_to_its_end(&self, node: &Node, deadline: Option<Instant>) {
        // Told at its end, which comes too when this is dropped.
        let _closing = Closing(self, node);
        let decided = match deadline {
            // So it is for most, and then no timer is made.
            _ if node.state.in_flight.inside() == 0 => true,
            Some(deadline) => timeout_at(deadline, node.state.in_flight.emptied()).await.is_ok(),
            None => {
                node.state.in_flight.emptied().await;
                true
            }
        };
        if !decided {
            node.state.background().cut(&node.source.session, &self.failures);
        }
        if let Some(background) = node.state.background_so_far() {
            background.drain(&node.source.session, deadline, &self.failures).await;
        }
    }
}

/// A session about to come to its end.
struct Closing<'a>(&'a Shared, &'a Node);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Self(shared, node) = self;
        if shared.tree.end(node) {
            let (id, last_seq) = (node.source.session.clone(), node.state.in_flight.last());
            shared.signals.emit(|| Signal::SessionClosed { session: id, last_seq });
        }
    }
}
