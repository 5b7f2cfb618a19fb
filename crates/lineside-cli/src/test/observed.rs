//! What was seen of a step.

use std::sync::Arc;
use std::time::Duration;

use lineside::LoadReport;
use lineside::bus::Signals;
use lineside::bus::signal::Watched;
use lineside::core::{Failure, Outcome, Receipt, SkipReason};
use lineside::hosts::HostAnswer;
use lineside::{LoadedHook, Signal};

/// Everything that a step can be judged by.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// The receipts of its events, in the order in which they are written in the case.
    pub(super) receipts: Vec<Arc<Receipt>>,
    /// What has happened in the background in it.
    pub(super) background: Background,
    /// The messages of a collection.
    pub(super) collected: Vec<String>,
    /// What a load has found.
    pub(super) loaded: Option<LoadReport>,
    /// What a host was answered.
    pub(super) answer: Option<HostAnswer>,
    /// How long it took.
    pub(super) took: Duration,
}

impl Observed {
    /// The names of the hooks that were started, in start order; each attempt is a start.
    pub(super) fn ran(&self) -> Vec<&str> {
        let mut ran = Vec::new();
        for receipt in &self.receipts {
            for run in &receipt.runs {
                let attempts = starts(&run.earlier) + usize::from(run.outcome.has_run());
                ran.extend(std::iter::repeat_n(receipt.name(run.hook), attempts));
            }
        }
        ran.extend(self.background.started.iter().map(String::as_str));
        ran
    }

    /// The failures, with the names of their hooks.
    pub(super) fn failures(&self) -> Vec<(&str, &Failure)> {
        let mut failures = Vec::new();
        for receipt in &self.receipts {
            for run in &receipt.runs {
                if let Outcome::Failed { failure, .. } = &run.outcome {
                    failures.push((receipt.name(run.hook), &**failure));
                }
            }
        }
        failures.extend(self.background.failures.iter().map(|(name, failure)| (name.as_str(), failure)));
        failures
    }

    /// The messages that went to the context.
    pub(super) fn context(&self) -> Vec<&str> {
        let appended = self.receipts.iter().flat_map(|receipt| &receipt.context);
        appended.map(|by| by.what.text.as_str()).chain(self.collected.iter().map(String::as_str)).collect()
    }

    /// The messages for the user.
    pub(super) fn notices(&self) -> Vec<&str> {
        let told = self.receipts.iter().flat_map(|receipt| &receipt.notices);
        let later = self.background.notices.iter().map(String::as_str);
        told.map(|by| by.what.text.as_str()).chain(later).collect()
    }

    /// The receipt whose verdict is that of the whole step: the strongest, and of equals the first.
    pub(super) fn decisive(&self) -> Option<&Receipt> {
        let strongest = self.receipts.iter().map(|receipt| receipt.verdict.strength()).max()?;
        self.receipts.iter().find(|receipt| receipt.verdict.strength() == strongest).map(|receipt| &**receipt)
    }

    /// The names of the hooks that were loaded, each once.
    pub(super) fn hooks(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut last: Option<&LoadedHook> = None;
        for found in self.loaded.iter().flat_map(|report| &report.hooks) {
            if last.is_none_or(|last| last.number != found.number) {
                names.push(&*found.hook.name);
            }
            last = Some(found);
        }
        names
    }
}

/// What has happened in the background.
#[derive(Debug, Default)]
pub(super) struct Background {
    /// The hooks that were started for events that had been held.
    pub(super) started: Vec<String>,
    /// The hooks that were not, after all.
    pub(super) skipped: Vec<(String, SkipReason)>,
    /// The failures.
    pub(super) failures: Vec<(String, Failure)>,
    /// The messages for the user.
    pub(super) notices: Vec<String>,
}

impl Background {
    /// Takes in what has been signalled; gives how many signals were lost.
    pub(super) fn take_in(&mut self, signals: &mut Signals) -> u64 {
        let mut lost = 0;
        while let Some(watched) = signals.try_next() {
            match watched {
                Watched::Lost(count) => lost += count,
                Watched::Signal(Signal::DetachedFinished { hook, outcome, earlier, .. }) => {
                    let again = starts(&earlier);
                    self.started.extend(std::iter::repeat_n(hook.name.to_string(), again));
                    if let Outcome::Failed { failure, .. } = outcome {
                        self.failures.push((hook.name.to_string(), *failure));
                    }
                }
                Watched::Signal(Signal::Released { hook, skipped: None, .. }) => {
                    self.started.push(hook.name.to_string());
                }
                Watched::Signal(Signal::Released { hook, skipped: Some(why), .. }) => {
                    self.skipped.push((hook.name.to_string(), why));
                }
                Watched::Signal(Signal::Notified { notice, .. } | Signal::Announced { notice }) => {
                    self.notices.push(notice.text);
                }
                Watched::Signal(_) => {}
            }
        }
        lost
    }
}

/// How many attempts had been started before they failed.
fn starts(attempts: &[Failure]) -> usize {
    attempts.iter().filter(|failure| failure.started).count()
}
