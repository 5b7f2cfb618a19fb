//! What is set, what is not, and what is taken away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use lineside_core::envelope::Source;
use lineside_core::json::{Value, json};

use super::{not_inherited, of};
use crate::chord::samples::{Sample, event, fields};
use crate::chord::{data, input, points};
use crate::dialect::{Places, Trust};

fn set(sample: Sample, payload: Value, own: &[(&str, &str)]) -> (Vec<(String, String)>, Vec<String>) {
    let point = points::find("on_tool_call").unwrap();
    let event = sample.event("before_tool", payload);
    let own: Vec<_> = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let data = data::of(point.kind, &event);
    let (environment, refused) = of(&input::envelope(point, &event), &data, &own, &[]);
    let text = |text: OsString| text.into_string().unwrap();
    (environment.set.into_iter().map(|(name, value)| (text(name), text(value))).collect(), refused)
}

#[test]
fn fields_of_the_envelope_and_of_data_are_variables() {
    // CH-29, CH-30
    let extra = Some(json!({"error_kind": "io", "other": 1}));
    let payload = json!({"tool_name": "Shell", "tool_input": {}, "timeout_ms": 1500});
    let own = [("EMPTY", ""), ("CHORD_HOOK_POINT", "mine")];
    let (set, refused) = set(Sample { extra, ..Sample::default() }, payload, &own);
    let expected = [
        ("CHORD_HOOK_POINT", "on_tool_call"),
        ("CHORD_HOOK_SESSION_ID", "root"),
        ("CHORD_HOOK_TURN_ID", "7"),
        ("CHORD_HOOK_AGENT_ID", "main-1"),
        ("CHORD_HOOK_AGENT_KIND", "main"),
        ("CHORD_HOOK_PROJECT_ROOT", "/repo"),
        ("CHORD_HOOK_SELECTED_MODEL", "acme/big"),
        ("CHORD_HOOK_RUNNING_MODEL", "acme/small"),
        ("CHORD_HOOK_TOOL_NAME", "Shell"),
        ("CHORD_HOOK_TIMEOUT_MS", "1500"),
        ("CHORD_HOOK_ERROR_KIND", "io"),
        ("EMPTY", ""),
        ("CHORD_HOOK_POINT", "mine"),
    ];
    assert_eq!(set, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(refused, [] as [String; 0]);
}

#[test]
fn what_is_empty_is_not_set() {
    // CH-29
    let sample = Sample { source: Source::root("s"), turn: Some(0), extra: None };
    let (set, _) = set(sample, json!({"tool_name": "", "tool_input": {}}), &[]);
    let names: Vec<_> = set.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["CHORD_HOOK_POINT", "CHORD_HOOK_SESSION_ID", "CHORD_HOOK_AGENT_ID", "CHORD_HOOK_AGENT_KIND"]
    );
}

#[test]
fn what_cannot_be_handed_over_is_told() {
    // CH-29
    let check = |name: &str, own: &[(&str, &str)], expected: &[&str]| {
        let (set, refused) = set(Sample::default(), json!({"tool_name": name, "tool_input": {}}), own);
        assert_eq!(refused, expected);
        assert!(set.iter().all(|(name, _)| !expected.contains(&name.as_str())));
    };
    check("a\0b", &[], &["CHORD_HOOK_TOOL_NAME"]);
    check(&"n".repeat(131_001), &[], &["CHORD_HOOK_TOOL_NAME"]);
    check(&"n".repeat(131_000), &[("MINE", "\0")], &["MINE"]);
}

#[test]
fn a_number_is_written_without_its_fraction() {
    // CH-29
    let check = |number: &str, expected: &str| {
        let point = points::find("on_idle").unwrap();
        let data = fields(lineside_core::json::from_str(&format!("{{\"timeout_ms\": {number}}}")).unwrap());
        let envelope = input::envelope(point, &event("on_idle", json!({})));
        let (environment, _) = of(&envelope, &data, &[], &[]);
        let found = environment.set.iter().find(|(name, _)| name == "CHORD_HOOK_TIMEOUT_MS");
        assert_eq!(found.map_or("", |(_, value)| value.to_str().unwrap()), expected, "{number}");
    };
    check("1500", "1500");
    check("1500.9", "1500");
    check("1e3", "1000");
    check("-0.5", "0");
    check("1e999", "");
    check("\"1500\"", "");
    check("null", "");
}

#[test]
fn variables_of_another_hook_are_not_inherited() {
    // CH-29
    let names = ["CHORD_HOOK_POINT", "CHORD_HOOK_OTHER", "CHORD_HOOK_DEBUG", "CHORD_CONFIG_HOME", "PATH"];
    let places = Places {
        environment: names
            .iter()
            .map(|name| ((*name).to_owned(), "x".to_owned()))
            .collect::<BTreeMap<_, _>>(),
        project_root: None,
        cwd: PathBuf::from("/"),
        trust: Trust::Granted,
    };
    let removed = not_inherited(&places);
    for (name, gone) in [
        ("CHORD_HOOK_POINT", true),
        ("CHORD_HOOK_OTHER", true),
        ("CHORD_HOOK_ERROR_KIND", true),
        ("CHORD_HOOK_DEBUG", false),
        ("CHORD_CONFIG_HOME", false),
        ("PATH", false),
    ] {
        assert_eq!(removed.iter().any(|removed| removed == name), gone, "{name}");
    }
}
