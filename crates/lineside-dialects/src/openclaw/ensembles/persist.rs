//! Before a result is kept: the message that goes from one handler to the next (OC-44, OC-53).

use std::sync::Arc;

use lineside_core::ensemble::Sees;
use lineside_core::envelope::EventId;
use lineside_core::json::{Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, AnyEvent, Ensemble};

use super::super::derived::text;
use super::super::event;
use super::member::Given;
use super::recent::Recent;
use crate::payload_field::payload_field;

/// So many results may be under way at once.
const MOST_UNDER_WAY: usize = 256;

/// The messages under way, as the handlers so far have left them.
#[derive(Debug)]
pub(in super::super) struct Messages(Recent<EventId, Value>);

impl Messages {
    /// The message that the next handler is given.
    pub(in super::super) fn next(&self, event: &AnyEvent) -> Value {
        self.0.get(&event.envelope().id).unwrap_or_else(|| first(event))
    }

    /// The message as a handler has left it.
    pub(in super::super) fn leave(&self, event: &AnyEvent, message: Value) {
        self.0.with(event.envelope().id, || Value::Null, |kept| *kept = message);
    }
}

/// The message that an event is about.
fn first(event: &AnyEvent) -> Value {
    let field = |name| payload_field(event, name);
    let mut message = json!({
        "role": "toolResult",
        "toolCallId": field("tool_call_id").cloned().unwrap_or_else(|| "".into()),
        "toolName": field("tool_name"),
        "content": [{ "type": "text", "text": output(event) }],
        "isError": field("error").is_some(),
        "timestamp": event::time(event),
    });
    if let (Some(display), Value::Object(fields)) = (field("display_output"), &mut message) {
        fields.insert("details".to_owned(), json!({ "displayOutput": display }));
    }
    message
}

/// The tool's output as text.
fn output(event: &AnyEvent) -> String {
    match event.payload().value("tool_output") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// The handlers of `tool_result_persist`.
#[derive(Debug)]
pub(super) struct Persist {
    messages: Arc<Messages>,
}

impl Default for Persist {
    fn default() -> Self {
        Self { messages: Arc::new(Messages(Recent::new(MOST_UNDER_WAY))) }
    }
}

impl Persist {
    pub(super) fn messages(&self) -> Arc<Messages> {
        Arc::clone(&self.messages)
    }
}

impl Ensemble for Persist {
    /// The message is handed on beside the payload, which cannot hold all of it.
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn judges_again(&self) -> bool {
        false
    }

    fn finalize(&self, event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        self.messages.0.take(&event.envelope().id);
        let mut given = match Given::read(given) {
            Ok(given) => given,
            Err(blocked) => return blocked,
        };
        let members = std::mem::take(&mut given.members);
        let last =
            members.iter().rev().find_map(|(place, member)| Some((*place, member.fields.get("message")?)));
        let Some((place, message)) = last else {
            return given.answers;
        };
        let Some(answer) = given.at(place) else {
            return given.answers;
        };
        let said = message.get("content").map(text).unwrap_or_default();
        if said != output(event) {
            let amendment = std::mem::take(&mut answer.amendment);
            answer.amendment = amendment.with("tool_output", said.into());
        }
        let display = message.get("details").and_then(|details| details.get("displayOutput"));
        if let Some(display) = display.filter(|display| !display.is_null())
            && event.payload_json().get("display_output") != Some(display)
        {
            let amendment = std::mem::take(&mut answer.amendment);
            answer.amendment = amendment.with("display_output", display.clone());
        }
        given.answers
    }
}

#[cfg(test)]
mod tests;
