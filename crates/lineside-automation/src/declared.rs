//! Automations that files declare: each load puts its own in the place of those of the one before.
//!
//! They are the same automations as those of a program. Only how they are registered differs: their hooks are installed
//! together with the others of the load, and one that stands in the file as it did goes on without a break.

use std::collections::HashSet;
use std::sync::Arc;

use lineside_bus::Installed;
use lineside_core::PointInfo;
use lineside_core::hook::{Hook, Select, Standby};

use crate::control::{Rules, Work};
use crate::engine::{Automations, Canceller, Does, Handler, RunInTurn, Trigger};
use crate::machine::Input;
use crate::machine::job::AutomationId;

/// An automation that a file declares.
pub struct Declaration {
    /// Its name among all automations, the same after a restart.
    pub id: Arc<str>,
    /// The hook by which it hears of events. Its timeout is that of an attempt.
    pub hook: Hook,
    /// Its point.
    pub point: &'static PointInfo,
    /// How it is paced.
    pub rules: Arc<Rules>,
    /// The events that cancel its held and waiting work; all of a point, where there is no condition.
    pub cancelled_by: Vec<(&'static PointInfo, Option<Arc<dyn Select>>)>,
    /// What it is called on every machine that has it, with the content that a person has trusted; none where another machine
    /// cannot have it.
    pub everywhere: Option<Arc<str>>,
    /// What it runs: processes, which have to wait for a turn.
    pub run: RunInTurn,
}

impl Automations {
    /// Registers an automation, in the place of one with its id, and gives the hooks that are to be installed for it:
    /// the one that starts it, then those that cancel its work. One whose hook is switched off is not registered, and
    /// what it has accepted before and not begun goes to the dead letters: it may no longer run.
    #[must_use = "without its hooks it hears of no event"]
    pub fn declare(&self, declaration: Declaration) -> Vec<Installed> {
        let Declaration { id, hook, point, rules, cancelled_by, everywhere, run } = declaration;
        let mut registration = 0;
        if hook.standby == Standby::Ready {
            let (name, timeout) = (Arc::clone(&hook.name), hook.timeout);
            let rules = Arc::new(Rules { work: Work::ExternalSlot, ..Arc::unwrap_or_clone(rules) });
            let handler = Handler { everywhere, ..Handler::new(name, timeout, Does::RunInTurn(run)) };
            registration = self.engine.replace(&id, handler, rules);
        } else {
            self.engine.step(Input::SwitchedOff(Arc::clone(&id), true));
        }
        let mut hooks = Vec::with_capacity(1 + cancelled_by.len());
        let trigger = Trigger { engine: Arc::clone(&self.engine), automation: Arc::clone(&id), registration };
        hooks.push(Installed::in_background(point, hook.clone(), Arc::new(trigger)));
        for (point, select) in cancelled_by {
            let canceller = Canceller { engine: Arc::clone(&self.engine), automation: Arc::clone(&id) };
            let hook = hook.clone().when(select);
            hooks.push(Installed::in_background(point, hook, Arc::new(canceller)));
        }
        hooks
    }

    /// Says that `source` declares these automations and no others: those that it declared before are taken away. What
    /// they have accepted comes to its end by the declaration that it was accepted under.
    pub fn declared(&self, source: &str, ids: &HashSet<AutomationId>) {
        for (gone, registration) in self.engine.sources.replace(source, self.engine.registered(ids)) {
            if !ids.contains(&gone) {
                self.engine.leaves(&gone, registration);
            }
        }
    }
}
