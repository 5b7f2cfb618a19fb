//! Claims: keys for what is no job, such as a gate, which stands in the same lines as the jobs.

use std::cmp::Reverse;
use std::sync::Arc;

use super::job::{ClaimId, JobId, State};
use super::queue::Waiter;
use super::{Effect, Input, Machine, Occurrence};

impl<E: Occurrence> Machine<E> {
    /// Takes a place in the line for a key, behind all that is due.
    pub(super) fn claim(&mut self, claim: ClaimId, key: &Arc<str>) {
        self.stand_in_line(claim, key);
        self.hand_on(key);
    }

    /// Gives the key back, or the place in the line.
    pub(super) fn give_up(&mut self, claim: ClaimId) {
        if let Some(key) = self.step_out(claim) {
            self.hand_on(&key);
        }
    }

    /// Everything is left to the next life: jobs that do not run need no key any more in this one.
    pub(crate) fn leave_keys(&mut self) -> Vec<Effect<E>> {
        let runs =
            |job: &JobId| self.jobs.get(job).is_some_and(|job| matches!(job.state, State::Running(..)));
        for state in self.keys.values_mut() {
            state.holders.retain(|(holder, _)| match holder {
                Waiter::Job(job) => runs(job),
                Waiter::Claim(_) => true,
            });
        }
        let keys: Vec<Arc<str>> = self.keys.keys().cloned().collect();
        keys.iter().for_each(|key| self.hand_on_to_claims(key));
        std::mem::take(&mut self.effects)
    }

    /// Takes in what happens after that, as far as it is about keys: what is no job goes on to its own end, and a key is
    /// one at a time until then. Jobs stay as they are.
    pub(crate) fn step_left(&mut self, input: &Input<E>) -> Vec<Effect<E>> {
        match input {
            Input::Claim(claim, key) => {
                self.stand_in_line(*claim, key);
                self.hand_on_to_claims(key);
            }
            Input::GiveUp(claim) => {
                if let Some(key) = self.step_out(*claim) {
                    self.hand_on_to_claims(&key);
                }
            }
            Input::Ended(job, fence, _) => {
                let state = self.jobs.get(job).map(|job| &job.state);
                if matches!(state, Some(State::Running(own, _)) if own == fence) {
                    self.run_is_over(*job);
                }
            }
            _ => {}
        }
        std::mem::take(&mut self.effects)
    }

    fn run_is_over(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        for key in [job.key.clone(), job.lane.clone()].into_iter().flatten() {
            if let Some(state) = self.keys.get_mut(&key) {
                state.holders.retain(|(holder, _)| *holder != Waiter::Job(id));
            }
            self.hand_on_to_claims(&key);
        }
    }

    /// Gives a key to the next one that is no job.
    fn hand_on_to_claims(&mut self, key: &Arc<str>) {
        let Some(state) = self.keys.get_mut(key).filter(|state| state.has_room(1)) else { return };
        let next = state.waiting.iter().find_map(|entry| match entry.2 {
            Waiter::Claim(claim) => Some((*entry, claim)),
            Waiter::Job(_) => None,
        });
        if let Some((entry, claim)) = next {
            state.waiting.remove(&entry);
            state.holders.push((entry.2, 1));
            self.effects.push(Effect::Granted(claim));
        }
    }

    fn stand_in_line(&mut self, claim: ClaimId, key: &Arc<str>) {
        let entry = (Reverse(0), self.next_place(), Waiter::Claim(claim));
        self.keys.entry(Arc::clone(key)).or_default().waiting.insert(entry);
        self.claims.insert(claim, Arc::clone(key));
    }

    /// Has neither the key nor a place in the line any more; gives the key.
    fn step_out(&mut self, claim: ClaimId) -> Option<Arc<str>> {
        let key = self.claims.remove(&claim)?;
        if let Some(state) = self.keys.get_mut(&key) {
            let own = Waiter::Claim(claim);
            state.holders.retain(|(holder, _)| *holder != own);
            state.waiting.retain(|(_, _, waiter)| *waiter != own);
        }
        Some(key)
    }
}
