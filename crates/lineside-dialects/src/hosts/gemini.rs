//! Gemini CLI (GE-1 to GE-8): its events and its words.

#[cfg(feature = "gemini")]
mod answer;
#[cfg(feature = "gemini")]
mod import;

#[cfg(feature = "gemini")]
pub(super) use import::Files;

use lineside_core::json::{Map, Value, json as value};

use super::phrases::{
    CONTEXT, HALT, MESSAGE, PROMPT, REASON, SOURCE, SYSTEM_MESSAGE, TOOL_INPUT, TOOL_NAME, TRIGGER,
};
#[cfg(feature = "hosts")]
use super::quirks::{Active, Closing, Documents, Entries, OurFile, Quirks, Settings, Strictness, Turns};
use super::table::{
    Amend, BLOCK, BLOCK_AND_HOLD, Field, How, Kind, Refusal, Row, Scope, When, Words, fact, field, hold,
    json, read, row, say,
};

const DENY: &str = r#"{"decision":"deny","reason":"$R"}"#;
const DENY_AND_HALT: &str = r#"{"continue":false,"stopReason":"$R","decision":"deny","reason":"$R"}"#;

const GATE: Words = Words { block: json(DENY), stop: json(HALT), notices: SYSTEM_MESSAGE, ..Words::GATE };

const RESULT: &[Field] = &[TOOL_NAME, TOOL_INPUT, field("tool_output", &["tool_response.llmContent"])];
const FAILURE: &[Field] = &[TOOL_NAME, TOOL_INPUT, read("error", &["tool_response.error"], Kind::Error)];
const REQUEST: &[Field] = &[
    field("model", &["llm_request.model"]),
    read("system_prompt", &["llm_request.messages"], Kind::Own(system_prompt)),
    read("messages", &["llm_request.messages"], Kind::Own(messages)),
];
const ANSWER: &[Field] = &[
    field("model", &["llm_request.model"]),
    read("output", &["llm_response.candidates"], Kind::Own(output)),
    read("stop_reason", &["llm_response.candidates"], Kind::Own(stop_reason)),
];

const REQUESTED: &str = r#"{"hookSpecificOutput":{"hookEventName":"$E","llm_request":"$V"}}"#;

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents::USUAL,
    turns: Turns {
        first_prompt_has_context: true,
        reasons_come_back: true,
        active: Active::TheirsIfSo,
        ..Turns::USUAL
    },
    entries: NAMED,
    settings: Settings {
        variables: &["GEMINI_CLI_HOME"],
        ours: OurFile::IMPORTED,
        switches: &[],
        strictness: LENIENT,
        plugin: None,
    },
};

/// Entries with a name, and their limits in milliseconds; Qwen Code has the same, and reads its settings as this one does.
#[cfg(feature = "hosts")]
pub(super) const NAMED: Entries = Entries {
    start: r#""name":"lineside","type":"command","#,
    in_milliseconds: true,
    closing: Closing::REFUSAL,
    ..Entries::USUAL
};
#[cfg(feature = "hosts")]
pub(super) const LENIENT: Strictness = Strictness { comments: true, whole: false, ..Strictness::USUAL };

/// The events.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("SessionStart", "before_session", &[SOURCE], Words {
        block: hold(How::Notice, Scope::Session), stop: BLOCK, context: CONTEXT, ..GATE
    }),
    fact("SessionEnd", "after_session", &[REASON]),
    row("BeforeAgent", "before_prompt", &[PROMPT], Words {
        context: CONTEXT, amend: &[("prompt", Amend::Refuse(Refusal::Prompt))], ..GATE
    }),
    row("AfterAgent", "before_stop", &[read("output", &["prompt_response"], Kind::Text)], GATE),
    row("BeforeModel", "before_model", REQUEST, Words {
        stop: json(DENY_AND_HALT),
        amend: &[("model", Amend::Own(REQUESTED, request)), ("system_prompt", Amend::Own(REQUESTED, request)), ("messages", Amend::Own(REQUESTED, request))],
        ..GATE
    }).on_request(),
    row("BeforeToolSelection", "x.gemini.before_tool_selection", &[field("tool_config", &["llm_request.toolConfig"])], Words {
        block: json(r#"{"hookSpecificOutput":{"hookEventName":"$E","toolConfig":{"mode":"NONE"}}}"#), stop: BLOCK_AND_HOLD,
        amend: &[("tool_config", Amend::Json(r#"{"hookSpecificOutput":{"hookEventName":"$E","toolConfig":"$V"}}"#))],
        notices: None, ..GATE
    }).on_request(),
    row("AfterModel", "after_model", ANSWER, Words {
        amend: &[("output", Amend::Text(
            r#"{"hookSpecificOutput":{"hookEventName":"$E","llm_response":{"candidates":[{"content":{"role":"model","parts":["$V"]}}]}}}"#))],
        ..GATE
    }).on_request(),
    row("BeforeTool", "before_tool", &[TOOL_NAME, TOOL_INPUT], Words {
        stop: json(DENY_AND_HALT),
        amend: &[("tool_input", Amend::Merged(r#"{"hookSpecificOutput":{"hookEventName":"$E","tool_input":"$V"}}"#))], ..GATE
    }),
    row("AfterTool", "after_tool_error", FAILURE, Words {
        context: CONTEXT, amend: &[("error", Amend::Withhold)], ..GATE
    }).when(When::Has("tool_response.error")),
    row("AfterTool", "after_tool", RESULT, Words {
        context: CONTEXT, amend: &[("tool_output", Amend::Withhold)], ..GATE
    }),
    row("PreCompress", "before_compact", &[TRIGGER], Words {
        block: say(How::Notice), ask: BLOCK, stop: BLOCK, ..GATE
    }).on_request(),
    fact("Notification", "on_wait_confirm", &[MESSAGE, field("tool_name", &["details.tool_name"])])
        .when(When::Is("notification_type", &["ToolPermission"])),
    fact("Notification", "on_notification", &[MESSAGE]),
];

fn is_system(message: &Value) -> bool {
    message.get("role").and_then(Value::as_str) == Some("system")
}

fn all_messages(document: &Map) -> Option<&Vec<Value>> {
    document.get("llm_request")?.get("messages")?.as_array()
}

/// The messages of a request without those of the system.
fn messages(document: &Map) -> Option<Value> {
    Some(all_messages(document)?.iter().filter(|message| !is_system(message)).cloned().collect())
}

/// The texts of the system's messages, joined by an empty line.
fn system_prompt(document: &Map) -> Option<Value> {
    let texts = all_messages(document)?.iter().filter(|message| is_system(message));
    let texts: Vec<&str> = texts.filter_map(|message| message.get("content")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n").into())
}

fn candidate(document: &Map) -> Option<&Value> {
    document.get("llm_response")?.get("candidates")?.get(0)
}

/// The texts of the first candidate, joined.
fn output(document: &Map) -> Option<Value> {
    let parts = candidate(document)?.get("content")?.get("parts")?.as_array()?;
    let text = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).map(str::to_owned);
    Some(parts.iter().filter_map(text).collect::<String>().into())
}

fn stop_reason(document: &Map) -> Option<Value> {
    candidate(document)?.get("finishReason").filter(|reason| reason.is_string()).cloned()
}

/// What changed of a request: the model, and the messages with the system prompt as the first of them (GE-6).
fn request(before: &Map, after: &Map) -> Value {
    let changed = |field: &str| before.get(field) != after.get(field);
    let mut request = Map::new();
    if changed("model") {
        request.insert("model".to_owned(), after.get("model").cloned().unwrap_or_default());
    }
    if changed("messages") || changed("system_prompt") {
        let system = after.get("system_prompt").filter(|prompt| !prompt.is_null());
        let system = system.map(|prompt| value!({"role": "system", "content": prompt}));
        let rest = after.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        request.insert("messages".to_owned(), system.into_iter().chain(rest).collect());
    }
    Value::Object(request)
}
