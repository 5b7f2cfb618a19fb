//! What kind of tool a name stands for, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
//!
//! Agent programs call the same tool by different names. Which name a format presents a tool under is known to the
//! formats; here are only the names that any of them has. Programs get new tools with each version, so a call of a tool
//! in no table is also judged by what it carries.

use std::borrow::Cow;

use crate::json::Value;

/// What the members of a tool's input are called that have a command, or a program that is run as one. Which of them a tool
/// reads is not known: what is looked for in one has to be looked for in each that is there.
pub const COMMANDS: [&str; 3] = ["command", "cmd", "script"];

/// The class of a call: that of its tool's name, else `shell` when its input has a command.
///
/// ```
/// use lineside_core::json::json;
/// use lineside_core::tool_class;
///
/// assert_eq!(tool_class::of_call("Watch", Some(&json!({"command": "tail -f log"}))), Some("shell"));
/// assert_eq!(tool_class::of_call("Watch", Some(&json!({"path": "log"}))), None);
/// assert_eq!(tool_class::of_call("mcp__git__run", Some(&json!({"command": "log"}))), Some("mcp"));
/// ```
#[must_use]
pub fn of_call(tool: &str, input: Option<&Value>) -> Option<&'static str> {
    of(tool).or_else(|| command(input?).map(|_| "shell"))
}

/// The commands in the input of a tool, one for each of [`COMMANDS`] that is there: a text, or words, which `join` makes a
/// text of.
pub fn commands<'a>(
    input: &'a Value,
    join: impl Fn(&[&str]) -> String,
) -> impl Iterator<Item = Cow<'a, str>> {
    COMMANDS.into_iter().filter_map(move |field| match input.get(field)? {
        Value::String(text) => Some(Cow::Borrowed(text.as_str())),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.filter(|words| !words.is_empty()).map(|words| Cow::Owned(join(&words)))
        }
        _ => None,
    })
}

/// The first command in the input of a tool; words are joined by blanks.
#[must_use]
pub fn command(input: &Value) -> Option<Cow<'_, str>> {
    commands(input, |words| words.join(" ")).next()
}

/// The class of a tool, by its name in any program; `None` for one that is in no table. Case counts.
///
/// ```
/// use lineside_core::tool_class;
///
/// assert_eq!(tool_class::of("run_shell_command"), Some("shell"));
/// assert_eq!(tool_class::of("mcp__git__log"), Some("mcp"));
/// assert_eq!(tool_class::of("my_own_tool"), None);
/// ```
#[must_use]
pub fn of(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "Bash" | "Monitor" | "PowerShell" | "Shell" | "bash" | "exec_command" | "local_shell" | "monitor"
        | "powershell" | "run_in_terminal" | "run_shell_command" | "shell" | "unified_exec"
        | "write_bash" | "write_powershell" => "shell",
        "Write" | "WriteFile" | "create" | "create_file" | "write_file" => "write",
        "Edit"
        | "MultiEdit"
        | "NotebookEdit"
        | "StrReplaceFile"
        | "apply_patch"
        | "edit"
        | "insert_edit_into_file"
        | "notebook_edit"
        | "replace"
        | "replace_string_in_file"
        | "str_replace_editor" => "edit",
        "Read" | "ReadFile" | "read_file" | "read_many_files" | "view" => "read",
        "Agent"
        | "Task"
        | "agent"
        | "collaborationspawn_agent"
        | "invoke_agent"
        | "runSubagent"
        | "spawn_agent"
        | "task" => "task",
        other if is_mcp(other) => "mcp",
        _ => return None,
    })
}

/// `mcp__<server>__<tool>`, `mcp_<server>_<tool>` or `MCP:<tool>`.
fn is_mcp(tool: &str) -> bool {
    let two_parts = |rest: &str, between: &str| {
        rest.split_once(between).is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
    };
    if let Some(rest) = tool.strip_prefix("mcp__") {
        return two_parts(rest, "__");
    }
    tool.strip_prefix("mcp_").is_some_and(|rest| two_parts(rest, "_"))
        || tool.strip_prefix("MCP:").is_some_and(|tool| !tool.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{command, of, of_call};
    use crate::json::json;

    #[test]
    fn a_call_of_an_unknown_tool_with_a_command_is_one_of_a_shell() {
        for (input, expected) in [
            (json!({"command": "ls"}), Some("ls")),
            (json!({"cmd": "ls"}), Some("ls")),
            (json!({"script": "await run()"}), Some("await run()")),
            (json!({"cmd": ["rm", "-rf", "/"]}), Some("rm -rf /")),
            (json!({"command": {"a": 1}, "cmd": "ls"}), Some("ls")),
            (json!({"command": []}), None),
            (json!({"command": ["ls", 1]}), None),
            (json!({"commands": "ls"}), None),
            (json!("ls"), None),
        ] {
            assert_eq!(command(&input).as_deref(), expected, "{input}");
            assert_eq!(of_call("Brand new", Some(&input)), expected.map(|_| "shell"), "{input}");
            assert_eq!(of_call("Read", Some(&input)), Some("read"), "{input}");
        }
        assert_eq!((of_call("Monitor", None), of_call("Brand new", None)), (Some("shell"), None));
    }

    #[test]
    fn ho_15_names_of_mcp_tools_have_a_server_and_a_tool() {
        for (tool, class) in [
            ("Bash", Some("shell")),
            ("NotebookEdit", Some("edit")),
            ("collaborationspawn_agent", Some("task")),
            ("mcp__git__log", Some("mcp")),
            ("mcp_git_log", Some("mcp")),
            ("MCP:rows", Some("mcp")),
            ("mcp__git", None),
            ("mcp__git__", None),
            ("mcp_git", None),
            ("MCP:", None),
            ("Grep", None),
            ("bASH", None),
        ] {
            assert_eq!(of(tool), class, "{tool}");
        }
    }
}
