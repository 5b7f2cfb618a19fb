//! Runs for other machines: the job is theirs, and so is everything that becomes of it. Here it takes a turn and runs.

use std::sync::Arc;

use lineside_core::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::driver::flat;
use super::{Automations, Does, Engine, Processes, until};
use crate::control::{Assignment, Place};
use crate::engine::AttemptPermit;
use crate::machine::{Ended, Input};
use crate::offered::Offered;
use lineside_core::FailureKind;

/// A turn that a run for another machine has. Dropping it gives it back.
pub struct BorrowedTurn(Arc<Engine>);

impl Drop for BorrowedTurn {
    fn drop(&mut self) {
        self.0.step(Input::TurnOver);
        self.0.done.send_modify(|done| *done += 1);
    }
}

/// A job of another machine, as it is run here.
pub struct Borrowed<'a> {
    /// What its hook is called on every machine that has it.
    pub hook: &'a str,
    /// What its events come to, as that machine has written it.
    pub event: &'a str,
    /// Which run it is.
    pub assignment: Assignment,
}

impl Automations {
    /// Waits until there is a turn that no job of this machine waits for. Cancel safe.
    pub async fn spare_turn(&self) {
        until(&self.engine.done, || self.engine.ask(super::Machine::has_spare_turn).then_some(())).await;
    }

    /// Takes a turn for a run of another machine, if there is one that no job of this one waits for.
    #[must_use]
    pub fn take_turn(&self) -> Option<BorrowedTurn> {
        self.engine.core().machine.take_turn().then(|| BorrowedTurn(Arc::clone(&self.engine)))
    }

    /// What the hooks that are here and may run for any machine are called on every machine.
    #[must_use]
    pub fn everywhere(&self) -> Vec<Arc<str>> {
        let core = self.engine.core();
        let is_here = |(id, handler): &(&_, &super::Handler)| {
            handler.place == Place::Anywhere && core.machine.is_there(id)
        };
        let mut all: Vec<_> = core
            .handlers
            .iter()
            .filter(is_here)
            .filter_map(|(_, handler)| handler.everywhere.clone())
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Changes when others may be there.
    #[must_use]
    pub fn everywhere_changes(&self) -> watch::Receiver<u64> {
        self.engine.everywhere.subscribe()
    }

    /// Runs a job of another machine here, to its end, or until it is cancelled; what it has started has ended then. `None`
    /// where the hook is not here.
    ///
    /// Dropping the future ends what it has started, behind.
    pub async fn borrow(&self, borrowed: Borrowed<'_>, cancel: &CancellationToken) -> Option<Ended> {
        let Borrowed { hook, event, assignment } = borrowed;
        let engine = &self.engine;
        let handler = {
            let core = engine.core();
            let found = core.handlers.iter().find(|(id, handler)| {
                handler.everywhere.as_deref() == Some(hook) && core.machine.is_there(id)
            });
            found.map(|(_, handler)| handler.clone())?
        };
        let Does::RunInTurn(run) = handler.does else { return None };
        let unreadable = |why: String| Some(Ended::With(Err((FailureKind::Error, why))));
        let event = match json::from_slice::<Offered>(event.as_bytes()) {
            Ok(offered) => match offered.event() {
                Ok(event) => event,
                Err(error) => return unreadable(error.to_string()),
            },
            Err(error) => return unreadable(error.to_string()),
        };
        // A session of that id here is another one.
        let session = engine.bus.upgrade()?.closed_session(&event.envelope().source);
        let processes = Processes::none();
        let until_over = Some(processes.until_over());
        let called = session.call(&event, handler.timeout, |cx| {
            let cx = cx.on_attempt(assignment.attempt).holding(until_over);
            run(event.clone(), assignment, cx, AttemptPermit::has_begun())
        });
        let ended = match cancel.run_until_cancelled(called).await {
            Some(called) => Ended::With(called.map_err(|failure| flat(&failure))),
            None => Ended::Cancelled,
        };
        processes.ended().await;
        Some(ended)
    }
}

impl Engine {
    /// Automations have come or gone.
    pub(super) fn tell_everywhere(&self) {
        self.everywhere.send_modify(|changes| *changes += 1);
    }
}
