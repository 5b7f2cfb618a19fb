//! What was seen of a step.

use std::sync::Arc;
use std::time::Duration;

use lineside::assembly::Report;
use lineside::bus::Signals;
use lineside::bus::signal::Watched;
use lineside::core::{Failure, Outcome, Receipt};
use lineside::{Found, Signal};

/// Everything that a step can be judged by.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// The receipts of its events, in the order in which they are written in the case.
    pub(super) receipts: Vec<Arc<Receipt>>,
    /// The failures of background hooks that have come to their end in it.
    pub(super) ends: Vec<(String, Failure)>,
    /// The messages of a collection.
    pub(super) collected: Vec<String>,
    /// What a load has found.
    pub(super) loaded: Option<Report>,
    /// How long it took.
    pub(super) took: Duration,
}

impl Observed {
    /// The names of the hooks that were started, in start order.
    pub(super) fn ran(&self) -> Vec<&str> {
        let of = |receipt: &'_ Arc<Receipt>| -> Vec<u16> {
            receipt.runs.iter().filter(|run| run.outcome.has_run()).map(|run| run.hook).collect()
        };
        self.receipts
            .iter()
            .flat_map(|receipt| of(receipt).into_iter().map(|hook| receipt.name(hook)))
            .collect()
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
        failures.extend(self.ends.iter().map(|(name, failure)| (name.as_str(), failure)));
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
        told.map(|by| by.what.text.as_str()).collect()
    }

    /// The receipt whose verdict is that of the whole step: the strongest, and of equals the first.
    pub(super) fn decisive(&self) -> Option<&Receipt> {
        let strongest = self.receipts.iter().map(|receipt| receipt.verdict.strength()).max()?;
        self.receipts.iter().find(|receipt| receipt.verdict.strength() == strongest).map(|receipt| &**receipt)
    }

    /// The names of the hooks that were loaded, each once.
    pub(super) fn hooks(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut last: Option<&Found> = None;
        for found in self.loaded.iter().flat_map(|report| &report.hooks) {
            if last.is_none_or(|last| last.number != found.number) {
                names.push(&*found.hook.name);
            }
            last = Some(found);
        }
        names
    }
}

/// The failures of background hooks that have been signalled. A lost signal is none of them and is told.
pub(super) fn ended(signals: &mut Signals) -> (Vec<(String, Failure)>, u64) {
    let mut ends = Vec::new();
    let mut lost = 0;
    while let Some(watched) = signals.try_next() {
        match watched {
            Watched::Lost(number) => lost += number,
            Watched::Signal(Signal::DetachedFinished {
                hook,
                outcome: Outcome::Failed { failure, .. },
                ..
            }) => {
                ends.push((hook.name.to_string(), *failure));
            }
            Watched::Signal(_) => {}
        }
    }
    (ends, lost)
}
