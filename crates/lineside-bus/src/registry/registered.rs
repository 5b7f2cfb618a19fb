//! One hook at one point, as it is registered at one place.

use std::collections::HashSet;
use std::sync::Arc;

use lineside_core::hook::{Hook, Standby};
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
        let Self { mut hook, point, runs, installed } = self;
        hook.registration = number;
        Registered { hook: Arc::new(hook), point, runs, installed }
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
