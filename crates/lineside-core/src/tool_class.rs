//! What kind of tool a name stands for, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
//!
//! Agent programs call the same tool by different names. Which name a format presents a tool under is known to the
//! formats; here are only the names that any of them has.

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
        "Bash" | "PowerShell" | "Shell" | "bash" | "exec_command" | "local_shell" | "powershell"
        | "run_in_terminal" | "run_shell_command" | "shell" | "unified_exec" => "shell",
        "Write" | "WriteFile" | "create" | "create_file" | "write_file" => "write",
        "Edit"
        | "MultiEdit"
        | "NotebookEdit"
        | "StrReplaceFile"
        | "apply_patch"
        | "edit"
        | "insert_edit_into_file"
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
    use super::of;

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
