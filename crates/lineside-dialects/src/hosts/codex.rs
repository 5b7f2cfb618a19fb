//! Codex (CX-1 to CX-9): its events and its words. The host refuses a whole answer for one field that it does not
//! expect, so no other fields are printed than those here.

#[cfg(feature = "codex")]
mod answer;
#[cfg(feature = "codex")]
mod import;

#[cfg(feature = "codex")]
pub(super) use import::Files;

#[cfg(feature = "hosts")]
use lineside_core::json::{Map, Value};

use super::phrases::{
    AGENT_TYPE, CONTEXT, DECISION, DENY, FORBID, HALT, LAST_MESSAGE, PERMIT, PROMPT, REASON, SOURCE,
    SYSTEM_MESSAGE, TOOL, TOOL_CALL_ID, TOOL_INPUT, TOOL_NAME, TRIGGER,
};
#[cfg(feature = "hosts")]
use super::quirks::{Closing, Documents, Entries, OurFile, Quirks, Settings, Strictness, Turns};
use super::table::{
    Amend, BLOCK_AND_HOLD, Context, Field, How, Kind, Refusal, Row, SILENT, Scope, Words, fact, field, hold,
    json, read, row,
};

const OUTPUT: Field = field("tool_output", &["tool_response"]);
const ASKED: &[Field] = &[TOOL_NAME, TOOL_INPUT, read("reason", &["tool_input.description"], Kind::Text)];

const GATE: Words = Words { notices: SYSTEM_MESSAGE, ..Words::GATE };

const STOPPING: Words = Words {
    block: json(DECISION),
    stop: json(HALT),
    amend: &[("output", Amend::Refuse(Refusal::Output))],
    ..GATE
};

/// What the setting `notify` reports: the end of a turn.
#[cfg(feature = "hosts")]
const TURN_COMPLETE: &str = "agent-turn-complete";

/// The name under which such a report is an event.
const NOTIFY: &str = "notify";

/// Its row: it is no event of a hook file (CX-3).
#[cfg(feature = "hosts")]
const NOTIFIED: &[Row] = &[fact(
    NOTIFY,
    "after_agent",
    &[read("success", &[], Kind::True), read("output", &["last-assistant-message"], Kind::Text)],
)];

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents {
        table: |event, _| (event == NOTIFY).then_some(NOTIFIED),
        unnamed: notified,
        session: &["session_id", "sessionId", "thread-id"],
        ..Documents::USUAL
    },
    turns: Turns::USUAL,
    entries: Entries {
        // It warns of longer limits in every session (HO-71).
        cut: Some((&["after_session", "on_interrupt"], 3)),
        closing: Closing::REFUSAL,
        ..Entries::USUAL
    },
    settings: Settings {
        variables: &["CODEX_HOME"],
        ours: OurFile::IMPORTED,
        switches: &[],
        // It writes down there which hooks a person has trusted.
        strictness: Strictness { no_event: &["state"], ..Strictness::USUAL },
        plugin: None,
    },
};

/// What the document of a notification is an event of: it names its kind and no event (CX-3).
#[cfg(feature = "hosts")]
fn notified(document: &Map) -> Option<String> {
    let kind = document.get("type").and_then(Value::as_str)?;
    Some(if kind == TURN_COMPLETE { NOTIFY.to_owned() } else { kind.replace('-', "_") })
}

/// The events.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("SessionStart", "before_session", &[SOURCE], Words {
        block: hold(How::Json(HALT), Scope::Session), context: CONTEXT, ..GATE
    }),
    row("SessionEnd", "after_session", &[REASON], Words { notices: SYSTEM_MESSAGE, ..Words::FACT }),
    row("UserPromptSubmit", "before_prompt", &[PROMPT], Words {
        block: json(DECISION), stop: json(HALT), context: CONTEXT, amend: &[("prompt", Amend::Refuse(Refusal::Prompt))], ..GATE
    }),
    row("PreToolUse", "before_tool", TOOL, Words {
        block: json(DENY), stop: BLOCK_AND_HOLD, context: CONTEXT,
        amend: &[("tool_input", Amend::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"allow","updatedInput":"$V"}}"#))],
        ..GATE
    }),
    row("PermissionRequest", "before_permission", ASKED, Words {
        block: json(FORBID), ask: SILENT, allow: json(PERMIT), stop: BLOCK_AND_HOLD,
        amend: &[("tool_input", Amend::Refuse(Refusal::Input))], ..GATE
    }),
    row("PostToolUse", "after_tool", &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, OUTPUT], Words {
        block: json(DECISION), stop: hold(How::Json(HALT), Scope::Turn), context: CONTEXT,
        amend: &[("tool_output", Amend::Withhold)], ..GATE
    }),
    row("SubagentStart", "before_subagent", &[AGENT_TYPE], Words {
        block: hold(How::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","additionalContext":"$X"}}"#), Scope::Subagent),
        context: CONTEXT, amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..GATE
    }),
    row("SubagentStop", "after_subagent", &[AGENT_TYPE, LAST_MESSAGE], STOPPING),
    row("Stop", "before_stop", &[LAST_MESSAGE], Words { context: Context::Waits, ..STOPPING }),
    fact("Interrupt", "on_interrupt", &[]).on_request(),
    row("PreCompact", "before_compact", &[TRIGGER], Words { block: json(HALT), ..GATE }),
    row("PostCompact", "after_compact", &[TRIGGER], Words { block: json(HALT), stop: json(HALT), ..GATE }),
];
