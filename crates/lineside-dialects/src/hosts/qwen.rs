//! Qwen Code (QW-1 to QW-8): its events and its words. Its hook command is that of Claude Code with exceptions.

#[cfg(feature = "hosts")]
use super::gemini::{LENIENT, NAMED};
use super::phrases::{
    AGENT_TYPE, ASK, CONTEXT, DECISION, DENY, ERROR, FAILURE, LAST_MESSAGE, MESSAGE, PROMPT, QUESTION,
    REASON, SOURCE, TOOL, TOOL_CALL_ID, TOOL_INPUT, TOOL_NAME, TRIGGER,
};
#[cfg(feature = "hosts")]
use super::quirks::{Active, Documents, Level, OurFile, Place, Quirks, Settings, Turns};
use super::table::{
    Amend, BLOCK, BLOCK_AND_HOLD, Field, How, Refusal, Row, SILENT, Scope, When, Words, fact, field, hold,
    json, row, say,
};

const RESULT: &[Field] =
    &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, field("tool_output", &["tool_response.llmContent"])];
const STOPPING: Words = Words { block: json(DECISION), stop: SILENT, ..Words::GATE };

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents { hands_on_unknown: false, ..Documents::USUAL },
    turns: Turns { reasons_come_back: true, active: Active::Ours, ..Turns::USUAL },
    entries: NAMED,
    settings: Settings {
        variables: &["QWEN_HOME"],
        ours: &[OurFile { place: SETTINGS, ..OurFile::imported(Level::User) }],
        switches: &[
            Place::Machine("/etc/qwen-code/settings.json"),
            Place::Project(".qwen/settings.local.json"),
            Place::Project(".qwen/settings.json"),
            SETTINGS,
        ],
        strictness: LENIENT,
        plugin: None,
    },
};

#[cfg(feature = "hosts")]
const SETTINGS: Place = Place::Home { variable: "QWEN_HOME", folder: ".qwen", file: "settings.json" };

/// The events.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    fact("UserPromptSubmit", "x.qwen.after_tool_round", &[]).when(When::Empty("prompt")),
    row("UserPromptSubmit", "before_prompt", &[PROMPT], Words {
        block: hold(How::Json(DECISION), Scope::Turn), context: CONTEXT,
        amend: &[("prompt", Amend::Refuse(Refusal::Prompt))], ..Words::GATE
    }),
    row("PreToolUse", "before_tool", TOOL, Words {
        block: json(DENY), ask: json(ASK), stop: BLOCK_AND_HOLD, amend: &[("tool_input", Amend::Refuse(Refusal::Input))],
        ..Words::GATE
    }),
    row("PostToolUse", "after_tool", RESULT, Words {
        block: say(How::Context), stop: BLOCK_AND_HOLD, context: CONTEXT, ..Words::GATE
    }),
    row("PostToolUseFailure", "after_tool_error", FAILURE, Words {
        block: say(How::Context), stop: BLOCK_AND_HOLD, context: CONTEXT, ..Words::GATE
    }),
    row("SubagentStart", "before_subagent", &[AGENT_TYPE], Words {
        block: hold(How::Silent, Scope::SubagentAtLarge), ask: BLOCK, stop: BLOCK, context: CONTEXT,
        amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..Words::FACT
    }),
    row("SubagentStop", "after_subagent", &[AGENT_TYPE, LAST_MESSAGE, field("stop_active", &["stop_hook_active"])], Words {
        amend: &[("output", Amend::Refuse(Refusal::Output))], ..STOPPING
    }),
    row("Stop", "before_stop", &[LAST_MESSAGE], STOPPING),
    fact("Notification", "on_wait_confirm", &[MESSAGE]).when(When::Is("notification_type", &["permission_prompt"])),
    fact("Notification", "on_idle", &[]).when(When::Is("notification_type", &["idle_prompt"])),
    fact("Notification", "on_wait_question", &[QUESTION])
        .when(When::Is("notification_type", &["elicitation_dialog", "elicitation_url_dialog", "agent_needs_input"])),
    fact("Notification", "on_notification", &[MESSAGE]),
    row("SessionStart", "before_session", &[SOURCE], Words {
        block: hold(How::Silent, Scope::Session), ask: BLOCK, stop: BLOCK, context: CONTEXT, ..Words::FACT
    }),
    fact("SessionEnd", "after_session", &[REASON]),
    fact("StopFailure", "on_stop_failure", &[ERROR]).on_request(),
    fact("PreCompact", "before_compact", &[TRIGGER]).on_request(),
    fact("PostCompact", "after_compact", &[TRIGGER]).on_request(),
    fact("PermissionRequest", "before_permission", &[TOOL_NAME, TOOL_INPUT]).on_request(),
];
