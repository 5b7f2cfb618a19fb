//! Agent programs whose hook files are known and not run: where the files are, and what their payloads look like.
//!
//! A row is in force until its dialect is one of [`DIALECTS`](crate::DIALECTS).

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

/// How a file says that it has hooks.
#[derive(Clone, Copy)]
enum Says {
    /// It is there.
    Anyway,
    /// It has a key `hooks` that is not empty, in JSON.
    Key,
    /// It has a line `[[hooks]]` or one that begins with `[hooks`, in TOML.
    Table,
}

struct Row {
    dialect: &'static str,
    program: &'static str,
    /// Below the home, and below the project.
    home: &'static [(&'static str, Says)],
    project: &'static [(&'static str, Says)],
}

use Says::{Anyway, Key, Table};

#[rustfmt::skip]
static ROWS: [Row; 7] = [
    Row { dialect: "claude", program: "Claude Code", home: &[(".claude/settings.json", Key)],
          project: &[(".claude/settings.json", Key), (".claude/settings.local.json", Key)] },
    Row { dialect: "codex", program: "Codex", home: &[(".codex/hooks.json", Anyway), (".codex/config.toml", Table)],
          project: &[(".codex/hooks.json", Anyway), (".codex/config.toml", Table)] },
    Row { dialect: "gemini", program: "Gemini CLI", home: &[(".gemini/settings.json", Key)],
          project: &[(".gemini/settings.json", Key)] },
    Row { dialect: "qwen", program: "Qwen Code", home: &[(".qwen/settings.json", Key)],
          project: &[(".qwen/settings.json", Key)] },
    Row { dialect: "cursor", program: "Cursor", home: &[(".cursor/hooks.json", Key)],
          project: &[(".cursor/hooks.json", Key)] },
    Row { dialect: "copilot", program: "Copilot CLI", home: &[(".copilot/settings.json", Key)],
          project: &[(".github/copilot/settings.json", Key), (".github/hooks/hooks.json", Anyway)] },
    Row { dialect: "kimi", program: "Kimi CLI", home: &[(".kimi/config.toml", Table), (".kimi-code/config.toml", Table)],
          project: &[] },
];

fn is_spoken(dialect: &str) -> bool {
    crate::find(dialect).is_some()
}

/// The hook files of agent programs that are there and are not run. Reads files.
#[must_use]
pub fn unspoken_files(places: &Places) -> Vec<UnspokenFile> {
    let mut found = Vec::new();
    for row in ROWS.iter().filter(|row| !is_spoken(row.dialect)) {
        let home = places.home().map(|home| (home, row.home, Boundary::Open));
        let project = places.work_dir();
        let project =
            (places.home() != Some(project)).then_some((project, row.project, Boundary::Within(project)));
        for (root, files, boundary) in [home, project].into_iter().flatten() {
            for (name, says) in files {
                let file = root.join(name);
                if has_hooks(&file, *says, boundary) {
                    found.push(UnspokenFile { program: row.program, file });
                }
            }
        }
    }
    found
}

fn has_hooks(file: &Path, says: Says, boundary: Boundary<'_>) -> bool {
    let Some(Ok(bytes)) = lineside_files::read_if_there(file, boundary, CONFIGURATION) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    match says {
        Anyway => true,
        Table => text
            .lines()
            .map(str::trim_start)
            .any(|line| line.starts_with("[[hooks") || line.starts_with("[hooks")),
        Key => {
            let hooks = from_str::<Value>(&text).ok().and_then(|value| value.get("hooks").cloned());
            match hooks {
                Some(Value::Object(hooks)) => !hooks.is_empty(),
                Some(Value::Array(hooks)) => !hooks.is_empty(),
                // Comments make it no JSON, and it may have hooks all the same.
                _ => from_str::<Value>(&text).is_err() && text.contains("\"hooks\""),
            }
        }
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
    "BeforeTool",
    "AfterTool",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "PreCompress",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use lineside_core::json::{Value, json};

    use super::{ROWS, host_payload, is_spoken, unspoken_files};
    use crate::dialect::{Places, Trust};

    #[test]
    fn files_with_hooks_are_named() {
        let room = tempfile::tempdir().unwrap();
        let at = |path: &str| room.path().join(path);
        for (path, text) in [
            ("home/.claude/settings.json", r#"{"model": "x"}"#),
            ("project/.claude/settings.json", r#"{"hooks": {"PreToolUse": []}}"#),
            ("project/.claude/settings.local.json", r#"{"hooks": {}}"#),
            ("home/.kimi/config.toml", "[model]\nx = 1\n[[hooks]]\nevent = \"PreToolUse\"\n"),
            ("home/.codex/config.toml", "model = \"x\"\n"),
            ("project/.codex/hooks.json", "{}"),
            ("project/.cursor/hooks.json", "{ // mine\n \"hooks\": {\"stop\": []} }"),
        ] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        }
        let home = at("home").to_string_lossy().into_owned();
        let places = Places {
            environment: BTreeMap::from([("HOME".to_owned(), home)]),
            project_root: Some(at("project")),
            cwd: at("project"),
            trust: Trust::Withheld,
        };
        let found = unspoken_files(&places);
        let shown: Vec<_> = found
            .iter()
            .map(|found| (found.program, found.file.strip_prefix(room.path()).unwrap().to_str().unwrap()))
            .collect();
        let all = [
            ("claude", "Claude Code", "project/.claude/settings.json"),
            ("codex", "Codex", "project/.codex/hooks.json"),
            ("cursor", "Cursor", "project/.cursor/hooks.json"),
            ("kimi", "Kimi CLI", "home/.kimi/config.toml"),
        ];
        let expected: Vec<_> = all
            .iter()
            .filter(|(dialect, ..)| !is_spoken(dialect))
            .map(|(_, program, file)| (*program, *file))
            .collect();
        assert_eq!(shown, expected);
        assert!(ROWS.iter().all(|row| !row.home.is_empty()));
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
