//! What a lower layer may do to the hooks of those above it: it adds hooks of its own, and may tighten theirs. It takes none
//! away, switches none off and stands in the place of none, whatever its format says.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::PathBuf;
use std::sync::Arc;

use lineside_core::hook::{Standby, Tighter};
use lineside_core::{Diagnostic, Hook, Layer, Origin};

use crate::dialect::{Dialect, ForeignHook, Loaded};

/// Where the administrator of the machine keeps hooks and settings, and who that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// The folder.
    pub folder: PathBuf,
    /// The user to whom its files have to belong; the superuser may always.
    pub owner: u32,
}

impl Default for Managed {
    /// `/etc/lineside`, of the superuser.
    fn default() -> Self {
        Self { folder: PathBuf::from("/etc/lineside"), owner: 0 }
    }
}

/// What a file asks of the hooks of a name in the layers above its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tightening {
    /// The name.
    pub name: Arc<str>,
    /// Whose file it is.
    pub layer: Layer,
    /// What is asked.
    pub asked: Tighter,
    /// Where.
    pub origin: Origin,
}

impl Tightening {
    /// Whether it is about this hook.
    #[must_use]
    pub fn is_about(&self, hook: &Hook) -> bool {
        hook.layer < self.layer && hook.name == self.name
    }
}

/// Tightens the hooks that are found together with what is asked of them.
pub fn tighten(loaded: &mut Loaded) {
    let asked = by(&loaded.tightenings, |asked| &*asked.name);
    for found in &mut loaded.hooks {
        for asked in asked.get(&*found.hook.name).into_iter().flatten() {
            if asked.is_about(&found.hook)
                && let Some(tightened) = found.hook.tightened(asked.asked)
            {
                found.hook = tightened;
            }
        }
    }
}

/// What is asked of a hook of a layer above, by files of its dialect. Every hook of a bus is asked about, so that they are
/// found by their names.
pub fn asked_of<'a>(tightenings: &'a [(&'static str, Tightening)]) -> impl Fn(&Hook) -> Option<Tighter> + 'a {
    let named = by(tightenings, |(dialect, asked)| (*dialect, &*asked.name));
    move |hook| {
        let meant = named.get(&(hook.dialect, &*hook.name)).into_iter().flatten();
        meant.filter(|(_, asked)| asked.is_about(hook)).map(|(_, asked)| asked.asked).reduce(Tighter::and)
    }
}

/// What has each name, in its order: a file may have tens of thousands.
fn by<'t, T, K: Eq + Hash>(all: &'t [T], name: impl Fn(&'t T) -> K) -> HashMap<K, Vec<&'t T>> {
    let mut named: HashMap<K, Vec<&T>> = HashMap::new();
    for one in all {
        named.entry(name(one)).or_default().push(one);
    }
    named
}

/// A finding for each thing that is asked and changes no hook above: there is none of that name, it is as strict already, or
/// nothing waits for it.
pub fn unmet(asked: &[Tightening], above: &[ForeignHook]) -> Vec<Diagnostic> {
    if asked.is_empty() {
        return Vec::new();
    }
    let above = by(above, |found| &*found.hook.name);
    let finding = |asked: &Tightening| {
        let named = above.get(&*asked.name).into_iter().flatten().copied();
        let mut meant = named.filter(|found| asked.is_about(&found.hook)).peekable();
        let Some(first) = meant.peek().copied() else {
            let text = format!(
                "no hook \"{}\" stands in a layer above, and this one has nothing to run: it does nothing",
                asked.name
            );
            return vec![Diagnostic::warning(asked.origin.clone(), text)];
        };
        let origin = first.hook.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
        let mut findings = Vec::new();
        let all: Vec<_> = meant.collect();
        if let Some(timeout) = asked.asked.timeout
            && all.iter().all(|found| timeout >= found.hook.timeout)
        {
            let text = format!(
                "`timeout` is refused: hook \"{}\" of a layer above{origin} has less, and a lower layer only tightens",
                asked.name
            );
            findings.push(Diagnostic::warning(asked.origin.clone(), text));
        }
        let is_awaited = |found: &&&ForeignHook| found.hook.part.is_awaited();
        if asked.asked.on_failure.is_some() && !all.iter().any(|found| is_awaited(&found)) {
            let text =
                format!("`on_failure` has no effect: nothing waits for hook \"{}\"{origin}", asked.name);
            findings.push(Diagnostic::warning(asked.origin.clone(), text));
        }
        findings
    };
    asked.iter().flat_map(finding).collect()
}

/// A finding for each hook that has the name of one in a layer above: both run.
pub fn namesakes(hooks: &[ForeignHook], above: &[ForeignHook]) -> Vec<Diagnostic> {
    let (mut told, above) = (HashSet::new(), by(above, |found| &*found.hook.name));
    let finding = |found: &ForeignHook| {
        let is_above = |other: &&&ForeignHook| other.hook.layer < found.hook.layer;
        let (origin, other) =
            (found.hook.origin.clone()?, above.get(&*found.hook.name)?.iter().find(is_above)?);
        let place = other.hook.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
        told.insert(origin.clone()).then(|| {
            let text = format!(
                "hook \"{}\" does not take the place of the one of that name in the {} layer{place}: both run",
                found.hook.name, other.hook.layer
            );
            Diagnostic::note(origin, text)
        })
    };
    hooks.iter().filter_map(finding).collect()
}

/// Puts back the hooks of the layers above a project that are not there, or are switched off, because of the project: they
/// are all in `without`, which was found where the project is not trusted. In a format that
/// [replaces by name](Dialect::replaces_by_name), one in whose place a hook of the project stands stays away.
pub fn keep_above(dialect: &dyn Dialect, loaded: &mut Loaded, without: Loaded) {
    let hooks = &mut loaded.hooks;
    let mut matched = vec![false; hooks.len()];
    let mut place = 0;
    for kept in without.hooks.into_iter().filter(|found| found.hook.layer < Layer::Project) {
        let is_same =
            |at: &usize| !matched[*at] && hooks.get(*at).is_some_and(|found| are_same(found, &kept));
        // Most stand where they would stand without the project.
        match Some(place)
            .filter(|at| *at < hooks.len() && is_same(at))
            .or_else(|| (0..hooks.len()).find(is_same))
        {
            Some(at) => {
                matched[at] = true;
                if kept.hook.standby == Standby::Ready && hooks[at].hook.standby != Standby::Ready {
                    hooks[at] = kept;
                }
                place = at + 1;
            }
            None if dialect.replaces_by_name() && hooks.iter().any(|found| replaces(found, &kept)) => {}
            None => {
                hooks.insert(place, kept);
                matched.insert(place, true);
                place += 1;
            }
        }
    }
}

/// Whether a hook of a project that can run has the name of one above.
fn replaces(found: &ForeignHook, above: &ForeignHook) -> bool {
    found.hook.layer == Layer::Project
        && found.hook.standby == Standby::Ready
        && found.hook.name == above.hook.name
}

fn are_same(one: &ForeignHook, other: &ForeignHook) -> bool {
    one.hook.layer == other.hook.layer
        && one.hook.name == other.hook.name
        && one.hook.origin == other.hook.origin
        && one.points == other.points
        && one.trigger == other.trigger
}
