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
        let mut joined = match name {
            "paths" if last.point().field(name).is_some() => paths(events),
            _ => list(events, name),
        };
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
fn paths(events: &[AnyEvent]) -> Vec<Value> {
    let mut paths = Vec::new();
    for event in events {
        match event.payload_json().get("paths").and_then(Value::as_array).filter(|listed| !listed.is_empty())
        {
            Some(listed) => paths.extend(listed.iter().cloned()),
            None => event.payload().each_path(&mut |path| paths.push(path.into())),
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

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::event::AnyEvent;
    use crate::json::{Value, json};
    use crate::point::PointInfo;
    use crate::sample::{BATCH, DECLARED, TOOL, event};

    fn merged(point: &'static PointInfo, payloads: &[Value]) -> Value {
        let events: Vec<AnyEvent> = payloads.iter().map(|payload| event(point, payload.clone())).collect();
        merge(&events).unwrap().payload_json().clone().into()
    }

    #[test]
    fn one_event_and_events_without_lists_are_the_last_of_them() {
        assert!(merge(&[]).is_none());
        let events = [1, 2].map(|number| event(&TOOL, json!({"tool_name": "Shell", "tool_input": number})));
        for events in [&events[..1], &events] {
            assert!(merge(events).unwrap().is_same(events.last().unwrap()));
        }
    }

    #[test]
    fn the_paths_of_a_burst_are_those_of_each_event_in_order() {
        let payloads = [
            json!({"tool_name": "Edit", "paths": ["b", "a"]}),
            json!({"tool_name": "Edit", "tool_input": {"path": "c"}}),
            json!({"tool_name": "Write", "tool_input": {"line": 3}}),
            json!({"tool_name": "Write", "paths": ["a"], "tool_input": {"path": "not this"}}),
        ];
        assert_eq!(
            merged(&TOOL, &payloads),
            json!({"tool_name": "Write", "paths": ["b", "a", "c", "a"], "tool_input": {"path": "not this"}})
        );
    }

    #[test]
    fn of_the_changed_files_of_one_path_the_last_remains_at_its_place() {
        let file = |path: &str, by: u32| json!({"path": path, "by": by});
        let payloads = [
            json!({"tool_calls": [1, 2], "changed_files": [file("a", 1), file("b", 1), {"by": 1}]}),
            json!({"tool_calls": [], "changed_files": []}),
            json!({"tool_calls": [1], "changed_files": [{"by": 2}, file("a", 2)]}),
        ];
        assert_eq!(
            merged(&BATCH, &payloads),
            json!({"tool_calls": [1, 2, 1], "changed_files": [file("b", 1), {"by": 1}, {"by": 2}, file("a", 2)]})
        );
        let unlisted = [json!({"tool_calls": [1]}), json!({})];
        assert_eq!(merged(&BATCH, &unlisted), json!({"tool_calls": [1]}));
    }

    #[test]
    fn the_lists_of_a_declared_point_are_joined_by_their_names() {
        let payloads = [
            json!({"paths": ["a"], "tool_calls": [1], "others": [1], "tool_input": {"path": "b"}}),
            json!({"paths": "none", "tool_calls": [2], "others": [2], "tool_input": {"path": "c"}}),
            json!({"paths": ["d", 4], "others": [3]}),
        ];
        assert_eq!(
            merged(&DECLARED, &payloads),
            json!({"paths": ["a", "d", 4], "others": [3], "tool_calls": [1, 2]})
        );
        let without = [json!({"tool_input": {"path": "b"}}), json!({"tool_input": {"path": "c"}})];
        assert_eq!(merged(&DECLARED, &without), without[1]);
    }

    #[test]
    fn lists_that_the_last_event_cannot_have_are_left_out() {
        let events =
            [event(&DECLARED, json!({"tool_calls": [1]})), event(&TOOL, json!({"tool_name": "Shell"}))];
        assert!(merge(&events).unwrap().is_same(&events[1]));
    }
}
