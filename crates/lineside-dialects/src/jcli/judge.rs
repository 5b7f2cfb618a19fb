//! The judge that `llm` hooks ask: a request and how its answer is read (JC-41 to JC-44).

use std::time::Duration;

use lineside_core::exchange::{Addresses, Post, Posted};
use lineside_core::failure::seconds;
use lineside_core::invocation::Captured;
use lineside_core::json::{Value, json};
use lineside_core::secret::Secret;
use lineside_core::{Answer, Failure, FailureKind};
use lineside_redact::redact_head;

use super::effects;
use super::events::Event;
use super::output;
use crate::dialect::Places;
use crate::raw_object::{ReadObjectError, Unreadable};

const SYSTEM: &str = "You are a hook. Answer with one JSON object and nothing else.";

/// Stands behind the rendered prompt.
const QUESTION: &str = r#"Answer with one JSON object holding only the fields you want to set; {} means no objection:
"user_input", "assistant_output", "system_prompt", "tool_arguments" (a JSON text), "tool_result", "tool_error": string, replaces the value
"messages": list of {"role", "content"}, replaces the messages
"inject_messages": list of {"role", "content"}, appended to the messages
"action": "stop" ends the current step and its pipeline, "skip" skips this tool call
"retry_feedback": string, ends the step and has the model try again with this text
"additional_context": string, added to the context
"system_message": string, shown to the user"#;

/// The longest answer, in bytes.
const LONGEST: usize = 10_485_760;
/// How much of an answer that is none a failure tells, in bytes.
const TOLD: usize = 200;

/// Why an `llm` hook cannot run.
pub(super) const NONE: &str = "no judge endpoint is configured";

/// An endpoint that speaks the chat completions protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judge {
    url: String,
    /// Absent when only hooks that name their own can ask.
    model: Option<String>,
    key: Option<Secret>,
}

impl Judge {
    /// The judge that the environment names, if it does (JC-41).
    pub(super) fn of(places: &Places) -> Option<Self> {
        let given = |name| places.variable(name).map(str::trim).filter(|text| !text.is_empty());
        let base = given("LINESIDE_JUDGE_URL")?;
        Some(Self {
            url: format!("{}/chat/completions", base.trim_end_matches('/')),
            model: given("LINESIDE_JUDGE_MODEL").map(str::to_owned),
            key: given("LINESIDE_JUDGE_KEY").map(|key| key.to_owned().into()),
        })
    }

    /// Whether it can be asked by a hook with this model.
    pub(super) fn answers(&self, model: Option<&str>) -> bool {
        model.or(self.model.as_deref()).is_some()
    }

    /// The request to the judge (JC-43).
    pub(super) fn request(&self, model: Option<&str>, prompt: &str, timeout: Duration) -> Post {
        let model = model.or(self.model.as_deref()).unwrap_or_default();
        let line_end = if prompt.ends_with('\n') { "" } else { "\n" };
        let body = json!({
            "model": model,
            "temperature": 0,
            "max_tokens": 2048,
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": format!("{prompt}{line_end}\n{QUESTION}")},
            ],
        });
        let authorization =
            self.key.as_ref().map(|key| ("Authorization".to_owned(), format!("Bearer {}", key.reveal())));
        Post {
            url: self.url.clone(),
            // Only the user and the embedding program set its environment.
            addresses: Addresses::Any,
            headers: authorization.into_iter().collect(),
            body: body.to_string().into_bytes(),
            timeout,
            body_bytes: LONGEST,
        }
    }
}

/// Reads an answer (JC-44).
pub(super) fn read(event: &Event, posted: &Posted) -> Result<Answer, Failure> {
    let failed = |text: String| Err(Failure::new(FailureKind::Exit, format!("judge: {text}")));
    match posted {
        Posted::Answered { status: 200..=299, .. } if event.notice_only => Ok(Answer::default()),
        Posted::Answered { status: 200..=299, body, .. } => Ok(effects::said(event, answered(event, body)?)),
        Posted::Answered { status, body, .. } => {
            let body = crate::text::in_one_line(&body.trimmed_text());
            let body = redact_head(&body, TOLD);
            failed(if body.is_empty() {
                format!("status {status}")
            } else {
                format!("status {status}: {body}")
            })
        }
        Posted::Redirected { status, to: None } => failed(format!("status {status}")),
        Posted::Redirected { status, to: Some(to) } => {
            failed(format!("status {status}, which points to {to}"))
        }
        Posted::TimedOut { after } => {
            Err(Failure::new(FailureKind::Timeout, format!("timed out after {} s", seconds(*after))))
        }
        Posted::Unreachable { why } => failed(why.clone()),
    }
}

fn answered(event: &Event, body: &Captured) -> Result<output::Reply, Unreadable> {
    if body.is_cut() {
        return Err(Unreadable::cut(body));
    }
    let body: Value = lineside_core::json::from_slice(&body.bytes)
        .map_err(|error| ReadObjectError::Broken(error.to_string()))?;
    let content = body.pointer("/choices/0/message/content").and_then(Value::as_str);
    let content =
        content.ok_or_else(|| Unreadable::of_type("choices[0].message.content", "a string"))?.trim();
    if content.is_empty() || content == "{}" {
        return Ok(output::Reply::default());
    }
    let object = content.find('{').zip(content.rfind('}')).and_then(|(from, to)| content.get(from..=to));
    output::read_object(object.unwrap_or(content), event)
}

#[cfg(test)]
mod tests;
