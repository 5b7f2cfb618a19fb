//! One handler at work: how it is called for an event, and what its answer or its failure amounts to.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::json::{Map, Value, json};
use lineside_core::worker::{CallClass, HandlerKey, Repeat, WorkerCall, WorkerEnded};
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Layer, Notice, Verdict};
use lineside_redact::redact;

use super::catalogue::{Kind, Row};
use super::ensembles::{self, Member, Messages};
use super::{answer_keys, context, event, failure, pack_events};
use crate::handler::{Call, Handler, LogStage, Returned};

/// Under which name the worker puts what was logged beside an answer.
const LOG: &str = "$log";

/// Under which name the worker puts the keys of an answer that it has passed over (OC-46).
const UNKNOWN: &str = "$unknown";

/// A function that a plugin has registered.
#[derive(Debug)]
pub(super) struct PluginHandler {
    /// The hook that it is registered for.
    pub(super) row: &'static Row,
    /// Its name.
    pub(super) name: Arc<str>,
    pub(super) key: HandlerKey,
    pub(super) layer: Layer,
    /// The time of one call (OC-57).
    pub(super) timeout: Duration,
    /// Whether its failure blocks (OC-56).
    pub(super) closes: bool,
    /// Whether its failure is reported to the user, who has asked for it (OC-56).
    pub(super) tells_failures: bool,
    /// What the handlers before it made of a message, for `tool_result_persist`.
    pub(super) messages: Option<Arc<Messages>>,
}

impl PluginHandler {
    fn plugin(&self) -> &str {
        &self.key.plugin
    }

    /// What the handler returned, and what its plugin logged meanwhile.
    fn returned(&self, event: &AnyEvent, value: Option<&Value>) -> Answer {
        let (Some(Value::Object(fields)), false) = (value, self.row.class == CallClass::Void) else {
            return Answer::default();
        };
        if !fields.contains_key(LOG) && !fields.contains_key(UNKNOWN) {
            return self.answered(event, fields);
        }
        let mut fields = fields.clone();
        let (log, unknown) = (fields.remove(LOG), fields.remove(UNKNOWN));
        let mut answer = if fields.is_empty() { Answer::default() } else { self.answered(event, &fields) };
        if let Some(log) = log {
            answer.extra.insert(format!("openclaw.log.{}", self.name), without_secrets(&log));
        }
        let unknown = unknown.as_ref().and_then(Value::as_array).into_iter().flatten();
        answer.remarks.extend(answer_keys::of(self.row.name).remarks_on(unknown.filter_map(Value::as_str)));
        answer
    }

    fn answered(&self, event: &AnyEvent, fields: &Map) -> Answer {
        if let Kind::PackEvent | Kind::Bootstrap = self.row.kind {
            return pack_events::answer(event, fields);
        }
        let member = Member {
            kind: self.row.kind,
            plugin: self.plugin().to_owned(),
            handler: self.name.to_string(),
            layer: self.layer,
            fields: fields.clone(),
        };
        if let Some(messages) = &self.messages
            && let Some(message) = fields.get("message")
        {
            messages.leave(event, message.clone());
        }
        let verdict = match self.row.kind {
            Kind::OwnGate => ensembles::own_verdict(self.row.name, &member),
            kind => block(kind, fields).map_or(Verdict::Continue, Verdict::block),
        };
        let mut answer = Answer { verdict, ..Answer::default() };
        if self.row.kind == Kind::OwnGate && answer.verdict.strength().is_final() {
            answer.extra.insert(ensembles::RESULT.to_owned(), fields.clone().into());
        }
        answer.own = Some(Box::new(member.into_json(self.row.name)));
        answer
    }

    fn failed(&self, kind: FailureKind, message: &str, started: bool) -> Failure {
        let message = failure::one_line(message);
        let refusal = self.closes.then(|| failure::refusal(self.row, self.plugin(), &message).into());
        let failure = if started { Failure::new(kind, message) } else { Failure::not_started(kind, message) };
        Failure { refusal, ..failure }
    }

    /// OC-56: what a handler that guards something cannot be shown does not pass.
    fn must_see(&self) -> bool {
        matches!(self.row.kind, Kind::BeforeToolCall | Kind::MessageSending)
    }
}

/// Lines of a log as they may be kept.
fn without_secrets(log: &Value) -> Value {
    let of = |line: &Value| {
        let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
        json!({ "level": text("level"), "text": redact(text("text")) })
    };
    Value::Array(log.as_array().into_iter().flatten().map(of).collect())
}

/// Why an answer blocks, if it does (OC-49, OC-51).
fn block(kind: Kind, fields: &Map) -> Option<String> {
    let (flag, reason, otherwise) = match kind {
        Kind::BeforeToolCall => ("block", "blockReason", "Tool call blocked by plugin hook"),
        Kind::MessageSending => ("cancel", "cancelReason", "cancelled_by_message_sending_hook"),
        _ => return None,
    };
    if fields.get(flag) != Some(&Value::Bool(true)) {
        return None;
    }
    let reason = fields.get(reason).and_then(Value::as_str).filter(|reason| !reason.trim().is_empty());
    Some(reason.unwrap_or(otherwise).to_owned())
}

impl Handler for PluginHandler {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        let kind = self.row.kind;
        let mut first = event::of(kind, event);
        if let Some(messages) = &self.messages {
            first.insert("message".to_owned(), messages.next(event));
        }
        Ok(Call::Worker(Box::new(WorkerCall {
            handler: self.key.clone(),
            class: self.row.class,
            event: first.into(),
            ctx: context::of(kind, event).into(),
            timeout: self.timeout,
            // OC-67
            repeat: match kind {
                Kind::GatewayStart => Repeat::AfterRestart,
                Kind::GatewayStop => Repeat::Ends,
                _ => Repeat::No,
            },
        })))
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        match returned {
            Returned::Worker(WorkerEnded::Returned(value)) => Ok(self.returned(event, value.as_ref())),
            Returned::Worker(WorkerEnded::Failed { kind, message, started }) => {
                Err(self.failed(*kind, message, *started))
            }
            Returned::Worker(WorkerEnded::TooLarge) => {
                Err(self.failed(FailureKind::Output, &failure::too_large(&self.name), false))
            }
            // OC-43
            Returned::Worker(WorkerEnded::Dropped) => {
                Err(self.failed(FailureKind::Closed, "queue full; dropping hook", false))
            }
            Returned::Command(_)
            | Returned::Post(_)
            | Returned::Worker(WorkerEnded::Answered(_))
            | Returned::Nothing => Err(self.failed(FailureKind::Spawn, "there is no worker", false)),
        }
    }

    /// What a handler that failed refuses, if it may refuse (OC-56).
    fn refuse(&self, _event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        if self.must_see() && failure.detail == failure::too_large(&self.name) {
            return Some(Verdict::block(failure.detail.clone()).into());
        }
        if self.closes {
            let message = failure::one_line(&failure.detail);
            return Some(Verdict::block(failure::refusal(self.row, self.plugin(), &message)).into());
        }
        self.tells_failures.then(|| {
            let text = failure::line(self.row, self.plugin(), &failure::one_line(&failure.detail));
            Answer { notices: vec![Notice::warning(text)], ..Answer::default() }
        })
    }

    /// The line of the log for a handler that failed (OC-55, OC-58).
    fn log(&self, stage: &LogStage<'_>) -> Vec<String> {
        match stage {
            // The worker has told it.
            LogStage::Finished { returned: Some(Returned::Worker(WorkerEnded::Dropped)), .. } => Vec::new(),
            LogStage::Finished { result: Err(failure), .. } => {
                let message = failure::one_line(&failure.detail);
                vec![format!("[hooks] {}", failure::line(self.row, self.plugin(), &message))]
            }
            LogStage::Starting { .. } | LogStage::Skipped { .. } | LogStage::Finished { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
