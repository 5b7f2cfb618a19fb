//! The first round of an event, as far as it goes without waiting: most hooks answer when they are first polled, and
//! then nothing of them has to be kept.

use std::task::Context;

use lineside_core::Part;

use crate::cx::handling;
use crate::group;
use crate::guard::{AtOnce, Guarded};
use crate::tree::Plan;
use crate::turn::Turn;

/// What the first round has to wait for.
pub(crate) enum Halt<'a> {
    /// The turn of a member of an ensemble.
    Member(u32),
    /// A call that has begun.
    Pending(u32, Guarded<'a>),
}

impl<'a> Turn<'a> {
    /// Runs the hooks from `next` on, until there are no more or one has to be waited for.
    pub(crate) fn advance(
        &mut self,
        plan: &Plan<'_>,
        next: &mut u32,
        task: &mut Context<'_>,
    ) -> Option<Halt<'a>> {
        let handled = self.handled();
        handling(handled, || {
            while let Some((hook, run)) = plan.entry(*next) {
                let index = *next;
                *next += 1;
                if hook.part == Part::Told {
                    continue;
                }
                if hook.ensemble.is_some() {
                    return Some(Halt::Member(index));
                }
                let Some(time) = self.admit(index, hook, &**run, None, false) else { continue };
                if hook.part == Part::Detached {
                    self.detach(index, hook, run);
                    continue;
                }
                match Guarded::at_once(&**run, self.event.clone(), self.cx(time), time, self.failures(), task) {
                    AtOnce::Ended(result) => {
                        let took = self.lap();
                        self.fold(index, false, took, result);
                    }
                    AtOnce::Pending(call) => return Some(Halt::Pending(index, call)),
                }
            }
            None
        })
    }

    /// Waits for what the round has to wait for. Gates of equal priority are waited for together.
    pub(crate) async fn wait(&mut self, plan: &Plan<'_>, next: &mut u32, halt: Halt<'a>) {
        match halt {
            Halt::Member(index) => self.member(plan, index, false).await,
            Halt::Pending(index, call) => {
                let group = plan.group(index).unwrap_or(index..index + 1);
                *next = group.end;
                if group.len() > 1 {
                    return group::run(self, plan, Some((index, call)), index + 1..group.end, false).await;
                }
                let result = call.await;
                let took = self.lap();
                self.fold(index, false, took, result);
            }
        }
    }
}
