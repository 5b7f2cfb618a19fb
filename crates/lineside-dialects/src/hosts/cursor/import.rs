//! The hooks in Cursor's files: handlers, which of them run for a call, and documents (CU-11 to CU-16).

use std::path::PathBuf;
use std::time::Duration;

use lineside_core::json::{Value, json};
use lineside_core::{Answer, AnyEvent, Failure, Layer, tool_class};

use super::{ROWS, answer};
use crate::dialect::Places;
use crate::handler::{HandedOn, Returned};
use crate::hosts::import::{
    At, Document, Entry, Fields, Format, Handler, Heard, Matcher, Profile, Refused, Run, Same, Shape, Source,
    Subject, child_id, is_variable, known, project_root,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::{Column, class};

/// The file of the machine.
const ENTERPRISE: &str = "/etc/cursor/hooks.json";

/// How often a hook may keep the agent of a session working (CU-12).
const FOLLOW_UPS: u32 = 5;

/// What is fixed of the format.
static PROFILE: Profile = Profile {
    // CU-13
    same: Same::Anywhere,
    version: Some(1),
    answer_keys: &[
        "permission", "continue", "user_message", "agent_message", "userMessage", "agentMessage",
        "followup_message", "updated_input", "updated_mcp_tool_output", "additional_context", "env",
    ],
    foreign_variables: &["COPILOT_", "GEMINI_"],
    shares_variables: true,
    ..Profile::new(Host::Cursor, &[ROWS], Shape::Flat)
};

/// The hooks in the files.
pub(crate) struct Files;

impl Format for Files {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let user = places.home().map(|home| home.join(".cursor/hooks.json"));
        let project = places.work_dir().join(".cursor/hooks.json");
        let user = user.map(|file| Source::json("user", file, Layer::User));
        user.into_iter()
            .chain([
                Source::json("project", project, Layer::Project),
                Source::json("enterprise", PathBuf::from(ENTERPRISE), Layer::Managed),
            ])
            .collect()
    }

    fn handler(&self, fields: Fields<'_>, at: &At<'_>) -> Result<Handler, Refused> {
        if let Some(other) = fields.text("type")?.filter(|kind| kind != "command") {
            return Err(Refused::Type(other));
        }
        let line = fields.required("command")?;
        let run = Run::shell(line).of_others()?;
        let cwd =
            (at.source.label == "user").then(|| at.places.home().map(|home| home.join(".cursor"))).flatten();
        let limit = fields.bound("loop_limit")?;
        Ok(Handler {
            key: format!("{run:?} {cwd:?}"),
            run,
            in_project: cwd.is_none(),
            cwd,
            timeout: fields.time("timeout", Duration::from_secs(1))?.unwrap_or(Duration::from_secs(60)),
            // CU-18
            closes: fields.flag("failClosed")? && answer::is_gate(at.event),
            loop_limit: limit.unwrap_or(Some(FOLLOW_UPS)),
            ..Handler::default()
        })
    }

    /// An expression, or everything (CU-14).
    fn matcher(&self, _at: &At<'_>, text: &str) -> Result<Matcher, String> {
        if text == "*" { Ok(Matcher::All) } else { Matcher::javascript(text) }
    }

    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        match entry.event {
            "preToolUse" | "postToolUse" | "postToolUseFailure" => Subject::tool(Column::Cursor, event),
            "beforeShellExecution" | "afterShellExecution" => {
                let input = event.payload().value("tool_input").unwrap_or(&Value::Null);
                // Which of several the tool takes is not known.
                let mut all: Vec<_> = tool_class::commands(input, |words| words.join(" ")).collect();
                if all.is_empty() {
                    all.push("".into());
                }
                Subject::Any(all)
            }
            "beforeMCPExecution" | "afterMCPExecution" => {
                let name = event.payload().text("tool_name").unwrap_or_default();
                Subject::text(name.strip_prefix("MCP:").unwrap_or(name))
            }
            "subagentStart" | "subagentStop" => Subject::field(event, "agent_type", "subagent_type"),
            "beforeReadFile" => Subject::text("Read"),
            "afterFileEdit" => Subject::text("Write"),
            "beforeSubmitPrompt" => Subject::text("UserPromptSubmit"),
            "stop" => Subject::text("Stop"),
            _ => Subject::Ignored,
        }
    }

    /// Whether the tool of this event is of the class that the event of the hook is about (CU-15).
    fn is_for(&self, entry: &Entry, _row: &Row, event: &AnyEvent) -> bool {
        match entry.event {
            "beforeShellExecution" | "afterShellExecution" => class(event) == Some("shell"),
            "beforeMCPExecution" | "afterMCPExecution" => class(event) == Some("mcp"),
            "beforeReadFile" => class(event) == Some("read"),
            "afterFileEdit" => matches!(class(event), Some("write" | "edit")),
            _ => true,
        }
    }

    /// Hooks of the events of one class of tools run behind those of all tools (CU-15).
    fn rank(&self, entry: &Entry) -> u8 {
        let is_second = matches!(
            entry.event,
            "beforeShellExecution"
                | "beforeMCPExecution"
                | "beforeReadFile"
                | "afterShellExecution"
                | "afterMCPExecution"
                | "afterFileEdit"
        );
        u8::from(is_second)
    }

    /// What a hook reads (CU-16).
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8> {
        let source = &event.envelope().source;
        let payload = event.payload_json();
        let get = |field: &str| payload.get(field).cloned().unwrap_or_default();
        let mut document = Document::default();
        document.put("conversation_id", source.root_session.as_str());
        document.put("session_id", source.root_session.as_str());
        document.put_known(event, "generation_id", "");
        let model =
            source.model.as_ref().and_then(|model| model.selected.as_deref().or(model.running.as_deref()));
        document.put("model", model.unwrap_or("default"));
        document.put("hook_event_name", entry.event);
        document.put_known(event, "cursor_version", "");
        document.put_known(event, "workspace_roots", json!([project_root(event)]));
        document.put_known(event, "user_email", Value::Null);
        document.put_known(event, "transcript_path", Value::Null);
        document.fields(row, Column::Cursor, event);
        let input = payload.get("tool_input").and_then(Value::as_object);
        let of_input = |field: &str| input.and_then(|input| input.get(field)).cloned();
        match entry.event {
            "beforeShellExecution" | "afterShellExecution" => {
                let command = tool_class::command(payload.get("tool_input").unwrap_or(&Value::Null));
                document.put("command", command.map_or(Value::Null, |text| text.as_ref().into()));
                document.put(
                    "cwd",
                    of_input("cwd").unwrap_or_else(|| source.cwd.as_deref().unwrap_or_default().into()),
                );
                if entry.event == "afterShellExecution" {
                    let output = get("tool_output");
                    let printed = output.get("output").cloned().unwrap_or(output);
                    let text = printed.as_str().map_or_else(|| printed.to_string(), str::to_owned);
                    document.put("output", text);
                }
            }
            "beforeReadFile" | "afterFileEdit" => {
                let path = crate::hosts::tools::named_paths("", &get("tool_input")).into_iter().next();
                document.put("file_path", path.unwrap_or_default());
                if entry.event == "afterFileEdit" {
                    document.put("edits", of_input("edits").unwrap_or_else(|| json!([])));
                }
            }
            "stop" => {
                let status = match event.point().name {
                    "before_stop" => "completed",
                    "on_interrupt" => "aborted",
                    _ => "error",
                };
                document.put("status", status);
                let active = payload.get("stop_active") == Some(&Value::Bool(true));
                document.put_known(event, "loop_count", u64::from(active));
            }
            "subagentStop" => {
                document.put_known(event, "status", "completed");
                document.put_known(event, "loop_count", 0);
            }
            "preToolUse" | "postToolUse" | "postToolUseFailure" => {
                document.put("cwd", source.cwd.as_deref().unwrap_or_default());
                // CU-1: what was not permitted is a failure of this type.
                if row.point == "on_permission_denied" {
                    document.put_known(event, "failure_type", "permission_denied");
                }
            }
            _ => {}
        }
        if let Some(child) = payload.get("child_session").and_then(Value::as_str) {
            document.put("subagent_id", child_id(event, child));
        }
        document.own_fields(row, event);
        document.compact(event)
    }

    fn variables(&self, event: &AnyEvent) -> Vec<(&'static str, String)> {
        let root = project_root(event).into_owned();
        let version = known(event, "cursor_version").and_then(Value::as_str).unwrap_or_default();
        vec![
            ("CURSOR_PROJECT_DIR", root.clone()),
            ("CURSOR_VERSION", version.to_owned()),
            ("CLAUDE_PROJECT_DIR", root),
        ]
    }

    fn variables_of_project(&self) -> &'static [&'static str] {
        &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]
    }

    /// The variables that the answer to the start of a session sets (CU-19).
    fn handed_on(&self, entry: &Entry, returned: &Returned, _assignments: &str) -> HandedOn {
        let heard = if entry.event == "sessionStart" { Heard::of(returned) } else { Heard::default() };
        let answer = heard.object().filter(|_| heard.code == Some(0));
        let env = answer.as_ref().and_then(|answer| answer.get("env")?.as_object());
        let texts = env.into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let variables = texts.filter(|(name, _)| is_variable(name));
        let variables = variables.map(|(name, value)| (name.clone(), value.to_owned())).collect();
        HandedOn { variables, notice: None }
    }

    fn read(&self, entry: &Entry, row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
        answer::read(entry, row, event, heard)
    }
}
