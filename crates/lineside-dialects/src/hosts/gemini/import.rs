//! The hooks in Gemini CLI's settings: their files, handlers and documents (GE-9 to GE-17).

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use lineside_core::ensemble::Pace;
use lineside_core::json::{Map, Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, Layer};

use super::{ROWS, answer};
use crate::dialect::{Places, Watched};
use crate::hosts::import::{
    At, Document, Entry, Fields, Format, Handler, Heard, Matcher, Profile, Refused, Run, Same, Shape, Source,
    Subject, Switches, Variables, expand, within,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;
use crate::tree::Node;

/// The folder with the settings of the user, which is in a home of its own where one is named.
fn user_folder(places: &Places) -> Option<PathBuf> {
    Some(places.folder("GEMINI_CLI_HOME", "")?.join(".gemini"))
}

/// The settings of the machine.
const SYSTEM: &str = "/etc/gemini-cli/settings.json";

/// What is fixed of the format.
static PROFILE: Profile = Profile {
    // GE-12
    same: Same::Anywhere,
    no_events: &["enabled", "disabled", "notifications"],
    answer_keys: &[
        "decision", "reason", "continue", "stopReason", "suppressOutput", "systemMessage",
        "hookSpecificOutput", "hookEventName", "additionalContext", "clearContext", "tool_input",
        "tailToolCallRequest", "llm_request", "llm_response", "toolConfig",
    ],
    foreign_variables: &["CURSOR_", "COPILOT_"],
    // GE-21
    joins_reasons: true,
    ..Profile::new(Host::Gemini, &[ROWS], Shape::Groups)
};

/// The hooks in the settings.
pub(crate) struct Files;

impl Format for Files {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let project = places.work_dir().join(".gemini/settings.json");
        let user = user_folder(places);
        let mut sources = vec![Source::json("project", project, Layer::Project)];
        sources.extend(user.iter().map(|user| Source::json("user", user.join("settings.json"), Layer::User)));
        sources.push(Source::json("system", PathBuf::from(SYSTEM), Layer::Managed));
        let extensions = user.iter().flat_map(|user| within(&user.join("extensions")));
        sources.extend(extensions.filter(|folder| folder.is_dir()).map(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Source::json(format!("extension:{name}"), folder.join("hooks/hooks.json"), Layer::User)
        }));
        sources
    }

    fn folders(&self, places: &Places) -> Vec<Watched> {
        let extensions = user_folder(places).map(|user| user.join("extensions"));
        extensions.into_iter().map(|path| Watched { path, levels: 3, ends: &["hooks.json"] }).collect()
    }

    /// What the settings switch off (GE-11).
    fn switches(&self, files: &[(Source, Node)]) -> Switches {
        let configs = || files.iter().filter_map(|(_, node)| node.value("hooksConfig"));
        let enabled = configs().find_map(|config| config.value("enabled")?.boolean());
        let names = configs().filter_map(|config| config.value("disabled")?.list());
        let names = names.flatten().filter_map(|item| item.text().map(str::to_owned)).collect();
        Switches { names, ..Switches::files(files, |_, _| enabled == Some(false)) }
    }

    fn handler(&self, fields: Fields<'_>, _at: &At<'_>) -> Result<Handler, Refused> {
        match fields.text("type")?.as_deref() {
            Some("command") => {}
            Some(other) => return Err(Refused::Type(other.to_owned())),
            None => return Err(Refused::Error("the required field `type` is missing".to_owned())),
        }
        let line = fields.required("command")?;
        let given_name = fields.text("name")?;
        let timeout = fields.time("timeout", Duration::from_millis(1))?;
        let short = timeout.filter(|timeout| *timeout < Duration::from_secs(1));
        let warning = short
            .map(|timeout| format!("`timeout` is in milliseconds, and {} are little", timeout.as_millis()));
        let key = format!("{given_name:?} {line}");
        Run::shell(line.clone()).of_others()?;
        Ok(Handler {
            run: Run::bash(line),
            given_name,
            timeout: timeout.unwrap_or(Duration::from_secs(60)),
            env: fields.map("env")?,
            key,
            warning,
            ..Handler::default()
        })
    }

    /// An expression at tools, elsewhere an exact text (GE-14).
    fn matcher(&self, at: &At<'_>, text: &str) -> Result<Matcher, String> {
        let text = text.trim();
        match at.event {
            _ if matches!(text, "" | "*") => Ok(Matcher::All),
            "BeforeTool" | "AfterTool" => Matcher::javascript(text),
            _ => Ok(Matcher::Names(vec![text.to_owned()])),
        }
    }

    fn instead(&self, text: &str) -> Option<Matcher> {
        Some(Matcher::Names(vec![text.trim().to_owned()]))
    }

    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        match entry.event {
            "BeforeTool" | "AfterTool" => Subject::tool(Column::Gemini, event),
            "SessionStart" => Subject::field(event, "source", "source"),
            "SessionEnd" => Subject::field(event, "reason", "reason"),
            "PreCompress" => Subject::field(event, "kind", "trigger"),
            _ => Subject::Ignored,
        }
    }

    /// Hooks run at once, or one after another where their group says so (GE-16).
    fn pace(&self, _point: &str, is_sequential: bool) -> Pace {
        if is_sequential { Pace::InTurnThroughBlocks } else { Pace::AtOnce }
    }

    fn merged(&self, point: &str, _event: &AnyEvent, given: &[FromHook<Answer>]) -> Option<Amendment> {
        match point {
            // What the hooks of a chain have shown one another is no change of the prompt.
            "before_prompt" => Some(Amendment::default()),
            "x.gemini.before_tool_selection" => answer::selection(given),
            _ => None,
        }
    }

    /// What a hook reads (GE-17).
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8> {
        let envelope = event.envelope();
        let payload = event.payload_json();
        let mut document = Document::default();
        document.put("session_id", envelope.source.root_session.as_str());
        document.put_known(event, "transcript_path", "");
        document.put("cwd", envelope.source.cwd.as_deref().unwrap_or_default());
        document.put("hook_event_name", entry.event);
        document.put("timestamp", envelope.time_text());
        let get = |field: &str| payload.get(field).cloned().unwrap_or_default();
        match entry.event {
            "BeforeModel" => document.put("llm_request", request(payload)),
            "AfterModel" => {
                document.put("llm_request", json!({"model": get("model")}));
                let text = payload
                    .get("output")
                    .and_then(Value::as_str)
                    .map_or_else(|| get("output").to_string(), str::to_owned);
                let candidate = json!({"content": {"role": "model", "parts": [text]}, "finishReason": get("stop_reason")});
                document.put("llm_response", json!({"candidates": [candidate]}));
            }
            "BeforeToolSelection" => document.put("llm_request", json!({"toolConfig": get("tool_config")})),
            _ => document.fields(row, Column::Gemini, event),
        }
        if entry.event == "AfterTool" {
            let mut response = Map::new();
            let output = if event.point().name == "after_tool" { get("tool_output") } else { "".into() };
            response.insert("llmContent".to_owned(), output.clone());
            response.insert("returnDisplay".to_owned(), output);
            if event.point().name == "after_tool_error" {
                response.insert("error".to_owned(), json!({"message": get("error")}));
            }
            document.put("tool_response", response);
        }
        if entry.event == "AfterAgent" {
            document.put_known(event, "prompt", "");
            document.put("stop_hook_active", get("stop_active"));
        }
        // GE-1: what asks for a permission is a notification of this type.
        if entry.event == "Notification" && row.point == "on_wait_confirm" {
            document.put_known(event, "notification_type", "ToolPermission");
            if let Some(tool) = payload.get("tool_name") {
                document.put_known(event, "details", json!({"tool_name": tool}));
            }
        }
        document.compact(event)
    }

    fn variables(&self, event: &AnyEvent) -> Vec<(&'static str, String)> {
        variables(event).to_vec()
    }

    fn variables_of_project(&self) -> &'static [&'static str] {
        &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]
    }

    fn variables_of_folder(&self) -> &'static [&'static str] {
        &["GEMINI_CWD"]
    }

    /// Replaces the variables in a command line, quoted for the shell (GE-15).
    fn expanded<'a>(&self, text: &'a str, is_line: bool, variables: &Variables) -> Cow<'a, str> {
        if !is_line || !text.contains('$') {
            return Cow::Borrowed(text);
        }
        Cow::Owned(expand(text, |name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some(quoted(value))
        }))
    }

    fn read(&self, entry: &Entry, _row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
        answer::read(entry, event, heard)
    }
}

fn variables(event: &AnyEvent) -> [(&'static str, String); 4] {
    let source = &event.envelope().source;
    let cwd = source.cwd.as_deref().or(source.project_root.as_deref()).unwrap_or_default();
    [
        ("GEMINI_PROJECT_DIR", cwd.to_owned()),
        ("GEMINI_CWD", cwd.to_owned()),
        ("GEMINI_SESSION_ID", source.root_session.to_string()),
        ("CLAUDE_PROJECT_DIR", cwd.to_owned()),
    ]
}

/// A word for a shell.
fn quoted(value: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:@%+=,".contains(character);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', "'\\''"))
}

fn request(payload: &Map) -> Value {
    let system = payload.get("system_prompt").filter(|prompt| !prompt.is_null());
    let system = system.map(|prompt| json!({"role": "system", "content": prompt}));
    let rest = payload.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let messages: Vec<Value> = system.into_iter().chain(rest).collect();
    json!({"model": payload.get("model"), "messages": messages})
}
