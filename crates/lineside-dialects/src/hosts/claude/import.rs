//! The hooks in Claude Code's settings: their files, handlers and documents (CL-13 to CL-26).

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::json::Value;
use lineside_core::{Answer, AnyEvent, Failure, Layer, Notice};

use super::{ROWS, answer, plugins};
use crate::dialect::{Places, Watched};
use crate::handler::{HandedOn, Returned};
use crate::hosts::import::{
    At, Condition, Document, Entry, Fields, Format, Handler, Heard, Matcher, Profile, Refused, Run, Same,
    Shape, Source, Subject, Switches, Variables, assignments, known, project_root,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;
use crate::tree::Node;

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
    "SessionStart", "SessionEnd", "Setup", "Notification", "SubagentStart", "PreCompact", "PostCompact",
    "InstructionsLoaded", "StopFailure", "CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate",
    "WorktreeRemove",
];

/// What is fixed of the format.
static PROFILE: Profile = Profile {
    // CL-16
    same: Same::AcrossFiles,
    answer_keys: &[
        "continue", "suppressOutput", "stopReason", "systemMessage", "decision", "reason",
        "hookSpecificOutput", "hookEventName", "permissionDecision", "permissionDecisionReason",
        "updatedInput", "updatedPermissions", "additionalContext", "behavior", "message", "interrupt",
        "action", "content", "displayContent", "updatedToolOutput", "updatedMCPToolOutput", "worktreePath",
    ],
    foreign_variables: &["CURSOR_", "COPILOT_", "GEMINI_"],
    shares_variables: true,
    ..Profile::new(Host::Claude, &[ROWS], Shape::Groups)
};

/// The hooks in the settings.
pub(crate) struct Files;

impl Format for Files {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let root = places.work_dir().join(".claude");
        let user = places.folder("CLAUDE_CONFIG_DIR", ".claude").map(|folder| folder.join("settings.json"));
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

    /// What the settings switch off (CL-15).
    fn switches(&self, files: &[(Source, Node)]) -> Switches {
        let of = |label: &str, key: &str| {
            files.iter().find(|(source, _)| source.label == label)?.1.value(key)?.boolean()
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
            Some("http") => Run::http(fields, at.source.layer)?,
            Some(other) => return Err(Refused::Type(other.to_owned())),
            None => return Err(Refused::Error("the required field `type` is missing".to_owned())),
        };
        let given = fields.time("timeout", Duration::from_secs(1))?;
        let timeout = given.unwrap_or(match at.event {
            "SessionEnd" => AT_THE_END,
            "UserPromptSubmit" | "PreModelSwitch" | "PostModelSwitch" => Duration::from_secs(30),
            "MessageDisplay" => Duration::from_secs(10),
            _ => Duration::from_secs(600),
        });
        let timeout = if at.event == "SessionEnd" { timeout.min(LONGEST_END) } else { timeout };
        let rewakes = fields.flag("asyncRewake")?;
        // CL-25
        let closes = fields.text("onFailure")?.as_deref() == Some("block") && answer::refuses(at.event);
        let env = variables_of_plugin(at);
        Ok(Handler {
            run: run.of_others()?.expanded(&env),
            key: key(fields, &env)?,
            env,
            timeout,
            is_timed: given.is_some(),
            condition: condition.map(|text| Condition::read(&text, at.places.home())),
            is_async: rewakes || fields.flag("async")?,
            rewakes,
            closes,
            ..Handler::default()
        })
    }

    /// Gives hooks of the end of a session without a time the longest of the others (CL-23).
    fn adjust(&self, entries: &mut [Entry]) {
        let is_timed = |entry: &Entry| entry.event == "SessionEnd" && entry.handler.is_timed;
        let given = entries.iter().filter(|entry| is_timed(entry)).map(|entry| entry.handler.timeout);
        let shared = given.max().unwrap_or(AT_THE_END);
        for entry in entries.iter_mut().filter(|entry| entry.event == "SessionEnd" && !is_timed(entry)) {
            entry.handler.timeout = shared;
        }
    }

    /// A list of names or an expression (CL-17).
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

    /// What of an event a matcher is tested on (CL-18).
    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        let same = |field| Subject::field(event, field, field);
        match entry.event {
            event_name if WITH_TOOLS.contains(&event_name) => Subject::tool(Column::Claude, event),
            "SessionStart" | "ConfigChange" | "DirectoryAdded" => same("source"),
            "SessionEnd" => same("reason"),
            "Setup" => same("trigger"),
            "PreCompact" | "PostCompact" => Subject::field(event, "kind", "trigger"),
            "SubagentStart" | "SubagentStop" => same("agent_type"),
            "Notification" => Subject::text(notification_type(event)),
            "StopFailure" => same("error"),
            "InstructionsLoaded" => same("load_reason"),
            "UserPromptExpansion" => same("command_name"),
            "Elicitation" | "ElicitationResult" => same("mcp_server_name"),
            "PreModelSwitch" | "PostModelSwitch" => same("to_model"),
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

    fn read_by(&self, source: &Source) -> &'static [Host] {
        match source.label.as_str() {
            "project" | "local" => &[Host::Claude, Host::Cursor, Host::Copilot],
            _ => &[Host::Claude, Host::Cursor],
        }
    }

    /// What a hook reads (CL-26).
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

    fn variables_of_project(&self) -> &'static [&'static str] {
        &["CLAUDE_PROJECT_DIR"]
    }

    fn expanded<'a>(&self, text: &'a str, is_line: bool, variables: &Variables) -> Cow<'a, str> {
        if is_line || !text.contains("${CLAUDE_PROJECT_DIR}") {
            return Cow::Borrowed(text);
        }
        let root = variables.iter().find(|(name, _)| *name == "CLAUDE_PROJECT_DIR");
        Cow::Owned(
            root.map_or_else(|| text.to_owned(), |(_, root)| text.replace("${CLAUDE_PROJECT_DIR}", root)),
        )
    }

    /// The variable that names the file for assignments (CL-22).
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
    let key = fields.as_written(&["type", "command", "shell", "if", "url"])?;
    Ok(if key.contains("CLAUDE_PLUGIN_") { format!("{key} {of_plugin:?}") } else { key })
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

fn notification_type(event: &AnyEvent) -> Cow<'_, str> {
    let kind = known(event, "notification_type").and_then(Value::as_str);
    Cow::Borrowed(kind.unwrap_or_else(|| match event.point().name {
        "on_wait_confirm" => "permission_prompt",
        "on_wait_question" => "elicitation_dialog",
        "on_idle" => "idle_prompt",
        _ => "notification",
    }))
}
