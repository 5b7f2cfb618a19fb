//! What the engine knows of hooks whose runs are jobs.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside_bus::{Accepted, Begun, Session};
use lineside_core::{AnyEvent, SkipReason};
use tokio_util::sync::CancellationToken;

use crate::hook_id::HookId;
use crate::machine::job::AutomationId;
use crate::offered::Offered;

/// Says why the hook does not run for what a burst came to; `None` when it does.
pub type Last = Box<dyn Fn(&AnyEvent) -> Option<SkipReason> + Send + Sync>;

/// Where the runs of a hook are on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Nowhere: they end with their session at the latest.
    Memory,
    /// In the journal of the automations, where they have one.
    Journal,
}

/// What the engine knows of hooks whose runs are jobs.
#[derive(Default)]
pub(crate) struct Register {
    known: Mutex<Known>,
    /// The run that was started last, behind which the next one begins.
    turn: Mutex<Option<Begun>>,
    /// Cancelled when the last attempt that had its turn has begun; `None` before the first.
    begins: Mutex<Option<CancellationToken>>,
}

#[derive(Default)]
struct Known {
    /// The dialects whose hooks were looked for.
    loaded: HashSet<String>,
    /// Those that are there, by source.
    current: HashMap<String, HashSet<AutomationId>>,
}

/// How the engine starts a run of a hook.
pub(crate) struct Starting {
    pub(crate) accepted: Accepted,
    pub(crate) recording: Recording,
    pub(crate) last: Last,
}

impl Register {
    /// The hooks of a source are these from now on. Of one without hooks nothing is kept but a dialect's name.
    pub(crate) fn replaced(&self, source: &str, hooks: impl IntoIterator<Item = AutomationId>) {
        let hooks: HashSet<AutomationId> = hooks.into_iter().collect();
        let mut known = self.known();
        if hooks.is_empty() {
            known.current.remove(source);
        } else {
            known.current.insert(source.to_owned(), hooks);
        }
        if !source.contains('/') {
            known.loaded.insert(source.to_owned());
        }
    }

    /// Starts a run behind the one that was started last.
    pub(crate) fn in_turn(&self, start: impl FnOnce(Option<Begun>) -> Begun) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = start(turn.take());
        *turn = Some(begun);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt has its turn; gives what tells when the one before it has begun.
    pub(crate) fn begins(&self, begun: CancellationToken) -> Option<CancellationToken> {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner).replace(begun)
    }

    /// What becomes of a job that rests, now that its session is there.
    pub(crate) fn look_at(
        &self,
        session: &Session,
        automation: &AutomationId,
        event: &Offered,
    ) -> Option<Fate> {
        let hook = HookId::read(automation)?;
        let known = self.known();
        if !known.loaded.contains(&hook.dialect) {
            return None;
        }
        if !known.current.values().any(|hooks| hooks.contains(automation)) {
            // What was accepted in this life has the right to run, and still does.
            return Some(if event.may_run() { Fate::TakenUp } else { Fate::Gone });
        }
        match event.event() {
            Ok(of) => session.ticket(&of, automation).map(|ticket| {
                event.give(ticket);
                Fate::TakenUp
            }),
            // Its run says what is wrong with it.
            Err(_) => Some(Fate::TakenUp),
        }
    }
}

/// What becomes of a job that rests.
pub(crate) enum Fate {
    /// It goes on: its session has its hook.
    TakenUp,
    /// Its hook is gone.
    Gone,
}
