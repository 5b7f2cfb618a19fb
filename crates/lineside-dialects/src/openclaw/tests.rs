//! The dialect as a whole, without a worker.

use lineside_core::json::{Value, json};
use lineside_core::worker::StartWorkerError;

use super::samples::{Room, object};
use super::{OpenClaw, SCRIPT};
use crate::dialect::{Dialect as _, LogTarget, Trust, Why};

#[test]
fn without_plugins_there_is_no_worker() {
    // OC-2
    let room = Room::new(&[("home/.openclaw/lineside.json", "{ deny: ['off'] }")]);
    room.plugin("home/.openclaw/plugins", "off");
    let loaded = OpenClaw.load(&room.places(Trust::Granted));
    assert!(loaded.plugins.is_none() && loaded.hooks.is_empty() && loaded.diagnostics.is_empty());
    assert_eq!(loaded.log, None);
    assert_eq!((loaded.inert[0].name.as_str(), loaded.inert[0].why), ("off", Why::Disabled));
    room.plugin("project/.openclaw/plugins", "of-project");
    assert!(OpenClaw.load(&room.places(Trust::Withheld)).plugins.is_none());
}

#[test]
fn the_set_of_a_project_has_one_worker() {
    // OC-17, OC-59
    let room = Room::new(&[]);
    room.plugin("home/.openclaw/plugins", "a");
    room.plugin("project/.openclaw/plugins", "b");
    let loaded = OpenClaw.load(&room.places(Trust::Granted));
    assert_eq!(loaded.log, Some(LogTarget::Stderr));
    let plugins = loaded.plugins.unwrap();
    assert_eq!(plugins.script, SCRIPT);
    let ids: Vec<_> = plugins.worker.plugins.iter().map(|plugin| plugin.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    let after = (plugins.registered)(Err(StartWorkerError::NotFound { why: String::new() }));
    assert_eq!((after.hooks.len(), after.diagnostics.len()), (0, 2));
    let missing: Vec<_> = after.inert.iter().map(|inert| inert.name.as_str()).collect();
    assert_eq!(missing, ["a", "b"]);
    assert!(after.plugins.is_none());
}

#[test]
fn every_hook_is_a_name_of_its_point() {
    // OC-35
    let point = |name: &str, payload: Value| OpenClaw.point(name, &object(payload)).map(|point| point.name);
    assert!(OpenClaw.names().iter().all(|name| point(name, json!({})).is_some()));
    assert_eq!(point("before_agent_start", json!({})), Some("before_agent"));
    assert_eq!(point("after_tool_call", json!({ "error": null })), Some("after_tool"));
    assert_eq!(point("after_tool_call", json!({ "error": "e" })), Some("after_tool_error"));
    // OC-36
    assert_eq!(point("before_install", json!({})), Some("x.openclaw.before_install"));
    assert_eq!(point("message:sent", json!({})), Some("on_message_sent"));
    // A family of events is none.
    assert_eq!((point("message", json!({})), point("deactivate", json!({}))), (None, None));
}

#[test]
fn the_worker_knows_the_same_hooks() {
    // OC-35, OC-36
    let (_, catalogue) = SCRIPT.files.iter().find(|(path, _)| path.ends_with("catalogue.mjs")).unwrap();
    let quoted = |text: &'static str| text.split('\'').skip(1).step_by(2).collect::<Vec<_>>();
    let list = |name: &str, end: &str| {
        let after = catalogue.split(&format!("{name} = new ")).nth(1).unwrap();
        after.split(end).next().unwrap()
    };
    let apart = list("APART", "]);").lines().filter_map(|line| quoted(line).first().copied());
    let firing = quoted(list("FIRING", "]);")).into_iter();
    let mut names: Vec<_> = firing.chain(apart).chain(quoted(list("PACK_EVENTS", "]);"))).collect();
    let mut ours = OpenClaw.names();
    names.sort_unstable();
    ours.sort_unstable();
    assert_eq!(names, ours);
}
