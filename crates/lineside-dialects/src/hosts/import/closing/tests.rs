//! What stands closed when a file, an event or a handler does not load.

use std::collections::BTreeSet;

use lineside_core::Severity;

use super::super::samples::Room;

const CLAUDE: &str = "home/.claude/settings.json";
const CURSOR: &str = "home/.cursor/hooks.json";
const KIMI: &str = "home/.kimi/config.toml";

/// The points at which something stands closed, and the severity and the text of each finding.
fn closed(file: &str, text: &str) -> (BTreeSet<&'static str>, Vec<(Severity, String)>) {
    let dialect = file.trim_start_matches("home/.").split('/').next().unwrap();
    let loaded = Room::new(&[(file, text)]).loaded(dialect);
    let closed = loaded.hooks.iter().filter(|hook| hook.closed);
    let points = closed.flat_map(|hook| hook.points.iter().map(|point| point.name)).collect();
    (points, loaded.diagnostics.into_iter().map(|finding| (finding.severity, finding.text)).collect())
}

fn points(file: &str, text: &str) -> BTreeSet<&'static str> {
    closed(file, text).0
}

fn claude(event: &str, handler: &str) -> String {
    format!("{{\"hooks\": {{\"{event}\": [{{\"hooks\": [{handler}]}}]}}}}")
}

#[test]
fn a_handler_that_was_meant_to_close_its_gate_stands_closed() {
    for (handler, is_guard) in [
        (r#"{"type": "command", "onFailure": "block"}"#, true),
        (r#"{"type": "command", "onfailure": "Block"}"#, true),
        (r#"{"type": "command", "onFailure": "continue"}"#, false),
        (r#"{"type": "command", "failClosed": true}"#, true),
        (r#"{"type": "command", "failClosed": false}"#, false),
        (r#"{"type": "command", "x": [{"failClosed": "true"}]}"#, true),
        (r#"{"type": "command"}"#, false),
    ] {
        let expected: &[&str] = if is_guard { &["before_tool"] } else { &[] };
        assert!(points(CLAUDE, &claude("PreToolUse", handler)).iter().eq(expected), "{handler}");
    }
}

#[test]
fn a_misspelt_event_with_a_guard_stands_closed_where_it_was_meant() {
    let guard = r#"{"type": "command", "command": "true", "onFailure": "block"}"#;
    let (points, findings) = closed(CLAUDE, &claude("PreToolUs", guard));
    assert!(points.iter().eq(&["before_tool"]), "{points:?}");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].0, Severity::Error);
    assert!(findings[0].1.contains("unknown event `PreToolUs`; the nearest is `PreToolUse`"), "{findings:?}");
    // Of another format the one that is meant is proposed.
    let (points, findings) = closed(CLAUDE, &claude("BeforeTool", guard));
    assert!(findings[0].1.contains("the nearest is `PreToolUse`"), "{findings:?}");
    assert!(points.contains("before_tool"), "{points:?}");
    for (event, meant) in
        [("AgentStop", "Stop"), ("BeforeToolCal", "PreToolUse"), ("Notificatio", "Notification")]
    {
        let (_, findings) = closed(CLAUDE, &claude(event, guard));
        assert!(findings[0].1.contains(&format!("the nearest is `{meant}`")), "{findings:?}");
    }
    // What is near to none may be any.
    let (points, _) = closed(CLAUDE, &claude("Xyzzy", guard));
    assert!(points.contains("before_tool") && points.contains("before_prompt"), "{points:?}");
    let open = r#"{"type": "command", "command": "true"}"#;
    let (points, findings) = closed(CLAUDE, &claude("PreToolUs", open));
    assert!(points.is_empty() && findings[0].0 == Severity::Warning, "{findings:?}");
}

#[test]
fn a_misspelt_list_of_hooks_is_an_error_and_a_guard_in_it_stands_closed() {
    let of = |key: &str, value: &str| closed(CLAUDE, &format!("{{\"{key}\": {value}}}"));
    let guard = r#"{"PreToolUse": [{"hooks": [{"type": "command", "onFailure": "block"}]}]}"#;
    let (points, findings) = of("hook", guard);
    assert!(points.contains("before_tool") && points.contains("before_prompt"), "{points:?}");
    assert!(findings[0].1.contains("unknown key `hook`, did you mean `hooks`?"), "{findings:?}");
    let (points, findings) = of("hook", r#"{"PreToolUse": []}"#);
    assert!(points.is_empty() && findings.len() == 1, "{findings:?}");
    for (key, value) in [("hook", r#"{"x": 1}"#), ("hook", "7"), ("permissions", guard)] {
        let (points, findings) = of(key, value);
        assert!(points.is_empty() && findings.is_empty(), "{key} {value} {findings:?}");
    }
    let (_, findings) = closed(KIMI, "[[hook]]\nevent = 'PreToolUse'\n");
    assert!(findings[0].1.contains("did you mean `hooks`?"), "{findings:?}");
    assert!(closed(KIMI, "[[hook]]\nevent = 'x'\n").1.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_stands_closed_where_it_may_have_a_guard() {
    let all = points(CURSOR, "{\"hooks\": {\"preToolUse\": [{\"failClosed\": true}}");
    assert!(all.contains("before_tool") && all.contains("before_prompt"), "{all:?}");
    assert!(points(CURSOR, "{\"hooks\": {\"preToolUse\": [{\"command\": \"x\"}}").is_empty());
}

#[test]
fn what_a_format_keeps_beside_its_events_is_no_event() {
    let text = r#"{"hooks": {"state": {"x": 1}}}"#;
    assert_eq!(closed("home/.codex/hooks.json", text).1, []);
    assert_eq!(closed(CLAUDE, text).1.len(), 1);
}
