//! The events of hook packs: which there are, at which point each happens, and what a handler of it is given.
//!
//! A handler waits for one event (`command:new`) or for a family of them (`command`). Where the catalogue of points has
//! the moment the event happens there. One that it has not, or not in full, has a point of its own.

use std::collections::HashMap;
use std::sync::LazyLock;

use lineside_core::hook::{Select, Selected};
use lineside_core::json::{Map, Value, json};
use lineside_core::worker::CallClass;
use lineside_core::{Answer, AnyEvent, Append, Notice, Point, PointInfo, SkipReason};
use lineside_points::{
    AfterCompact, AfterSession, BeforeCompact, BeforeSession, OnInterrupt, OnMessageReceived, OnMessageSent,
    OnServiceStart, OnServiceStop,
};

use super::catalogue::{Kind, Row, declared, is_own};
use super::derived::session_key;
use super::event::{extra, time, tokens};
use super::fields::Fields;

/// An event, and where it happens.
struct Event {
    key: &'static str,
    /// The point of the catalogue.
    point: Option<&'static PointInfo>,
    /// Whether it has a point of its own.
    has_own: bool,
}

const fn same(key: &'static str, point: &'static PointInfo) -> Event {
    Event { key, point: Some(point), has_own: false }
}

const fn near(key: &'static str, point: &'static PointInfo) -> Event {
    Event { key, point: Some(point), has_own: true }
}

const fn alone(key: &'static str) -> Event {
    Event { key, point: None, has_own: true }
}

/// The events of OpenClaw 2026.9.6.
static EVENTS: [Event; 15] = [
    near("command:new", AfterSession::INFO),
    near("command:reset", AfterSession::INFO),
    near("command:stop", OnInterrupt::INFO),
    near("session:auto-reset", AfterSession::INFO),
    same("session:compact:before", BeforeCompact::INFO),
    same("session:compact:after", AfterCompact::INFO),
    alone("session:patch"),
    near(BOOTSTRAP, BeforeSession::INFO),
    same("gateway:startup", OnServiceStart::INFO),
    same("gateway:shutdown", OnServiceStop::INFO),
    alone("gateway:pre-restart"),
    same("message:received", OnMessageReceived::INFO),
    alone("message:transcribed"),
    alone("message:preprocessed"),
    same("message:sent", OnMessageSent::INFO),
];
const FAMILIES: [&str; 5] = ["command", "session", "agent", "gateway", "message"];

/// The event whose handlers may add files to the context.
const BOOTSTRAP: &str = "agent:bootstrap";
/// What they add them to.
const FILES: &str = "bootstrapFiles";
/// Events whose handlers may answer the user.
const ANSWERED: [&str; 4] =
    ["command:new", "command:reset", "session:compact:before", "session:compact:after"];

/// The rows of the catalogue: the families, and each event.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    let families = FAMILIES.into_iter().map(|family| {
        let mut points: Vec<&'static PointInfo> = Vec::new();
        for point in EVENTS.iter().filter(|event| is_of(event.key, family)).flat_map(Event::points) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        row(family, points)
    });
    families.chain(EVENTS.iter().map(|event| row(event.key, event.points())))
}

fn row(name: &'static str, points: Vec<&'static PointInfo>) -> Row {
    let is_awaited = name == BOOTSTRAP || is_of(BOOTSTRAP, name);
    let (kind, milliseconds) =
        if is_awaited { (Kind::Bootstrap, 15_000) } else { (Kind::PackEvent, 600_000) };
    Row::of_packs(kind, name, points, CallClass::Modifying, milliseconds)
}

impl Event {
    /// Its points, its own first.
    fn points(&self) -> Vec<&'static PointInfo> {
        let own = match self.key {
            _ if !self.has_own => Vec::new(),
            BOOTSTRAP => declared("before", BOOTSTRAP, &[FILES]),
            key => declared("on", key, &[]),
        };
        own.into_iter().chain(self.point).collect()
    }
}

fn is_of(key: &str, family: &str) -> bool {
    key.split_once(':').is_some_and(|(of, _)| of == family)
}

/// Whether it is a family of events, which is no event itself.
pub(super) fn is_family(name: &str) -> bool {
    FAMILIES.contains(&name)
}

/// Which event of hook packs an event is.
fn key_of(event: &AnyEvent) -> Option<&'static str> {
    let point = event.point();
    if point == AfterSession::INFO {
        return match event.payload().text("reason") {
            Some("new") => Some("command:new"),
            Some("clear" | "reset") => Some("command:reset"),
            Some("daily" | "idle") => Some("session:auto-reset"),
            _ => None,
        };
    }
    KEYS.get(point.name).copied()
}

/// The event of each point; of several the first.
static KEYS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut keys = HashMap::new();
    for event in &EVENTS {
        for point in event.points() {
            keys.entry(point.name).or_insert(event.key);
        }
    }
    keys
});

/// What a handler waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subscription(pub(super) &'static str);

impl Select for Subscription {
    fn select(&self, event: &AnyEvent) -> Selected {
        match key_of(event) {
            Some(key) if key == self.0 || is_of(key, self.0) => Selected::Runs,
            _ => Selected::Skipped(SkipReason::Filter),
        }
    }

    fn describe(&self) -> String {
        format!("event={}", self.0)
    }
}

/// What a handler is called with; the worker adds what JSON cannot carry.
pub(super) fn of(event: &AnyEvent) -> Fields {
    let key = key_of(event).unwrap_or_default();
    let (family, action) = key.split_once(':').unwrap_or((key, ""));
    let mut context =
        if is_own(event.point()) { event.payload_json().clone() } else { context(key, event).into_map() };
    for (name, value) in extra(event, "event").filter(|(_, value)| !value.is_null()) {
        context.get_or_insert_with(name, || value.clone());
    }
    let session = if family == "gateway" { key.to_owned() } else { session_key(event.envelope()) };
    Fields::default()
        .put("type", family)
        .put("action", action)
        .put("sessionKey", session)
        .put("timestamp", time(event))
        .put("context", context)
}

/// The context of an event at a point of the catalogue.
fn context(key: &str, event: &AnyEvent) -> Fields {
    let (envelope, payload) = (event.envelope(), event.payload_json());
    let get = |name: &str| payload.get(name).filter(|value| !value.is_null()).cloned();
    let text = |name: &str| get(name).unwrap_or_else(|| "".into());
    let session = || json!({ "sessionId": envelope.source.session.as_str() });
    let count = |name: &str| get(name).and_then(|list| list.as_array().map(Vec::len)).unwrap_or_default();
    let fields = Fields::default();
    let workspace = |fields: Fields| {
        fields
            .put("agentId", &*envelope.source.agent.id)
            .may("workspaceDir", envelope.source.project_root.as_deref())
    };
    match key {
        "command:new" | "command:reset" => {
            workspace(fields).put("sessionEntry", session()).put("previousSessionEntry", session())
        }
        "command:stop" => {
            fields.put("sessionEntry", session()).put("sessionId", envelope.source.session.as_str())
        }
        "session:auto-reset" => workspace(fields).put("sessionEntry", session()).may("reason", get("reason")),
        "session:compact:before" | "session:compact:after" => {
            let usage = if key.ends_with("before") { "usage" } else { "usage_after" };
            let fields = fields
                .put("sessionId", envelope.source.session.as_str())
                .put("missingSessionKey", false)
                .put("messageCount", count("messages"))
                .may("tokenCount", get(usage).and_then(|usage| tokens(&usage)));
            if key.ends_with("before") {
                fields.put("messageCountOriginal", count("messages"))
            } else {
                fields.put("compactedCount", 0)
            }
        }
        BOOTSTRAP => workspace(fields)
            .put(FILES, json!([]))
            .put("sessionKey", session_key(envelope))
            .put("sessionId", envelope.source.session.as_str()),
        "gateway:startup" => fields.may("workspaceDir", envelope.source.project_root.as_deref()),
        "gateway:shutdown" => fields.may("reason", get("reason")).put("restartExpectedMs", Value::Null),
        "message:received" => fields
            .put("from", text("from"))
            .put("content", text("content"))
            .put("timestamp", time(event))
            .put("channelId", get("channel").unwrap_or_else(|| "unknown".into()))
            .put("metadata", json!({})),
        "message:sent" => fields
            .put("to", text("to"))
            .put("content", text("content"))
            .put("success", true)
            .put("channelId", get("channel").unwrap_or_else(|| "unknown".into())),
        _ => fields,
    }
}

/// What a handler left in its event: messages for the user, files for the context.
pub(super) fn answer(event: &AnyEvent, left: &Map) -> Answer {
    let mut answer = Answer::default();
    let key = key_of(event).unwrap_or_default();
    if ANSWERED.contains(&key) {
        let messages = left.get("messages").and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<&str> = messages.filter_map(Value::as_str).collect();
        if !texts.is_empty() {
            answer.notices.push(Notice::info(texts.join("\n\n")));
        }
    }
    let files = left.get(FILES).filter(|_| key == BOOTSTRAP);
    match files {
        Some(files) if is_own(event.point()) => {
            let before = event.payload().value(FILES);
            if before != Some(files) {
                answer.amendment = std::mem::take(&mut answer.amendment).with(FILES, files.clone());
            }
        }
        files => {
            answer.context =
                files.and_then(Value::as_array).into_iter().flatten().filter_map(appended).collect();
        }
    }
    answer
}

/// A file as a message for the context; none when nothing is in it.
fn appended(file: &Value) -> Option<Append> {
    let text = |name: &str| file.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let content = text("content")?;
    let title = text("path").or_else(|| text("name"));
    Some(Append::system(title.map_or_else(|| content.to_owned(), |title| format!("## {title}\n\n{content}"))))
}

#[cfg(test)]
mod tests;
