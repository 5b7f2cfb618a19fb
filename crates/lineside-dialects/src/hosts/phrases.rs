//! Fields and words that the documents of several hosts have alike: those of Claude Code, which others took over.

use super::table::{Context, Field, Kind, read};

pub(super) const TOOL_NAME: Field = read("tool_name", &["tool_name"], Kind::Text);
pub(super) const TOOL_INPUT: Field = read("tool_input", &["tool_input"], Kind::Input);
pub(super) const TOOL_CALL_ID: Field = read("tool_call_id", &["tool_use_id"], Kind::Text);
pub(super) const SOURCE: Field = read("source", &["source"], Kind::Source);
pub(super) const REASON: Field = read("reason", &["reason"], Kind::Text);
pub(super) const PROMPT: Field = read("prompt", &["prompt"], Kind::Text);
pub(super) const MESSAGE: Field = read("message", &["message"], Kind::Text);
pub(super) const QUESTION: Field = read("question", &["message"], Kind::Text);
pub(super) const LAST_MESSAGE: Field = read("output", &["last_assistant_message"], Kind::Text);
pub(super) const AGENT_TYPE: Field = read("agent_type", &["agent_type"], Kind::Text);
pub(super) const TRIGGER: Field = read("kind", &["trigger"], Kind::Text);
pub(super) const ERROR: Field = read("error", &["error"], Kind::Error);
const INTERRUPT: Field = read("error_kind", &["is_interrupt"], Kind::Flag("interrupt"));

pub(super) const TOOL: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID];
pub(super) const FAILURE: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_CALL_ID, ERROR, INTERRUPT];

pub(super) const SYSTEM_MESSAGE: Option<&str> = Some(r#"{"systemMessage":"$N"}"#);
pub(super) const ADDED: &str = r#"{"hookSpecificOutput":{"hookEventName":"$E","additionalContext":"$X"}}"#;
pub(super) const CONTEXT: Context = Context::Json(ADDED);
pub(super) const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"deny","permissionDecisionReason":"$R"}}"#;
pub(super) const ASK: &str = r#"{"hookSpecificOutput":{"hookEventName":"$E","permissionDecision":"ask","permissionDecisionReason":"$R"}}"#;
pub(super) const DECISION: &str = r#"{"decision":"block","reason":"$R"}"#;
pub(super) const HALT: &str = r#"{"continue":false,"stopReason":"$R"}"#;
pub(super) const PERMIT: &str =
    r#"{"hookSpecificOutput":{"hookEventName":"$E","decision":{"behavior":"allow"}}}"#;
pub(super) const FORBID: &str =
    r#"{"hookSpecificOutput":{"hookEventName":"$E","decision":{"behavior":"deny","message":"$R"}}}"#;
