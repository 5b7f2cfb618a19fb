//! A question as people and programs see it: bounded texts, made once.

use std::sync::Arc;

use lineside::bus::approver::Question;
use lineside::core::{Timestamp, tool_class};
use lineside::json::{Map, Value, from_str, json};

/// The longest payload, in bytes of its JSON; of a longer one the beginning is shown.
const PAYLOAD: usize = 16 << 10;
/// The longest reason of a hook, and the longest other text, in bytes.
const REASON: usize = 2 << 10;
const NAME: usize = 1 << 10;
/// How many of the hooks that ask are shown.
const HOOKS: usize = 8;

/// What is shown of a question.
#[derive(Debug, Clone)]
pub(crate) struct View {
    fields: Arc<Map>,
    /// The payload as JSON, as far as it is shown.
    payload: Arc<str>,
    call: Option<Arc<str>>,
    asked: i64,
}

impl View {
    /// That of a question about a call that is known by this. The process is that of its agent.
    pub(super) fn of(question: &Question, call: Option<Arc<str>>, process: Option<u32>) -> Self {
        let envelope = question.event.envelope();
        let source = &envelope.source;
        let payload = question.event.payload_text();
        let is_whole = payload.len() <= PAYLOAD;
        let hooks = question.asks.iter().take(HOOKS).map(|(hook, reason)| {
            let origin = hook.origin.as_ref().map(|origin| cut(&origin.to_string(), NAME).to_owned());
            json!({"hook": cut(&hook.name, NAME), "origin": origin, "reason": cut(reason.as_str(), REASON)})
        });
        let about = question.event.payload().value("tool_input").and_then(tool_class::about);
        let text = |text: Option<&str>| text.map(|text| cut(text, NAME).to_owned());
        let fields = json!({
            "event": envelope.id,
            "session": source.session,
            "root": source.root_session,
            "depth": source.depth,
            "agent": cut(&source.agent.id, NAME),
            "host": text(source.host.as_deref()),
            "project": text(source.project_root.as_deref()),
            "cwd": text(source.cwd.as_deref()),
            "point": question.event.point().name,
            "tool": text(question.event.payload().text("tool_name")),
            "about": text(about.as_deref()),
            "payload_sha256": question.event.digest(),
            "cut": !is_whole,
            "hooks": hooks.collect::<Vec<_>>(),
            "process": process,
        });
        let fields = match fields {
            Value::Object(fields) => Arc::new(fields),
            _ => Arc::default(),
        };
        Self { fields, payload: cut(payload, PAYLOAD).into(), call, asked: 0 }
    }

    /// The question has its id, and was asked then.
    pub(super) fn set(&mut self, (id, asked): (&str, i64)) {
        self.asked = asked;
        let fields = Arc::make_mut(&mut self.fields);
        fields.insert("id".to_owned(), json!(id));
        let asked = Timestamp::from_millisecond(asked).map(|asked| format!("{asked:.3}"));
        fields.insert("asked_at".to_owned(), json!(asked));
    }

    pub(super) fn call(&self) -> Option<Arc<str>> {
        self.call.clone()
    }

    pub(super) fn asked(&self) -> i64 {
        self.asked
    }

    /// All but the payload and the time that is left.
    pub(crate) fn fields(&self) -> &Map {
        &self.fields
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// It as a JSON object, with the time that is left.
    pub(crate) fn to_json(&self, left: std::time::Duration) -> Map {
        let mut fields = Map::clone(&self.fields);
        let payload = from_str::<Value>(&self.payload);
        fields.insert("payload".to_owned(), payload.unwrap_or_else(|_| json!(self.payload)));
        fields.insert("left_ms".to_owned(), json!(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)));
        fields
    }
}

/// The beginning of a text, of at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
