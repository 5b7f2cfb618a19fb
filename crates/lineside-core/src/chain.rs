//! Folding the answers of one event's hooks into a verdict: a pure state machine.
//!
//! It holds the laws of the decision: a block is final and ends the chain; the reason is that of the first in plan
//! order; a gate that judged an earlier payload judges once more; an approval of an earlier payload counts for nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::hook::{AfterBlock, Hook};
use crate::receipt::{Outcome, Run, SkipReason};
use crate::verdict::{Standing, Strength, Verdict};

/// The chain of one event.
#[derive(Debug)]
pub struct Chain {
    hooks: Arc<[Arc<Hook>]>,
    runs: Vec<Run>,
    version: u32,
    ended_by: Option<u16>,
}

impl Chain {
    /// A chain over these hooks, in plan order; nothing has run yet.
    #[must_use]
    pub fn new(hooks: Arc<[Arc<Hook>]>) -> Self {
        let runs = Vec::with_capacity(hooks.len());
        Self { hooks, runs, version: 0, ended_by: None }
    }

    /// Why the hook at this place may not run any more; `None` when it may.
    #[must_use]
    pub fn refuses(&self, hook: u16) -> Option<SkipReason> {
        let ended_by = self.hooks.get(usize::from(self.ended_by?))?;
        let hook = self.hooks.get(usize::from(hook))?;
        let within = hook.after_block == AfterBlock::RunWithinDialect && hook.dialect == ended_by.dialect;
        (!within).then_some(SkipReason::Blocked)
    }

    /// The payload has a new version from now on.
    pub fn amended(&mut self) {
        self.version += 1;
    }

    /// Records what became of the hook at this place.
    pub fn record(&mut self, hook: u16, again: bool, took: Duration, outcome: Outcome) {
        let ends = outcome.verdict().is_some_and(|verdict| verdict.strength().is_final());
        if ends && self.ended_by.is_none_or(|first| hook < first) {
            self.ended_by = Some(hook);
        }
        self.runs.push(Run { hook, version: self.version, again, took, outcome });
    }

    /// Whether a block or stop has ended it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended_by.is_some()
    }

    /// The gates that judged an earlier payload than the present one and have to judge once more, in plan order.
    /// None once the chain has ended.
    #[must_use]
    pub fn stale_gates(&self) -> Vec<u16> {
        if self.has_ended() || self.version == 0 {
            return Vec::new();
        }
        let judged_earlier = |run: &&Run| {
            run.version < self.version
                && run.outcome.verdict().is_some()
                && self.hooks.get(usize::from(run.hook)).is_some_and(|hook| hook.part.is_gate())
        };
        let mut stale: Vec<u16> = self.runs.iter().filter(judged_earlier).map(|run| run.hook).collect();
        stale.sort_unstable();
        stale
    }

    /// What has run so far, in the order in which it was recorded.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The verdict that stands, and whose it is.
    #[must_use]
    pub fn decide(&self) -> (Verdict, Option<u16>) {
        let standing = self.runs.iter().map(|run| self.counts(run)).fold(Standing::default(), Standing::join);
        let author = standing.author;
        let verdict = self
            .runs
            .iter()
            .rev()
            .filter(|run| Some(run.hook) == author)
            .find_map(|run| run.outcome.verdict().filter(|said| said.strength() == standing.strength))
            .cloned()
            .unwrap_or_default();
        (verdict, author)
    }

    /// The hooks, in plan order.
    #[must_use]
    pub fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        &self.hooks
    }

    /// The hooks and what became of them, once the verdict is known.
    #[must_use]
    pub fn into_parts(self) -> (Arc<[Arc<Hook>]>, Vec<Run>) {
        (self.hooks, self.runs)
    }

    /// What a run contributes to the verdict.
    fn counts(&self, run: &Run) -> Standing {
        let Some(verdict) = run.outcome.verdict() else {
            return Standing::default();
        };
        let strength = verdict.strength();
        let outdated = run.version < self.version;
        if outdated && !run.again && self.has_judged_again(run.hook) {
            return Standing::default();
        }
        if outdated && strength == Strength::Allow {
            return Standing::default();
        }
        Standing::of(strength, run.hook)
    }

    fn has_judged_again(&self, hook: u16) -> bool {
        self.runs.iter().any(|run| run.again && run.hook == hook)
    }
}
