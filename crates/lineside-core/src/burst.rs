//! Several events as one: what a debounced hook runs for.

use crate::json::{Map, Value};

use crate::event::AnyEvent;

/// The lists that are joined over a burst; of every other field the last event's value counts.
const JOINED: [&str; 3] = ["tool_calls", "changed_files", "paths"];

/// The last event, with the lists of all events of one point joined in order; of the changed files of one path the last
/// remains, at its place.
///
/// `None` for no events.
#[must_use]
pub fn merge(events: &[AnyEvent]) -> Option<AnyEvent> {
    let last = events.last()?;
    if events.len() == 1 {
        return Some(last.clone());
    }
    let mut fields = Map::new();
    for name in JOINED {
        let mut joined = if name == "paths" { paths(events, last) } else { list(events, name) };
        if joined.is_empty() {
            continue;
        }
        if name == "changed_files" {
            joined = last_of_each_path(joined);
        }
        fields.insert(name.to_owned(), Value::Array(joined));
    }
    // Events of one point have the same fields, so the lists fit.
    Some(match last.payload().with_fields(&fields) {
        Ok(payload) if !fields.is_empty() => last.with_payload(payload),
        Ok(_) | Err(_) => last.clone(),
    })
}

fn list(events: &[AnyEvent], name: &str) -> Vec<Value> {
    let lists = events.iter().filter_map(|event| event.payload_json().get(name)?.as_array());
    lists.flatten().cloned().collect()
}

/// Those of an event that lists none are in its tool input.
fn paths(events: &[AnyEvent], last: &AnyEvent) -> Vec<Value> {
    let mut paths = Vec::new();
    if last.point().field("paths").is_some() {
        for event in events {
            event.payload().each_path(&mut |path| paths.push(path.into()));
        }
    }
    paths
}

fn last_of_each_path(files: Vec<Value>) -> Vec<Value> {
    let path = |file: &Value| file.get("path").and_then(Value::as_str).map(str::to_owned);
    let mut seen = std::collections::HashSet::new();
    let mut kept: Vec<Value> =
        files.into_iter().rev().filter(|file| path(file).is_none_or(|path| seen.insert(path))).collect();
    kept.reverse();
    kept
}
