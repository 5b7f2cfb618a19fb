//! Claude Code (CL-1 to CL-12): its events and its words.

#[cfg(feature = "claude")]
mod answer;
#[cfg(feature = "claude")]
pub(super) mod front_matter;
#[cfg(feature = "claude")]
mod import;
#[cfg(feature = "claude")]
pub(super) mod plugins;

#[cfg(feature = "claude")]
pub(super) use import::Files;

use super::phrases::{
    ADDED, AGENT_TYPE, ASK, CONTEXT, DECISION, DENY, ERROR, FAILURE, FORBID, HALT, LAST_MESSAGE, MESSAGE,
    PERMIT, PROMPT, QUESTION, REASON, SOURCE, SYSTEM_MESSAGE, TOOL, TOOL_CALL_ID, TOOL_INPUT, TOOL_NAME,
    TRIGGER,
};
#[cfg(feature = "hosts")]
use super::quirks::{
    Closing, Documents, Entries, FileKind, Level, OurFile, Quirks, Settings, Strictness, Turns, Type,
};
use super::table::{
    Amend, Context, Field, How, Kind, Refusal, Row, SILENT, Scope, When, Words, fact, field, hold, json,
    read, row, say,
};

const DURATION: Field = read("duration_ms", &["duration_ms", "duration"], Kind::Number);
const RESULT: &[Field] =
    &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, field("tool_output", &["tool_response"]), DURATION];
const ALLOW: &str = r#"{"hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"allow","permissionDecisionReason":"$r"}}"#;
const REPLACED: &str = r#"{"hookSpecificOutput":{"hookEventName":"$E","updatedToolOutput":"$V"}}"#;
/// Fields of a call in a batch: the name in the catalogue, and the host's.
const CALL: &[(&str, &str)] = &[("tool_call_id", "tool_use_id"), ("tool_output", "tool_response")];

/// A gate with a word for a block alone, whose notices are in the log.
const QUIET_GATE: Words = Words { block: json(DECISION), ..Words::GATE };

#[rustfmt::skip]
const PROMPTED: Words = Words {
    block: json(DECISION), stop: json(HALT), context: CONTEXT, amend: &[("prompt", Amend::Refuse(Refusal::Prompt))],
    notices: SYSTEM_MESSAGE, ..Words::GATE
};

#[rustfmt::skip]
const STOPPING: Words = Words {
    block: json(DECISION), stop: json(HALT), context: Context::BesideBlock(ADDED),
    amend: &[("output", Amend::Refuse(Refusal::Output))], notices: SYSTEM_MESSAGE, ..Words::GATE
};

const ELICITING: Words = Words {
    block: json(r#"{"hookSpecificOutput":{"hookEventName":"$E","action":"decline"}}"#),
    amend: &[
        ("action", Amend::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","action":"$V"}}"#)),
        ("content", Amend::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","content":"$V"}}"#)),
    ],
    ..Words::GATE
};

/// A gate without a word in JSON for a block (CL-7).
const BY_EXIT_CODE: Words = Words { block: say(How::Exit2), notices: SYSTEM_MESSAGE, ..Words::GATE };
const NOTICING: Words = Words { notices: SYSTEM_MESSAGE, ..Words::FACT };
const CONTEXT_ALONE: Words = Words { context: CONTEXT, notices: SYSTEM_MESSAGE, ..Words::GATE };

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents::USUAL,
    turns: Turns { reports_are_prompts: true, ..Turns::USUAL },
    entries: Entries {
        has_arguments: true,
        closing: Closing::Member("onFailure", r#""block""#),
        ..Entries::USUAL
    },
    settings: Settings {
        variables: &["CLAUDE_CONFIG_DIR"],
        ours: &[
            OurFile::imported(Level::User),
            OurFile { kind: FileKind::Shared, ..OurFile::imported(Level::Project) },
        ],
        switches: &[],
        strictness: Strictness {
            mark: true,
            types: &[
                ("disableAllHooks", Type::Boolean),
                ("model", Type::Text),
                ("permissions", Type::Object),
            ],
            whole: false,
            ..Strictness::USUAL
        },
        plugin: None,
    },
};

/// The events.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("SessionStart", "before_session", &[SOURCE], Words {
        block: hold(How::Json(r#"{"continue":false,"stopReason":"$R","systemMessage":"$R"}"#), Scope::Session),
        context: CONTEXT, notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    row("SessionEnd", "after_session", &[REASON], NOTICING),
    row("UserPromptSubmit", "before_prompt", &[PROMPT], PROMPTED),
    row("PreToolUse", "before_tool", TOOL, Words {
        block: json(DENY), ask: json(ASK), allow: json(ALLOW),
        stop: json(r#"{"continue":false,"stopReason":"$R","hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"deny","permissionDecisionReason":"$R"}}"#),
        context: CONTEXT,
        amend: &[("tool_input", Amend::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","updatedInput":"$V"}}"#))],
        notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    row("PermissionRequest", "before_permission", &[TOOL_NAME, TOOL_INPUT], Words {
        block: json(FORBID), ask: SILENT, allow: json(PERMIT),
        stop: json(r#"{"hookSpecificOutput":{"hookEventName":"$E","decision":{"behavior":"deny","message":"$R","interrupt":true}}}"#),
        amend: &[("tool_input", Amend::Approved(
            r#"{"hookSpecificOutput":{"hookEventName":"$E","decision":{"behavior":"allow","updatedInput":"$V"}}}"#, Refusal::Input))],
        notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    fact("PermissionDenied", "on_permission_denied", &[TOOL_NAME, REASON]),
    row("PostToolUse", "after_tool", RESULT, Words {
        block: say(How::Fitted(DECISION)), stop: json(HALT), context: CONTEXT,
        amend: &[("tool_output", Amend::Fitted(REPLACED))],
        notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    row("PostToolUseFailure", "after_tool_error", FAILURE, Words {
        block: say(How::Beside(DECISION)), stop: json(HALT), context: CONTEXT, notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    row("PostToolBatch", "after_tool_batch", &[read("tool_calls", &["tool_calls"], Kind::Items(CALL))], Words {
        block: json(DECISION), stop: json(HALT), context: CONTEXT, notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    row("SubagentStart", "before_subagent", &[AGENT_TYPE], Words {
        block: hold(How::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","additionalContext":"$X"},"systemMessage":"$R"}"#), Scope::Subagent),
        context: CONTEXT, amend: &[("prompt", Amend::Refuse(Refusal::Input))], notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    row("SubagentStop", "after_subagent", &[AGENT_TYPE, LAST_MESSAGE], STOPPING),
    row("Stop", "before_stop", &[LAST_MESSAGE], STOPPING),
    fact("StopFailure", "on_stop_failure", &[ERROR]),
    row("PreCompact", "before_compact", &[TRIGGER, read("reason", &["custom_instructions"], Kind::Filled)], QUIET_GATE),
    row("PostCompact", "after_compact", &[TRIGGER, read("summary", &["compact_summary"], Kind::Text)], Words {
        block: json(r#"{"systemMessage":"$R"}"#), notices: SYSTEM_MESSAGE, ..Words::GATE
    }),
    fact("Notification", "on_wait_confirm", &[MESSAGE]).when(When::Is("notification_type", &["permission_prompt"])),
    fact("Notification", "on_idle", &[]).when(When::Is("notification_type", &["idle_prompt"])),
    fact("Notification", "on_wait_question", &[QUESTION])
        .when(When::Is("notification_type", &["elicitation_dialog", "elicitation_url_dialog", "agent_needs_input"])),
    fact("Notification", "on_notification", &[MESSAGE]),
    row("Setup", "x.claude.before_setup", &[], CONTEXT_ALONE).on_request(),
    fact("InstructionsLoaded", "x.claude.on_instructions_loaded", &[]).on_request(),
    row("UserPromptExpansion", "x.claude.before_prompt_expansion", &[], Words { amend: &[], ..PROMPTED }),
    row("MessageDisplay", "x.claude.before_display", &[], Words {
        block: SILENT, ask: SILENT, stop: SILENT,
        amend: &[("display_content", Amend::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","displayContent":"$V"}}"#))],
        notices: SYSTEM_MESSAGE, ..Words::GATE
    }).on_request(),
    row("TaskCreated", "x.claude.before_task_create", &[], Words { notices: SYSTEM_MESSAGE, ..QUIET_GATE }),
    row("TaskCompleted", "x.claude.before_task_complete", &[], BY_EXIT_CODE),
    row("TeammateIdle", "x.claude.before_teammate_idle", &[], BY_EXIT_CODE).on_request(),
    fact("ConfigChange", "x.claude.before_config_change", &[]).when(When::Is("source", &["policy_settings"])),
    row("ConfigChange", "x.claude.before_config_change", &[], QUIET_GATE),
    fact("CwdChanged", "x.claude.on_cwd_changed", &[]).on_request(),
    fact("DirectoryAdded", "x.claude.on_directory_added", &[]).on_request(),
    fact("FileChanged", "x.claude.on_file_changed", &[]).on_request(),
    row("WorktreeCreate", "x.claude.before_worktree_create", &[], Words {
        block: say(How::Exit2),
        amend: &[("worktree_path", Amend::Line("lineside made no worktree"))], ..Words::GATE
    }).on_request(),
    fact("WorktreeRemove", "x.claude.on_worktree_remove", &[]).on_request(),
    row("PreModelSwitch", "x.claude.before_model_switch", &[], Words {
        block: json(DECISION), ask: json(ASK), notices: SYSTEM_MESSAGE, ..Words::GATE
    }).on_request(),
    row("PostModelSwitch", "x.claude.after_model_switch", &[], CONTEXT_ALONE).on_request(),
    row("Elicitation", "x.claude.before_elicitation", &[], ELICITING).on_request(),
    row("ElicitationResult", "x.claude.after_elicitation", &[], ELICITING).on_request(),
];

/// What answers the report of a task: context alone (CL-33).
pub(super) const REPORTED: Words = Words {
    block: SILENT,
    ask: SILENT,
    stop: SILENT,
    context: CONTEXT,
    notices: SYSTEM_MESSAGE,
    ..Words::FACT
};
