//! Copilot (CP-1 to CP-12): the events of its two forms, and their words. A pascal answer carries a decision twice, for
//! the command line program and for VS Code.

#[cfg(feature = "copilot")]
mod answer;
#[cfg(feature = "copilot")]
mod import;

#[cfg(feature = "copilot")]
pub(super) use import::Files;

use std::path::PathBuf;

#[cfg(feature = "hosts")]
use lineside_core::json::Map;

#[cfg(feature = "hosts")]
use super::import::Syntax;
use super::phrases::{MESSAGE, PROMPT, QUESTION, REASON, SOURCE, SYSTEM_MESSAGE, TRIGGER};
#[cfg(feature = "hosts")]
use super::program::Host;
#[cfg(feature = "hosts")]
use super::quirks::{
    Documents, Entries, FileKind, Level, OurFile, Place, Quirks, Settings, Strictness, Turns,
};
use super::table::{
    Amend, BLOCK, BLOCK_AND_HOLD, Context, Field, How, Kind, Refusal, Row, SILENT, Scope, When, Words, fact,
    field, hold, json, read, row, say,
};
use crate::dialect::Places;

const TOOL_NAME: Field = read("tool_name", &["toolName", "tool_name"], Kind::Text);
const TOOL_INPUT: Field = read("tool_input", &["toolArgs", "tool_input"], Kind::Input);
const ASKED_INPUT: Field = read("tool_input", &["toolInput", "toolArgs", "tool_input"], Kind::Input);
const TOOL_CALL_ID: Field = read("tool_call_id", &["tool_use_id", "tool_call_id", "toolUseId"], Kind::Text);
const OUTPUT: Field = field(
    "tool_output",
    &["tool_response", "tool_output", "toolResult.textResultForLlm", "tool_result.text_result_for_llm"],
);
const ERROR: Field = read("error", &["error", "error_message"], Kind::Error);
const ERROR_KIND: Field = read("error_kind", &["errorContext", "error_context"], Kind::Text);
const AGENT: Field = read("agent_type", &["agentType", "agent_type", "agentName", "agent_name"], Kind::Text);
const ANSWERED: Field = read("output", &["response", "last_assistant_message"], Kind::Text);
const STOPPED: Field = read("reason", &["stopReason", "stop_reason"], Kind::Text);
const TRANSFORMED: Field =
    read("transformed_prompt", &["transformedPrompt", "transformed_prompt"], Kind::Text);

const TOOL: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID];
const RESULT: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, OUTPUT];
const FAILURE: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, ERROR];

const ADDED: Context = Context::Json(r#"{"additionalContext":"$X"}"#);
const REPLACED: &str = r#"{"modifiedResult":{"resultType":"success","textResultForLlm":"$V"}}"#;
const WITHHELD: &str = r#"{"modifiedResult":{"resultType":"success","textResultForLlm":"$R"}}"#;
const DECISION: &str = r#"{"decision":"block","reason":"$R"}"#;
const FORBID: &str = r#"{"behavior":"deny","message":"$R"}"#;
const FORBID_AND_HALT: &str = r#"{"behavior":"deny","message":"$R","interrupt":true}"#;
const PERMIT: &str = r#"{"behavior":"allow"}"#;
const SPOKEN: &[(&str, Amend)] = &[("output", Amend::Json(r#"{"modifiedResponse":"$V"}"#))];
const REWORDED: &[(&str, Amend)] =
    &[("transformed_prompt", Amend::Json(r#"{"modifiedTransformedPrompt":"$V"}"#))];

const GATE: Words = Words::GATE;
const PERMISSION: Words = Words {
    block: json(FORBID),
    ask: SILENT,
    allow: json(PERMIT),
    stop: json(FORBID_AND_HALT),
    amend: &[("tool_input", Amend::Refuse(Refusal::Input))],
    ..GATE
};

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents {
        is_own: |entry, document| {
            !document.contains_key("cursor_version")
                && (document.contains_key("sessionId") || entry == Host::Claude && is_pascal(document))
        },
        table: |event, _| is_pascal_name(event).then_some(PASCAL),
        is_named_by_argument: true,
        session: &["sessionId", "session_id"],
        names_parent: true,
        names_model: is_pascal_name,
        call: ["toolName", "toolArgs", "toolUseId"],
        ..Documents::USUAL
    },
    turns: Turns { prompt_overtakes_start: true, reasons_come_back: true, ..Turns::USUAL },
    entries: Entries { names_event: true, limit: "timeoutSec", is_grouped: false, ..Entries::USUAL },
    settings: Settings {
        variables: &["COPILOT_HOME"],
        ours: &[
            OurFile {
                level: Level::User,
                place: Place::Home {
                    variable: "COPILOT_HOME",
                    folder: ".copilot",
                    file: "hooks/lineside.json",
                },
                kind: FileKind::Usual,
                ..IN_PROJECT
            },
            IN_PROJECT,
        ],
        // It reads those of Claude Code.
        switches: &[Place::Project(".claude/settings.local.json"), Place::Project(".claude/settings.json")],
        strictness: Strictness::USUAL,
        plugin: None,
    },
};

#[cfg(feature = "hosts")]
const IN_PROJECT: OurFile = OurFile {
    level: Level::Project,
    place: Place::Project(".github/hooks/lineside.json"),
    kind: FileKind::Beside,
    syntax: Syntax::Json,
    version: Some(1),
    is_ours: true,
};

/// Whether an event is of the form of which the names begin with a capital letter.
#[cfg(feature = "hosts")]
fn is_pascal_name(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The events in camelCase.
#[rustfmt::skip]
pub(super) const CAMEL: &[Row] = &[
    row("sessionStart", "before_session", &[SOURCE], Words {
        block: hold(How::Silent, Scope::Session), context: ADDED, ..GATE
    }),
    fact("sessionEnd", "after_session", &[REASON]),
    row("userPromptSubmitted", "before_prompt", &[PROMPT], Words {
        block: json(DECISION), context: ADDED, amend: &[("prompt", Amend::Json(r#"{"modifiedPrompt":"$V"}"#))], ..GATE
    }),
    row("preToolUse", "before_tool", TOOL, Words {
        block: json(r#"{"permissionDecision":"deny","permissionDecisionReason":"$R"}"#),
        ask: json(r#"{"permissionDecision":"ask","permissionDecisionReason":"$R"}"#),
        allow: json(r#"{"permissionDecision":"allow"}"#), stop: BLOCK_AND_HOLD, context: ADDED,
        amend: &[("tool_input", Amend::Json(r#"{"modifiedArgs":"$V"}"#))], ..GATE
    }),
    row("permissionRequest", "before_permission", &[TOOL_NAME, ASKED_INPUT], PERMISSION),
    row("postToolUse", "after_tool", RESULT, Words {
        block: json(WITHHELD), stop: BLOCK_AND_HOLD, context: ADDED, amend: &[("tool_output", Amend::Text(REPLACED))], ..GATE
    }),
    row("postToolUseFailure", "after_tool_error", FAILURE, Words {
        block: say(How::Context), stop: BLOCK_AND_HOLD, context: ADDED, ..GATE
    }),
    fact("agentStop", "x.copilot.on_agent_stop", &[STOPPED]).when(When::InSubagent),
    row("agentStop", "before_stop", &[STOPPED], Words { block: json(DECISION), stop: SILENT, ..GATE }),
    row("subagentStart", "before_subagent", &[AGENT], Words {
        block: hold(How::Json(r#"{"additionalContext":"$X"}"#), Scope::Subagent), context: ADDED,
        amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..GATE
    }),
    row("subagentStop", "after_subagent", &[AGENT, ANSWERED], Words {
        block: json(DECISION), stop: SILENT, amend: SPOKEN, ..GATE
    }),
    fact("errorOccurred", "on_error", &[ERROR, ERROR_KIND]),
    fact("preCompact", "before_compact", &[TRIGGER]),
    fact("notification", "on_wait_confirm", &[MESSAGE]).when(When::Is("notification_type", &["permission_prompt"])),
    fact("notification", "on_wait_question", &[QUESTION]).when(When::Is("notification_type", &["elicitation_dialog"])),
    fact("notification", "on_idle", &[]).when(When::Is("notification_type", &["agent_idle"])),
    fact("notification", "on_notification", &[MESSAGE]),
    row("userPromptTransformed", "x.copilot.before_prompt_transformed", &[PROMPT, TRANSFORMED], Words {
        block: hold(How::Silent, Scope::Turn), amend: REWORDED, ..GATE
    }).on_request(),
];

const TWICE: Context = Context::Json(
    r#"{"additionalContext":"$X","hookSpecificOutput":{"hookEventName":"$E","additionalContext":"$X"}}"#,
);
const LOUD: Words = Words { notices: SYSTEM_MESSAGE, ..Words::GATE };
const DECISION_TWICE: &str = r#"{"decision":"block","reason":"$R","hookSpecificOutput":{"hookEventName":"$E","decision":"block","reason":"$R"}}"#;
const HALT: &str = r#"{"continue":false,"stopReason":"$R"}"#;
const STOPPING: Words = Words { block: json(DECISION_TWICE), stop: SILENT, ..LOUD };

/// The events in PascalCase.
#[rustfmt::skip]
pub(super) const PASCAL: &[Row] = &[
    row("SessionStart", "before_session", &[SOURCE], Words {
        block: hold(How::Json(HALT), Scope::Session), context: TWICE, ..LOUD
    }),
    row("SessionEnd", "after_session", &[REASON], Words { notices: SYSTEM_MESSAGE, ..Words::FACT }),
    row("UserPromptSubmit", "before_prompt", &[PROMPT], Words {
        block: json(DECISION), context: TWICE,
        // VS Code, which would send the prompt as it was, sends the same document as the command line program.
        amend: &[("prompt", Amend::Refuse(Refusal::Prompt))], ..LOUD
    }),
    row("PreToolUse", "before_tool", TOOL, Words {
        block: json(r#"{"permissionDecision":"deny","permissionDecisionReason":"$R","hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"deny","permissionDecisionReason":"$R"}}"#),
        ask: json(r#"{"permissionDecision":"ask","permissionDecisionReason":"$R","hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"ask","permissionDecisionReason":"$R"}}"#),
        allow: json(r#"{"permissionDecision":"allow","hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"allow"}}"#),
        stop: hold(How::JsonAndBlock(HALT), Scope::Turn), context: TWICE,
        amend: &[("tool_input", Amend::Asking(
            r#"{"modifiedArgs":"$V","hookSpecificOutput":{"hookEventName":"$E","updatedInput":"$V"}}"#, "input changed by"))],
        ..LOUD
    }),
    row("PermissionRequest", "before_permission", &[TOOL_NAME, ASKED_INPUT], Words { notices: SYSTEM_MESSAGE, ..PERMISSION }),
    row("PostToolUse", "after_tool", RESULT, Words {
        block: json(r#"{"decision":"block","reason":"$R","modifiedResult":{"resultType":"success","textResultForLlm":"$R"}}"#),
        stop: hold(How::JsonAndBlock(HALT), Scope::Turn), context: TWICE, amend: &[("tool_output", Amend::Text(REPLACED))], ..LOUD
    }),
    row("PostToolUseFailure", "after_tool_error", FAILURE, Words {
        block: say(How::Context), stop: hold(How::JsonAndBlock(HALT), Scope::Turn), context: TWICE, ..LOUD
    }),
    fact("Stop", "x.copilot.on_agent_stop", &[STOPPED]).when(When::InSubagent),
    row("Stop", "before_stop", &[STOPPED], STOPPING),
    row("SubagentStart", "before_subagent", &[AGENT], Words {
        block: hold(How::Json(r#"{"additionalContext":"$X","hookSpecificOutput":{"hookEventName":"$E","additionalContext":"$X"}}"#), Scope::Subagent),
        context: TWICE, amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..LOUD
    }),
    row("SubagentStop", "after_subagent", &[AGENT, ANSWERED], Words { amend: SPOKEN, ..STOPPING }),
    fact("ErrorOccurred", "on_error", &[ERROR, ERROR_KIND]),
    row("PreCompact", "before_compact", &[TRIGGER], Words {
        block: say(How::Notice), notices: SYSTEM_MESSAGE, ..Words::FACT
    }),
    fact("Notification", "on_wait_confirm", &[MESSAGE]).when(When::Is("notification_type", &["permission_prompt"])),
    fact("Notification", "on_wait_question", &[QUESTION]).when(When::Is("notification_type", &["elicitation_dialog"])),
    fact("Notification", "on_idle", &[]).when(When::Is("notification_type", &["agent_idle"])),
    fact("Notification", "on_notification", &[MESSAGE]),
    row("UserPromptTransformed", "x.copilot.before_prompt_transformed", &[PROMPT, TRANSFORMED], Words {
        block: hold(How::Silent, Scope::Turn), stop: BLOCK, amend: REWORDED, ..LOUD
    }),
];

/// Whether a document that reached the entry of Claude Code is the pascal one of the command line program, which runs the
/// entries of a project's `.claude/settings.json`: it says when it was made, as Claude Code does not, and names no
/// transcript, as Claude Code does with every event, or why an agent stops.
#[cfg(feature = "hosts")]
fn is_pascal(document: &Map) -> bool {
    document.contains_key("timestamp")
        && (!document.contains_key("transcript_path") || document.contains_key("stop_reason"))
}

/// The folder with the hooks of the user.
pub(super) fn user_folder(places: &Places) -> Option<PathBuf> {
    Some(places.folder("COPILOT_HOME", ".copilot")?.join("hooks"))
}
