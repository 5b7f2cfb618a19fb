//! The lines of the debug log (CH-63): one for each attempt, one for each event that a hook does not run for.

use std::time::Duration;

use lineside_core::invocation::{Captured, Exit};
use lineside_core::json::json;
use lineside_core::{Answer, Failure, FailureKind};

use super::handler::Hook;
use crate::handler::{Call, LogStage, Returned};

/// The lines for a moment, without their line feeds.
pub(super) fn lines(hook: &Hook, stage: &LogStage<'_>) -> Vec<String> {
    match stage {
        LogStage::Starting { .. } => Vec::new(),
        LogStage::Skipped { why } => vec![format!("{} reason={}", start(hook, "skipped"), why.as_str())],
        LogStage::Finished { call, returned, result, took } => {
            vec![finished(hook, *call, *returned, result, *took)]
        }
    }
}

fn start(hook: &Hook, status: &str) -> String {
    format!("hook execution status={status} point={} hook={}", hook.point.name, json!(&*hook.name))
}

fn finished(
    hook: &Hook,
    call: Option<&Call>,
    returned: Option<&Returned>,
    result: &Result<Answer, Failure>,
    took: Duration,
) -> String {
    let status = match result {
        Ok(_) => "executed",
        Err(failure) if failure.kind == FailureKind::Timeout => "timed_out",
        Err(_) => "failed",
    };
    let mut line = start(hook, status);
    let mut put = |text: String| {
        line.push(' ');
        line.push_str(&text);
    };
    let ended = returned.and_then(|returned| returned.command().ok());
    match ended.map(|ended| &ended.exit) {
        Some(Exit::Code(code)) => put(format!("exit={code}")),
        Some(Exit::Signal(signal)) => put(format!("signal={signal}")),
        Some(Exit::TimedOut { .. } | Exit::NotStarted { .. } | Exit::Lost) | None => {}
    }
    put(format!("duration_ms={}", took.as_millis()));
    if let Err(failure) = result {
        put(format!("detail={}", json!(failure.detail)));
    }
    if let Some(Call::Command(invocation)) = call {
        put(format!("input={}", json!(String::from_utf8_lossy(&invocation.stdin))));
    }
    if let Some(ended) = ended {
        put(stream("output", &ended.stdout));
        put(stream("stderr", &ended.stderr));
    }
    line
}

/// A stream, with a note if it was cut (CH-35).
fn stream(name: &str, stream: &Captured) -> String {
    let text = format!("{name}={}", json!(String::from_utf8_lossy(&stream.bytes)));
    if stream.is_cut() { format!("{text} {name}_dropped_bytes={}", stream.dropped) } else { text }
}

#[cfg(test)]
mod tests;
