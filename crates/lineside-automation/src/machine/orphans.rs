//! Jobs whose automation will not come: every automation that there will be is there.

use super::job::{JobId, Parked, Settled, State, Why};
use super::{Machine, Occurrence};
use crate::hook_id::Owner;

impl<E: Occurrence> Machine<E> {
    /// What rests for an automation that is not there comes to its end: what was held or accepted goes to the dead
    /// letters, and what has run is done, with what it found. What rests for one that is switched off waits.
    pub(super) fn give_up_orphans(&mut self) {
        let orphans: Vec<JobId> = self.jobs().into_iter().filter(|id| self.is_orphan(*id)).collect();
        for automation in self.automations.iter_mut().filter(|automation| !automation.active) {
            automation.leaves = true;
        }
        for id in orphans {
            let Some(job) = self.jobs.get(&id) else { continue };
            let (place, state) = (job.automation, job.state.clone());
            match state {
                State::Delivering(_) => {
                    self.automations[place].parked.remove(&id);
                    self.hand_over(id);
                }
                State::Parked(Parked::Done) => {
                    self.withdraw(id);
                    self.settle(id, Settled::Done, None);
                }
                _ => {
                    self.withdraw(id);
                    self.settle(id, Settled::Dead(Why::Unregistered), None);
                }
            }
        }
        (0..self.automations.len()).for_each(|place| self.let_go(place));
    }

    /// The last events of what rests for automations that are not there, which may still come.
    pub(crate) fn orphans(&self) -> impl Iterator<Item = &E> {
        self.jobs.iter().filter(|(id, _)| self.is_orphan(**id)).map(|(_, job)| job.last())
    }

    fn is_orphan(&self, id: JobId) -> bool {
        let Some(job) = self.jobs.get(&id) else { return false };
        let automation = &self.automations[job.automation];
        // The work of a hook waits for its session, which says whether the hook is gone.
        !automation.active
            && !automation.off
            && automation.owner == Owner::Automation
            && match &job.state {
                State::Held(_) | State::Parked(_) => true,
                State::Delivering(_) => automation.parked.contains(&id),
                State::Waiting(_) | State::Running(..) | State::Delayed(_) | State::Rests(..) => false,
            }
    }
}
