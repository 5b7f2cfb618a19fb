//! The hooks in the settings of Kimi CLI and Kimi Code (KI-9 to KI-16).

use std::borrow::Cow;
use std::time::Duration;

use lineside_core::json::{Layout, Value};
use lineside_core::{Answer, AnyEvent, Failure, Layer};

use super::answer;
use super::{CODE_ROWS, ROWS, is_of_cli};
use crate::dialect::Places;
use crate::hosts::import::{
    At, Document, Entry, Fields, Format, Handler, Heard, Matcher, Profile, Refused, Run, Same, Shape, Source,
    Subject,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;
use lineside_pyregex::Pattern;

/// The source of Kimi Code's file.
const CODE: &str = "kimi-code";

/// The fields of a handler.
const FIELDS: [&str; 4] = ["event", "command", "matcher", "timeout"];

/// What is fixed of the format.
static PROFILE: Profile = Profile {
    // KI-14
    same: Same::InOneFile,
    answer_keys: &[
        "hookSpecificOutput", "hookEventName", "permissionDecision", "permissionDecisionReason", "message",
    ],
    foreign_variables: &["CURSOR_", "COPILOT_", "GEMINI_", "CLAUDE_"],
    ..Profile::new(Host::Kimi, &[ROWS, CODE_ROWS], Shape::List)
};

/// The hooks in the settings.
pub(crate) struct Files;

impl Format for Files {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn table(&self, source: &Source, event: &str) -> &'static [Row] {
        match source.label.as_str() {
            CODE => CODE_ROWS,
            _ if is_of_cli(event) => ROWS,
            _ => &[],
        }
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let of = |label: &str, variable: &str, folder: &str| {
            let file = places.folder(variable, folder)?.join("config.toml");
            Some(Source { is_strict: true, ..Source::toml(label, file, Layer::User) })
        };
        [of("kimi", "KIMI_SHARE_DIR", ".kimi"), of(CODE, "KIMI_CODE_HOME", ".kimi-code")]
            .into_iter()
            .flatten()
            .collect()
    }

    fn handler(&self, fields: Fields<'_>, at: &At<'_>) -> Result<Handler, Refused> {
        if at.source.label == CODE {
            let entries = fields.0.mapping().unwrap_or_default();
            let mut keys = entries.iter().map(|(key, _)| key.label());
            if let Some(unknown) = keys.find(|key| !FIELDS.contains(&key.as_str())) {
                return Err(Refused::Error(format!("unknown field `{unknown}`")));
            }
        }
        let line = fields.required("command")?;
        let timeout = match fields.bound("timeout")? {
            Some(Some(seconds @ 1..=600)) => Duration::from_secs(u64::from(seconds)),
            None => Duration::from_secs(30),
            Some(_) => {
                return Err(Refused::Error(
                    "`timeout` must be a whole number of 1 to 600 seconds".to_owned(),
                ));
            }
        };
        let run = Run::shell(line).of_others()?;
        Ok(Handler { key: format!("{run:?}"), run, timeout, ..Handler::default() })
    }

    /// An expression of Python, or of JavaScript for Kimi Code (KI-13).
    fn matcher(&self, at: &At<'_>, text: &str) -> Result<Matcher, String> {
        if at.source.label == CODE {
            return Matcher::javascript(text);
        }
        Pattern::compile(text).map(Matcher::FoundInPython).map_err(|error| error.to_string())
    }

    fn instead(&self, _text: &str) -> Option<Matcher> {
        Some(Matcher::Nothing)
    }

    fn column(&self, at: &At<'_>) -> Column {
        if at.source.label == CODE { Column::KimiCode } else { Column::Kimi }
    }

    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        match entry.event {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest"
            | "PermissionResult" => Subject::tool(entry.column, event),
            "UserPromptSubmit" | "UserPromptQueued" => Subject::field(event, "prompt", "prompt"),
            "SessionStart" => Subject::field(event, "source", "source"),
            "SessionEnd" => Subject::field(event, "reason", "reason"),
            "SubagentStart" | "SubagentStop" => Subject::field(event, "agent_type", "agent_name"),
            "PreCompact" | "PostCompact" => Subject::field(event, "kind", "trigger"),
            "StopFailure" => Subject::field(event, "error_type", "error_type"),
            "Notification" => Subject::field(event, "notification_type", "notification_type"),
            "Stop" | "Interrupt" | "SessionHeartbeat" => Subject::Any(vec![Cow::Borrowed("")]),
            _ => Subject::Ignored,
        }
    }

    /// What a hook reads (KI-16).
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8> {
        let source = &event.envelope().source;
        let mut document = Document::default();
        document.put("hook_event_name", entry.event);
        document.put("session_id", source.root_session.as_str());
        document.put("cwd", source.cwd.as_deref().unwrap_or_default());
        document.fields(row, entry.column, event);
        let payload = event.payload();
        if entry.event == "UserPromptSubmit" {
            document.put("prompt", payload.text("prompt").unwrap_or_default());
        }
        if entry.event == "Stop" {
            document.put(
                "stop_hook_active",
                event.payload_json().get("stop_active").cloned().unwrap_or_default(),
            );
        }
        if let Some(output) = event.payload_json().get("tool_output") {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            document.put("tool_output", first(&text, 2000));
        }
        if matches!(entry.event, "SubagentStart" | "SubagentStop") {
            for field in ["prompt", "response"] {
                if let Some(Value::String(text)) = document.0.get(field) {
                    let cut = first(text, 500).to_owned();
                    document.put(field, cut);
                }
            }
        }
        document.own_fields(row, event);
        if entry.column == Column::KimiCode {
            return document.compact(event);
        }
        in_ascii(&document.with_extra(event).to_text(Layout::Spaced)).into_bytes()
    }

    fn read(&self, entry: &Entry, _row: &Row, _event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
        answer::read(entry, heard)
    }
}

/// The first characters of a text.
fn first(text: &str, most: usize) -> &str {
    crate::text::first_characters(text, most)
}

/// JSON whose characters outside ASCII are escaped.
fn in_ascii(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            written.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            written.push_str(&format!("\\u{unit:04x}"));
        }
    }
    written
}
