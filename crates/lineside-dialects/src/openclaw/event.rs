//! The first argument of a handler: what happened, in upstream's words (OC-38, OC-39).

use lineside_core::AnyEvent;
use lineside_core::json::{Map, Value, json};

use super::catalogue::Kind;
use super::derived::{self, child_key, run_id, session_key, text};
use super::fields::Fields;
use super::pack_events;
use crate::payload_field::payload_field;

/// Constants of OC-38 that a host who knows better may replace (OC-39).
const REPLACEABLE: [(Kind, &str); 3] = [
    (Kind::AfterCompaction, "compactedCount"),
    (Kind::LlmInput, "imagesCount"),
    (Kind::MessageSent, "success"),
];
/// What `session_end` may say (OC-38).
const END_REASONS: [&str; 8] =
    ["new", "reset", "idle", "daily", "compaction", "deleted", "shutdown", "restart"];

/// The event as a handler of this hook sees it. That of `tool_result_persist` has no message yet.
pub(super) fn of(kind: Kind, event: &AnyEvent) -> Map {
    if let Kind::PackEvent | Kind::Bootstrap = kind {
        return pack_events::of(event).into_map();
    }
    let own = View { event, payload: event.payload_json() }.fields(kind);
    let mut fields = own.into_map();
    for (name, value) in extra(event, "event") {
        let replaceable = REPLACEABLE.contains(&(kind, name.as_str()));
        if !value.is_null() && (replaceable || !fields.contains_key(name)) {
            fields.insert(name.clone(), value.clone());
        }
    }
    fields
}

/// What the host has put beside the event for us (OC-39).
pub(super) fn extra<'a>(event: &'a AnyEvent, part: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let ours = event.envelope().extra.as_ref().and_then(|extra| extra.get("openclaw"));
    ours.and_then(|ours| ours.get(part)).and_then(Value::as_object).into_iter().flatten()
}

/// Milliseconds since 1970.
pub(super) fn time(event: &AnyEvent) -> i64 {
    event.envelope().time.as_millisecond()
}

/// A number, or how many tokens went in.
pub(super) fn tokens(usage: &Value) -> Option<Value> {
    let number = if usage.is_number() { Some(usage) } else { usage.get("input_tokens") };
    number.filter(|number| number.is_number()).cloned()
}

/// An event and its payload.
struct View<'a> {
    event: &'a AnyEvent,
    payload: &'a Map,
}

impl View<'_> {
    /// A value of the payload that is there.
    fn get(&self, name: &str) -> Option<Value> {
        self.payload.get(name).filter(|value| !value.is_null()).cloned()
    }

    /// The same of a value that the catalogue does not have at every point of the hook.
    fn get_beyond(&self, name: &str) -> Option<Value> {
        payload_field(self.event, name).cloned()
    }

    fn or(&self, name: &str, otherwise: impl Into<Value>) -> Value {
        self.get(name).unwrap_or_else(|| otherwise.into())
    }

    fn session(&self) -> String {
        self.event.envelope().source.session.to_string()
    }

    fn session_key(&self) -> String {
        session_key(self.event.envelope())
    }

    fn run_id(&self) -> Option<String> {
        run_id(self.event.envelope())
    }

    fn run_or_session(&self) -> String {
        self.run_id().unwrap_or_else(|| self.session())
    }

    /// A text as it is, anything else as JSON.
    fn error(&self) -> Option<String> {
        Some(match self.get("error")? {
            Value::String(error) => error,
            other => other.to_string(),
        })
    }

    fn count(&self, list: &str) -> usize {
        self.payload.get(list).and_then(Value::as_array).map_or(0, Vec::len)
    }

    fn tokens(&self, usage: &str) -> Option<Value> {
        tokens(&self.get(usage)?)
    }

    fn fields(&self, kind: Kind) -> Fields {
        let fields = Fields::default();
        match kind {
            Kind::BeforeAgentStart => {
                fields.put("prompt", self.or("prompt", "")).may("messages", self.get("messages"))
            }
            Kind::BeforePromptBuild => {
                fields.put("prompt", self.or("prompt", "")).put("messages", self.or("messages", json!([])))
            }
            Kind::BeforeToolCall => {
                let paths = self.get("paths").filter(|paths| *paths != json!([]));
                self.call(fields).may("derivedPaths", paths)
            }
            Kind::AfterToolCall => self
                .call(fields)
                .may("result", self.get("tool_output"))
                .may("error", self.error())
                .may("durationMs", self.get_beyond("duration_ms")),
            Kind::ToolResultPersist => fields
                .may("toolName", self.get("tool_name"))
                .may("toolCallId", self.get_beyond("tool_call_id"))
                .put("isSynthetic", false),
            Kind::BeforeAgentFinalize => self.finalize(fields),
            Kind::MessageSending => fields.put("to", self.or("to", "")).may("content", self.get("content")),
            Kind::SessionStart => {
                let envelope = self.event.envelope();
                let from = match self.event.payload().text("source") {
                    Some("resume") => Some(self.session()),
                    Some("fork") => envelope.source.parent_session.as_ref().map(ToString::to_string),
                    _ => None,
                };
                self.of_session(fields).may("resumedFrom", from)
            }
            Kind::SessionEnd => {
                let stats = self.payload.get("stats");
                let stat =
                    |name| stats.and_then(|stats| stats.get(name)).filter(|stat| !stat.is_null()).cloned();
                self.of_session(fields)
                    .put("messageCount", stat("message_count").unwrap_or(0.into()))
                    .may("durationMs", stat("duration_ms"))
                    .put("reason", self.end_reason())
            }
            Kind::AgentEnd => fields
                .may("runId", self.run_id())
                .put("messages", self.or("messages", json!([])))
                .may("success", self.get("success"))
                .may("error", self.get("error"))
                .may("durationMs", self.get("duration_ms")),
            Kind::LlmInput => self
                .model(fields)
                .may("systemPrompt", self.get("system_prompt"))
                .put("historyMessages", self.or("messages", json!([])))
                .put("prompt", self.last_prompt())
                .put("imagesCount", 0)
                .may("tools", self.get("tools")),
            Kind::LlmOutput => self.llm_output(fields),
            Kind::SubagentSpawned => {
                let agent = &self.event.envelope().source.agent.id;
                fields
                    .may("childSessionKey", child_key(self.event))
                    .put("agentId", self.or("agent_type", &**agent))
                    .may("label", self.get("task"))
                    .put("mode", "run")
                    .put("threadRequested", false)
                    .may("runId", self.get("child_session"))
            }
            Kind::SubagentEnded => {
                let error = self.error();
                let (reason, outcome) = match error {
                    Some(_) => ("subagent-error", "error"),
                    None => ("subagent-complete", "ok"),
                };
                fields
                    .may("targetSessionKey", child_key(self.event))
                    .put("targetKind", "subagent")
                    .put("reason", reason)
                    .put("outcome", outcome)
                    .may("error", error)
                    .may("runId", self.get("child_session"))
                    .put("endedAt", time(self.event))
            }
            Kind::BeforeCompaction => fields
                .put("messageCount", self.count("messages"))
                .may("messages", self.get("messages"))
                .may("tokenCount", self.tokens("usage")),
            Kind::AfterCompaction => fields
                .put("messageCount", self.count("messages"))
                .may("tokenCount", self.tokens("usage_after"))
                .put("compactedCount", 0),
            Kind::MessageReceived => self.of_message(
                fields
                    .put("from", self.or("from", ""))
                    .may("content", self.get("content"))
                    .put("timestamp", time(self.event)),
            ),
            Kind::MessageSent => self.of_message(
                fields.put("to", self.or("to", "")).may("content", self.get("content")).put("success", true),
            ),
            Kind::GatewayStart => fields.put("port", self.or("port", 0)),
            Kind::GatewayStop => fields.may("reason", self.get("reason")),
            // Its payload is in OpenClaw's own words, and so are those of hook packs.
            Kind::OwnGate | Kind::OwnFact | Kind::PackEvent | Kind::Bootstrap => {
                self.payload.iter().fold(fields, |fields, (name, value)| fields.put(name, value.clone()))
            }
        }
    }

    /// What both hooks of a tool call tell.
    fn call(&self, fields: Fields) -> Fields {
        let params = self.get("tool_input").filter(Value::is_object);
        fields
            .may("toolName", self.get("tool_name"))
            .put("params", params.unwrap_or_else(|| json!({})))
            .may("runId", self.run_id())
            .may("toolCallId", self.get("tool_call_id"))
    }

    fn of_session(&self, fields: Fields) -> Fields {
        fields.put("sessionId", self.session()).put("sessionKey", self.session_key())
    }

    fn of_message(&self, fields: Fields) -> Fields {
        fields.put("sessionKey", self.session_key()).may("runId", self.run_id())
    }

    fn finalize(&self, fields: Fields) -> Fields {
        let envelope = self.event.envelope();
        let model = derived::model(self.event);
        let fields = fields
            .may("runId", self.run_id())
            .put("sessionId", self.session())
            .put("sessionKey", self.session_key())
            .may("turnId", envelope.turn.map(|turn| turn.to_string()))
            .may("provider", model.as_ref().map(|model| model.provider.clone()))
            .may("model", model.map(|model| model.id));
        fields
            .may("cwd", envelope.source.cwd.as_deref())
            .put("stopHookActive", self.or("stop_active", false))
            .may("lastAssistantMessage", self.get("output").map(|output| text(&output)))
    }

    fn end_reason(&self) -> &str {
        match self.event.payload().text("reason") {
            Some("clear") => "reset",
            Some("exit" | "quit" | "logout") => "shutdown",
            Some(reason) => END_REASONS.into_iter().find(|known| *known == reason).unwrap_or("unknown"),
            None => "unknown",
        }
    }

    /// What both hooks of a model call tell.
    fn model(&self, fields: Fields) -> Fields {
        let model = derived::model(self.event);
        fields
            .put("runId", self.run_or_session())
            .put("sessionId", self.session())
            .may("provider", model.as_ref().map(|model| model.provider.clone()))
            .may("model", model.map(|model| model.id))
    }

    fn last_prompt(&self) -> String {
        let messages = self.payload.get("messages").and_then(Value::as_array);
        let mut of_user = messages
            .into_iter()
            .flatten()
            .rev()
            .filter(|message| message.get("role").is_some_and(|role| role == "user"));
        of_user.next().map(text).unwrap_or_default()
    }

    fn llm_output(&self, fields: Fields) -> Fields {
        let output = self.get("output");
        let said = output.as_ref().map(text).filter(|text| !text.is_empty());
        let usage = self.get("usage").map(|usage| {
            let tokens = |name: &str| usage.get(name).and_then(Value::as_u64);
            let (input, output) = (tokens("input_tokens"), tokens("output_tokens"));
            let total = match (input, output) {
                (None, None) => None,
                _ => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
            };
            Fields::default().may("input", input).may("output", output).may("total", total).into_map()
        });
        let answer = output.map(|output| json!({ "role": "assistant", "content": output }));
        self.model(fields)
            .may("resolvedRef", derived::model(self.event).and_then(|model| model.whole))
            .put("assistantTexts", Vec::from_iter(said))
            .may("lastAssistant", answer)
            .may("usage", usage)
    }
}

#[cfg(test)]
mod tests;
