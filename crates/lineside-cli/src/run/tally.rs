//! The numbers of a run: what was decided, what failed, what was refused, what was lost.

use std::collections::BTreeMap;
use std::time::Instant;

use lineside::bus::DrainReport;
use lineside::core::failure::seconds;
use lineside::core::{Acknowledgement, Strength};

use crate::style::{Style, Tone, count};

/// The numbers so far.
pub(super) struct Tally {
    start: Instant,
    hooks: usize,
    verdicts: BTreeMap<Strength, usize>,
    /// Lines that were no event.
    refused: usize,
    /// Events whose decision has not been printed.
    open: usize,
    /// Whether what is printed is lost.
    goes_nowhere: bool,
    /// Decisions that were printed and are lost.
    unread: usize,
    /// Hooks that could not answer.
    failures: usize,
    cut_short: usize,
    /// What was lost, in words.
    lost: Vec<String>,
    /// Jobs that the next run goes on with.
    left: usize,
    /// Background work that was to be kept and is not.
    unkept: usize,
}

impl Tally {
    pub(super) fn start(hooks: usize, goes_nowhere: bool) -> Self {
        Self {
            start: Instant::now(),
            hooks,
            goes_nowhere,
            unread: 0,
            verdicts: BTreeMap::new(),
            refused: 0,
            open: 0,
            failures: 0,
            cut_short: 0,
            lost: Vec::new(),
            left: 0,
            unkept: 0,
        }
    }

    pub(super) fn under_way(&mut self) {
        self.open += 1;
    }

    /// How many events have no printed decision yet.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// One more decision. Gives why its background work is not kept, the first time.
    pub(super) fn decided<'a>(
        &mut self,
        strength: Strength,
        accepted: impl IntoIterator<Item = &'a Acknowledgement>,
    ) -> Option<String> {
        *self.verdicts.entry(strength).or_default() += 1;
        let unkept: Vec<_> = accepted.into_iter().filter(|accepted| accepted.is_unkept()).collect();
        let is_first = self.unkept == 0;
        self.unkept += unkept.len();
        unkept.first().filter(|_| is_first).and_then(|accepted| accepted.why.clone())
    }

    /// Decisions that have not been printed, or were printed to nowhere, are lost.
    pub(super) fn ended(&mut self) {
        self.lose(self.open + self.unread, "decision");
    }

    fn lose(&mut self, number: usize, what: &str) {
        if number > 0 {
            self.lost.push(count(number, what));
        }
    }

    /// How many hooks have failed so far.
    pub(super) fn failed(&mut self, failures: u64) {
        self.failures = number(failures);
    }

    /// How many more hooks have failed.
    pub(super) fn failed_more(&mut self, failures: usize) {
        self.failures += failures;
    }

    /// So many background hooks were cut short before the end of the bus.
    pub(super) fn cut_short(&mut self, hooks: usize) {
        self.cut_short += hooks;
    }

    pub(super) fn printed(&mut self) {
        self.open -= 1;
        self.unread += usize::from(self.goes_nowhere);
    }

    /// An event that was under way was none after all.
    pub(super) fn given_up(&mut self) {
        self.open -= 1;
    }

    pub(super) fn refused(&mut self) {
        self.refused += 1;
    }

    /// What the end of the bus found.
    pub(super) fn drained(&mut self, report: &DrainReport) {
        self.ended();
        self.lose(self.cut_short + number(report.detached_cut_short), "background hook");
        let messages = number(report.context_dropped).saturating_add(report.context_waiting);
        self.lose(messages, "context message");
        self.lose(number(report.observers_lost), "observed event");
        self.lose(report.jobs.lost, "job");
        self.left = report.jobs.kept;
    }

    pub(super) fn is_clean(&self) -> bool {
        self.refused == 0 && self.lost.is_empty() && self.unkept == 0
    }

    fn events(&self) -> usize {
        self.verdicts.values().sum()
    }

    fn rate(&self) -> f64 {
        self.events() as f64 / self.start.elapsed().as_secs_f64().max(0.001)
    }

    /// How far it is.
    pub(super) fn progress(&self) -> String {
        let blocked: usize =
            self.verdicts.iter().filter(|(strength, _)| strength.is_final()).map(|(_, number)| number).sum();
        let mut line = format!("{}, {blocked} blocked", count(self.events(), "event"));
        if self.failures > 0 {
            line.push_str(&format!(", {}", count(self.failures, "failure")));
        }
        if self.refused > 0 {
            line.push_str(&format!(", {} refused", count(self.refused, "line")));
        }
        format!("{line}, {:.0}/s", self.rate())
    }

    /// The whole of it, with a note on how it ended.
    pub(super) fn summary(&self, note: Option<&str>, style: Style) -> String {
        let mut parts = vec![self.decisions()];
        parts.push(format!("{} in force", count(self.hooks, "hook")));
        if self.failures > 0 {
            parts.push(style.paint(Tone::Warning, &count(self.failures, "hook failure")));
        }
        if self.refused > 0 {
            parts.push(style.paint(Tone::Bad, &format!("{} refused", count(self.refused, "line"))));
        }
        if !self.lost.is_empty() {
            parts.push(style.paint(Tone::Bad, &format!("lost: {}", self.lost.join(", "))));
        }
        if self.unkept > 0 {
            parts.push(style.paint(Tone::Bad, &format!("{} not kept", count(self.unkept, "background run"))));
        }
        if self.left > 0 {
            parts.push(format!("{} left in the journal", count(self.left, "job")));
        }
        parts.extend(note.map(str::to_owned));
        parts.push(format!("{} s", seconds(self.start.elapsed())));
        parts.join("; ")
    }

    fn decisions(&self) -> String {
        let verdicts: Vec<_> =
            self.verdicts.iter().map(|(strength, number)| format!("{number} {strength}")).collect();
        let events = count(self.events(), "event");
        if verdicts.is_empty() { events } else { format!("{events}: {}", verdicts.join(", ")) }
    }
}

fn number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
