//! What is recognized of agent programs: hook files that are not run, and the look of the payloads that they send.

use std::path::{Path, PathBuf};

use lineside_core::PointInfo;
use lineside_core::json::{Map, Value, from_str};
use lineside_files::Boundary;

use crate::dialect::{CONFIGURATION, Places};
use crate::names;

/// A hook file of an agent program that this version does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnspokenFile {
    /// The program.
    pub program: &'static str,
    /// Its file.
    pub file: PathBuf,
}

/// Where the only program without an import keeps its hooks, below the home and below the project.
const QWEN: (&str, &str) = ("Qwen Code", ".qwen/settings.json");

/// The hook files of agent programs that are there and are not run. Reads files.
#[must_use]
pub fn unspoken_files(places: &Places) -> Vec<UnspokenFile> {
    let (program, name) = QWEN;
    let home = places.home().map(|home| (home, Boundary::Open));
    let project = places.work_dir();
    let project = (places.home() != Some(project)).then_some((project, Boundary::Within(project)));
    [home, project]
        .into_iter()
        .flatten()
        .map(|(root, boundary)| (root.join(name), boundary))
        .filter(|(file, boundary)| has_hooks(file, *boundary))
        .map(|(file, _)| UnspokenFile { program, file })
        .collect()
}

/// Whether a file has a key `hooks` that is not empty, and more in it than entries of ours.
fn has_hooks(file: &Path, boundary: Boundary<'_>) -> bool {
    let Some(Ok(bytes)) = lineside_files::read_if_there(file, boundary, CONFIGURATION) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    #[cfg(feature = "hosts")]
    if crate::hosts::install::has_ours_alone(&text) {
        return false;
    }
    match from_str::<Value>(&text).as_ref().map(|value| value.get("hooks")) {
        Ok(Some(Value::Object(hooks))) => !hooks.is_empty(),
        Ok(Some(Value::Array(hooks))) => !hooks.is_empty(),
        Ok(_) => false,
        // Comments make it no JSON, and it may have hooks all the same.
        Err(_) => text.contains("\"hooks\""),
    }
}

/// What an agent program gives to its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostPayload {
    /// The program, or the one whose form others have taken.
    pub program: &'static str,
    /// What the program calls the moment.
    pub event: String,
    /// The point of that moment.
    pub point: Option<&'static PointInfo>,
}

/// What of an agent program this object is, if it looks like what one gives to its hooks.
#[must_use]
pub fn host_payload(fields: &Map) -> Option<HostPayload> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let found = |program, event: &str| {
        Some(HostPayload { program, event: event.to_owned(), point: names::meant(event) })
    };
    let has = |name: &str| fields.contains_key(name);
    match text("hook_event_name") {
        Some(event) if has("conversation_id") || has("generation_id") => found("Cursor", event),
        Some(event) if GEMINI.contains(&event) => found("Gemini CLI", event),
        Some(event) if has("turn_id") => found("Codex", event),
        Some(event) => found("Claude Code", event),
        None if has("toolName") && (has("toolArgs") || has("toolResult")) => {
            found("Copilot CLI", if has("toolResult") { "postToolUse" } else { "preToolUse" })
        }
        None => None,
    }
}

/// The names that only Gemini CLI has.
const GEMINI: [&str; 8] = [
    "BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
    "BeforeToolSelection", "PreCompress",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use lineside_core::json::{Value, json};

    use super::{host_payload, unspoken_files};
    use crate::dialect::{Places, Trust};

    #[test]
    fn files_with_hooks_are_named() {
        let check = |at_home: &str, in_project: &str, expected: &[&str]| {
            let room = tempfile::tempdir().unwrap();
            let at = |path: &str| room.path().join(path);
            for (path, text) in [("home", at_home), ("project", in_project)] {
                let file = at(path).join(".qwen/settings.json");
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            let places = Places {
                environment: BTreeMap::from([("HOME".to_owned(), at("home").to_string_lossy().into_owned())]),
                project_root: Some(at("project")),
                cwd: at("project"),
                trust: Trust::Withheld,
            };
            let found = unspoken_files(&places);
            let shown: Vec<_> = found
                .iter()
                .map(|found| found.file.strip_prefix(room.path()).unwrap().to_str().unwrap())
                .collect();
            assert_eq!(shown, expected, "{at_home} {in_project}");
            assert!(found.iter().all(|found| found.program == "Qwen Code"));
        };
        let (home, project) = ("home/.qwen/settings.json", "project/.qwen/settings.json");
        check(r#"{"model": "x"}"#, r#"{"hooks": {"PreToolUse": []}}"#, &[project]);
        check(r#"{"hooks": [1]}"#, r#"{"hooks": {}}"#, &[home]);
        check(r#"{"hooks": []}"#, r#"{"hooks": null}"#, &[]);
        let ours = r#"{"hooks": [{"type": "command", "command": "/opt/lineside hook qwen || exit 2"}]}"#;
        let mine = r#"{"hooks": [{"type": "command", "command": "mine"}]}"#;
        let both = format!(r#"{{"hooks": {{"Stop": [{ours}, {mine}]}}}}"#);
        check(
            &format!("{{ // mine\n \"hooks\": {{\"Stop\": [{ours}], \"Start\": []}} }}"),
            &both,
            &[project],
        );
        check("{ // mine\n \"hooks\": {\"Stop\": []} }", "{ // mine\n }", &[home]);
    }

    #[test]
    fn a_payload_tells_its_program() {
        let check = |payload: Value, expected: Option<(&str, &str, Option<&str>)>| {
            let Value::Object(fields) = payload else { panic!() };
            let found = host_payload(&fields);
            let found = found
                .as_ref()
                .map(|found| (found.program, found.event.as_str(), found.point.map(|point| point.name)));
            assert_eq!(found, expected);
        };
        check(
            json!({"hook_event_name": "PreToolUse", "session_id": "s"}),
            Some(("Claude Code", "PreToolUse", Some("before_tool"))),
        );
        check(
            json!({"hook_event_name": "BeforeTool"}),
            Some(("Gemini CLI", "BeforeTool", Some("before_tool"))),
        );
        check(
            json!({"hook_event_name": "beforeShellExecution", "conversation_id": "c"}),
            Some(("Cursor", "beforeShellExecution", Some("before_tool"))),
        );
        check(
            json!({"hook_event_name": "Stop", "turn_id": "t"}),
            Some(("Codex", "Stop", Some("before_stop"))),
        );
        check(
            json!({"toolName": "bash", "toolArgs": "{}"}),
            Some(("Copilot CLI", "preToolUse", Some("before_tool"))),
        );
        check(json!({"hook_event_name": "Unheard"}), Some(("Claude Code", "Unheard", None)));
        check(json!({"point": "before_tool", "payload": {}}), None);
    }
}
