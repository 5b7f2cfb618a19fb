//! What in a file that does not load was meant to close a gate, and which gates those may be.

use lineside_core::PointInfo;
use lineside_core::nearest::{nearest, suggestion};

use super::format::Format;
use crate::broken::Words;
use crate::hosts::table::{Row, point};
use crate::names;
use crate::tree::{Content, Entry, Node};

/// The words by which a handler closes its gate when it fails; the second may also stand as the value `true`.
const CLOSING: [Words; 2] =
    [Words { key: "onFailure", value: "block" }, Words { key: "failClosed", value: "true" }];

/// Whether something in a value closes a gate, misspelt or not.
pub(super) fn is_in(node: &Node) -> bool {
    match &node.content {
        Content::Mapping(entries) => entries.iter().any(|entry| closes(entry) || is_in(&entry.1)),
        Content::List(items) => items.iter().any(is_in),
        _ => false,
    }
}

fn closes((key, value): &Entry) -> bool {
    let said = if value.boolean() == Some(true) { Some("true") } else { value.text() };
    CLOSING.iter().any(|words| words.are_meant_by(&key.label(), said))
}

/// Whether a text that cannot be read may have something that closes a gate.
pub(super) fn may_be_in(bytes: &[u8]) -> bool {
    CLOSING.iter().any(|words| words.are_in(bytes))
}

/// All points of a format, each with its event.
pub(super) fn points(format: &dyn Format) -> Vec<(&'static PointInfo, String)> {
    format.rows().filter_map(named).collect()
}

/// The points of the event that a wrong name was meant as; all of them where that cannot be known.
pub(super) fn points_near(format: &dyn Format, event: &str) -> Vec<(&'static PointInfo, String)> {
    let near = proposed(format, event);
    if !names::is_near(event, near) {
        return points(format);
    }
    format.rows().filter(|row| row.event == near).filter_map(named).collect()
}

/// What is wrong with an event that the format does not have.
pub(super) fn unknown(format: &dyn Format, event: &str) -> String {
    format!("unknown event `{event}`; the nearest is `{}`", proposed(format, event))
}

/// Of the events of a format the one that is meant by the name of another format, else the nearest.
fn proposed(format: &dyn Format, event: &str) -> &'static str {
    let nearest = nearest(event, format.rows().map(|row| row.event)).unwrap_or_default();
    if suggestion(event, [nearest]).is_some() && names::meant(event).is_none() {
        return nearest;
    }
    let of_point = |name: &str| format.rows().find(|row| row.event == name).and_then(point);
    names::proposed(event, format.rows().map(|row| row.event), of_point)
}

/// A key that was meant as `hooks`: nearly that word, above hooks of events that the format has.
pub(super) fn misspelt<'a>(format: &dyn Format, root: &'a Node) -> Option<&'a Entry> {
    let is_event = |name: &str| format.rows().any(|row| row.event == name);
    root.mapping()?.iter().find(|(key, value)| {
        names::is_nearly_hooks(&key.label())
            && match &value.content {
                Content::Mapping(events) => events.iter().any(|(event, _)| is_event(&event.label())),
                Content::List(hooks) => {
                    hooks.iter().any(|hook| hook.value("event").and_then(Node::text).is_some_and(is_event))
                }
                _ => false,
            }
    })
}

/// The point of a row, with the event.
pub(super) fn named(row: &'static Row) -> Option<(&'static PointInfo, String)> {
    Some((point(row)?, row.event.to_owned()))
}

#[cfg(test)]
mod tests;
