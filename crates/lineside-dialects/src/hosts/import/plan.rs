//! Loaded entries to hooks, in plan order: their places, their groups, and which stand for which (HO-49 to HO-51).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lineside_core::hook::Standby;
use lineside_core::{Hook, OnFailure, Part, SkipReason};

use super::entry::Entry;
use super::format::Format;
use super::group::Group;
use super::handler::Imports;
use super::select::{Selection, Twins};
use super::source::Source;
use crate::dialect::{ForeignHook, Places, Trust};
use crate::hosts::table::point;
use crate::tree::Node;

/// Imported hooks come after those of the formats that have a place of their own (HO-49).
const AFTER_ALL: i32 = -1_000_000_000;
/// The room of one host in the order.
const PER_HOST: i32 = 10_000_000;
/// The room of one group.
const PER_GROUP: i32 = 1_000_000;
/// What a hook may take beyond its own time until its end is known.
const MARGIN: Duration = Duration::from_secs(3);

/// The hooks of entries, in plan order.
pub(super) fn hooks(
    format: &'static dyn Format,
    places: &Places,
    entries: Vec<Entry>,
    files: &[(Source, Node)],
) -> Vec<ForeignHook> {
    let base = AFTER_ALL.saturating_sub(format.profile().host as i32 * PER_HOST);
    let imports = Arc::new(Imports::new(format, places));
    let selections: Vec<Arc<Selection>> = entries
        .into_iter()
        .map(|entry| {
            let read_by = files.get(entry.file).map_or(&[][..], |(source, _)| format.read_by(source));
            let is_trusted = places.trust.of_layer(entry.layer) == Trust::Granted;
            let work_dir = places.work_dir().to_path_buf();
            Arc::new(Selection { format, entry: Arc::new(entry), read_by, is_trusted, work_dir })
        })
        .collect();
    let mut groups: HashMap<(&'static str, u8), Arc<Group>> = HashMap::new();
    for selection in &selections {
        for row in &selection.entry.rows {
            let rank = format.rank(&selection.entry);
            let of_group = |other: &&Arc<Selection>| {
                other.entry.rows.iter().any(|known| known.point == row.point)
                    && format.rank(&other.entry) == rank
            };
            groups.entry((row.point, rank)).or_insert_with(|| {
                let members = selections.iter().filter(of_group).cloned().collect();
                Arc::new(Group { format, point: row.point, members })
            });
        }
    }
    let mut hooks = Vec::new();
    let alike = alike(&selections);
    let mut counted: HashMap<(&str, &str), usize> = HashMap::new();
    for (position, selection) in (0_i32..).zip(&selections) {
        let entry = &selection.entry;
        let key = key(entry);
        let place = counted.entry(key).or_default();
        let twins = (Arc::clone(&alike[&key]), *place);
        *place += 1;
        let rank = format.rank(entry);
        for row in &entry.rows {
            let Some(point) = point(row) else { continue };
            let may_intercept = point.phase.may_intercept() && !entry.handler.is_async;
            let twins = Arc::new(Twins {
                own: Arc::clone(selection),
                alike: twins.clone(),
                elsewhere: OnceLock::new(),
            });
            let closes = entry.handler.closes && may_intercept;
            let part = if may_intercept { Part::Amender } else { Part::PostDecision };
            let hook = Hook::foreign(format.profile().host.name(), Arc::clone(&entry.name), part)
                .origin(Some(entry.origin.clone()))
                .layer(entry.layer)
                .priority(base.saturating_sub(i32::from(rank) * PER_GROUP).saturating_sub(position))
                .on_failure(if closes { OnFailure::Block } else { OnFailure::Continue })
                .timeout(entry.handler.timeout.saturating_add(MARGIN))
                .standby(match (entry.is_disabled, selection.is_trusted) {
                    (true, _) => Standby::Off(SkipReason::Disabled),
                    (false, false) => Standby::Off(SkipReason::Untrusted),
                    (false, true) => Standby::Ready,
                })
                .when(Some(Arc::clone(&twins) as _))
                .within(if may_intercept {
                    groups.get(&(row.point, rank)).map(|group| Arc::clone(group) as _)
                } else {
                    None
                });
            let handler = imports.handler(Arc::clone(entry), row);
            let hook = ForeignHook::new(hook, entry.event, vec![point], Arc::new(handler));
            hooks.push(ForeignHook { imported: Some(twins), ..hook });
        }
    }
    hooks
}

/// The event of an entry, and by what it is the same handler as another one of that event.
fn key(entry: &Entry) -> (&str, &str) {
    (entry.event, &entry.handler.key)
}

/// Entries of one key, in plan order.
type Alike = Arc<[Arc<Selection>]>;

/// Entries that may be the same handler.
fn alike(selections: &[Arc<Selection>]) -> HashMap<(&str, &str), Alike> {
    let mut alike: HashMap<_, Vec<_>> = HashMap::new();
    for selection in selections {
        alike.entry(key(&selection.entry)).or_default().push(Arc::clone(selection));
    }
    alike.into_iter().map(|(key, same)| (key, same.into())).collect()
}
