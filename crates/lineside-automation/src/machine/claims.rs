//! Claims: keys for what is no job, such as a gate, which stands in the same lines as the jobs.

use std::cmp::Reverse;
use std::sync::Arc;

use super::job::ClaimId;
use super::queue::Waiter;
use super::{Machine, Occurrence};

impl<E: Occurrence> Machine<E> {
    /// Takes a place in the line for a key, behind all that is due.
    pub(super) fn claim(&mut self, claim: ClaimId, key: &Arc<str>) {
        let entry = (Reverse(0), self.next_place(), Waiter::Claim(claim));
        self.keys.entry(Arc::clone(key)).or_default().waiting.insert(entry);
        self.claims.insert(claim, Arc::clone(key));
        self.hand_on(key);
    }

    /// Gives the key back, or the place in the line.
    pub(super) fn give_up(&mut self, claim: ClaimId) {
        let Some(key) = self.claims.remove(&claim) else { return };
        if let Some(state) = self.keys.get_mut(&key) {
            let own = Waiter::Claim(claim);
            state.holders.retain(|(holder, _)| *holder != own);
            state.waiting.retain(|(_, _, waiter)| *waiter != own);
        }
        self.hand_on(&key);
    }
}
