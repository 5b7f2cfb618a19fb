//! Cursor (CU-1 to CU-10): its events and its words. Every answer is an object.

#[cfg(feature = "cursor")]
mod answer;
#[cfg(feature = "cursor")]
mod import;

#[cfg(feature = "cursor")]
pub(super) use import::Files;

use lineside_core::json::{Map, Value};

use super::phrases::{PROMPT, REASON, TOOL, TOOL_CALL_ID, TOOL_INPUT, TOOL_NAME, TRIGGER};
#[cfg(feature = "hosts")]
use super::quirks::{Closing, Documents, Entries, Level, OurFile, Quirks, Settings, Strictness, Turns};
use super::table::{
    Amend, BLOCK, BLOCK_AND_HOLD, Context, Field, How, Kind, Refusal, Row, SILENT, Scope, When, Words, hold,
    json, read, row, say,
};

const QUIET: Words = Words { quiet: "{}", ..Words::FACT };
/// A review whose result stays: the reason waits as context.
const REVIEW: Words = Words { block: say(How::Context), stop: BLOCK_AND_HOLD, ..QUIET };
const PERMITTED: &str = r#"{"permission":"allow"}"#;
const DENY: &str = r#"{"permission":"deny","user_message":"$R","agent_message":"$R"}"#;
const DENY_PLAINLY: &str = r#"{"permission":"deny","user_message":"$R"}"#;
const FOLLOW_UP: &str = r#"{"followup_message":"$R"}"#;
const ADDED: Context = Context::Json(r#"{"additional_context":"$X"}"#);

const GATE: Words =
    Words { block: json(DENY_PLAINLY), stop: BLOCK_AND_HOLD, quiet: PERMITTED, ..Words::GATE };
const SINGLE_GATE: Words = Words {
    block: json(DENY),
    ask: json(r#"{"permission":"ask","user_message":"$R","agent_message":"$R"}"#),
    amend: &[("tool_input", Amend::Refuse(Refusal::Input))],
    ..GATE
};
const STOPPING: Words = Words { block: json(FOLLOW_UP), stop: SILENT, quiet: "{}", ..Words::GATE };

const MCP_NAME: Field = read("tool_name", &["tool_name"], Kind::Prefixed("MCP:"));
const MODEL: Field = read("model", &["model"], Kind::Text);
const AGENT: Field = read("agent_type", &["subagent_type"], Kind::Text);
const OUTPUT: Field = read("tool_output", &["tool_output"], Kind::Parsed);
const TOOK: Field = read("duration_ms", &["duration"], Kind::Number);

const fn tool(name: &'static str) -> Field {
    read("tool_name", &[], Kind::Fixed(name))
}

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents {
        is_own: |_, document| document.contains_key("cursor_version"),
        own_name: |event| Some(own_name(event)),
        session: &["conversation_id", "session_id"],
        child: &["subagent_id"],
        names_time: false,
        project: Some("workspace_roots"),
        quiet: "{}",
        ..Documents::USUAL
    },
    turns: Turns::USUAL,
    entries: Entries {
        start: "",
        has_loop_limit: true,
        is_grouped: false,
        closing: Closing::Member("failClosed", "true"),
        ..Entries::USUAL
    },
    settings: Settings {
        variables: &[],
        ours: &[
            OurFile { version: Some(1), ..OurFile::imported(Level::User) },
            OurFile { version: Some(1), ..OurFile::imported(Level::Project) },
        ],
        switches: &[],
        strictness: Strictness::USUAL,
        plugin: None,
    },
};

/// The events.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("sessionStart", "before_session", &[read("source", &[], Kind::Fixed("startup"))], Words {
        block: hold(How::Silent, Scope::Session), context: ADDED, quiet: "{}", ..Words::GATE
    }),
    row("sessionEnd", "after_session", &[REASON, read("stats", &[], Kind::Members(&[
        ("duration_ms", "duration_ms"), ("final_status", "final_status")]))], QUIET),
    row("beforeSubmitPrompt", "before_prompt", &[PROMPT], Words {
        block: json(r#"{"continue":false,"user_message":"$R"}"#),
        amend: &[("prompt", Amend::Refuse(Refusal::Prompt))], quiet: r#"{"continue":true}"#, ..Words::GATE
    }),
    row("preToolUse", "before_tool", TOOL, Words {
        block: json(DENY), amend: &[("tool_input", Amend::Json(r#"{"permission":"allow","updated_input":"$V"}"#))], ..GATE
    }),
    row("beforeShellExecution", "before_tool", &[tool("Shell"), read("tool_input", &[], Kind::Members(&[
        ("command", "command"), ("cwd", "cwd")]))], SINGLE_GATE).on_request(),
    row("beforeMCPExecution", "before_tool", &[MCP_NAME, TOOL_INPUT], SINGLE_GATE).on_request(),
    row("beforeReadFile", "before_tool", &[tool("Read"), read("tool_input", &[], Kind::Members(&[("file_path", "file_path")]))], Words {
        amend: &[("tool_input", Amend::Refuse(Refusal::Input))], ..GATE
    }).on_request(),
    row("postToolUse", "after_tool", &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, OUTPUT, TOOK], Words {
        block: json(r#"{"updated_mcp_tool_output":"$R"}"#), stop: BLOCK_AND_HOLD, context: ADDED,
        amend: &[("tool_output", Amend::Json(r#"{"updated_mcp_tool_output":"$V"}"#))], quiet: "{}", ..Words::GATE
    }).when(When::Own(is_mcp)),
    row("postToolUse", "after_tool", &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, OUTPUT, TOOK], Words {
        block: say(How::Context), stop: BLOCK_AND_HOLD, context: ADDED, quiet: "{}", ..Words::GATE
    }),
    row("afterShellExecution", "after_tool", &[tool("Shell"), read("tool_input", &[], Kind::Members(&[("command", "command")])),
        read("tool_output", &[], Kind::Members(&[("output", "output")])), TOOK], REVIEW).on_request(),
    row("afterMCPExecution", "after_tool", &[MCP_NAME, TOOL_INPUT, read("tool_output", &["result_json"], Kind::Parsed), TOOK], REVIEW).on_request(),
    row("afterFileEdit", "after_tool", &[tool("Edit"), read("tool_input", &[], Kind::Members(&[
        ("file_path", "file_path"), ("edits", "edits")])), read("tool_output", &[], Kind::Null)], REVIEW).on_request(),
    row("postToolUseFailure", "on_permission_denied", &[TOOL_NAME, read("reason", &["error_message"], Kind::Text)], QUIET)
        .when(When::Is("failure_type", &["permission_denied"])),
    row("postToolUseFailure", "after_tool_error", &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID,
        read("error", &["error_message", "error"], Kind::Error), read("error_kind", &["failure_type"], Kind::Text)], REVIEW),
    row("subagentStart", "before_subagent", &[AGENT, read("task", &["task"], Kind::Text)], Words {
        amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..GATE
    }),
    row("subagentStop", "after_subagent", &[AGENT, read("output", &["summary"], Kind::Text)], Words {
        amend: &[("output", Amend::Refuse(Refusal::Output))], ..STOPPING
    }).when(When::Is("status", &["completed"])),
    row("subagentStop", "after_subagent", &[AGENT, read("output", &["summary"], Kind::Text)], QUIET),
    row("stop", "before_stop", &[], STOPPING).when(When::Is("status", &["completed"])),
    row("stop", "on_stop_failure", &[read("error", &["error_message"], Kind::Text)], QUIET).when(When::Is("status", &["error"])),
    row("stop", "before_stop", &[], STOPPING).when(When::Empty("status")),
    row("stop", "on_interrupt", &[], QUIET),
    row("preCompact", "before_compact", &[TRIGGER, read("usage", &[], Kind::Members(&[
        ("tokens", "context_tokens"), ("window", "context_window_size")]))], Words {
        block: json(r#"{"user_message":"$R"}"#), ask: BLOCK, stop: BLOCK, notices: Some(r#"{"user_message":"$N"}"#),
        quiet: "{}", ..Words::GATE
    }),
    row("afterAgentResponse", "after_model", &[MODEL, read("output", &["text"], Kind::Text), read("usage", &[], Kind::Members(&[
        ("input_tokens", "input_tokens"), ("output_tokens", "output_tokens")]))], REVIEW),
    row("afterAgentThought", "x.cursor.on_agent_thought", &[], QUIET).on_request(),
    row("beforeTabFileRead", "x.cursor.before_tab_file_read", &[], GATE).on_request(),
    row("afterTabFileEdit", "x.cursor.on_tab_file_edit", &[], QUIET).on_request(),
    row("workspaceOpen", "x.cursor.on_workspace_open", &[], QUIET).on_request(),
];

fn is_mcp(document: &Map) -> bool {
    let tool = document.get("tool_name").and_then(Value::as_str);
    tool.and_then(lineside_core::tool_class::of) == Some("mcp")
}

/// The name by which the host knows an event that it calls by the name of Claude Code (HO-45).
#[cfg(feature = "hosts")]
fn own_name(event: &str) -> String {
    if event == "UserPromptSubmit" {
        return "beforeSubmitPrompt".to_owned();
    }
    let mut characters = event.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}
