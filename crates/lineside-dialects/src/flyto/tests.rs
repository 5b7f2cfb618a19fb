//! Files to hooks, in the order in which they run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lineside_core::SkipReason;
use lineside_core::hook::Standby;
use lineside_core::{Layer, Severity};
use tempfile::TempDir;

use super::*;
use crate::dialect::{Trust, Why};

struct Room {
    root: TempDir,
}

impl Room {
    fn with(files: &[(&str, &str)]) -> Self {
        let room = Self { root: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = room.root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        room
    }

    fn load(&self, trust: Trust) -> Loaded {
        let home = self.root.path().join("home");
        let project = self.root.path().join("project");
        Flyto.load(&Places {
            environment: BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]),
            project_root: Some(project.clone()),
            cwd: project,
            trust,
        })
    }
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.hooks.iter().map(|hook| &*hook.hook.name).collect()
}

/// What was found, as `file:line severity text`, the file relative to the room.
fn told(room: &Room, loaded: &Loaded) -> Vec<String> {
    let tell = |one: &lineside_core::Diagnostic| {
        let origin = one.origin.as_ref().unwrap();
        let file = origin.file.strip_prefix(room.root.path()).unwrap_or(Path::new("?")).display();
        let severity = if one.severity == Severity::Error { "error" } else { "warning" };
        format!("{file}:{} {severity} {}", origin.line, one.text)
    };
    loaded.diagnostics.iter().map(tell).collect()
}

fn entry(name: &str) -> String {
    format!("{{\"hooks\": {{\"stop\": [{{\"name\": \"{name}\", \"command\": \"true\"}}]}}}}")
}

fn all_levels() -> Room {
    Room::with(&[
        ("project/.flyto/plugins/b/hooks.json", &entry("5b")),
        ("project/.flyto/plugins/a/hooks.json", &entry("5a")),
        ("home/.flyto/plugins/zeta/hooks.json", &entry("4z")),
        ("home/.flyto/plugins/Zeta/hooks.json", &entry("4Z")),
        ("project/.flyto/settings.local.json", &entry("3")),
        ("project/.flyto/settings.json", &entry("2")),
        ("home/.flyto/settings.json", &entry("1")),
        ("home/.flyto/plugins/hooks.json", &entry("no plugin")),
        ("home/.flyto/plugins/bare/other.json", &entry("no hooks")),
        (".flyto/settings.json", &entry("above the project")),
    ])
}

#[test]
fn the_lists_of_all_files_are_joined_in_order() {
    // FL-1, FL-6
    let loaded = all_levels().load(Trust::Granted);
    assert_eq!(names(&loaded), ["1", "2", "3", "4Z", "4z", "5a", "5b"]);
    assert_eq!(loaded.diagnostics, []);
    // A plan has the same order.
    let mut hooks: Vec<_> =
        (0..).zip(&loaded.hooks).map(|(number, found)| found.hook.clone().registration(number)).collect();
    hooks.reverse();
    hooks.sort_by_key(Hook::order);
    let ordered: Vec<_> = hooks.iter().map(|hook| hook.name.to_string()).collect();
    assert_eq!(ordered, names(&loaded));
    assert_eq!(hooks[0].layer, Layer::User);
    let bare = Room::with(&[]).load(Trust::Granted);
    assert!(bare.hooks.is_empty() && bare.diagnostics.is_empty());
}

#[test]
fn what_the_project_declares_waits_for_trust() {
    // FL-2
    let loaded = all_levels().load(Trust::Withheld);
    let ready: Vec<_> = loaded
        .hooks
        .iter()
        .filter(|found| found.hook.standby == Standby::Ready)
        .map(|found| &*found.hook.name)
        .collect();
    assert_eq!(ready, ["1", "4Z", "4z"]);
    let off = loaded.hooks.iter().filter(|found| found.hook.standby == Standby::Off(SkipReason::Untrusted));
    assert_eq!(off.count(), 4);
}

#[test]
fn a_plugin_is_the_source_of_its_hooks() {
    // FL-6
    let loaded = all_levels().load(Trust::Granted);
    let sources: Vec<_> = loaded.hooks.iter().map(|found| &*found.hook.source).collect();
    assert_eq!(sources, ["", "", "", "Zeta", "zeta", "a", "b"]);
}

#[test]
fn names_count_the_entries_of_a_type_over_all_files() {
    // FL-4
    let room = Room::with(&[
        (
            "home/.flyto/settings.json",
            r#"{"hooks": {"stop": [{"timeout": 3}, 7, {"command": "c"}], "pre_compact": [{"command": "c"}]}}"#,
        ),
        ("project/.flyto/settings.json", r#"{"hooks": {"stop": [{"command": "c"}]}}"#),
    ]);
    let loaded = room.load(Trust::Granted);
    assert_eq!(names(&loaded), ["stop-2", "pre_compact-0", "stop-3"]);
    assert_eq!(
        told(&room, &loaded),
        [
            "home/.flyto/settings.json:1 error hook \"stop-0\" has neither 'command' nor 'webhook_url'",
            "home/.flyto/settings.json:1 error hook \"stop-1\" must be an object, not 7",
        ]
    );
    let broken: Vec<_> = loaded.inert.iter().map(|inert| (inert.name.as_str(), inert.why)).collect();
    assert_eq!(broken, [("stop-0", Why::Error), ("stop-1", Why::Error)]);
}

#[test]
fn a_file_that_cannot_be_used_is_an_error_of_its_own() {
    // FL-3, FL-5
    let room = Room::with(&[
        ("home/.flyto/settings.json", "{\n\"hooks\": {\"stop\": [{\"command\": \"c\",}]}}"),
        ("project/.flyto/settings.json", "\n[]"),
        ("project/.flyto/settings.local.json", "{\"model\": 1,\n\"hooks\": []}"),
        ("project/.flyto/plugins/a/hooks.json/x", ""),
        ("project/.flyto/plugins/b/hooks.json", &entry("kept")),
    ]);
    let loaded = room.load(Trust::Granted);
    // What may have been guarded by the one that cannot be read at all is closed; the others name no guard.
    let (closed, open): (Vec<_>, Vec<_>) = loaded.hooks.iter().partition(|found| found.closed);
    assert!(closed.len() == 7 && closed.iter().all(|found| &*found.hook.name == "hooks.json"));
    assert_eq!(open.iter().map(|found| &*found.hook.name).collect::<Vec<_>>(), ["kept"]);
    assert_eq!(
        told(&room, &loaded),
        [
            "home/.flyto/settings.json:2 error the file is not JSON: a key in double quotes is expected",
            "project/.flyto/settings.json:2 error the file must hold a JSON object, not […]",
            "project/.flyto/settings.local.json:2 error 'hooks' must be an object, not […]",
            "project/.flyto/plugins/a/hooks.json:1 error the file cannot be read: it is a folder; replace it by a regular file",
        ]
    );
    let text = loaded.diagnostics[0].to_string();
    assert!(
        text.starts_with(&format!("{}:2: ", room.root.path().join("home/.flyto/settings.json").display()))
    );
}

#[test]
fn other_settings_and_nulls_are_passed_over() {
    // FL-3
    let room = Room::with(&[
        (
            "home/.flyto/settings.json",
            r#"{"hooks": {"stop": null, "Unknown": null}, "model": "m", "Hooks": 7}"#,
        ),
        ("project/.flyto/settings.json", r#"{"hooks": null}"#),
        ("project/.flyto/settings.local.json", r"{}"),
    ]);
    let loaded = room.load(Trust::Granted);
    assert!(loaded.hooks.is_empty());
    assert_eq!(told(&room, &loaded), Vec::<String>::new());
}

#[test]
fn a_wrong_type_or_list_costs_only_itself() {
    // FL-5, FL-8
    let room = Room::with(&[(
        "home/.flyto/settings.json",
        "{\"hooks\": {\n\"PreToolUse\": [{\"command\": \"c\"}],\n\"pre_compact\": {},\n\"stop\": [{\"name\": \"old\", \"command\": \"c\"}],\n\"stop\": [{\"name\": \"new\", \"command\": \"c\"}]}}",
    )]);
    let loaded = room.load(Trust::Granted);
    assert_eq!(names(&loaded), ["new"]);
    let file = "home/.flyto/settings.json";
    assert_eq!(
        told(&room, &loaded),
        [
            format!(
                "{file}:2 error unknown hook type 'PreToolUse', its hooks are not loaded; did you mean 'pre_tool_use'?"
            ),
            format!("{file}:3 error the hooks of 'pre_compact' must be a list, not {{…}}"),
            format!("{file}:4 error the hooks of 'stop' are declared twice, the last list counts"),
        ]
    );
    assert_eq!(loaded.hooks[0].hook.origin.as_ref().unwrap().line, 5);
}

#[test]
fn the_dialect_knows_its_own_names() {
    // FL-9
    assert_eq!(Flyto.point("pre_sampling", &Map::new()).unwrap().name, "before_model");
    assert_eq!(Flyto.point("before_model", &Map::new()), None);
    assert_eq!(Flyto.names().len(), 17);
}
