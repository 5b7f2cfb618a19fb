//! Hooks in shadow: each is admitted at its place, with the event as it stands there, and starts once the event is decided.
//! What it would have said, changed and given is reported when it ends, by `detached`.
//!
//! Nothing here touches the verdict, the payload, what other hooks see, or what the agent receives.

use std::time::Duration;

use lineside_core::hook::Hook;
use lineside_core::outcome::Round;
use lineside_core::{AnyEvent, Outcome};

use crate::dispatch::detached::Beginning;
use crate::dispatch::dispatcher::Dispatcher;
use crate::hook::interceptor::{DetachedRun, Interceptor};
use crate::hook::state::Plan;

/// The hooks of one event that are in shadow.
#[derive(Default)]
pub(crate) struct Shadows {
    /// Those that were admitted, by place, each with the event as it stood there.
    admitted: Vec<(u32, AnyEvent)>,
    /// Those that are to start.
    due: Vec<(DetachedRun, AnyEvent)>,
}

impl Shadows {
    /// Starts those that are due. None waits for another.
    pub(crate) fn start(self) {
        for (run, event) in self.due {
            run.start(event, Beginning::default());
        }
    }
}

impl Dispatcher<'_> {
    /// The turn of a hook in shadow: it is kept with the event as it stands, or recorded as left out.
    pub(crate) fn keep_for_shadow(&mut self, index: u32, hook: &Hook, run: &dyn Interceptor) {
        if self.selects(index, hook, run, None, Round::First) {
            let event = self.event.clone();
            self.cold_state().shadows.admitted.push((index, event));
        }
    }

    /// Has the hooks in shadow start that would have run, whichever of the gates beside them was faster.
    pub(crate) fn take_up_shadows(&mut self, plan: &Plan<'_>) {
        if self.cold.is_none() {
            return;
        }
        for (index, event) in std::mem::take(&mut self.cold_state().shadows.admitted) {
            let Some((hook, run)) = plan.entry(index) else { continue };
            if let Some(why) = self.chain.refused_before(index) {
                self.leave_out(index, &**run, Round::First, why);
                continue;
            }
            let run = DetachedRun::new(self.session, hook, index, run, self.cause);
            self.chain.record(index, Round::First, Duration::ZERO, Outcome::Detached);
            self.cold_state().shadows.due.push((run, event));
        }
    }
}
