//! The hooks in Claude Code's settings: their files, handlers and documents (CL-13 to CL-26).

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::exchange::Addresses;
use lineside_core::json::Value;
use lineside_core::{Answer, AnyEvent, Failure, Layer, Notice};

use super::{CALL, ROWS, answer, plugins, renamed};
use crate::dialect::{Places, Watched};
use crate::handler::{HandedOn, Returned};
use crate::hosts::import::{
    At, Condition, Document, Entry, Fields, Format, Handler, Heard, Matcher, Refused, Run, Shape, Source,
    Subject, Switches, assignments, known,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;
use crate::lined_json::{Content, Node};

/// What the sources of plugins begin with.
const OF_PLUGIN: &str = "plugin:";

/// The settings of the machine.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// What the hooks at the end of a session share when none of them says how long it takes (CL-23).
const AT_THE_END: Duration = Duration::from_millis(1500);

/// What they may say at most.
const LONGEST_END: Duration = Duration::from_secs(60);

/// The events at which a condition is looked at (CL-19).
const WITH_TOOLS: [&str; 5] =
    ["PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure"];

/// The events whose documents have no permission mode (CL-26).
const WITHOUT_MODE: [&str; 14] = [
    "SessionStart",
    "SessionEnd",
    "Setup",
    "Notification",
    "SubagentStart",
    "PreCompact",
    "PostCompact",
    "InstructionsLoaded",
    "StopFailure",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// The hooks in the settings.
pub(crate) struct Files;

impl Format for Files {
    fn host(&self) -> Host {
        Host::Claude
    }

    fn tables(&self) -> &'static [&'static [Row]] {
        &[ROWS]
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let root = places.work_dir().join(".claude");
        let user = places.home().map(|home| home.join(".claude/settings.json"));
        let mut sources = vec![Source::json("managed", PathBuf::from(MANAGED), Layer::Managed)];
        sources.extend(user.map(|file| Source::json("user", file, Layer::User)));
        sources.push(Source::json("project", root.join("settings.json"), Layer::Project));
        sources.push(Source::json("local", root.join("settings.local.json"), Layer::Project));
        let plugins = plugins::named(places).into_iter();
        sources.extend(plugins.map(|(name, folder)| {
            Source::json(format!("{OF_PLUGIN}{name}"), plugins::hooks(&folder), Layer::User)
        }));
        sources
    }

    fn folders(&self, places: &Places) -> Vec<Watched> {
        plugins::list(places).into_iter().map(Watched::file).collect()
    }

    fn answer_keys(&self) -> &'static [&'static str] {
        &[
            "continue",
            "suppressOutput",
            "stopReason",
            "systemMessage",
            "decision",
            "reason",
            "hookSpecificOutput",
            "hookEventName",
            "permissionDecision",
            "permissionDecisionReason",
            "updatedInput",
            "updatedPermissions",
            "additionalContext",
            "behavior",
            "message",
            "interrupt",
            "action",
            "content",
            "displayContent",
            "updatedToolOutput",
            "updatedMCPToolOutput",
            "worktreePath",
        ]
    }

    fn shape(&self) -> Shape {
        Shape::Groups
    }

    /// CL-15
    fn switches(&self, files: &[(Source, Node)]) -> Switches {
        let flag = |node: &Node, key: &str| match node.entry(key).map(|entry| &entry.value.content) {
            Some(Content::Boolean(flag)) => Some(*flag),
            _ => None,
        };
        let of = |label: &str, key: &str| {
            files.iter().find(|(source, _)| source.label == label).and_then(|(_, node)| flag(node, key))
        };
        let specific = ["local", "project", "user"].iter().find_map(|label| of(label, "disableAllHooks"));
        let off = specific == Some(true) || of("managed", "allowManagedHooksOnly") == Some(true);
        Switches::files(files, |source, _| off && source.label != "managed")
    }

    fn handler(&self, fields: Fields<'_>, at: &At<'_>) -> Result<Handler, Refused> {
        let kind = fields.text("type")?;
        let condition = fields.text("if")?;
        let run = match kind.as_deref() {
            Some("command") => {
                let command = fields.required("command")?;
                match (fields.texts("args")?, fields.text("shell")?.as_deref()) {
                    (Some(args), _) => Run::Program(std::iter::once(command).chain(args).collect()),
                    (None, Some("powershell")) => Run::Shell {
                        shell: ["pwsh", "-NoProfile", "-Command"].map(str::to_owned).to_vec(),
                        line: command,
                    },
                    (None, _) => Run::shell(command),
                }
            }
            Some("http") => Run::Http {
                url: fields.required("url")?,
                headers: fields.map("headers")?,
                allowed: fields.texts("allowedEnvVars")?.unwrap_or_default(),
                addresses: if at.source.layer == Layer::Project {
                    Addresses::AsWritten
                } else {
                    Addresses::Any
                },
            },
            Some(other) => return Err(Refused::Type(other.to_owned())),
            None => return Err(Refused::Error("the required field `type` is missing".to_owned())),
        };
        let given = fields.time("timeout", Duration::from_secs(1))?;
        let timeout = match at.event {
            "SessionEnd" => given.unwrap_or(AT_THE_END).min(LONGEST_END),
            "UserPromptSubmit" | "PreModelSwitch" | "PostModelSwitch" => {
                given.unwrap_or(Duration::from_secs(30))
            }
            "MessageDisplay" => given.unwrap_or(Duration::from_secs(10)),
            _ => given.unwrap_or(Duration::from_secs(600)),
        };
        let rewakes = fields.flag("asyncRewake")?;
        // CL-25
        let closes = fields.text("onFailure")?.as_deref() == Some("block") && answer::refuses(at.event);
        let run = run.of_others()?;
        let env = variables_of_plugin(at);
        let run = match run {
            Run::Program(argv) => {
                let value =
                    |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                Run::Program(argv.iter().map(|word| expand_braced(word, value)).collect())
            }
            other => other,
        };
        let key = key(fields, &env)?;
        Ok(Handler {
            run,
            env,
            timeout,
            is_timed: given.is_some(),
            condition: condition.map(|text| Condition::read(&text, at.places.home())),
            is_async: rewakes || fields.flag("async")?,
            rewakes,
            closes,
            key,
            ..Handler::default()
        })
    }

    /// CL-23
    fn adjust(&self, entries: &mut [Entry]) {
        let at_the_end = |entry: &&mut Entry| entry.event == "SessionEnd";
        let given = entries.iter().filter(|entry| entry.event == "SessionEnd" && entry.handler.is_timed);
        let shared = given.map(|entry| entry.handler.timeout).max().unwrap_or(AT_THE_END);
        for entry in entries.iter_mut().filter(at_the_end).filter(|entry| !entry.handler.is_timed) {
            entry.handler.timeout = shared;
        }
    }

    /// CL-17
    fn matcher(&self, at: &At<'_>, text: &str) -> Result<Matcher, String> {
        if matches!(text.trim(), "" | "*") {
            return Ok(Matcher::All);
        }
        let narrow = matches!(at.event, "FileChanged" | "StopFailure");
        let is_name = |character: char| {
            character.is_ascii_alphanumeric()
                || matches!(character, '_' | '|')
                || (!narrow && matches!(character, '-' | ' ' | ','))
        };
        if text.chars().all(is_name) {
            return Ok(Matcher::names(text, if narrow { &['|'] } else { &['|', ','] }));
        }
        Matcher::javascript(text)
    }

    fn column(&self, _at: &At<'_>) -> Column {
        Column::Claude
    }

    /// CL-18
    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        match entry.event {
            event_name if WITH_TOOLS.contains(&event_name) => Subject::tool(Column::Claude, event),
            "SessionStart" | "ConfigChange" | "DirectoryAdded" => Subject::field(event, "source", "source"),
            "SessionEnd" => Subject::field(event, "reason", "reason"),
            "Setup" => Subject::field(event, "trigger", "trigger"),
            "PreCompact" | "PostCompact" => Subject::field(event, "kind", "trigger"),
            "SubagentStart" | "SubagentStop" => Subject::field(event, "agent_type", "agent_type"),
            "Notification" => Subject::text(notification_type(event)),
            "StopFailure" => Subject::field(event, "error", "error"),
            "InstructionsLoaded" => Subject::field(event, "load_reason", "load_reason"),
            "UserPromptExpansion" => Subject::field(event, "command_name", "command_name"),
            "Elicitation" | "ElicitationResult" => {
                Subject::field(event, "mcp_server_name", "mcp_server_name")
            }
            "PreModelSwitch" | "PostModelSwitch" => Subject::field(event, "to_model", "to_model"),
            "FileChanged" => {
                let path = event.payload().text("file_path").unwrap_or_default();
                Subject::text(path.rsplit('/').next().unwrap_or(path))
            }
            _ => Subject::Ignored,
        }
    }

    fn is_for(&self, entry: &Entry, _row: &Row, _event: &AnyEvent) -> bool {
        entry.handler.condition.is_none() || WITH_TOOLS.contains(&entry.event)
    }

    /// CL-16
    fn same(&self, earlier: &Entry, later: &Entry) -> bool {
        earlier.file != later.file && earlier.event == later.event && earlier.handler.key == later.handler.key
    }

    fn read_by(&self, source: &Source) -> &'static [Host] {
        match source.label.as_str() {
            "project" | "local" => &[Host::Claude, Host::Cursor, Host::Copilot],
            _ => &[Host::Claude, Host::Cursor],
        }
    }

    /// CL-26
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8> {
        let source = &event.envelope().source;
        let mut document = Document::default();
        document.put("session_id", source.root_session.as_str());
        document.put_known(event, "transcript_path", "");
        document.put("cwd", source.cwd.as_deref().unwrap_or_default());
        if !WITHOUT_MODE.contains(&entry.event) {
            document.put_known(event, "permission_mode", "default");
        }
        document.put("hook_event_name", entry.event);
        document.agent(event);
        document.fields(row, Column::Claude, event);
        let payload = event.payload();
        match entry.event {
            "PreCompact" => document.put("custom_instructions", payload.text("reason").unwrap_or_default()),
            "Notification" => document.put("notification_type", notification_type(event).into_owned()),
            "PostToolBatch" => document.put("tool_calls", calls(event)),
            _ => {}
        }
        document.stop_and_child(entry.event, event);
        document.own_fields(row, event);
        let mut bytes = document.compact(event);
        bytes.push(b'\n');
        bytes
    }

    fn variables(&self, event: &AnyEvent) -> Vec<(&'static str, String)> {
        vec![("CLAUDE_PROJECT_DIR", project_root(event).into_owned())]
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &["CURSOR_", "COPILOT_", "GEMINI_"]
    }

    fn expanded<'a>(&self, text: &'a str, is_line: bool, event: &AnyEvent) -> Cow<'a, str> {
        if is_line || !text.contains("${CLAUDE_PROJECT_DIR}") {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace("${CLAUDE_PROJECT_DIR}", &project_root(event)))
    }

    fn shares_variables(&self) -> bool {
        true
    }

    /// CL-22
    fn assignments_variable(&self, entry: &Entry) -> Option<&'static str> {
        matches!(entry.event, "SessionStart" | "Setup" | "CwdChanged" | "FileChanged")
            .then_some("CLAUDE_ENV_FILE")
    }

    fn handed_on(&self, _entry: &Entry, _returned: &Returned, text: &str) -> HandedOn {
        let read = assignments(text);
        let lines: Vec<&str> = read.iter().map(|(line, _)| *line).collect();
        let notice = (!lines.is_empty()).then(|| Notice::info(lines.join("\n")));
        HandedOn { variables: read.into_iter().map(|(_, variable)| variable).collect(), notice }
    }

    fn read(&self, entry: &Entry, _row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
        answer::read(entry, event, heard)
    }
}

/// By what a handler is the same as another one (CL-16): its fields as they are written, and the folders of its plugin
/// where it names them.
fn key(fields: Fields<'_>, of_plugin: &[(String, String)]) -> Result<String, Refused> {
    let texts = ["type", "command", "shell", "if", "url"].map(|name| fields.text(name));
    let mut key = String::new();
    for text in texts {
        key += &format!("{:?} ", text?);
    }
    key += &format!("{:?}", fields.texts("args")?);
    if key.contains("CLAUDE_PLUGIN_") {
        key += &format!(" {of_plugin:?}");
    }
    Ok(key)
}

/// The variables that a hook of a plugin has: its folder, and one in which it keeps what it likes (CL-22).
fn variables_of_plugin(at: &At<'_>) -> Vec<(String, String)> {
    let Some(name) = at.source.label.strip_prefix(OF_PLUGIN) else { return Vec::new() };
    let root = plugins::folder(&at.source.file).map(Path::to_path_buf);
    let data = at.places.home().map(|home| home.join(".claude/plugins/data").join(name));
    let named = [("CLAUDE_PLUGIN_ROOT", root), ("CLAUDE_PLUGIN_DATA", data)];
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    named.into_iter().filter_map(|(name, path)| Some((name.to_owned(), text(path?)))).collect()
}

/// A text in which `${NAME}` stands for a value; a name without one stays, and so does `$NAME`.
fn expand_braced(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut parts = text.split("${");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').and_then(|(name, rest)| Some((value(name)?, rest))) {
            Some((value, rest)) => written.extend([value.as_str(), rest]),
            None => written.extend(["${", part]),
        }
    }
    written
}

/// The root of the project of an event.
pub(crate) fn project_root(event: &AnyEvent) -> Cow<'_, str> {
    let source = &event.envelope().source;
    Cow::Borrowed(source.project_root.as_deref().or(source.cwd.as_deref()).unwrap_or_default())
}

fn notification_type(event: &AnyEvent) -> Cow<'_, str> {
    if let Some(kind) = known(event, "notification_type").and_then(Value::as_str) {
        return Cow::Borrowed(kind);
    }
    Cow::Borrowed(match event.point().name {
        "on_wait_confirm" => "permission_prompt",
        "on_wait_question" => "elicitation_dialog",
        "on_idle" => "idle_prompt",
        _ => "notification",
    })
}

/// The calls of a batch under the names of the host.
fn calls(event: &AnyEvent) -> Value {
    let calls = event.payload_json().get("tool_calls").and_then(Value::as_array);
    let calls = calls.map(Vec::as_slice).unwrap_or_default();
    renamed(calls, CALL)
}
