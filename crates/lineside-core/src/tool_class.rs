//! What kind of tool a name stands for, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`.
//!
//! Agent programs call the same tool by different names. Which name a format presents a tool under is known to the
//! formats; here are only the names that any of them has. Programs get new tools with each version, so a call of a tool
//! in no table is also judged by what it carries.

use std::borrow::Cow;

use crate::json::Value;

/// What the members of a tool's input are called that have a command, or a program that is run as one. Which of them a tool
/// reads is not known: what is looked for in one has to be looked for in each that is there.
pub const COMMANDS: [&str; 10] = [
    "command", "cmd", "script", "commands", "Command", "bash_command", "shell_command", "command_line",
    "commandLine", "CommandLine",
];

/// Which of them has a list of commands where it has a list, and not one of words.
const LIST: &str = "commands";

/// What the members of a tool's input are called that have the paths which it is about: one, or a list of them. Which of them
/// a tool reads is not known: what is looked for in one has to be looked for in each that is there.
pub const PATHS: [&str; 9] = [
    "path", "file_path", "filePath", "absolute_path", "target_file", "notebook_path", "paths", "file_paths",
    "include",
];

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

/// The commands in the input of a tool, for each of [`COMMANDS`] that is there: a text, or words, which `join` makes a text
/// of. A single word with blanks may also be a text that a shell is given. Each of a list of commands may be one, or a word of
/// one, whatever else is in the list.
pub fn commands<'a>(
    input: &'a Value,
    join: impl Fn(&[&str]) -> String,
) -> impl Iterator<Item = Cow<'a, str>> {
    COMMANDS.into_iter().flat_map(move |field| {
        let words: Vec<&str> = match input.get(field) {
            Some(Value::String(text)) => return vec![Cow::Borrowed(text.as_str())],
            Some(Value::Array(words)) if field == LIST => words.iter().filter_map(text_of).collect(),
            Some(Value::Array(words)) => {
                words.iter().map(Value::as_str).collect::<Option<_>>().unwrap_or_default()
            }
            _ => return Vec::new(),
        };
        let is_text = field == LIST || matches!(&words[..], [word] if word.contains(char::is_whitespace));
        let are_words = field != LIST || !words.iter().any(|word| word.contains(char::is_whitespace));
        let joined = (are_words && !words.is_empty()).then(|| Cow::Owned(join(&words)));
        joined.into_iter().chain(words.into_iter().filter(|_| is_text).map(Cow::Borrowed)).collect()
    })
}

/// A word, or the command of one of several calls.
fn text_of(word: &Value) -> Option<&str> {
    word.as_str().or_else(|| COMMANDS.into_iter().find_map(|field| word.get(field)?.as_str()))
}

/// The command in the input of a tool, words joined by blanks; where it has several, each that is another one on lines of its
/// own, for which of them the tool takes is not known.
#[must_use]
pub fn command(input: &Value) -> Option<Cow<'_, str>> {
    let mut all: Vec<Cow<'_, str>> = Vec::new();
    for one in commands(input, |words| words.join(" ")) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if all.len() > 1 { Some(Cow::Owned(all.join("\n"))) } else { all.pop() }
}

/// The paths in the input of a tool: the non-empty texts under each of [`PATHS`], and those of the lists there.
pub fn paths(input: &Value) -> impl Iterator<Item = &str> {
    let named = PATHS.into_iter().filter_map(|field| input.get(field));
    let each = named.flat_map(|named| named.as_array().map_or(std::slice::from_ref(named), Vec::as_slice));
    each.filter_map(Value::as_str).filter(|path| !path.is_empty())
}

/// What a call is about, for people: its command, else its paths, else another text that says it.
#[must_use]
pub fn about(input: &Value) -> Option<Cow<'_, str>> {
    const OTHERS: [&str; 4] = ["url", "pattern", "query", "description"];
    let of_paths = || {
        let mut all: Vec<&str> = paths(input).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > 1 { Some(Cow::Owned(all.join(", "))) } else { all.pop().map(Cow::Borrowed) }
    };
    let of_others = || OTHERS.into_iter().find_map(|field| input.get(field)?.as_str()).map(Cow::Borrowed);
    command(input).filter(|text| !text.is_empty()).or_else(of_paths).or_else(of_others)
}

/// Whether an input names more than one command, or more than one file where a tool takes one, so that what the tool does is
/// one of several things.
#[must_use]
pub fn is_ambiguous(input: &Value) -> bool {
    const ONE_FILE: usize = 6;
    let differ = |mut texts: Vec<Cow<'_, str>>| {
        texts.sort_unstable();
        texts.dedup();
        texts.len() > 1
    };
    let files = PATHS.into_iter().take(ONE_FILE).filter_map(|field| input.get(field)?.as_str());
    differ(commands(input, |words| words.join(" ")).collect()) || differ(files.map(Cow::Borrowed).collect())
}

/// Which names are of which class: in both directions from one table.
macro_rules! classes {
    ($($class:literal: $($name:literal)|+;)+) => {
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
                $($($name)|+ => $class,)+
                other if is_mcp(other) => "mcp",
                _ => return None,
            })
        }

        /// The names of the tools of a class, in any program; as globs those of `mcp`. Nothing where there is no such class.
        ///
        /// ```
        /// use lineside_core::tool_class;
        ///
        /// assert!(tool_class::names("shell").contains(&"run_shell_command"));
        /// assert_eq!(tool_class::names("mcp"), ["mcp__*", "mcp_*", "MCP:*"]);
        /// assert!(tool_class::names("Bash").is_empty());
        /// ```
        #[must_use]
        pub fn names(class: &str) -> &'static [&'static str] {
            match class {
                $($class => &[$($name),+],)+
                "mcp" => &["mcp__*", "mcp_*", "MCP:*"],
                _ => &[],
            }
        }
    };
}

classes! {
    "shell": "Bash" | "Monitor" | "PowerShell" | "Shell" | "bash" | "exec_command" | "local_shell" | "monitor" | "powershell"
        | "run_in_terminal" | "run_shell_command" | "shell" | "unified_exec" | "write_bash" | "write_powershell";
    "write": "Write" | "WriteFile" | "create" | "create_file" | "write_file";
    "edit": "Edit" | "MultiEdit" | "NotebookEdit" | "StrReplaceFile" | "apply_patch" | "edit" | "insert_edit_into_file"
        | "notebook_edit" | "replace" | "replace_string_in_file" | "str_replace_based_edit_tool"
        | "str_replace_editor";
    "read": "Read" | "ReadFile" | "read_file" | "read_many_files" | "view";
    "task": "Agent" | "Task" | "agent" | "collaborationspawn_agent" | "invoke_agent" | "runSubagent" | "spawn_agent" | "task";
}

/// What the tools of a class are called in files of hooks, whatever the program that has them calls them: one guard of `Shell`
/// holds for every agent program. Nothing where a class has no such name.
///
/// ```
/// use lineside_core::tool_class;
///
/// assert_eq!(tool_class::name("write"), Some("WriteFile"));
/// assert_eq!(tool_class::name("mcp"), None);
/// ```
#[must_use]
pub fn name(class: &str) -> Option<&'static str> {
    match class {
        "shell" => Some("Shell"),
        "write" => Some("WriteFile"),
        "edit" => Some("StrReplaceFile"),
        "read" => Some("ReadFile"),
        "task" => Some("Task"),
        _ => None,
    }
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
    use super::{about, command, commands, is_ambiguous, of, of_call};
    use crate::json::json;

    #[test]
    fn what_a_call_is_about_is_told_with_all_that_it_names() {
        for (input, expected) in [
            (json!({"description": "list", "command": "ls"}), Some("ls")),
            (json!({"command": "", "file_path": "/p/a"}), Some("/p/a")),
            (json!({"file_path": "/p/b", "path": "/p/a", "content": "x"}), Some("/p/a, /p/b")),
            (json!({"paths": ["b", "a"], "include": ["b"]}), Some("a, b")),
            (json!({"url": "https://a.b", "prompt": "x"}), Some("https://a.b")),
            (json!({"n": 1}), None),
        ] {
            assert_eq!(about(&input).as_deref(), expected, "{input}");
        }
    }

    #[test]
    fn an_input_is_ambiguous_where_a_tool_may_take_one_of_several() {
        for (input, expected) in [
            (json!({"command": "ls", "cmd": "rm"}), true),
            (json!({"command": "ls", "cmd": "ls"}), false),
            (json!({"path": "a", "file_path": "b"}), true),
            (json!({"path": "a", "include": "*.rs"}), false),
            (json!({"paths": ["a", "b"]}), false),
            (json!({}), false),
        ] {
            assert_eq!(is_ambiguous(&input), expected, "{input}");
        }
    }

    #[test]
    fn a_call_of_an_unknown_tool_with_a_command_is_one_of_a_shell() {
        for (input, expected) in [
            (json!({"command": "ls"}), Some("ls")),
            (json!({"cmd": "ls"}), Some("ls")),
            (json!({"script": "await run()"}), Some("await run()")),
            (json!({"cmd": ["rm", "-rf", "/"]}), Some("rm -rf /")),
            (json!({"command": {"a": 1}, "cmd": "ls"}), Some("ls")),
            (json!({"command": "ls", "cmd": "ls", "script": ["ls"]}), Some("ls")),
            (json!({"command": "ls", "cmd": "rm -rf /", "script": ["rm", "x"]}), Some("ls\nrm -rf /\nrm x")),
            (json!({"command": []}), None),
            (json!({"command": ["ls", 1]}), None),
            (json!({"commands": "ls"}), Some("ls")),
            (json!({"commands": ["ls -l", "rm x"]}), Some("ls -l\nrm x")),
            (json!({"commands": [{"run": "ls"}]}), None),
            (json!({"bash_command": "ls", "Command": "rm x"}), Some("rm x\nls")),
            (json!({"shell_command": "ls"}), Some("ls")),
            (json!({"commandLine": "ls"}), Some("ls")),
            (json!("ls"), None),
        ] {
            assert_eq!(command(&input).as_deref(), expected, "{input}");
            assert_eq!(of_call("Brand new", Some(&input)), expected.map(|_| "shell"), "{input}");
            assert_eq!(of_call("Read", Some(&input)), Some("read"), "{input}");
        }
        assert_eq!((of_call("Monitor", None), of_call("Brand new", None)), (Some("shell"), None));
    }

    #[test]
    fn one_word_with_blanks_may_be_a_program_and_a_text_for_a_shell() {
        let of = |input| commands(&input, |words| words.join("|")).map(String::from).collect::<Vec<_>>();
        assert_eq!(of(json!({"command": ["rm -rf x"]})), ["rm -rf x", "rm -rf x"]);
        assert_eq!(of(json!({"command": ["rm", "-rf x"]})), ["rm|-rf x"]);
        assert_eq!(of(json!({"commands": ["rm", "-rf"]})), ["rm|-rf", "rm", "-rf"]);
        let several = json!({"commands": ["rm -rf x", null, {"command": "ls"}]});
        assert_eq!(of(several), ["rm -rf x", "ls"]);
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
