//! What kind of tool a call is of, under which name each format knows it, and which files it names (HO-12 to HO-16).

use std::collections::HashSet;

use lineside_core::json::{Map, Value};
use lineside_core::{AnyEvent, PointInfo, tool_class};

use super::program::Host;

/// A set of tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
    VsCode,
    Kimi,
    KimiCode,
    AgentHooks,
    /// Names that no import presents a call under.
    Qwen,
}

use Column::{AgentHooks, Claude, Codex, Copilot, Cursor, Gemini, Kimi, KimiCode, Qwen, VsCode};

/// The tools of one class in one column: the name under which calls of others are presented, then the others.
type Cell = (Column, Option<&'static str>, &'static [&'static str]);

impl Column {
    /// The names of the tools of a host.
    pub(super) fn of(host: Host) -> Self {
        match host {
            Host::Claude => Claude,
            Host::Codex => Codex,
            Host::Copilot | Host::Opencode => Copilot,
            Host::Cursor => Cursor,
            // Its tools have the names of the other one's.
            Host::Gemini | Host::Qwen => Gemini,
            Host::Kimi => Kimi,
        }
    }
}

/// The tool with which a host runs a command in a shell.
pub(super) fn shell_of(host: Host) -> &'static str {
    let column = Column::of(host);
    let cells = CLASSES.iter().find(|(class, _)| *class == "shell").map_or(&[][..], |(_, cells)| cells);
    cells.iter().find(|(of, ..)| *of == column).and_then(|(_, name, _)| *name).unwrap_or_default()
}

/// The classes and their tools (HO-13).
#[rustfmt::skip]
const CLASSES: [(&str, &[Cell]); 5] = [
    ("shell", &[
        (Claude, Some("Bash"), &["Monitor", "PowerShell"]),
        (Codex, Some("Bash"), &["shell", "local_shell", "exec_command", "unified_exec"]),
        (Gemini, Some("run_shell_command"), &[]), (Cursor, Some("Shell"), &[]), (Copilot, Some("bash"), &["powershell", "write_bash", "write_powershell"]),
        (VsCode, Some("run_in_terminal"), &[]), (Kimi, Some("Shell"), &[]), (KimiCode, Some("Bash"), &[]),
        (AgentHooks, Some("Shell"), &[]), (Qwen, None, &["monitor"]),
    ]),
    ("write", &[
        (Claude, Some("Write"), &[]), (Gemini, Some("write_file"), &[]), (Cursor, Some("Write"), &[]),
        (Copilot, Some("create"), &[]), (VsCode, Some("create_file"), &[]), (Kimi, Some("WriteFile"), &[]),
        (KimiCode, Some("Write"), &[]), (AgentHooks, Some("WriteFile"), &[]),
    ]),
    ("edit", &[
        (Claude, Some("Edit"), &["MultiEdit", "NotebookEdit"]), (Codex, Some("apply_patch"), &[]),
        (Gemini, Some("replace"), &[]), (Cursor, Some("Edit"), &["MultiEdit"]),
        (Copilot, Some("edit"), &["str_replace_editor", "apply_patch"]),
        (VsCode, Some("replace_string_in_file"), &["insert_edit_into_file"]), (Kimi, Some("StrReplaceFile"), &[]),
        (KimiCode, Some("Edit"), &[]), (AgentHooks, Some("StrReplaceFile"), &[]), (Qwen, None, &["notebook_edit"]),
    ]),
    ("read", &[
        (Claude, Some("Read"), &[]), (Gemini, Some("read_file"), &["read_many_files"]), (Cursor, Some("Read"), &[]),
        (Copilot, Some("view"), &[]), (VsCode, Some("read_file"), &[]), (Kimi, Some("ReadFile"), &[]),
        (KimiCode, Some("Read"), &[]), (AgentHooks, Some("ReadFile"), &[]),
    ]),
    ("task", &[
        (Claude, Some("Agent"), &["Task"]), (Codex, None, &["spawn_agent", "collaborationspawn_agent"]),
        (Gemini, Some("invoke_agent"), &[]), (Cursor, Some("Task"), &[]), (Copilot, Some("task"), &[]),
        (VsCode, Some("runSubagent"), &[]), (Kimi, Some("Task"), &["Agent"]), (KimiCode, Some("Agent"), &[]),
        (AgentHooks, Some("Task"), &[]), (Qwen, None, &["agent"]),
    ]),
];

/// What the arguments of the tools of a class are called, whichever program has them.
#[rustfmt::skip]
const ARGUMENTS: [(&str, &[&str]); 5] = [
    ("shell", &[
        "command", "cmd", "script", "description", "timeout", "timeout_ms", "cwd", "workdir", "working_directory",
        "workingDirectory", "directory", "dir_path", "shell", "run_in_background", "is_background", "isBackground",
        "explanation", "goal", "justification", "sandbox_permissions", "with_escalated_permissions",
        "dangerouslyDisableSandbox", "login", "tty", "yield_time_ms", "max_output_tokens", "mode", "detach",
        "initial_wait", "delay", "sessionId", "session_id", "shellId", "input", "chars", "persistent",
    ]),
    ("write", &[
        "file_path", "path", "filePath", "absolute_path", "target_file", "content", "contents", "file_text", "mode",
    ]),
    ("edit", &[
        "file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "old_string", "new_string",
        "oldString", "newString", "old_str", "new_str", "replace_all", "edit", "edits", "instruction", "instructions",
        "expected_replacements", "allow_multiple", "command", "input", "patch", "insert_line", "insert_text",
        "view_range", "file_text", "content", "code", "explanation", "cell_id", "cell_number", "new_source",
        "cell_type", "edit_mode",
    ]),
    ("read", &[
        "file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "paths", "file_paths",
        "include", "exclude", "recursive", "offset", "limit", "line_offset", "n_lines", "start_line", "end_line",
        "startLine", "endLine", "view_range", "pages", "respect_git_ignore", "useDefaultExcludes",
        "file_filtering_options", "should_read_entire_file", "forceReadLargeFiles",
    ]),
    ("task", &[
        "prompt", "description", "subagent_type", "agent_type", "agent_name", "agentName", "subagent_name", "name",
        "model", "message", "task_name", "objective", "items", "attachments", "readonly", "resume", "isolation",
        "max_turns", "run_in_background", "fork_context", "reasoning_effort", "timeout", "mode", "team_name",
    ]),
];

/// The arguments that calls of these tools may have, where each of them is of a class.
pub(crate) fn arguments<'t>(tools: impl IntoIterator<Item = &'t str>) -> Option<Vec<&'static str>> {
    let of_tool = |tool: &str| {
        let class = tool_class::of(tool)?;
        ARGUMENTS.iter().find(|(of, _)| *of == class).map(|(_, names)| *names)
    };
    let all: Option<Vec<_>> = tools.into_iter().map(of_tool).collect();
    all.map(|all| all.concat()).filter(|all| !all.is_empty())
}

/// What is equal for a tool in the words of several hosts: its class where it is the one tool by which a format knows that
/// class, else its name. Other tools of a class are other tools.
pub(super) fn in_any_words(tool: &str) -> &str {
    let is_presented = |(_, name, _): &Cell| *name == Some(tool);
    let class = CLASSES.iter().find(|(_, cells)| cells.iter().any(is_presented));
    class.map_or(tool, |(class, _)| class)
}

const MCP: &str = "mcp";

/// The class of the tool that an event is about: as its publisher says, else by its name and what it is called with.
pub(crate) fn class(event: &AnyEvent) -> Option<&str> {
    let payload = event.payload();
    let of_call = || tool_class::of_call(payload.text("tool_name")?, payload.value("tool_input"));
    payload.text("tool_class").or_else(of_call)
}

/// A call as a format sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen<'a> {
    /// The name of the tool, in the words of the format.
    pub(crate) name: &'a str,
    /// The publisher's name, where that is another one.
    pub(crate) host_name: Option<&'a str>,
}

impl<'a> Seen<'a> {
    /// The call of an event in the words of a column; `None` when it is about no tool (HO-16).
    pub(crate) fn by(column: Column, event: &'a AnyEvent) -> Option<Self> {
        let name = event.payload().text("tool_name")?;
        let plain = Seen { name, host_name: None };
        let cells = CLASSES.iter().flat_map(|(class, cells)| cells.iter().map(move |cell| (*class, cell)));
        let mut of_column = cells.filter(|(_, (of, ..))| *of == column);
        if of_column
            .clone()
            .any(|(_, (_, presented, others))| *presented == Some(name) || others.contains(&name))
        {
            return Some(plain);
        }
        let Some(class) = class(event).filter(|class| *class != MCP) else { return Some(plain) };
        let presented = of_column.find_map(|(of, (_, presented, _))| presented.filter(|_| of == class));
        Some(presented.map_or(plain, |presented| Seen { name: presented, host_name: Some(name) }))
    }

    /// Whether one of its names is like this.
    pub(crate) fn any(&self, mut fits: impl FnMut(&str) -> bool) -> bool {
        fits(self.name) || self.host_name.is_some_and(fits)
    }
}

/// The fields of a tool input that name a file.
const PATHS: [&str; 6] = ["file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path"];

/// The files that a tool call names, as they are spelt, once each (HO-12).
///
/// ```
/// use lineside_core::json::json;
/// use lineside_dialects::hosts::named_paths;
///
/// assert_eq!(named_paths("Edit", &json!({"file_path": "a.rs", "edits": []})), ["a.rs"]);
/// let patch = "*** Begin Patch\n*** Add File: b.rs\n+x\n*** End Patch";
/// assert_eq!(named_paths("apply_patch", &json!({"command": patch})), ["b.rs"]);
/// ```
#[must_use]
pub fn named_paths(tool: &str, input: &Value) -> Vec<String> {
    let (mut paths, mut known) = (Vec::new(), HashSet::new());
    let mut add = |path: &str| {
        if !path.is_empty() && known.insert(path.to_owned()) {
            paths.push(path.to_owned());
        }
    };
    for field in PATHS {
        if let Some(path) = input.get(field).and_then(Value::as_str) {
            add(path);
        }
    }
    if tool == "apply_patch" {
        let mut patch = |text: &str| {
            // Codex reads such lines without the blanks around them.
            for line in text.lines().map(str::trim) {
                let named = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
                if let Some(path) = named.iter().find_map(|prefix| line.strip_prefix(prefix)) {
                    add(path.trim());
                }
            }
            false
        };
        lineside_core::json::any_string(input, &mut patch);
    }
    paths
}

/// Adds the class and the files of a tool call to a payload that does not say them (HO-12, HO-13).
pub fn tool_fields(point: &PointInfo, payload: &mut Map) {
    let Some(tool) = payload.get("tool_name").and_then(Value::as_str).map(str::to_owned) else { return };
    let class = tool_class::of_call(&tool, payload.get("tool_input"));
    if let (Some(_), Some(class)) = (point.field("tool_class"), class) {
        payload.get_or_insert_with("tool_class", || class.into());
    }
    if let (Some(_), Some(input), None) =
        (point.field("paths"), payload.get("tool_input"), payload.get("paths"))
    {
        let paths = named_paths(&tool, input);
        if !paths.is_empty() {
            payload.insert("paths".to_owned(), paths.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::{CLASSES, named_paths, tool_class};

    #[test]
    fn every_name_of_a_column_has_the_class_of_its_row() {
        for (class, cells) in CLASSES {
            let names = cells.iter().flat_map(|(_, presented, others)| presented.iter().chain(others.iter()));
            for name in names {
                assert_eq!(tool_class::of(name), Some(class), "{name}");
            }
        }
    }

    #[test]
    fn the_files_of_a_call_are_named_once_each() {
        let input = json!({"path": "b", "file_path": "a", "target_file": "b", "notebook_path": ""});
        assert_eq!(named_paths("Edit", &input), ["a", "b"]);
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n  *** Delete File: b c \n*** Update File: d\n*** Move to: e";
        assert_eq!(named_paths("apply_patch", &json!({"command": patch})), ["a.txt", "b c", "d", "e"]);
        // A set finds what is known, so that each of many files is looked at once.
        let lines = |from: u32| {
            (from..from + 50_000).map(|file| format!("*** Add File: {file}\n")).collect::<String>()
        };
        let patch_of_many = json!({"command": lines(0) + &lines(25_000)});
        assert_eq!(named_paths("apply_patch", &patch_of_many).len(), 75_000);
        assert!(named_paths("Bash", &json!({"command": patch})).is_empty());
    }
}
