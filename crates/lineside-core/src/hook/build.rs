//! Replaces the fields of a hook, one function for each.

use std::sync::Arc;
use std::time::Duration;

use super::{AfterBlock, Hook, Join, Lane, Layer, Mode, Reach, Select, Standby};
use crate::diagnostic::Origin;
use crate::ensemble::Ensemble;
use crate::failure::OnFailure;

impl Hook {
    /// Replaces the source that the hook is removed by; empty for the program itself.
    #[must_use]
    pub fn source(self, source: impl Into<Arc<str>>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Replaces the format that the hook was written for.
    #[must_use]
    pub fn dialect(self, dialect: &'static str) -> Self {
        Self { dialect, ..self }
    }

    /// Replaces the file and line that declare the hook.
    #[must_use]
    pub fn origin(self, origin: Option<Origin>) -> Self {
        Self { origin, ..self }
    }

    /// Replaces the layer.
    #[must_use]
    pub fn layer(self, layer: Layer) -> Self {
        Self { layer, ..self }
    }

    /// Replaces the depth of the session that the hook is registered on.
    #[must_use]
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Replaces the number among all registrations.
    #[must_use]
    pub fn registration(self, registration: u64) -> Self {
        Self { registration, ..self }
    }

    /// Replaces the priority; a greater one runs first.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    /// Replaces whether what the hook says counts. One in shadow counts with no other.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        let ensemble = self.ensemble.filter(|_| mode == Mode::Enforced);
        Self { mode, ensemble, ..self }
    }

    /// Replaces the meaning of a failure.
    #[must_use]
    pub fn on_failure(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// Replaces whether what the hook has a say in is refused when it cannot be started.
    #[must_use]
    pub fn required(self, required: bool) -> Self {
        Self { required, ..self }
    }

    /// Replaces the hook's own timeout, from before its start to its answer.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Replaces the sessions whose events reach the hook.
    #[must_use]
    pub fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Replaces whether the hook runs after a block.
    #[must_use]
    pub fn after_block(self, after_block: AfterBlock) -> Self {
        Self { after_block, ..self }
    }

    /// Replaces whether a detached hook runs beside others.
    #[must_use]
    pub fn lane(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }

    /// Replaces whether the next model call waits for a post-decision hook.
    #[must_use]
    pub fn join(self, join: Join) -> Self {
        Self { join, ..self }
    }

    /// Replaces the longest time that the end of a session waits for a detached hook; no bound, when absent.
    #[must_use]
    pub fn drain(self, drain: Option<Duration>) -> Self {
        Self { drain, ..self }
    }

    /// Replaces whether the hook can run.
    #[must_use]
    pub fn standby(self, standby: Standby) -> Self {
        Self { standby, ..self }
    }

    /// Replaces the condition under which the hook runs; always, when absent.
    #[must_use]
    pub fn when(self, select: Option<Arc<dyn Select>>) -> Self {
        Self { select, ..self }
    }

    /// Replaces the hooks with which its answer counts; it counts alone, when absent or in shadow.
    #[must_use]
    pub fn within(self, ensemble: Option<Arc<dyn Ensemble>>) -> Self {
        let ensemble = ensemble.filter(|_| !self.is_shadow());
        Self { ensemble, ..self }
    }
}
