//! The sessions of a host's subagents, which end with the session of its main agent.

use std::collections::HashMap;
use std::future::{Future as _, poll_fn};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use lineside_bus::Session;
use lineside_core::SessionId;

/// Those that were opened, by the session of their main agent.
#[derive(Default)]
pub(super) struct Subagents(Mutex<HashMap<SessionId, Vec<Session>>>);

impl Subagents {
    /// One was opened. Says whether it ends with the main agent: not when that has ended meanwhile, and then the caller
    /// ends it.
    #[must_use]
    pub(super) fn keep(&self, root: &Session, subagent: &Session) -> bool {
        let mut all = self.all();
        // Seen under the lock: an end that closes it later finds this one here.
        if !root.is_open() {
            return false;
        }
        if all.len() == all.capacity() {
            // What was closed by others goes before there is room for more.
            all.retain(|_, subagents| subagents.iter().any(Session::is_open));
        }
        let of_root = all.entry(root.id().clone()).or_default();
        if of_root.len() == of_root.capacity() {
            of_root.retain(Session::is_open);
        }
        of_root.push(subagent.clone());
        true
    }

    /// Ends a session of a main agent and those of its subagents. All of them are closed at the first poll.
    pub(super) async fn end(&self, root: &Session) {
        let subagents;
        let mut main = Box::pin(root.close());
        // It is closed first, so that one that is opened meanwhile finds that.
        let goes_on = poll_fn(|cx| Poll::Ready(main.as_mut().poll(cx).is_pending())).await;
        subagents = self.take(root);
        let mut closing: Vec<_> = subagents.iter().map(|session| Box::pin(session.close())).collect();
        closing.extend(goes_on.then_some(main));
        poll_fn(|cx| {
            closing.retain_mut(|closing| closing.as_mut().poll(cx).is_pending());
            if closing.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Those of this main agent, and not of a later one with its id.
    fn take(&self, root: &Session) -> Vec<Session> {
        let mut all = self.all();
        let Some(of_root) = all.get_mut(root.id()) else { return Vec::new() };
        let taken = of_root.extract_if(.., |subagent| subagent.is_below(root)).collect();
        if of_root.is_empty() {
            all.remove(root.id());
        }
        taken
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use lineside_bus::Bus;

    use super::*;

    #[tokio::test]
    async fn a_subagent_that_is_opened_while_its_main_agent_ends_ends_with_it() {
        let (bus, subagents) = (Bus::new(), Arc::new(Subagents::default()));
        // Between its opening and its place among the others.
        let root = bus.session("root").open().await.unwrap();
        let late = root.subagent("late").open().await.unwrap();
        subagents.end(&root).await;
        assert!(!subagents.keep(&root, &late), "its opener ends it");
        late.close().await;
        // One of a later session of that id does not end with the earlier one.
        let again = bus.session("root").open().await.unwrap();
        let below = again.subagent("below").open().await.unwrap();
        assert!(subagents.keep(&again, &below));
        subagents.end(&root).await;
        assert!(below.is_open());
        subagents.end(&again).await;
        // At any moment.
        for round in 0..500 {
            let root = bus.session(round.to_string()).open().await.unwrap();
            let both = Arc::new(Barrier::new(2));
            let (all, above, opens) = (Arc::clone(&subagents), root.clone(), Arc::clone(&both));
            let opening = std::thread::spawn(move || {
                opens.wait();
                let subagent = above.subagent(format!("below {round}")).open_now().ok()?;
                (!all.keep(&above, &subagent)).then_some(subagent)
            });
            both.wait();
            subagents.end(&root).await;
            if let Some(late) = opening.join().unwrap() {
                late.close().await;
            }
            assert!(bus.sessions().is_empty());
        }
        assert!(subagents.all().is_empty());
    }
}
