//! What a table of a host says: its events, the points they are published at, where each field of a payload stands in
//! the host's document, and the words for what may come of them.
//!
//! A template is a JSON object in which `"$R"` stands for the reason, `"$r"` for the reason where there is one,
//! `"$X"` for context, `"$V"` for an amended value, `"$N"` for notices and `"$E"` for the name of the event.

use lineside_core::PointInfo;
#[cfg(feature = "hosts")]
use lineside_core::json::Map;
use lineside_core::json::Value;
use lineside_points::custom;

/// One event of a host.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name, as the host spells it.
    pub(crate) event: &'static str,
    /// Which documents with this name are meant; the first row of an event that fits counts.
    pub(crate) when: When,
    /// The point.
    pub(crate) point: &'static str,
    /// Where the payload's fields stand.
    pub(crate) fields: &'static [Field],
    /// The words for what comes of it.
    pub(crate) words: Words,
    /// Whether an entry is written for it.
    pub(crate) standing: Standing,
}

/// Whether installing writes an entry for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Yes.
    Usual,
    /// Where it is named: it comes too often, repeats another one, or an entry alone changes what the host does.
    OnRequest,
}

/// Which documents a row is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When {
    /// All.
    Always,
    /// Those in which this field has one of these values.
    Is(&'static str, &'static [&'static str]),
    /// Those in which this field is there and not null.
    Has(&'static str),
    /// Those that come from inside a subagent.
    InSubagent,
    /// Those in which this text is empty or absent.
    Empty(&'static str),
    /// Those for which the host's own rule holds.
    Own(fn(&lineside_core::json::Map) -> bool),
}

impl When {
    /// Whether a document is meant.
    #[cfg(feature = "hosts")]
    pub(crate) fn is_meant(self, document: &Map) -> bool {
        let text = |field: &str| document.get(field).and_then(Value::as_str);
        match self {
            Self::Always => true,
            Self::Is(field, values) => text(field).is_some_and(|value| values.contains(&value)),
            Self::Has(path) => at(document, path).is_some(),
            Self::InSubagent => {
                ["agentId", "agent_id"].iter().any(|field| text(field).is_some_and(|id| !id.is_empty()))
            }
            Self::Empty(field) => text(field).is_none_or(str::is_empty),
            Self::Own(rule) => rule(document),
        }
    }
}

/// The value at a path whose parts are joined by `.`; null is as good as absent.
#[cfg(feature = "hosts")]
pub(crate) fn at<'a>(document: &'a Map, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let mut value = document.get(parts.next()?)?;
    for part in parts {
        value = value.get(part)?;
    }
    (!value.is_null()).then_some(value)
}

/// The reason of a verdict whose hook has given none (HO-19).
#[cfg(feature = "hosts")]
pub(crate) fn unreasoned(hook: &str) -> String {
    format!("blocked by {hook}")
}

/// One field of a payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// Its name in the payload.
    pub(crate) ours: &'static str,
    /// Where it stands in the document, the first that is there; parts of a path are joined by `.`.
    pub(crate) theirs: &'static [&'static str],
    /// How it is read.
    pub(crate) kind: Kind,
}

/// How a field is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// As it is.
    Same,
    /// A text; any other value stays where it is.
    Text,
    /// A number; any other value stays where it is.
    Number,
    /// A text that is not empty.
    Filled,
    /// The input of a tool: an object, a text that holds one, or anything else as its member `input`.
    Input,
    /// A JSON text becomes its value.
    Parsed,
    /// A text, or an object whose `message` counts.
    Error,
    /// `new` and absent are `startup`.
    Source,
    /// This text, wherever it comes from.
    Fixed(&'static str),
    /// Null.
    Null,
    /// True.
    True,
    /// These members, each from a field of the document.
    Members(&'static [(&'static str, &'static str)]),
    /// A list of objects, in which these members have another name: ours, and the host's.
    Items(&'static [(&'static str, &'static str)]),
    /// Whatever the host's own function makes of the document.
    Own(fn(&lineside_core::json::Map) -> Option<Value>),
    /// A text behind this prefix.
    Prefixed(&'static str),
    /// This text, where the document has this field with a true value.
    Flag(&'static str),
}

/// A field of the payload that stands under another name.
pub(crate) const fn field(ours: &'static str, theirs: &'static [&'static str]) -> Field {
    Field { ours, theirs, kind: Kind::Same }
}

/// A field of the payload that is read in its own way.
pub(crate) const fn read(ours: &'static str, theirs: &'static [&'static str], kind: Kind) -> Field {
    Field { ours, theirs, kind }
}

/// Objects, of whose members some get another name; `None` where the value is no list.
pub(crate) fn renamed(items: &Value, name: impl Fn(&str) -> Option<&'static str>) -> Option<Value> {
    let item = |item: &Value| {
        let Some(object) = item.as_object() else { return item.clone() };
        let members = object.iter().map(|(own, value)| (name(own).unwrap_or(own).to_owned(), value.clone()));
        Value::Object(members.collect())
    };
    Some(items.as_array()?.iter().map(item).collect())
}

/// The words for what may come of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) block: Say,
    pub(crate) ask: Say,
    pub(crate) allow: Say,
    pub(crate) stop: Say,
    pub(crate) context: Context,
    /// For each field of the payload that a hook may amend.
    pub(crate) amend: &'static [(&'static str, Amend)],
    /// Where notices stand; the log alone has them otherwise.
    pub(crate) notices: Option<&'static str>,
    /// What an answer without a word is.
    pub(crate) quiet: &'static str,
}

/// A word, and what else comes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Say {
    pub(crate) how: How,
    /// The later gates that are held.
    pub(crate) hold: Option<Scope>,
}

/// How a verdict is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Not at all.
    Silent,
    /// As this document.
    Json(&'static str),
    /// As this document, and beside it as a block.
    JsonAndBlock(&'static str),
    /// By exit code 2 and the reason on standard error.
    Exit2,
    /// As a block.
    Block,
    /// As a block with the text A.
    BlockA,
    /// The result keeps its shape, its text is the reason; beside it stands this document (CL-9).
    Fitted(&'static str),
    /// The reason is put in front of the context.
    Context,
    /// As this document, with a notice for the user that the error stands beside it.
    Beside(&'static str),
    /// As a notice.
    Notice,
}

/// The later gates that a block or stop holds (HO-29).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of the session, until a later start is not blocked.
    Session,
    /// Those of the turn, until the next prompt.
    Turn,
    /// Those of the subagent's session.
    Subagent,
    /// Those of the whole session, until the subagent has stopped: the host does not say who calls.
    SubagentAtLarge,
}

/// What becomes of context.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Context {
    /// It waits for an event that can carry it.
    Waits,
    /// It is printed, with every verdict but a stop.
    Json(&'static str),
    /// It is printed beside a block and waits otherwise.
    BesideBlock(&'static str),
    /// It is printed as plain text.
    Plain,
}

/// What becomes of an amended field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Amend {
    /// It is printed.
    Json(&'static str),
    /// It is printed as a text; non-strings as compact JSON.
    Text(&'static str),
    /// It is printed with an approval, and otherwise refused with this text.
    Approved(&'static str, Refusal),
    /// The event is blocked with this text.
    Refuse(Refusal),
    /// The event is blocked with the new value as the reason.
    Withhold,
    /// The result keeps its shape, its text is the new one (CL-9).
    Fitted(&'static str),
    /// It is printed unless a member of the original is gone, and otherwise refused (GE-6).
    Merged(&'static str),
    /// It is printed, with the word that asks unless it is approved (CP-8).
    Asking(&'static str, &'static str),
    /// It is the whole answer, as plain text; without one the event is refused with this text (CL-8).
    Line(&'static str),
    /// It is printed as what the host's own function makes of the payload before and after.
    Own(&'static str, fn(before: &lineside_core::json::Map, after: &lineside_core::json::Map) -> Value),
}

/// The fixed texts of a refusal (HO-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// B: the input must change.
    Input,
    /// C: the prompt must change.
    Prompt,
    /// D: the answer must be another one, unless the agent was kept working already.
    Output,
}

/// A word alone.
pub(crate) const fn say(how: How) -> Say {
    Say { how, hold: None }
}

/// A word as a document.
pub(crate) const fn json(template: &'static str) -> Say {
    say(How::Json(template))
}

/// A word that holds later gates as well.
pub(crate) const fn hold(how: How, scope: Scope) -> Say {
    Say { how, hold: Some(scope) }
}

pub(crate) const SILENT: Say = say(How::Silent);
pub(crate) const BLOCK: Say = say(How::Block);
pub(crate) const BLOCK_A: Say = say(How::BlockA);
/// As a block, and the turn is held.
pub(crate) const BLOCK_AND_HOLD: Say = hold(How::Block, Scope::Turn);

impl Words {
    /// Nothing can be said.
    pub(crate) const FACT: Self = Self {
        block: SILENT,
        ask: SILENT,
        allow: SILENT,
        stop: SILENT,
        context: Context::Waits,
        amend: &[],
        notices: None,
        quiet: "",
    };

    /// A gate with a word for a block alone.
    pub(crate) const GATE: Self = Self { ask: BLOCK_A, stop: BLOCK, ..Self::FACT };

    /// Whether a question reaches a person here, in whichever words.
    pub(crate) fn can_ask(&self) -> bool {
        !matches!(self.ask.how, How::Block | How::BlockA)
    }

    /// Whether anything comes of a question here.
    pub(crate) fn hears_asks(&self) -> bool {
        self.ask.how != How::Silent
    }

    /// Whether a gate can be closed with a word of its own.
    pub(crate) fn can_refuse(&self) -> bool {
        !matches!(self.block.how, How::Silent | How::Context | How::Notice | How::Beside(_))
    }
}

/// A row without words.
pub(crate) const fn fact(event: &'static str, point: &'static str, fields: &'static [Field]) -> Row {
    Row { event, when: When::Always, point, fields, words: Words::FACT, standing: Standing::Usual }
}

/// A row with words.
pub(crate) const fn row(
    event: &'static str,
    point: &'static str,
    fields: &'static [Field],
    words: Words,
) -> Row {
    Row { event, when: When::Always, point, fields, words, standing: Standing::Usual }
}

impl Row {
    /// The same for these documents alone.
    pub(crate) const fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// The same, without an entry unless it is named.
    pub(crate) const fn on_request(self) -> Self {
        Self { standing: Standing::OnRequest, ..self }
    }
}

/// The point of a row. One that the catalogue does not have is declared.
pub(crate) fn point(row: &Row) -> Option<&'static PointInfo> {
    let amendable: Vec<&str> = row.words.amend.iter().map(|(field, _)| *field).collect();
    point_named(row.point, &amendable)
}

/// The point of that name. One that the catalogue does not have is declared.
pub(crate) fn point_named(name: &str, amendable: &[&str]) -> Option<&'static PointInfo> {
    if name.starts_with("x.")
        && let Ok(declared) = custom::declare(name, amendable)
    {
        return Some(declared);
    }
    lineside_points::find(name).ok()
}
