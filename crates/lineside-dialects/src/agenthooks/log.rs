//! The lines of the debug log (AH-67).

use std::time::Duration;

use lineside_core::invocation::{Captured, Ended, Exit};
use lineside_core::json::{Layout, Value};
use lineside_core::{Answer, Failure, OnFailure, Verdict};

use super::fields::Mode;
use super::handler::Hook;
use super::output::{self, Reply, Stdout};
use crate::handler::{Call, LogStage};
use crate::text::{first_characters, in_one_line, printed};

/// How much of a stream is logged, in characters.
const LONGEST: usize = 2000;

/// The lines for a moment, without their line feeds.
pub(super) fn lines(hook: &Hook, stage: &LogStage<'_>) -> Vec<String> {
    let mut lines = match stage {
        LogStage::Starting { call } => starting(hook, call),
        LogStage::Skipped { .. } => return Vec::new(),
        LogStage::Finished { returned, result, took, .. } => {
            finished(hook, returned.and_then(|returned| returned.command().ok()), result, *took)
        }
    };
    for line in &mut lines {
        *line = format!("[HOOK DEBUG] {}", in_one_line(line));
    }
    lines
}

fn mark(hook: &Hook) -> &'static str {
    match hook.identity.mode {
        Mode::Sync => "[SYNC]",
        Mode::Async => "[ASYNC]",
    }
}

fn starting(hook: &Hook, call: &Call) -> Vec<String> {
    let identity = &hook.identity;
    let started = format!(
        "{} Starting hook '{}' for event '{}'",
        mark(hook),
        identity.name,
        identity.trigger_as_written
    );
    let input = match call {
        Call::Command(invocation) => String::from_utf8_lossy(&invocation.stdin),
        Call::Warm(_, call) => call.event.as_str().into(),
        _ => return vec![started],
    };
    vec![started, format!("Input: {}", input.trim_end_matches('\n'))]
}

fn finished(
    hook: &Hook,
    ended: Option<&Ended>,
    result: &Result<Answer, Failure>,
    took: Duration,
) -> Vec<String> {
    let name = &hook.identity.name;
    let blocked = match result {
        _ if hook.identity.mode == Mode::Async => None,
        Ok(answer) => match &answer.verdict {
            Verdict::Block(reason) => Some(reason.to_string()),
            _ => None,
        },
        Err(failure) => match hook.on_failure {
            OnFailure::Block => OnFailure::Block.verdict(name, failure).reason().map(ToString::to_string),
            OnFailure::Continue => None,
        },
    };
    let mut lines = vec![format!(
        "{} Completed hook '{name}' in {}ms: blocked={}",
        mark(hook),
        took.as_millis(),
        if blocked.is_some() { "True" } else { "False" }
    )];
    let exited_well = ended.filter(|ended| ended.exit == Exit::Code(0));
    let printed = exited_well.and_then(|ended| output::read(&ended.stdout).ok());
    let reply = match &printed {
        Some(Stdout::Reply(reply)) => Some(reply),
        _ => None,
    };
    let reason = blocked.or_else(|| reply.and_then(|reply: &Reply| reply.reason.clone()));
    if hook.identity.mode == Mode::Sync {
        lines.extend(reason.map(|reason| format!("Reason: {reason}")));
    }
    lines.extend(reply.and_then(|reply| reply.log.as_ref()).map(|log| match log {
        Value::String(text) => format!("Log: {text}"),
        other => format!("Log: {}", other.to_text(Layout::Spaced)),
    }));
    if let Err(failure) = result {
        lines.push(format!("Hook '{name}' failed: {failure}"));
    }
    let Some(ended) = ended else { return lines };
    if result.is_err() || hook.identity.mode == Mode::Async || printed == Some(Stdout::Plain) {
        lines.extend(stream("stdout", &ended.stdout));
    }
    lines.extend(stream("stderr", &ended.stderr));
    lines
}

fn stream(name: &str, stream: &Captured) -> Option<String> {
    let text = printed(stream);
    (!text.is_empty()).then(|| format!("{name}: {}", first_characters(&text, LONGEST)))
}

#[cfg(test)]
mod tests;
