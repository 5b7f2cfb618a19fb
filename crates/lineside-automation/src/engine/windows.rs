//! The part of this machine in windows and rates that are kept with others: one task for each window in which something is held
//! here, and one for each rate that jobs wait for.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use lineside_core::journal::Unavailable;
use lineside_core::{EventId, json};
use tokio::sync::Notify;

use super::{Automations, Engine};
use crate::control::{Excess, Hold};
use crate::machine::job::AutomationId;
use crate::machine::{Input, Occurrence as _};
use crate::offered::Offered;
use crate::shared_windows::{SharedRate, SharedWindows};

/// The windows and the rates that have a task, by their automation and their key.
#[derive(Default)]
pub(super) struct Kept {
    windows: HashMap<(AutomationId, Arc<str>), Arc<Notify>>,
    rates: HashSet<(AutomationId, Arc<str>)>,
}

/// What is held here in a window of the cluster.
pub struct SharedWindow {
    engine: Arc<Engine>,
    automation: AutomationId,
    key: Arc<str>,
    changed: Arc<Notify>,
}

impl fmt::Debug for SharedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWindow").field("automation", &self.automation).finish_non_exhaustive()
    }
}

/// What is held here now.
pub struct HeldHere {
    /// For how long, and how many.
    pub hold: Hold,
    /// The events, in order.
    pub events: Vec<HeldEvent>,
    /// The window is to be over as soon as it can be.
    pub closes: bool,
}

/// An event that is held.
pub struct HeldEvent {
    /// Its id.
    pub id: EventId,
    event: Offered,
}

impl HeldEvent {
    /// The event, as [`SharedWindow::close`] reads it.
    #[must_use]
    pub fn text(&self) -> String {
        json::to_string(&self.event).unwrap_or_default()
    }
}

impl SharedWindow {
    /// What it is called on every machine.
    #[must_use]
    pub fn name(&self) -> String {
        self.engine.name_of_shared(&self.automation, &self.key)
    }

    /// What is held here now; `None` when nothing is.
    #[must_use]
    pub fn held(&self) -> Option<HeldHere> {
        self.engine.ask(|machine| {
            let window = machine.window(&self.automation, &self.key)?;
            let held = |event: &Offered| HeldEvent { id: event.id(), event: event.clone() };
            let events = window.events.iter().map(|(_, event)| held(event)).collect();
            Some(HeldHere { hold: window.hold, events, closes: window.closes })
        })
    }

    /// Waits until something has come since the last call, or the window is to be over. Cancel safe.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// This machine has the window, of which these are the events of all machines, in order: they are one job here. Returns when
    /// that is on record. Events that cannot be read are left out.
    ///
    /// # Errors
    /// Records are no longer kept.
    pub async fn close(&self, all: &[String]) -> Result<(), Unavailable> {
        let all = all.iter().filter_map(|text| json::from_slice(text.as_bytes()).ok()).collect();
        self.engine.step(Input::Close(Arc::clone(&self.automation), Arc::clone(&self.key), all));
        self.engine.kept().await.map(drop)
    }

    /// These events are run for on another machine.
    pub fn elsewhere(&self, events: Vec<EventId>) {
        self.engine.step(Input::Elsewhere(Arc::clone(&self.automation), Arc::clone(&self.key), events));
    }
}

impl Automations {
    /// Has windows and rates with the scope `cluster` be kept with other machines. The first ones count; they are given before
    /// automations are registered.
    pub fn share_windows(&self, windows: Arc<dyn SharedWindows>) {
        if self.engine.shared_windows.set(windows).is_ok() {
            self.engine.core().machine.share_windows();
        }
    }
}

impl Engine {
    /// The name for people, and the key: what is called the same on another machine is the same there.
    fn name_of_shared(&self, automation: &AutomationId, key: &str) -> String {
        format!("{}\n{key}", self.name(automation))
    }

    /// Something has come into a window, or it is to be over.
    pub(super) fn keep_window(self: &Arc<Self>, automation: AutomationId, key: Arc<str>) {
        let Some(shared) = self.shared_windows.get().map(Arc::clone) else { return };
        let place = (automation, key);
        let changed = {
            let mut core = self.core();
            if let Some(changed) = core.kept_windows.windows.get(&place) {
                return changed.notify_one();
            }
            let changed = Arc::new(Notify::new());
            core.kept_windows.windows.insert(place.clone(), Arc::clone(&changed));
            changed
        };
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            loop {
                let window = SharedWindow {
                    engine: Arc::clone(&engine),
                    automation: Arc::clone(&place.0),
                    key: Arc::clone(&place.1),
                    changed: Arc::clone(&changed),
                };
                if !shared.take_part(window).await {
                    return;
                }
                let mut core = engine.core();
                if core.machine.window(&place.0, &place.1).is_none() {
                    core.kept_windows.windows.remove(&place);
                    return;
                }
            }
        });
    }

    /// Jobs wait for a rate.
    pub(super) fn keep_rate(self: &Arc<Self>, automation: AutomationId, key: Arc<str>) {
        let Some(shared) = self.shared_windows.get().map(Arc::clone) else { return };
        let place = (automation, key);
        if !self.core().kept_windows.rates.insert(place.clone()) {
            return;
        }
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            loop {
                let rate = {
                    let mut core = engine.core();
                    let Some(rate) = core.machine.waits_for_rate(&place.0, &place.1) else {
                        core.kept_windows.rates.remove(&place);
                        return;
                    };
                    rate
                };
                let rate = SharedRate {
                    name: engine.name_of_shared(&place.0, &place.1),
                    starts: rate.starts,
                    period: rate.period,
                    waits: rate.excess == Excess::Wait,
                };
                let is_in = shared.let_in(rate).await;
                engine.step(Input::LetIn(Arc::clone(&place.0), Arc::clone(&place.1), is_in));
            }
        });
    }
}
