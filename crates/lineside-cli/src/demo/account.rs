//! The account of a session: what its receipts, its deliveries and the end of the bus add up to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside::bus::{ContextMessage, DrainReport};
use lineside::core::{Outcome, Receipt, Strength};
use lineside::{Bus, Session};

use super::native::Tally;

/// What happened, in numbers. Nothing in it is expected; everything in it was counted.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) verdicts: BTreeMap<Strength, usize>,
    /// Of the refusals and questions, how many have an author, and how many there are.
    pub(super) authored: (usize, usize),
    pub(super) runs: usize,
    /// Runs that started a process.
    pub(super) processes: usize,
    pub(super) slowest: Option<(Arc<str>, Duration)>,
    pub(super) amendments: usize,
    pub(super) failures: u64,
    pub(super) messages: usize,
    /// Messages that were not collected, or did not fit.
    pub(super) undelivered: u64,
    /// Hooks that were not waited for: finished, cut short.
    pub(super) background: (u64, u64),
    pub(super) edits: usize,
    pub(super) heard: u64,
    pub(super) lost: u64,
    /// Each agent with the digest of the hooks that it is under.
    pub(super) coverage: Vec<(String, Arc<str>)>,
}

impl Account {
    pub(super) fn events(&self) -> usize {
        self.verdicts.values().sum()
    }

    /// One more decision.
    pub(super) fn decided(&mut self, receipt: &Receipt) {
        let strength = receipt.verdict.strength();
        *self.verdicts.entry(strength).or_default() += 1;
        if strength > Strength::Allow {
            self.authored.0 += usize::from(receipt.author().is_some());
            self.authored.1 += 1;
        }
        self.amendments += receipt.changes.len();
        for run in receipt.runs.iter().filter(|run| run.outcome.has_run()) {
            let Some(hook) = receipt.hook(run.hook) else { continue };
            self.runs += 1;
            self.processes += usize::from(hook.dialect != "native");
            let slower = self.slowest.as_ref().is_none_or(|(_, took)| run.took > *took);
            if slower && run.outcome != Outcome::Detached {
                self.slowest = Some((Arc::clone(&hook.name), run.took));
            }
        }
    }

    /// Messages that reached an agent.
    pub(super) fn delivered(&mut self, messages: &[ContextMessage]) {
        self.messages += messages.len();
    }

    /// What each agent was under when everything had been published.
    pub(super) fn covered(&mut self, sessions: &[Session]) {
        let of = |session: &Session| (session.source().agent.id.to_string(), session.coverage());
        self.coverage = sessions.iter().map(of).collect();
    }

    /// The end of the bus.
    pub(super) fn drained(&mut self, bus: &Bus, report: &DrainReport, tally: &Tally, edits: usize) {
        self.failures = bus.failures();
        self.background = (report.detached_finished, report.detached_cut_short);
        self.undelivered = report.context_waiting as u64 + report.context_dropped;
        self.heard = tally.heard.load(Ordering::Relaxed);
        self.lost = tally.lost.load(Ordering::Relaxed).max(report.observers_lost);
        self.edits = edits;
    }
}
