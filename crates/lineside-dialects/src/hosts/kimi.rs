//! Kimi CLI and Kimi Code (KI-1 to KI-8): their events and their words. They understand one decision, a refusal.

#[cfg(feature = "kimi")]
mod answer;
#[cfg(feature = "kimi")]
mod import;

#[cfg(feature = "kimi")]
pub(super) use import::Files;

use lineside_core::json::{Map, Value};

#[cfg(feature = "hosts")]
use super::import::Syntax;
use super::phrases::{REASON, SOURCE, TOOL_INPUT, TOOL_NAME, TRIGGER};
#[cfg(feature = "hosts")]
use super::quirks::{
    Closing, Documents, Entries, FileKind, Level, OurFile, Place, Quirks, Settings, Strictness, Turns,
};
use super::table::{
    Amend, BLOCK, BLOCK_AND_HOLD, Context, Field, How, Kind, Refusal, Row, SILENT, Scope, When, Words, fact,
    field, hold, read, row, say,
};

const CALL: Field = read("tool_call_id", &["tool_call_id"], Kind::Text);
const AGENT: Field = read("agent_type", &["agent_name"], Kind::Text);
const PROMPTED: Field = read("prompt", &["prompt"], Kind::Own(prompt));
const REFUSED: Words = Words { block: say(How::Exit2), ..Words::GATE };
/// Nothing can be refused; a stop holds the turn.
const HOLDING: Words = Words { stop: hold(How::Silent, Scope::Turn), ..Words::FACT };
/// A review: the reason of a block waits as context (KI-4).
const REVIEW: Words = Words { block: say(How::Context), ..HOLDING };
const TOKENS: &[(&str, &str)] = &[("tokens", "token_count")];
const ESTIMATED: &[(&str, &str)] = &[("tokens", "estimated_token_count")];

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents {
        table: |_, document| is_code(document).then_some(CODE_ROWS),
        call: ["tool_name", "tool_input", "tool_call_id"],
        ..Documents::USUAL
    },
    turns: Turns { is_subagents_prompt: Some(|document| !is_code(document)), ..Turns::USUAL },
    entries: Entries {
        is_grouped: false,
        // Its own refusals have this status, and the reason alone beside it.
        closing: Closing::Line(" || exit 2"),
        is_one_list: true,
        of_usual: is_of_cli,
        ..Entries::USUAL
    },
    settings: Settings {
        variables: &["KIMI_SHARE_DIR", "KIMI_CODE_HOME"],
        ours: &[
            of_user("KIMI_SHARE_DIR", ".kimi", FileKind::Usual),
            of_user("KIMI_CODE_HOME", ".kimi-code", FileKind::KimiCode),
        ],
        switches: &[],
        strictness: Strictness::USUAL,
        plugin: None,
    },
};

#[cfg(feature = "hosts")]
const fn of_user(variable: &'static str, folder: &'static str, kind: FileKind) -> OurFile {
    let place = Place::Home { variable, folder, file: "config.toml" };
    OurFile { place, kind, syntax: Syntax::Toml, ..OurFile::imported(Level::User) }
}

/// The events; the two programs differ in what becomes of context.
#[rustfmt::skip]
macro_rules! rows {
    ($context:expr) => { &[
        row("SessionStart", "before_session", &[SOURCE], Words {
            block: hold(How::Silent, Scope::Session), ask: BLOCK, stop: BLOCK, ..Words::FACT
        }),
        row("SessionEnd", "after_session", &[REASON], HOLDING),
        row("UserPromptSubmit", "before_prompt", &[PROMPTED], Words {
            context: $context, amend: &[("prompt", Amend::Refuse(Refusal::Prompt))], ..REFUSED
        }),
        row("PreToolUse", "before_tool", &[TOOL_NAME, TOOL_INPUT, CALL], Words {
            stop: BLOCK_AND_HOLD, amend: &[("tool_input", Amend::Refuse(Refusal::Input))], ..REFUSED
        }),
        row("PostToolUse", "after_tool", &[TOOL_NAME, TOOL_INPUT, CALL, field("tool_output", &["tool_output"])], REVIEW),
        row("PostToolUseFailure", "after_tool_error", &[TOOL_NAME, TOOL_INPUT, CALL,
            read("error", &["error", "error_message"], Kind::Error)], REVIEW),
        row("SubagentStart", "before_subagent", &[AGENT, read("prompt", &["prompt"], Kind::Text)], Words {
            block: hold(How::Silent, Scope::SubagentAtLarge), ask: BLOCK, stop: BLOCK,
            amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..Words::FACT
        }),
        row("SubagentStop", "after_subagent", &[AGENT, read("output", &["response"], Kind::Text)], HOLDING),
        row("Stop", "before_stop", &[], Words { stop: SILENT, ..REFUSED }),
        row("StopFailure", "on_stop_failure", &[read("error", &["error_message"], Kind::Text)], HOLDING),
        fact("Interrupt", "on_interrupt", &[]),
        fact("PreCompact", "before_compact", &[TRIGGER, read("usage", &[], Kind::Members(TOKENS))]),
        row("PostCompact", "after_compact", &[TRIGGER, read("usage_after", &[], Kind::Members(ESTIMATED))], HOLDING),
        fact("PermissionRequest", "on_wait_confirm", &[TOOL_NAME, TOOL_INPUT]),
        fact("PermissionResult", "on_permission_denied", &[TOOL_NAME]).when(When::Own(denies)),
        fact("PermissionResult", "x.kimi.on_permission_result", &[]),
        fact("TaskStarted", "on_task_created", &[read("task_id", &["task_id"], Kind::Text),
            read("description", &["description"], Kind::Text)]),
        fact("Notification", "on_notification", &[read("message", &["body", "title"], Kind::Text),
            read("level", &["severity"], Kind::Text)]),
        fact("UserPromptQueued", "x.kimi.on_prompt_queued", &[]).on_request(),
        fact("TurnStarted", "x.kimi.on_turn_started", &[]).on_request(),
        fact("SessionHeartbeat", "x.kimi.on_session_heartbeat", &[]).on_request(),
    ] };
}

/// The events of Kimi CLI.
pub(super) const ROWS: &[Row] = rows!(Context::Waits);

/// The events of Kimi Code.
pub(super) const CODE_ROWS: &[Row] = rows!(Context::Plain);

/// The events that Kimi CLI has (KI-10).
const OF_CLI: [&str; 13] = [
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "StopFailure",
    "SessionStart", "SessionEnd", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",
    "Notification",
];

/// Whether Kimi CLI has an event of that name.
pub(super) fn is_of_cli(event: &str) -> bool {
    OF_CLI.contains(&event)
}

/// Whether a document is from Kimi Code.
pub(super) fn is_code(document: &Map) -> bool {
    document.contains_key("client_type") || document.get("prompt").is_some_and(Value::is_array)
}

/// A prompt: a text, or the texts of its parts joined by a space.
fn prompt(document: &Map) -> Option<Value> {
    match document.get("prompt")? {
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            Some(texts.join(" ").into())
        }
        text @ Value::String(_) => Some(text.clone()),
        _ => None,
    }
}

/// Whether a permission was refused: by any word for it.
fn denies(document: &Map) -> bool {
    let words = ["result", "decision", "outcome", "behavior", "status"];
    let said = words.iter().filter_map(|field| document.get(field)?.as_str());
    let refused = said
        .map(str::to_lowercase)
        .any(|word| ["den", "reject", "refus", "block"].iter().any(|stem| word.starts_with(stem)));
    refused
        || ["approved", "allowed", "granted"]
            .iter()
            .any(|field| document.get(field) == Some(&Value::Bool(false)))
}
