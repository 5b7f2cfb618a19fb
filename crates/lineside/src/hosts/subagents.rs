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
    /// One was opened.
    pub(super) fn keep(&self, root: &Session, subagent: &Session) {
        let mut all = self.all();
        if all.len() == all.capacity() {
            // What was closed by others goes before there is room for more.
            all.retain(|_, subagents| subagents.iter().any(Session::is_open));
        }
        let of_root = all.entry(root.id().clone()).or_default();
        if of_root.len() == of_root.capacity() {
            of_root.retain(Session::is_open);
        }
        of_root.push(subagent.clone());
    }

    /// Ends a session of a main agent and those of its subagents. All of them are closed at the first poll.
    pub(super) async fn end(&self, root: &Session) {
        let mut ending = self.all().remove(root.id()).unwrap_or_default();
        ending.push(root.clone());
        let mut closing: Vec<_> = ending.iter().map(|session| Box::pin(session.close())).collect();
        poll_fn(|cx| {
            closing.retain_mut(|closing| closing.as_mut().poll(cx).is_pending());
            if closing.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
