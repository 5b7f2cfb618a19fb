//! OpenCode (OP-1 to OP-9): the events that our plugin hands on, and what it does with an answer.
//!
//! The host has no hook command. The documents are those of the plugin, which is installed as a file; its answer is
//! `throw`, the text of a refusal, `args`, the input that runs, `output`, the result that the model reads, or `context`,
//! a text behind that or behind the prompt.

use lineside_core::json::Value;

use super::phrases::{TOOL_INPUT, TOOL_NAME};
#[cfg(feature = "hosts")]
use super::quirks::{Documents, Entries, Level, OurFile, Place, Quirks, Settings, Strictness, Turns};
use super::table::{
    Amend, BLOCK, BLOCK_A, BLOCK_AND_HOLD, Context, Field, How, Kind, Refusal, Row, Scope, When, Words, fact,
    field, hold, json, read, row,
};

/// The file in the folder of plugins.
pub(super) const PLUGIN: &str = include_str!("opencode/lineside.js");

/// How the lines of it begin that say where the daemon is.
const SOCKET: &str = "const SOCKET = ";
const STATE: &str = "const STATE = ";
/// The same of the one that says what starts it.
const START: &str = "const START = ";

/// A plugin with these places, and this command that starts a daemon, in the place of its own.
pub(super) fn with_places(plugin: &str, socket: &str, state: &str, start: &[String]) -> String {
    let values =
        [(SOCKET, Value::from(socket)), (STATE, Value::from(state)), (START, Value::from(start.to_vec()))];
    let line = |line: &str| {
        let value = values.iter().find(|(start, _)| line.starts_with(start));
        value.map_or_else(|| line.to_owned(), |(start, value)| format!("{start}{value}\n"))
    };
    plugin.split_inclusive('\n').map(line).collect()
}

/// The places of a plugin, as arguments, and the command by which it starts a daemon, which one of an earlier version has
/// not.
pub(super) fn written(plugin: &str) -> (Vec<String>, Vec<String>) {
    let value = |start: &str| -> Option<Value> {
        let value = plugin.lines().find_map(|line| line.strip_prefix(start))?;
        lineside_core::json::from_str(value).ok()
    };
    let text = |value: Value| value.as_str().map(str::to_owned);
    let words = value(START).and_then(|value| value.as_array()?.iter().cloned().map(text).collect());
    let words: Vec<String> = words.unwrap_or_default();
    // The others are those of the daemon, whether they are the account's own or not.
    let others =
        words.windows(2).filter(|pair| matches!(&*pair[0], "--home" | "--config")).flatten().cloned();
    let place = |option: &str, start: &str| Some([option.to_owned(), text(value(start)?)?]);
    let places = [place("--state", STATE), place("--socket", SOCKET)].into_iter().flatten().flatten();
    (others.chain(places).collect(), words)
}

const PROMPT: Field = read("prompt", &["prompt"], Kind::Text);
const CLASS: Field = field("tool_class", &["tool_class"]);
const CALL_ID: Field = field("tool_call_id", &["tool_call_id"]);
const AGENT_TYPE: Field = read("agent_type", &["agent_type"], Kind::Text);
const ENDED: Field = read("success", &[], Kind::True);
/// A text for the model, behind the prompt or the result.
const CONTEXT: Context = Context::Json(r#"{"context":"$X"}"#);
/// Nothing can be refused here; the later gates of the scope are closed.
const HOLDING: Words = Words { ask: BLOCK_A, stop: BLOCK, ..Words::FACT };

/// What is its own.
#[cfg(feature = "hosts")]
pub(super) const QUIRKS: Quirks = Quirks {
    documents: Documents::USUAL,
    turns: Turns::USUAL,
    // Its entry is a file of its own.
    entries: Entries { is_grouped: false, ..Entries::USUAL },
    settings: Settings {
        variables: &[],
        ours: &[OurFile {
            place: Place::Configuration("opencode/plugin/lineside.js"),
            is_ours: true,
            ..OurFile::imported(Level::User)
        }],
        switches: &[],
        strictness: Strictness::USUAL,
        plugin: Some(PLUGIN),
    },
};

/// The events.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("session.created", "before_subagent", &[AGENT_TYPE], Words {
        block: hold(How::Silent, Scope::Subagent), ask: BLOCK, stop: BLOCK,
        amend: &[("prompt", Amend::Refuse(Refusal::Input))], ..Words::FACT
    }).when(When::InSubagent),
    row("session.created", "before_session", &[read("source", &[], Kind::Fixed("startup"))], Words {
        block: hold(How::Silent, Scope::Session), ask: BLOCK, stop: BLOCK, ..Words::FACT
    }),
    row("chat.message", "before_prompt", &[PROMPT], Words {
        block: hold(How::Silent, Scope::Turn), context: CONTEXT, amend: &[("prompt", Amend::Refuse(Refusal::Prompt))],
        ..HOLDING
    }),
    row("tool.execute.before", "before_tool", &[TOOL_NAME, TOOL_INPUT, CALL_ID, CLASS], Words {
        block: json(r#"{"throw":"$R"}"#), stop: BLOCK_AND_HOLD, amend: &[("tool_input", Amend::Json(r#"{"args":"$V"}"#))],
        ..Words::GATE
    }),
    row("tool.execute.after", "after_tool", &[TOOL_NAME, TOOL_INPUT, CALL_ID, CLASS, field("tool_output", &["tool_output"])], Words {
        block: json(r#"{"output":"$R"}"#), stop: BLOCK_AND_HOLD, context: CONTEXT, amend: &[("tool_output", Amend::Text(r#"{"output":"$V"}"#))],
        ..Words::GATE
    }),
    fact("session.idle", "after_subagent", &[AGENT_TYPE]).when(When::InSubagent),
    fact("session.idle", "after_agent", &[ENDED]),
    fact("permission.asked", "x.opencode.on_permission_asked", &[]),
    fact("permission.updated", "x.opencode.on_permission_updated", &[]),
    fact("permission.replied", "x.opencode.on_permission_replied", &[]),
];
