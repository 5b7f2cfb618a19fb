//! The second argument of a handler: where it happened (OC-37). The worker adds what JSON cannot carry.

use lineside_core::AnyEvent;
use lineside_core::json::{Map, Value};

use super::catalogue::Kind;
use super::derived::{child_key, model, run_id, session_key, trace};
use super::event::extra;
use super::fields::Fields;
use crate::payload_field::payload_field;

/// What the worker adds, and the host cannot give (OC-37, OC-39).
const OF_WORKER: [&str; 5] = ["abortSignal", "getSessionExtension", "hookInvocation", "config", "getCron"];

/// The context of a handler of this hook.
pub(super) fn of(kind: Kind, event: &AnyEvent) -> Map {
    let own = match kind {
        Kind::BeforeAgentStart
        | Kind::BeforePromptBuild
        | Kind::BeforeAgentFinalize
        | Kind::AgentEnd
        | Kind::LlmInput
        | Kind::LlmOutput
        | Kind::BeforeCompaction
        | Kind::AfterCompaction
        | Kind::OwnGate
        | Kind::OwnFact => agent(event),
        Kind::BeforeToolCall | Kind::AfterToolCall => tool(event),
        Kind::ToolResultPersist => persist(event),
        Kind::SessionStart | Kind::SessionEnd => session(event),
        Kind::SubagentSpawned | Kind::SubagentEnded => subagent(event),
        Kind::MessageSending | Kind::MessageReceived | Kind::MessageSent => message(event),
        Kind::GatewayStart | Kind::GatewayStop => gateway(event),
        // Its handlers have one argument.
        Kind::PackEvent | Kind::Bootstrap => return Map::new(),
    };
    let given: Vec<_> = extra(event, "ctx")
        .filter(|(name, value)| !value.is_null() && !own.has(name) && !OF_WORKER.contains(&name.as_str()))
        .collect();
    given.into_iter().fold(own, |own, (name, value)| own.put(name, value.clone())).into_map()
}

fn value(event: &AnyEvent, name: &str) -> Option<Value> {
    event.payload_json().get(name).filter(|value| !value.is_null()).cloned()
}

fn id_of_agent(event: &AnyEvent) -> &str {
    &event.envelope().source.agent.id
}

fn agent(event: &AnyEvent) -> Fields {
    let envelope = event.envelope();
    let source = &envelope.source;
    let model = source.model.as_ref().and_then(|_| model(event));
    Fields::default()
        .may("runId", run_id(envelope))
        .may("trace", trace(envelope))
        .put("agentId", id_of_agent(event))
        .put("sessionKey", session_key(envelope))
        .put("sessionId", source.session.as_str())
        .may("workspaceDir", source.project_root.as_deref())
        .may("modelProviderId", model.as_ref().map(|model| model.provider.clone()))
        .may("modelId", model.map(|model| model.id))
}

fn tool(event: &AnyEvent) -> Fields {
    let envelope = event.envelope();
    Fields::default()
        .put("agentId", id_of_agent(event))
        .put("sessionKey", session_key(envelope))
        .put("sessionId", envelope.source.session.as_str())
        .may("runId", run_id(envelope))
        .may("trace", trace(envelope))
        .may("toolName", value(event, "tool_name"))
        .may("toolCallId", value(event, "tool_call_id"))
}

fn persist(event: &AnyEvent) -> Fields {
    Fields::default()
        .put("agentId", id_of_agent(event))
        .put("sessionKey", session_key(event.envelope()))
        .may("toolName", value(event, "tool_name"))
        .may("toolCallId", payload_field(event, "tool_call_id").cloned())
}

fn session(event: &AnyEvent) -> Fields {
    Fields::default()
        .put("agentId", id_of_agent(event))
        .put("sessionId", event.envelope().source.session.as_str())
        .put("sessionKey", session_key(event.envelope()))
}

fn subagent(event: &AnyEvent) -> Fields {
    Fields::default()
        .may("runId", value(event, "child_session"))
        .may("childSessionKey", child_key(event))
        .put("requesterSessionKey", session_key(event.envelope()))
}

fn message(event: &AnyEvent) -> Fields {
    let envelope = event.envelope();
    let trace = trace(envelope);
    let part = |name: &str| trace.as_ref().and_then(|trace| trace.get(name)).cloned();
    let (trace_id, span_id) = (part("traceId"), part("spanId"));
    Fields::default()
        .put("channelId", value(event, "channel").unwrap_or_else(|| "unknown".into()))
        .put("sessionKey", session_key(envelope))
        .may("runId", run_id(envelope))
        .may("trace", trace)
        .may("traceId", trace_id)
        .may("spanId", span_id)
}

fn gateway(event: &AnyEvent) -> Fields {
    Fields::default()
        .may("port", value(event, "port"))
        .may("workspaceDir", event.envelope().source.project_root.as_deref())
}

#[cfg(test)]
mod tests;
