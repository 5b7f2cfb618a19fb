//! From files to registered hooks: order, trust, and what of a hook is kept by the bus.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lineside_core::flow::{Debounce, RetryAfter};
use lineside_core::hook::{AfterBlock, Join, Lane, Standby};
use lineside_core::json::json;
use lineside_core::{FailureKind, Layer, OnFailure, Part, SkipReason};

use super::Chord;
use super::samples::fields;
use crate::dialect::{Dialect as _, ForeignHook, Loaded, LogTarget, Places, Trust, Why};

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn places(room: &Path, variables: &[(&str, String)]) -> Places {
    let home = ("HOME".to_owned(), room.join("home").to_string_lossy().into_owned());
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    Places {
        environment: std::iter::once(home).chain(variables).collect::<BTreeMap<_, _>>(),
        project_root: Some(room.join("project")),
        cwd: room.join("project"),
        trust: Trust::Granted,
    }
}

fn one(point: &str, name: &str) -> String {
    format!("hooks:\n  {point}:\n  - {{name: {name}, shell: x}}\n")
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.hooks.iter().map(|hook| &*hook.hook.name).collect()
}

/// The hook of a project file with one entry.
fn load(point: &str, keys: &str) -> ForeignHook {
    let room = tempfile::tempdir().unwrap();
    let text = format!("hooks:\n  {point}:\n  - {{name: h, shell: x{keys}}}\n");
    write(&room.path().join("project/.chord/config.yaml"), &text);
    let mut loaded = Chord.load(&places(room.path(), &[]));
    assert_eq!(loaded.diagnostics, []);
    loaded.hooks.pop().unwrap()
}

#[test]
fn the_global_file_is_looked_for_in_three_places() {
    // CH-1
    let room = tempfile::tempdir().unwrap();
    let at = |path: &str| room.path().join(path).to_string_lossy().into_owned();
    for (file, name) in [
        ("chord-home/config.yaml", "own"),
        ("xdg/chord/config.yaml", "xdg"),
        ("home/.config/chord/config.yaml", "home"),
        (".chord/config.yaml", "above"),
        ("project/sub/.chord/config.yaml", "below"),
    ] {
        write(&room.path().join(file), &one("on_idle", name));
    }
    let own = ("CHORD_CONFIG_HOME", at("chord-home"));
    let xdg = ("XDG_CONFIG_HOME", at("xdg"));
    let empty = ("CHORD_CONFIG_HOME", String::new());
    for (variables, expected) in [
        (vec![own, xdg.clone()], "own"),
        (vec![empty, xdg], "xdg"),
        (vec![("XDG_CONFIG_HOME", String::new())], "home"),
        (Vec::new(), "home"),
    ] {
        let loaded = Chord.load(&places(room.path(), &variables));
        assert_eq!(names(&loaded), [expected]);
        assert_eq!(loaded.diagnostics, []);
    }
    // Loading again reads what is there now.
    fs::remove_dir_all(room.path().join("home")).unwrap();
    let loaded = Chord.load(&places(room.path(), &[]));
    assert!(loaded.hooks.is_empty() && loaded.diagnostics.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    // CH-5
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("project/.chord/config.yaml");
    fs::create_dir_all(&file).unwrap();
    write(&room.path().join("home/.config/chord/config.yaml"), &one("on_idle", "kept"));
    let loaded = Chord.load(&places(room.path(), &[]));
    // What may have been guarded by it is closed.
    assert_eq!(names(&loaded), ["kept", "config.yaml", "config.yaml", "config.yaml"]);
    assert!(loaded.hooks[1..].iter().all(|hook| hook.closed));
    let told = loaded.diagnostics[0].to_string();
    assert!(told.starts_with(&format!("{}:1: the file cannot be read: ", file.display())), "{told}");
    fs::remove_dir_all(&file).unwrap();
    fs::write(&file, b"hooks: \xff").unwrap();
    let told = Chord.load(&places(room.path(), &[])).diagnostics[0].to_string();
    assert_eq!(told, format!("{}:1: the file is not valid UTF-8", file.display()));
}

#[test]
fn the_global_file_goes_first_and_names_are_counted_over_both() {
    // CH-2, CH-8
    let room = tempfile::tempdir().unwrap();
    let global = "hooks:\n  on_idle:\n  - {shell: x}\n  - {timeout: x}\n  - {name: twice, shell: x}\n";
    let own = "hooks:\n  on_idle:\n  - {shell: x}\n  - {name: twice, shell: x}\n";
    write(&room.path().join("home/.config/chord/config.yaml"), global);
    write(&room.path().join("project/.chord/config.yaml"), own);
    let loaded = Chord.load(&places(room.path(), &[]));
    assert_eq!(names(&loaded), ["on_idle-0", "twice", "on_idle-3", "twice"]);
    let layers: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.layer).collect();
    assert_eq!(layers, [Layer::User, Layer::User, Layer::Project, Layer::Project]);
    assert!(loaded.hooks.iter().all(|hook| hook.hook.priority == 0));
    assert_eq!(loaded.inert.len(), 1);
    assert_eq!((loaded.inert[0].name.as_str(), loaded.inert[0].why), ("on_idle-1", Why::Error));
    let line = loaded.hooks[2].hook.origin.as_ref().unwrap().line;
    assert_eq!(line, 3);
}

#[test]
fn hooks_of_a_project_that_is_not_trusted_are_listed_and_do_not_run() {
    // CH-3
    let room = tempfile::tempdir().unwrap();
    write(&room.path().join("home/.config/chord/config.yaml"), &one("on_idle", "mine"));
    write(&room.path().join("project/.chord/config.yaml"), &one("on_idle", "theirs"));
    let places = Places { trust: Trust::Withheld, ..places(room.path(), &[]) };
    let standby: Vec<_> = Chord.load(&places).hooks.into_iter().map(|hook| hook.hook.standby).collect();
    assert_eq!(standby, [Standby::Ready, Standby::Off(SkipReason::Untrusted)]);
}

#[test]
fn each_point_has_a_class() {
    // CH-12, CH-41, CH-43, CH-48, CH-49
    for (name, part, lane, points) in [
        ("on_session_start", Part::PostDecision, Lane::Shared, vec!["before_session"]),
        ("on_session_end", Part::PostDecision, Lane::Shared, vec!["after_session"]),
        ("on_before_llm_call", Part::Amender, Lane::Own, vec!["before_model"]),
        ("on_after_llm_call", Part::PostDecision, Lane::Shared, vec!["after_model"]),
        ("on_tool_call", Part::Amender, Lane::Own, vec!["before_tool"]),
        ("on_tool_result", Part::PostDecision, Lane::Shared, vec!["after_tool", "after_tool_error"]),
        ("on_before_tool_result_append", Part::Amender, Lane::Own, vec!["before_result_append"]),
        ("on_tool_batch_complete", Part::PostDecision, Lane::Own, vec!["after_tool_batch"]),
        ("on_before_compress", Part::PostDecision, Lane::Shared, vec!["before_compact"]),
        ("on_after_compress", Part::PostDecision, Lane::Shared, vec!["after_compact"]),
        ("on_idle", Part::PostDecision, Lane::Shared, vec!["on_idle"]),
        ("on_wait_confirm", Part::PostDecision, Lane::Shared, vec!["on_wait_confirm"]),
        ("on_wait_question", Part::PostDecision, Lane::Shared, vec!["on_wait_question"]),
        ("on_agent_error", Part::PostDecision, Lane::Shared, vec!["on_error"]),
    ] {
        let hook = load(name, "");
        assert_eq!((hook.hook.part, hook.hook.lane, &*hook.trigger), (part, lane, name));
        assert_eq!(hook.hook.after_block, AfterBlock::Skip);
        assert_eq!(hook.points.iter().map(|point| point.name).collect::<Vec<_>>(), points);
        assert!(Chord.names().contains(&name));
    }
    assert_eq!(Chord.names().len(), 14);
}

#[test]
fn the_payload_says_which_point_a_result_is() {
    // CH-12
    let point = |name: &str, payload| Chord.point(name, &fields(payload)).map(|point| point.name);
    assert_eq!(point("on_tool_result", json!({"tool_output": "x"})), Some("after_tool"));
    assert_eq!(point("on_tool_result", json!({"error": "e"})), Some("after_tool_error"));
    assert_eq!(point("on_tool_result", json!({"error": null})), Some("after_tool"));
    assert_eq!(point("on_agent_error", json!({"error": "e"})), Some("on_error"));
    assert_eq!(point("before_tool", json!({})), None);
}

#[test]
fn an_automation_says_how_its_runs_are_paced() {
    // CH-50 to CH-55, CH-60
    let hook = load(
        "on_tool_batch_complete",
        ", join: before_next_llm, debounce_ms: 20, concurrency: lint, retry_on_failure: 2, retry_delay_ms: 300, timeout: 5",
    );
    assert_eq!(hook.hook.join, Join::BeforeNextModel);
    let pace = Debounce { quiet: Duration::from_millis(20), at_most: Duration::from_millis(200) };
    assert_eq!(hook.debounce, Some(pace));
    // No hook of another format waits for it.
    assert_eq!(hook.key.as_deref(), Some("chord:lint"));
    assert_eq!((hook.retry.again, hook.retry.delay), (2, Duration::from_millis(300)));
    assert_eq!(hook.retry.after, RetryAfter::AnyButOutput);
    for (kind, again) in [
        (FailureKind::Spawn, true),
        (FailureKind::Exit, true),
        (FailureKind::Signal, true),
        (FailureKind::Timeout, true),
        (FailureKind::Output, false),
    ] {
        assert_eq!(hook.retry.tries_again(1, kind), again, "{kind}");
    }
    // Three attempts, two delays, and a day for its key.
    let attempts = (Duration::from_secs(5) + super::MARGIN) * 3 + Duration::from_millis(600);
    assert_eq!(hook.hook.timeout, attempts + Duration::from_secs(86_400));
}

#[test]
fn the_bound_of_a_hook_covers_all_its_attempts() {
    // CH-50, CH-52
    let hook = load("on_tool_batch_complete", ", retry_on_failure: 1, retry_delay_ms: 1000, timeout: 10");
    assert!(hook.hook.timeout >= Duration::from_secs(21));
    assert!(hook.hook.timeout < Duration::from_secs(30));
    assert_eq!(hook.hook.join, Join::Background);
    assert_eq!((hook.key, hook.debounce), (None, None));
    assert_eq!(load("on_idle", ", debounce_ms: 5").hook.lane, Lane::Own);
}

#[test]
fn every_class_has_retries_and_a_key() {
    // CH-52, CH-55
    for point in ["on_tool_call", "on_idle", "on_tool_batch_complete"] {
        let hook = load(point, ", retry_on_failure: 1, concurrency: k");
        assert_eq!((hook.retry.again, hook.key.as_deref()), (1, Some("chord:k")), "{point}");
    }
}

#[test]
fn a_hook_fails_open_unless_it_says_otherwise() {
    // CH-61, CH-62
    assert_eq!(load("on_tool_call", "").hook.on_failure, OnFailure::Continue);
    assert_eq!(load("on_tool_call", ", on_failure: block").hook.on_failure, OnFailure::Block);
}

#[test]
fn the_debug_log_is_switched_on_by_one_value() {
    // CH-63
    let room = tempfile::tempdir().unwrap();
    for (value, expected) in [("1", Some(LogTarget::Stderr)), ("0", None), ("", None), ("true", None)] {
        let variables = [("CHORD_HOOK_DEBUG", value.to_owned())];
        assert_eq!(Chord.load(&places(room.path(), &variables)).log, expected, "{value}");
    }
    assert_eq!(Chord.load(&places(room.path(), &[])).log, None);
}
