//! For which events an imported hook runs (HO-39, HO-51).

use std::sync::Arc;

use lineside_core::hook::{Select, Selected};
use lineside_core::{AnyEvent, SkipReason};

use super::entry::Entry;
use super::format::{Format, Subject};
use super::matcher::{Fit, Matcher};
use crate::hosts::program::Host;
use crate::hosts::tools::Seen;
use crate::python_regex::MOST_STEPS;

/// Which events a hook is for, apart from other hooks.
pub(super) struct Selection {
    pub(super) format: &'static dyn Format,
    pub(super) entry: Arc<Entry>,
    /// The hosts that run it by themselves.
    pub(super) read_by: &'static [Host],
}

impl Selection {
    /// Whether it is for an event.
    pub(super) fn fit(&self, event: &AnyEvent) -> Fit {
        let Self { format, entry, read_by } = self;
        let host = event.envelope().source.host.as_deref().and_then(Host::named);
        if host.is_some_and(|host| read_by.contains(&host)) {
            return Fit::No;
        }
        let Some(row) = entry.rows.iter().find(|row| row.point == event.point().name) else { return Fit::No };
        if !format.is_for(entry, row, event) {
            return Fit::No;
        }
        if let Some(condition) = &entry.handler.condition {
            let holds = Seen::by(entry.column, event).is_some_and(|seen| condition.holds(seen, event));
            if !holds {
                return Fit::No;
            }
        }
        if matches!(entry.matcher, Matcher::All) {
            return Fit::Yes;
        }
        let Subject::Any(texts) = format.subject(entry, row, event) else { return Fit::Yes };
        let fits: Vec<Fit> = texts.iter().map(|text| entry.matcher.fits(text)).collect();
        [Fit::Yes, Fit::Unknown].into_iter().find(|fit| fits.contains(fit)).unwrap_or(Fit::No)
    }

    /// Whether it runs for an event as far as this is known of one hook alone.
    pub(super) fn runs(&self, event: &AnyEvent) -> bool {
        !self.entry.is_disabled && self.fit(event) != Fit::No
    }
}

/// A hook among those that are the same as it.
pub(super) struct Twins {
    pub(super) own: Arc<Selection>,
    /// Earlier hooks with the same handler.
    pub(super) earlier: Vec<Arc<Selection>>,
}

impl Select for Twins {
    fn select(&self, event: &AnyEvent) -> Selected {
        let fit = self.own.fit(event);
        if fit == Fit::No {
            return Selected::Skipped(SkipReason::Filter);
        }
        if self.earlier.iter().any(|earlier| earlier.runs(event)) {
            return Selected::Skipped(SkipReason::Superseded);
        }
        match fit {
            Fit::Unknown => Selected::InDoubt(
                format!(
                    "the search of its matcher was given up after {MOST_STEPS} steps and counts as a match"
                )
                .into(),
            ),
            Fit::Yes | Fit::No => Selected::Runs,
        }
    }

    fn describe(&self) -> String {
        let entry = &self.own.entry;
        let mut text = entry.matcher.describe();
        if let Some(condition) = &entry.handler.condition {
            text.push_str(&format!(" if {}", condition.describe()));
        }
        if !self.own.read_by.is_empty() {
            let hosts: Vec<&str> = self.own.read_by.iter().map(|host| host.name()).collect();
            text.push_str(&format!(" unless served for {}", hosts.join(", ")));
        }
        text
    }
}
