//! The first round of an event, as far as it goes without waiting: most hooks answer when they are first polled, and
//! then nothing of them has to be kept.

use std::ops::Range;
use std::task::Context;

use lineside_core::Part;
use lineside_core::outcome::Round;

use crate::dispatch::dispatcher::Dispatcher;
use crate::hook::cx::{Cx, Lending, handling};
use crate::hook::guard::{AtOnce, Guarded, poll_once};
use crate::hook::state::Plan;

/// What the first round has to wait for.
pub(crate) enum Suspended<'a> {
    /// A call that has begun, of a hook that runs alone.
    Alone(u32, Guarded<'a>),
    /// A call that has begun, of a gate, and the gates that run at the same time.
    Beside(u32, Guarded<'a>, Range<u32>),
    /// The turn of a member of an ensemble.
    Member(u32),
}

impl<'a> Dispatcher<'a> {
    /// Runs the hooks from `next` on, until there are no more or one has to be waited for.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        plan: &Plan<'_>,
        next: &mut u32,
        task: &mut Context<'_>,
    ) -> Option<Suspended<'a>> {
        let handled = self.handled();
        let lending = (plan.hooks().len() > 1).then(Lending::begin);
        handling(handled, || {
            while let Some((hook, run)) = plan.entry(*next) {
                let index = *next;
                *next += 1;
                if hook.part == Part::PostDecision {
                    continue;
                }
                if hook.is_judging_shadow() {
                    self.keep_for_shadow(index, hook, &**run);
                    continue;
                }
                if hook.ensemble.is_some() {
                    return Some(Suspended::Member(index));
                }
                let Some(time) = self.admit(index, hook, &**run, None, Round::First) else { continue };
                if hook.part == Part::Detached {
                    self.detach(index, hook, run);
                    continue;
                }
                self.time.begin();
                let given = || {
                    let (event, session) = match &lending {
                        Some(lending) => (lending.event(&self.event), lending.session(self.session)),
                        None => (self.event.clone(), self.session.clone()),
                    };
                    (event, Cx::new(session, self.cause, time.deadline))
                };
                match poll_once(&**run, given, &handled, &self.session.shared().failures, task) {
                    AtOnce::Passed => {
                        let took = self.time.lap();
                        self.chain.passed(index, took);
                    }
                    AtOnce::Ended(result) => {
                        let took = self.time.lap();
                        self.fold(index, Round::First, took, result);
                    }
                    AtOnce::Pending(call, latency) => {
                        let call = Guarded::under_way((call, latency), handled, time, self.failures());
                        let group = plan.group(index).map_or(*next..*next, |group| *next..group.end);
                        *next = group.end;
                        return Some(if group.is_empty() {
                            Suspended::Alone(index, call)
                        } else {
                            Suspended::Beside(index, call, group)
                        });
                    }
                }
            }
            None
        })
    }
}
