//! One hook at one point, as it is registered at one place.

use std::collections::HashSet;
use std::sync::Arc;

use lineside_core::hook::{Hook, Standby, Tighter};
use lineside_core::{PointInfo, SkipReason};

/// What a registration runs.
#[derive(Clone)]
pub(crate) enum Runs<I, O> {
    Interceptor(I),
    Observer(O),
}

/// A hook that is to be registered.
pub(crate) struct Added<I, O> {
    pub(crate) hook: Hook,
    pub(crate) point: &'static PointInfo,
    pub(crate) runs: Runs<I, O>,
    /// Under which name it is installed, for being replaced.
    pub(crate) installed: Option<Arc<str>>,
    /// The number of the registration of a place above in whose place it stands.
    pub(crate) instead_of: Option<u64>,
}

/// One registration at one point.
#[derive(Clone)]
pub(crate) struct Registered<I, O> {
    pub(crate) hook: Arc<Hook>,
    pub(crate) point: &'static PointInfo,
    pub(crate) runs: Runs<I, O>,
    /// Under which name it was installed, for being replaced.
    pub(crate) installed: Option<Arc<str>>,
}

impl<I, O> Added<I, O> {
    /// The registration of that number.
    pub(crate) fn numbered(self, number: u64) -> Registered<I, O> {
        let Self { mut hook, point, runs, installed, instead_of } = self;
        // The place of an event's plan is that of its order: where two are equal, the one of the nearer place counts.
        hook.registration = instead_of.unwrap_or(number);
        Registered { hook: Arc::new(hook), point, runs, installed }
    }
}

impl<I: Clone, O: Clone> Registered<I, O> {
    /// The same hook, tightened, for a place below, where it stands in the place of this one; `None` where it is as strict
    /// already, or hears only.
    pub(crate) fn tightened(&self, asked: Tighter, name: &Arc<str>) -> Option<Added<I, O>> {
        let Runs::Interceptor(_) = &self.runs else { return None };
        Some(Added {
            hook: self.hook.tightened(asked)?,
            point: self.point,
            runs: self.runs.clone(),
            installed: Some(Arc::clone(name)),
            instead_of: Some(self.hook.registration),
        })
    }
}

impl<I, O> Registered<I, O> {
    /// The hook as it is in force where the hooks of these formats are switched off.
    pub(crate) fn in_force(&self, off: &HashSet<&'static str>) -> Arc<Hook> {
        if !off.contains(self.hook.dialect) {
            return Arc::clone(&self.hook);
        }
        let mut hook = (*self.hook).clone();
        hook.standby = Standby::Off(SkipReason::Disabled);
        Arc::new(hook)
    }
}
