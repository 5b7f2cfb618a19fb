//! One entry of a file to a hook: everything but what it runs.

use lineside_core::hook::{LAST, Mode, Tighter};
use lineside_core::{OnFailure, PointInfo};
use lineside_guards::Limit;
use lineside_points::CATALOGUE;

use super::automate::{self, AUTOMATE};
use super::definition::{DEFAULT_TIMEOUT, Definition, Run};
use super::findings::{About, Findings, LoadError, LoadWarning};
use super::guard::Guard;
use super::matching::{self, Matching, Scene};
use super::places::Place;
use super::rule;
use super::run::{self, ENVIRONMENT};
use super::tightening;
use super::values::{SHORT, Values, shown};
use crate::dialect::Places;
use crate::names;
use crate::yaml::{Content, Node};

const KEYS: [&str; 23] = [
    "name", "on", "match", "priority", "command", "worker", "post", "verdict", "reason", "context", "amend",
    "limit", "timeout", "on_failure", "async", "amends", MODE, "pure", "dir", "env", ENVIRONMENT, AUTOMATE,
    REQUIRED,
];

/// The key of the policies that a file uses.
pub(super) const USE: &str = "use";

/// Whether a hook counts, or all hooks of a file.
pub(super) const MODE: &str = "mode";

/// What stands for a mode.
pub(super) const MODES: [(&str, Mode); 2] = [("enforced", Mode::Enforced), ("shadow", Mode::Shadow)];

/// Says that events are refused which the hook cannot be started for.
const REQUIRED: &str = "required";

/// An entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its name, or where it stands.
    pub(super) name: String,
    /// The line on which it begins.
    pub(super) line: u32,
    /// Its points, as far as they can be read.
    pub(super) points: Vec<&'static PointInfo>,
    /// What it declares; absent when something is wrong with it.
    pub(super) definition: Option<Definition>,
    /// What it asks of the hooks of its name in the layers above, if it is none itself.
    pub(super) tightens: Option<Tighter>,
    /// What it is meant to guard where nothing is in it that says so.
    pub(super) guard: Option<Guard>,
}

/// Reads an entry.
pub(super) fn read(
    unnamed: String,
    item: &Node,
    place: &Place,
    places: &Places,
    findings: &mut Findings,
) -> Entry {
    let line = item.line;
    let Content::Mapping(keys) = &item.content else {
        findings.hook_error(line, About(&unnamed), LoadError::EntryType(shown(item)));
        let guard = Some(Guard::everywhere());
        return Entry { name: unnamed, line, points: Vec::new(), definition: None, tightens: None, guard };
    };
    if let Some((used, _)) = keys.iter().find(|(key, _)| key.written() == Some(USE)) {
        findings.hook_error(used.line, About(&unnamed), LoadError::UseInEntry);
        let guard = Some(Guard::of_tools());
        return Entry { name: unnamed, line, points: Vec::new(), definition: None, tightens: None, guard };
    }
    let name = {
        let mut values = Values { keys, within: "", hook: &unnamed, findings, sound: true };
        if values.get("name").is_none() {
            values.error(line, &LoadError::Missing("name"));
        }
        values.text("name", "a text of one line that is not blank", is_name).map(str::to_owned)
    };
    let is_named = name.is_some();
    let name = name.unwrap_or(unnamed);
    let mut values = Values { keys, within: "", hook: &name, findings, sound: is_named };
    values.only(&KEYS);
    if is_named && tightening::is_one(keys, place) {
        let tightens = Some(tightening::read(&mut values));
        return Entry { name, line, points: Vec::new(), definition: None, tightens, guard: None };
    }
    let points = points(&mut values, line);
    let definition = definition(&mut values, &points, line, place, places);
    let definition = definition.filter(|_| values.sound && !points.is_empty());
    Entry { name, line, points, definition, tightens: None, guard: None }
}

fn is_name(text: &str) -> bool {
    let breaks = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    !text.trim().is_empty() && !text.contains(breaks)
}

fn points(values: &mut Values<'_, '_>, line: u32) -> Vec<&'static PointInfo> {
    if values.get("on").is_none() {
        values.error(line, &LoadError::Missing("on"));
    }
    points_of(values)
}

/// The points that `on` names.
pub(super) fn points_of(values: &mut Values<'_, '_>) -> Vec<&'static PointInfo> {
    let mut points: Vec<&'static PointInfo> = Vec::new();
    for (line, name) in values.one_or_more("on", "a point or a list of points").unwrap_or_default() {
        if let Some(several) = points_from(name) {
            points.extend(several.into_iter().filter(|point| !points.contains(point)).collect::<Vec<_>>());
            continue;
        }
        match lineside_points::find(name) {
            Ok(point) if points.contains(&point) => values.error(line, &LoadError::SamePoint(point.name)),
            Ok(point) => points.push(point),
            Err(error) => {
                let nearest = names::likely(name).map(|point| point.name).or(error.nearest);
                let wrong = name.to_owned();
                values.error(line, &LoadError::Point { wrong, nearest });
            }
        }
    }
    points
}

/// The points of the catalogue whose names begin with what stands before a `*`; none for any other name, or where there is
/// no such point.
pub(super) fn points_from(name: &str) -> Option<Vec<&'static PointInfo>> {
    let start = name.strip_suffix('*')?;
    let all = CATALOGUE.iter().copied().filter(|point| point.name.starts_with(start));
    Some(all.collect::<Vec<_>>()).filter(|all| !all.is_empty())
}

fn definition(
    values: &mut Values<'_, '_>,
    points: &[&'static PointInfo],
    line: u32,
    place: &Place,
    places: &Places,
) -> Option<Definition> {
    let scene = Scene { account: &place.account, unclear: rule::when_unclear(values, place.seat.is_some()) };
    let Matching { matcher, acts } = matching::read(values, "match.", points, scene);
    let asked = values.integer("priority", i32::MIN..=i32::MAX);
    let priority = asked.unwrap_or_default();
    let (timeout, automate) = if values.get(AUTOMATE).is_some() {
        let (timeout, automated) = automate::read(values, priority, points, &place.account);
        (timeout, Some(automated))
    } else {
        let timeout = values.millis_in("timeout", 1..=600_000);
        values.doubt_short("timeout", SHORT);
        (timeout.unwrap_or(DEFAULT_TIMEOUT), None)
    };
    let on_failure =
        values.word("on_failure", &[("block", OnFailure::Block), ("continue", OnFailure::Continue)]);
    let is_async = values.boolean("async");
    let amends = values.boolean("amends");
    let mode = values.word(MODE, &MODES).unwrap_or(place.mode);
    if mode == Mode::Shadow && automate.is_some() {
        // What it does comes after the decision, and is what it is for.
        values.error(values.line(MODE).unwrap_or(line), &LoadError::ShadowOfAutomation);
    }
    let is_pure = values.boolean("pure");
    let run = match rule::read(values, points, acts) {
        Some(rule) => rule.map(|ruling| Run::Rule(Box::new(ruling))),
        None => run::read(values, line, place, places),
    };
    let amends = amends || matches!(&run, Some(Run::Rule(ruling)) if !ruling.amend.is_empty());
    let required = values.boolean(REQUIRED);
    let mut definition = Definition {
        run: run?,
        matcher,
        priority,
        timeout,
        on_failure,
        is_async,
        amends,
        mode,
        is_pure,
        automate,
        required,
    };
    if definition.limit().is_some_and(Limit::hears_ends) {
        // What another hook refuses is not begun.
        definition.priority = asked.unwrap_or(LAST);
    }
    if !points.is_empty() {
        without_effect(values, &definition, points);
        let line = values.line(REQUIRED).filter(|_| definition.required && !place.is_above_projects());
        if let Some(line) = line {
            let why = "only a hook of the machine or of the user is required";
            values.warning(line, &LoadWarning::NoEffect { key: REQUIRED, why });
        }
    }
    Some(definition)
}

/// What is declared and cannot be, where the hook listens.
fn without_effect(values: &mut Values<'_, '_>, definition: &Definition, points: &[&'static PointInfo]) {
    let judges = points.iter().any(|point| definition.judges(point));
    let is_background = definition.is_async || definition.automate.is_some();
    let why = if is_background { "the hook is not waited for" } else { "nothing can be refused there" };
    if !judges && definition.on_failure == Some(OnFailure::Block) {
        let line = values.line("on_failure").unwrap_or(1);
        values.warning(line, &LoadWarning::NoEffect { key: "on_failure", why });
    }
    if let (true, true, Some(line)) =
        (definition.is_async, definition.automate.is_some(), values.line("async"))
    {
        let why = "an automation is not waited for";
        values.warning(line, &LoadWarning::NoEffect { key: "async", why });
    }
    if let (false, true, Some(line)) = (judges, definition.required, values.line(REQUIRED)) {
        values.warning(line, &LoadWarning::NoEffect { key: REQUIRED, why });
    }
    if !definition.amends {
        return;
    }
    let line = values.line("amends").unwrap_or(1);
    if is_background {
        values.warning(line, &LoadWarning::NoEffect { key: "amends", why });
    } else if points.iter().all(|point| point.amendable().next().is_none()) {
        let names: Vec<_> = points.iter().map(|point| point.name).collect();
        values.error(line, &LoadError::NothingToAmend(names.join(", ")));
    }
}

#[cfg(test)]
mod tests;
