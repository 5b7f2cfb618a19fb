//! The hooks in Copilot's files: handlers, matchers and documents of both forms (CP-13 to CP-21).

use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::ensemble::{Pace, Sees};
use lineside_core::json::{Value, json};
use lineside_core::{Answer, AnyEvent, Failure, Layer};

use super::answer;
use super::{CAMEL, PASCAL, user_folder};
use crate::dialect::{Places, Watched};
use crate::hosts::import::{
    At, Document, Entry, Fields, Format, Handler, Heard, Matcher, Profile, Refused, Run, Same, Shape, Source,
    Subject, Switches, child_id, expand, known, project_root, within,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::{Column, Seen};
use crate::tree::Node;

/// The policy folder of the machine.
const POLICY: &str = "/etc/github-copilot/hooks";

/// What is fixed of the format.
static PROFILE: Profile = Profile {
    // CP-19
    same: Same::AcrossFiles,
    version: Some(1),
    answer_keys: &[
        "decision", "reason", "hookSpecificOutput", "hookEventName", "permissionDecision",
        "permissionDecisionReason", "behavior", "message", "interrupt", "additionalContext", "updatedInput",
        "modifiedArgs", "modifiedPrompt", "modifiedTransformedPrompt", "modifiedResponse", "modifiedResult",
        "continue", "suppressOutput", "stopReason", "systemMessage",
    ],
    foreign_variables: &["CURSOR_", "GEMINI_"],
    ..Profile::new(Host::Copilot, &[CAMEL, PASCAL], Shape::Either)
};

/// The hooks in the files.
pub(crate) struct Files;

/// Whether an event is named in PascalCase.
pub(super) fn is_pascal(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

impl Format for Files {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn table(&self, _source: &Source, event: &str) -> &'static [Row] {
        if is_pascal(event) { PASCAL } else { CAMEL }
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let user = places.home().map(|home| home.join(".copilot"));
        let root = places.work_dir();
        let mut sources = folder("policy", Path::new(POLICY), Layer::Managed);
        if let Some(hooks) = user_folder(places) {
            sources.extend(folder("user", &hooks, Layer::User));
        }
        sources.extend(user.map(|user| Source::json("user", user.join("settings.json"), Layer::User)));
        sources.extend(folder("project", &root.join(".github/hooks"), Layer::Project));
        let settings = root.join(".github/copilot");
        sources.push(Source::json("project", settings.join("settings.json"), Layer::Project));
        sources.push(Source::json("local", settings.join("settings.local.json"), Layer::Project));
        for source in &mut sources {
            // CP-14: a settings file is taken whole or not at all.
            source.is_strict = !source.label.contains(':');
        }
        sources
    }

    fn folders(&self, places: &Places) -> Vec<Watched> {
        let folders = [PathBuf::from(POLICY), places.work_dir().join(".github/hooks")];
        let folders = folders.into_iter().chain(user_folder(places));
        folders.map(|path| Watched { path, levels: 1, ends: &[".json"] }).collect()
    }

    /// What the settings switch off (CP-18).
    fn switches(&self, files: &[(Source, Node)]) -> Switches {
        let is_off = |node: &Node| node.value("disableAllHooks").and_then(Node::boolean) == Some(true);
        let by_project = files
            .iter()
            .any(|(source, node)| matches!(source.label.as_str(), "project" | "local") && is_off(node));
        Switches::files(files, |source, node| {
            let of_policy = source.label.starts_with("policy:");
            is_off(node) || (by_project && !of_policy)
        })
    }

    fn handler(&self, fields: Fields<'_>, at: &At<'_>) -> Result<Handler, Refused> {
        let kind = fields.text("type")?;
        let seconds = Duration::from_secs(1);
        let timeout = match fields.time("timeoutSec", seconds)? {
            Some(timeout) => timeout,
            None => fields.time("timeout", seconds)?.unwrap_or(Duration::from_secs(30)),
        };
        let variable = |name: &str| Some(at.places.variable(name).unwrap_or_default().to_owned());
        let env =
            fields.map("env")?.into_iter().map(|(name, value)| (name, expand(&value, variable))).collect();
        let cwd = fields.text("cwd")?;
        let run = match kind.as_deref() {
            None | Some("command") => command(fields)?,
            Some("http") => http(fields, at)?,
            Some(other) => return Err(Refused::Type(other.to_owned())),
        };
        let run = run.of_others()?;
        Ok(Handler {
            key: key(fields, &run)?,
            run,
            timeout,
            env,
            cwd: cwd.map(PathBuf::from),
            in_project: true,
            ..Handler::default()
        })
    }

    /// An expression that covers the whole value, or a list of names (CP-17).
    fn matcher(&self, at: &At<'_>, text: &str) -> Result<Matcher, String> {
        if !is_pascal(at.event) || !is_about_tools(at.event) {
            return Matcher::whole(text);
        }
        if matches!(text, "*" | "**") {
            return Ok(Matcher::All);
        }
        if text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '|')) {
            return match Matcher::names(text, &['|']) {
                Matcher::Names(names) => Ok(Matcher::AnyName(names)),
                other => Ok(other),
            };
        }
        Matcher::whole(text)
    }

    fn column(&self, at: &At<'_>) -> Column {
        if is_pascal(at.event) { Column::Claude } else { Column::Copilot }
    }

    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        match entry.event {
            name if is_about_tools(name) && is_pascal(name) => {
                // The name in the terminal counts as well where names are listed.
                let Some(seen) = Seen::by(Column::Claude, event) else { return Subject::Any(Vec::new()) };
                let of_program = Seen::by(Column::Copilot, event).map(|seen| seen.name);
                let is_listed = matches!(entry.matcher, Matcher::AnyName(_));
                let others = of_program.into_iter().chain(seen.host_name).filter(|_| is_listed);
                let names = std::iter::once(seen.name).chain(others);
                Subject::Any(names.map(Into::into).collect())
            }
            name if is_about_tools(name) => Subject::tool(Column::Copilot, event),
            "subagentStart" | "SubagentStart" => Subject::field(event, "agent_type", "agentType"),
            "preCompact" | "PreCompact" => Subject::field(event, "kind", "trigger"),
            "notification" | "Notification" => Subject::text(notification_type(event)),
            _ => Subject::Ignored,
        }
    }

    /// Hooks of a point run one after another (CP-20).
    fn pace(&self, point: &str, _is_sequential: bool) -> Pace {
        if matches!(point, "before_tool" | "before_permission") {
            Pace::InTurn
        } else {
            Pace::InTurnThroughBlocks
        }
    }

    fn sees(&self, point: &str) -> Sees {
        if point == "after_subagent" { Sees::First } else { Sees::Amended }
    }

    /// What a hook reads (CP-21).
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8> {
        let envelope = event.envelope();
        let source = &envelope.source;
        let pascal = is_pascal(entry.event);
        let named = |camel: &'static str, snake: &'static str| if pascal { snake } else { camel };
        let is_inside = source.depth > 0;
        let mut document = Document::default();
        if pascal {
            document.put("hook_event_name", entry.event);
        }
        let session = if is_inside { &*source.agent.id } else { source.root_session.as_str() };
        document.put(named("sessionId", "session_id"), session);
        if is_inside {
            document.put(named("agentId", "agent_id"), &*source.agent.id);
            document.put(named("agentType", "agent_type"), source.agent.role.as_deref().unwrap_or_default());
            document.put(named("parentAgentId", "parent_agent_id"), source.root_session.as_str());
        }
        if pascal {
            document.put("timestamp", envelope.time_text());
        } else {
            document.put("timestamp", envelope.time.as_millisecond());
        }
        document.put("cwd", source.cwd.as_deref().unwrap_or_default());
        let payload = event.payload_json();
        let get = |field: &str| payload.get(field).cloned().unwrap_or_default();
        let column = if pascal { Column::Claude } else { Column::Copilot };
        if let Some(Seen { name, host_name }) = Seen::by(column, event) {
            document.put(named("toolName", "tool_name"), name);
            if let Some(host_name) = host_name {
                document.put("host_tool_name", host_name);
            }
            if payload.contains_key("tool_input") {
                // CP-3: what is asked for stands under a name of its own.
                let camel = if entry.event == "permissionRequest" { "toolInput" } else { "toolArgs" };
                document.put(named(camel, "tool_input"), get("tool_input"));
            }
        }
        if let Some(output) = payload.get("tool_output") {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            let result = if pascal {
                json!({"result_type": "success", "text_result_for_llm": text})
            } else {
                json!({"resultType": "success", "textResultForLlm": text})
            };
            document.put(named("toolResult", "tool_result"), result);
        }
        rest(row, event, pascal, &mut document);
        if matches!(entry.event, "notification" | "Notification") {
            let kind = notification_type(event);
            if !kind.is_empty() {
                document.put("notification_type", kind);
            }
        }
        document.compact(event)
    }

    fn variables(&self, event: &AnyEvent) -> Vec<(&'static str, String)> {
        vec![("COPILOT_CLI", "1".to_owned()), ("CLAUDE_PROJECT_DIR", project_root(event).into_owned())]
    }

    fn variables_of_project(&self) -> &'static [&'static str] {
        &["CLAUDE_PROJECT_DIR"]
    }

    fn read(&self, entry: &Entry, _row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
        answer::read(entry, event, heard)
    }
}

/// The fields of the payload that both forms have, each under its own name.
fn rest(row: &Row, event: &AnyEvent, pascal: bool, document: &mut Document) {
    const NAMES: [(&str, &str, &str); 12] = [
        ("source", "source", "source"),
        ("prompt", "prompt", "prompt"),
        ("transformed_prompt", "transformedPrompt", "transformed_prompt"),
        ("error", "error", "error"),
        ("error_kind", "errorContext", "error_context"),
        ("stop_active", "stop_hook_active", "stop_hook_active"),
        ("agent_type", "agentType", "agent_type"),
        ("output", "response", "last_assistant_message"),
        ("kind", "trigger", "trigger"),
        ("message", "message", "message"),
        ("question", "message", "message"),
        ("tool_call_id", "toolUseId", "tool_use_id"),
    ];
    let payload = event.payload_json();
    for (ours, camel, snake) in NAMES {
        if let Some(value) = payload.get(ours) {
            // CP-3: an error that occurred is an object.
            let is_object = ours == "error" && row.point == "on_error";
            let value = if is_object { json!({"message": value}) } else { value.clone() };
            document.put(if pascal { snake } else { camel }, value);
        }
    }
    if let Some(reason) = payload.get("reason") {
        let name = match (row.point, pascal) {
            ("before_stop" | "x.copilot.on_agent_stop", true) => "stop_reason",
            ("before_stop" | "x.copilot.on_agent_stop", false) => "stopReason",
            _ => "reason",
        };
        document.put(name, reason.clone());
    }
    if let Some(child) = payload.get("child_session").and_then(Value::as_str) {
        document.put(if pascal { "agent_id" } else { "agentId" }, child_id(event, child));
        if let Some(role) = payload.get("agent_type") {
            document.put(if pascal { "agent_name" } else { "agentName" }, role.clone());
        }
    }
}

/// What a notification is about: what the publisher says, else what the point means (CP-3).
fn notification_type(event: &AnyEvent) -> &str {
    let kind = known(event, "notification_type").and_then(Value::as_str);
    kind.unwrap_or_else(|| match event.point().name {
        "on_wait_confirm" => "permission_prompt",
        "on_wait_question" => "elicitation_dialog",
        "on_idle" => "agent_idle",
        _ => "",
    })
}

fn is_about_tools(event: &str) -> bool {
    matches!(
        event,
        "preToolUse"
            | "permissionRequest"
            | "postToolUse"
            | "PreToolUse"
            | "PermissionRequest"
            | "PostToolUse"
    )
}

/// A handler that runs a command (CP-15).
fn command(fields: Fields<'_>) -> Result<Run, Refused> {
    let [bash_line, powershell, command, exec] =
        [fields.text("bash")?, fields.text("powershell")?, fields.text("command")?, fields.text("exec")?];
    let args = fields.texts("args")?.unwrap_or_default();
    let has_line = bash_line.is_some() || powershell.is_some() || command.is_some();
    match exec {
        Some(_) if has_line => Err(Refused::Error("`exec` stands beside a line for a shell".to_owned())),
        Some(exec) => Ok(Run::Program(std::iter::once(exec).chain(args).collect())),
        None => match bash_line.or(command) {
            Some(line) if !line.trim().is_empty() => Ok(Run::bash(line)),
            _ => Err(Refused::Error("it needs one of `bash`, `command` and `exec`".to_owned())),
        },
    }
}

/// By what a handler is the same as another one (CP-19): its fields as they are written.
fn key(fields: Fields<'_>, run: &Run) -> Result<String, Refused> {
    let key = fields.as_written(&["bash", "powershell", "command", "exec", "cwd"])?;
    Ok(if let Run::Http { .. } = run { format!("{key} {run:?}") } else { key })
}

/// A handler that asks an address (CP-16).
fn http(fields: Fields<'_>, at: &At<'_>) -> Result<Run, Refused> {
    let run = Run::http(fields, at.source.layer)?;
    let Run::Http { url, allowed, .. } = &run else { return Ok(run) };
    let is_local = ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|local| {
        url.strip_prefix(local).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?']))
    });
    let needs_https = !allowed.is_empty()
        || matches!(at.event, "preToolUse" | "permissionRequest" | "PreToolUse" | "PermissionRequest");
    let may_be_plain =
        is_local && !needs_https && at.places.variable("COPILOT_HOOK_ALLOW_LOCALHOST") == Some("1");
    if !url.starts_with("https://") && !may_be_plain {
        return Err(Refused::Error(format!("`url` must be https here, not {url:?}")));
    }
    Ok(run)
}

/// The files of hooks in a folder, in byte order of their names.
fn folder(label: &str, folder: &Path, layer: Layer) -> Vec<Source> {
    let files = within(folder).into_iter();
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let named = files.filter_map(|file| {
        let stem = file.file_stem()?.to_str()?.to_owned();
        Some(Source::json(format!("{label}:{stem}"), file, layer))
    });
    named.collect()
}
