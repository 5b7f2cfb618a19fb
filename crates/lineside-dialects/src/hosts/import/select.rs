//! For which events an imported hook runs (HO-39, HO-51).

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use lineside_core::hook::{Select, Selected};
use lineside_core::{AnyEvent, SkipReason};

use super::entry::Entry;
use super::format::{Format, Subject};
use super::matcher::{Fit, Matcher};
use crate::dialect::Loaded;
use crate::hosts::program::Host;
use crate::hosts::tools::Seen;
use lineside_search::MOST_STEPS;

/// Which events a hook is for, apart from other hooks.
pub(super) struct Selection {
    pub(super) format: &'static dyn Format,
    pub(super) entry: Arc<Entry>,
    /// The hosts that run it by themselves.
    pub(super) read_by: &'static [Host],
    /// Whether its place is trusted.
    pub(super) is_trusted: bool,
    /// The root of the project of events that name none.
    pub(super) work_dir: PathBuf,
}

impl Selection {
    /// Whether it is for an event.
    pub(super) fn fit(&self, event: &AnyEvent) -> Fit {
        let Self { format, entry, read_by, .. } = self;
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
        self.is_trusted && !self.entry.is_disabled && self.fit(event) != Fit::No
    }

    /// Whether it stands for a hook of another host that runs for the same event: the same command and arguments in
    /// the same working directory, waited for alike. A hook that closes its gate when it fails is stood for only by
    /// one that does so, too, and one of the user never by one of a project.
    fn stands_for(&self, other: &Self, event: &AnyEvent) -> bool {
        let (own, others) = (&self.entry.handler, &other.entry.handler);
        own.run.command().is_some_and(|command| others.run.command() == Some(command))
            && own.is_async == others.is_async
            && (own.closes || !others.closes)
            && self.entry.layer <= other.entry.layer
            && self.runs(event)
            && own.working_directory(event, &self.work_dir)
                == others.working_directory(event, &other.work_dir)
    }
}

/// A hook among those that are the same as it.
pub(super) struct Twins {
    pub(super) own: Arc<Selection>,
    /// Hooks of the same format that may be the same handler, in plan order, and its own place among them.
    pub(super) alike: (Arc<[Arc<Selection>]>, usize),
    /// Hooks of earlier formats with the same command, format by format.
    pub(super) elsewhere: OnceLock<Vec<Arc<[Arc<Selection>]>>>,
}

impl Twins {
    /// Earlier hooks of the same format with the same handler.
    fn earlier(&self) -> impl Iterator<Item = &Selection> {
        let (alike, place) = &self.alike;
        let same = self.own.format.profile().same;
        let earlier = alike.iter().take(*place).map(|other| &**other);
        earlier.filter(move |other| same.holds(&other.entry, &self.own.entry))
    }

    /// Hooks of earlier formats with the same command.
    fn elsewhere(&self) -> impl Iterator<Item = &Selection> {
        self.elsewhere.get().into_iter().flatten().flat_map(|of_host| of_host.iter()).map(|other| &**other)
    }
}

/// Tells imported hooks of those with the same command in the files of earlier hosts, which stand for them (HO-51).
///
/// The hooks are those of one load, of every format that is read.
pub fn supersede<'a>(loaded: impl IntoIterator<Item = &'a Loaded>) {
    let hooks = loaded.into_iter().flat_map(|loaded| &loaded.hooks);
    let twins: Vec<&Twins> = hooks.filter_map(|hook| hook.imported.as_ref()?.downcast_ref()).collect();
    // Formats stand in the order of their hosts.
    let place = |own: &Selection| own.format.profile().host as u8;
    let mut of_command: HashMap<&[String], BTreeMap<u8, Vec<Arc<Selection>>>> = HashMap::new();
    for Twins { own, .. } in &twins {
        if let Some(command) = own.entry.handler.run.command() {
            let of_host = of_command.entry(command).or_default().entry(place(own)).or_default();
            // A hook of several points is found once for each of them, one after another.
            if !of_host.last().is_some_and(|known| Arc::ptr_eq(known, own)) {
                of_host.push(Arc::clone(own));
            }
        }
    }
    let shared = |of_hosts: BTreeMap<u8, Vec<_>>| -> BTreeMap<u8, Arc<[_]>> {
        of_hosts.into_iter().map(|(host, hooks)| (host, hooks.into())).collect()
    };
    let of_command: HashMap<_, _> =
        of_command.into_iter().map(|(command, of_hosts)| (command, shared(of_hosts))).collect();
    for later in &twins {
        let same = later.own.entry.handler.run.command().and_then(|command| of_command.get(command));
        let earlier = same.into_iter().flat_map(|same| same.range(..place(&later.own)));
        let elsewhere = earlier.map(|(_, hooks)| Arc::clone(hooks));
        // Hooks that were kept from an earlier load know those of that load.
        let _kept = later.elsewhere.set(elsewhere.collect());
    }
}

impl Select for Twins {
    fn select(&self, event: &AnyEvent) -> Selected {
        let fit = self.own.fit(event);
        if fit == Fit::No {
            return Selected::Skipped(SkipReason::Filter);
        }
        if self.earlier().any(|earlier| earlier.runs(event))
            || self.elsewhere().any(|earlier| earlier.stands_for(&self.own, event))
        {
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
            let runs = if let [_] = hosts[..] { "runs it itself" } else { "run it themselves" };
            text.push_str(&format!(", except for {}, which {runs}", hosts.join(" and ")));
        }
        text
    }
}
