//! The interceptors that a program of this process has registered on a session, for who asks them on behalf of events that
//! happen elsewhere below it.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::budget::{Bound, after};
use lineside_core::envelope::Cause;
use lineside_core::failure::drop_payload;
use lineside_core::hook::NATIVE;
use lineside_core::json::Map;
use lineside_core::point::Slot;
use lineside_core::{AnyEvent, Failure, Hook, PointInfo, Reach, Response};
use tokio::time::Instant;

use crate::hook::cx::Cx;
use crate::hook::guard::{Guarded, Time};
use crate::hook::interceptor::Interceptor;
use crate::hook::state::{Leaves, Place, Registered, Runs, Session, Shared};

/// An interceptor of this process on a session.
pub struct Living {
    session: Session,
    hook: Arc<Hook>,
    run: Arc<dyn Interceptor>,
}

impl Living {
    fn of(session: &Session, registered: Registered) -> Option<Self> {
        let Registered { hook, runs, .. } = registered;
        let Runs::Interceptor(run) = runs else { return None };
        Some(Self { session: session.clone(), hook, run })
    }

    /// The hook. Its registration names it.
    #[must_use]
    pub fn hook(&self) -> &Hook {
        &self.hook
    }

    /// Whether its condition keeps this event out: for who could not have it asked where the event is.
    #[must_use]
    pub fn skips(&self, event: &AnyEvent) -> bool {
        self.hook.skip(event).is_some()
    }

    /// Asks it about an event of a session that is below its own somewhere else, as an event here would, within this time.
    /// Its condition is not asked, and nothing of it is reported here.
    ///
    /// Dropping the future cancels the call.
    ///
    /// # Errors
    /// Its failure, a panic and the end of its time among them.
    pub async fn ask(&self, event: &AnyEvent, within: Duration) -> Result<Response, Failure> {
        let time = Time { granted: within, bound: Bound::Hook, deadline: after(Instant::now(), within) };
        let envelope = event.envelope();
        let depth = envelope.cause.map_or(0, |cause| cause.depth);
        let cx = Cx::new(self.session.clone(), Cause { event: envelope.id, depth }, time.deadline);
        let failures = Cow::Borrowed(&self.session.shared().failures);
        Guarded::start(&*self.run, event, cx, time, failures).await
    }
}

/// Whether a registration is one of [`Living`].
pub(crate) fn is_living((hook, point, runs): (&Hook, &PointInfo, &Runs)) -> bool {
    matches!(runs, Runs::Interceptor(run) if run.lives_here())
        && matches!(point.slot, Slot::Catalogue(_))
        && hook.reach != Reach::Itself
}

fn lives(registered: &Registered) -> bool {
    is_living((&registered.hook, registered.point, &registered.runs))
}

/// An interceptor of this process on a session, as it may be declared elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct LivingEntry {
    /// The number of its registration.
    pub registration: u64,
    /// Which sessions it hears.
    pub reach: Reach,
    /// Whether it is for some events alone; what its entry says of that is under `match`, if it can say it.
    pub has_condition: bool,
    /// What it would be in a file of lineside's own format, apart from what it runs, as [`Hook::declared`]; `None` of one that
    /// is known.
    pub entry: Option<Map>,
}

impl Session {
    /// The interceptors that a program of this process has registered on this session and that hold below it, by their
    /// registrations: closures and actors at points of the catalogue. Of those that are `known` there is no entry.
    ///
    /// No hook is let go of here, so that nothing of what users have written is dropped where this is called.
    #[must_use]
    pub fn living(&self, known: &dyn Fn(u64) -> bool) -> Vec<LivingEntry> {
        let (mut all, place) = (Vec::new(), self.place());
        if self.shared().tree.is_off(&place, NATIVE) {
            return all;
        }
        let Some(own) = self.shared().tree.own(&place) else { return all };
        own.each(&mut |registered| {
            let Registered { hook, point, .. } = registered;
            if !lives(registered) {
                return;
            }
            // What users have written of a condition may panic: it is asked here then.
            let declared = || {
                catch_unwind(AssertUnwindSafe(|| hook.declared(point))).unwrap_or_else(|panic| {
                    drop_payload(panic);
                    Hook::clone(hook).when(None).declared(point)
                })
            };
            let entry = (!known(hook.registration)).then(declared);
            let has_condition = hook.select.is_some();
            all.push(LivingEntry {
                registration: hook.registration,
                reach: hook.reach,
                has_condition,
                entry,
            });
        });
        all
    }

    /// That of this registration among them.
    #[must_use]
    pub fn living_of(&self, registration: u64) -> Option<Living> {
        let registered = self.shared().tree.own(&self.place())?.registration(registration)?;
        lives(&registered).then(|| Living::of(self, registered)).flatten()
    }
}

impl Shared {
    /// Removes hooks at one place. Returns how many there were.
    pub(crate) fn remove(self: &Arc<Self>, place: &Place, leaves: Leaves<'_>) -> usize {
        let living = Cell::new(false);
        let count = self.tree.remove(place, &|registered| {
            let is_gone = leaves(registered);
            living.set(living.get() || is_gone && lives(registered));
            is_gone
        });
        if living.get() {
            self.changed(place);
        }
        count
    }

    /// The [`Living`] of a place are others.
    pub(crate) fn changed(self: &Arc<Self>, place: &Place) {
        if let (Place::Session(node), Some(by)) = (place, self.propagating()) {
            by.hooks_changed(&Session::new(Arc::clone(node), Arc::clone(self)));
        }
    }
}
