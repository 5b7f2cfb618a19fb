//! What came of a run to what it decides (FL-17, FL-19 to FL-28, FL-30, FL-31, FL-34).

use lineside_core::json::Value;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, FailureKind, Notice, OnFailure, Verdict};

use super::catalogue::Authority;
use super::handler::Identity;
use super::output::{Doubt, Output};
use crate::ending::cannot_start;
use crate::text::{first_bytes, with_text_of_stderr};

/// How much of standard error is a reason, in bytes (FL-21).
const REASON: usize = 8192;
/// The longest text that joins a summary, in bytes (FL-28).
const SUMMARY: usize = 65_536;
/// Begins what a hook adds to the summary of a compaction (FL-28).
const SUMMARY_TAG: &str = "[hook: post_compact]";
/// Ends an addition that was cut (FL-28).
const SUMMARY_CUT: &str = "... (truncated)";

/// What the JSON output asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Allow,
    Ask,
    Block,
    Stop,
    /// Something that the type does not know, so that the output cannot be read.
    Unknown,
}

/// Reads what came of a run.
pub(super) fn read(hook: &Identity, event: &AnyEvent, output: Output) -> Result<Answer, Failure> {
    let asked = asked(hook, &output);
    let failure = failure(hook, asked, &output);
    let mut answer = match hook.authority() {
        Authority::Nothing => Answer::default(),
        Authority::Summary => summary(event, &output),
        Authority::Stop => stop(asked, &output).into(),
        Authority::Block | Authority::Tool | Authority::Permission => {
            judged(hook, asked, &output, failure.as_ref()).into()
        }
    };
    notify_the_user(hook, &mut answer);
    answer.remarks = output.remarks;
    match failure {
        None => Ok(answer),
        Some(failure) => Err(taken_as(failure, answer)),
    }
}

/// What a failure that is known without a run amounts to.
pub(super) fn without_run(hook: &Identity, failure: Failure) -> Failure {
    let verdict = if hook.authority() == Authority::Stop {
        stop(Asked::Nothing, &Output { failure: Some(cannot_start("")), ..Output::default() })
    } else {
        hook.on_failure.verdict(&hook.name, &failure)
    };
    let mut answer = Answer::from(verdict);
    notify_the_user(hook, &mut answer);
    taken_as(failure, answer)
}

/// Makes the reason for which a round is refused a message for the user too (FL-26).
fn notify_the_user(hook: &Identity, answer: &mut Answer) {
    if let (Authority::Block, "pre_sampling", Verdict::Block(reason)) =
        (hook.authority(), hook.hook_type.name(), &answer.verdict)
    {
        answer.notices.push(Notice::warning(reason.as_str()));
    }
}

fn taken_as(failure: Failure, answer: Answer) -> Failure {
    let taken_as = (answer != Answer::default()).then(|| Box::new(answer));
    Failure { taken_as, ..failure }
}

/// What the JSON output asks for (FL-19).
fn asked(hook: &Identity, output: &Output) -> Asked {
    let authority = hook.authority();
    // What is not waited for is not read (FL-32), and in a summary JSON is text (FL-28).
    if hook.background || authority == Authority::Summary {
        return Asked::Nothing;
    }
    let has = |words: &[&str]| match &output.doubt {
        Some(Doubt::Twice { decisions }) => decisions.iter().any(|word| words.contains(&word.as_str())),
        Some(Doubt::Cut(_) | Doubt::Buried) | None => false,
    };
    match authority {
        // Nothing is read of what decides nothing.
        Authority::Nothing => return Asked::Nothing,
        // The strictest of the readings counts.
        Authority::Stop if has(&["stop"]) => return Asked::Stop,
        _ if authority.blocks() && has(&["block", "deny"]) => return Asked::Block,
        _ if is_doubted(hook, output) => return Asked::Unknown,
        _ => {}
    }
    let word = match output.json.as_ref().and_then(|json| json.get("decision")) {
        None | Some(Value::Null) => return Asked::Nothing,
        Some(Value::String(word)) => word.as_str(),
        Some(_) => return Asked::Unknown,
    };
    match (word, authority) {
        ("", _) => Asked::Nothing,
        ("block" | "deny", authority) if authority.blocks() => Asked::Block,
        ("ask", Authority::Tool | Authority::Permission) => Asked::Ask,
        ("allow", Authority::Permission) => Asked::Allow,
        ("allow", authority) if authority != Authority::Nothing => Asked::Nothing,
        ("stop", Authority::Stop) => Asked::Stop,
        _ => Asked::Unknown,
    }
}

/// Whether nothing may be made of the output. What was cut is plain text (FL-16), and so is text with an answer in it
/// (FL-18), but a guard has not said then what it had to say.
fn is_doubted(hook: &Identity, output: &Output) -> bool {
    match output.doubt {
        Some(Doubt::Twice { .. }) => true,
        Some(Doubt::Cut(_) | Doubt::Buried) => hook.on_failure == OnFailure::Block,
        None => false,
    }
}

/// Why a run did not end well, if it did not (FL-17, FL-25, FL-34).
fn failure(hook: &Identity, asked: Asked, output: &Output) -> Option<Failure> {
    if output.failure.is_some() {
        return output.failure.clone();
    }
    let (status, authority) = (output.status, hook.authority());
    if status != 0 && authority != Authority::Stop && !(status == 2 && authority.blocks()) {
        return Some(failed(FailureKind::Exit, &format!("exit status {status}"), &output.stderr));
    }
    let unknown = || output.json.as_ref().and_then(|json| json.get("decision")).cloned().unwrap_or_default();
    let what = match &output.doubt {
        _ if asked != Asked::Unknown => return None,
        Some(Doubt::Cut(kept)) => format!("longer than {kept} bytes"),
        Some(Doubt::Buried) => "text with an answer in it".to_owned(),
        Some(Doubt::Twice { .. }) => "a key occurs twice".to_owned(),
        None => format!("unknown `decision` {}", unknown()),
    };
    Some(failed(FailureKind::Output, &format!("unreadable output: {what}"), &output.stderr))
}

/// With the words of standard error, which a record of a failure has (FL-30).
fn failed(kind: FailureKind, detail: &str, stderr: &str) -> Failure {
    Failure::new(kind, with_text_of_stderr(detail, stderr))
}

/// What a hook with the authority to block says.
fn judged(hook: &Identity, asked: Asked, output: &Output, failure: Option<&Failure>) -> Verdict {
    // A block counts from any run that ended by itself (FL-20).
    if output.failure.is_none() && (output.status == 2 || asked == Asked::Block) {
        return Verdict::block(reason(output, "blocked by hook"));
    }
    if let Some(failure) = failure {
        // A guard refuses what it fails at (FL-31).
        return hook.on_failure.verdict(&hook.name, failure);
    }
    match asked {
        Asked::Allow => Verdict::allow(),
        // There a reason is for a refusal only (FL-24).
        Asked::Ask if hook.authority() == Authority::Permission => Verdict::ask(""),
        Asked::Ask => Verdict::ask(output.reason().unwrap_or_default().to_owned()),
        Asked::Nothing | Asked::Block | Asked::Stop | Asked::Unknown => Verdict::Continue,
    }
}

/// The verdict at `stop`, where a run that does not end well means stop (FL-25).
fn stop(asked: Asked, output: &Output) -> Verdict {
    match &output.failure {
        None if output.status == 0 && asked != Asked::Stop => Verdict::Continue,
        Some(failure) if failure.kind == FailureKind::Output => Verdict::Continue,
        _ => Verdict::stop(reason(output, "stopped by hook")),
    }
}

/// The reason of a block: that of the output, else this (FL-21).
fn reason(output: &Output, otherwise: &str) -> String {
    let stderr = first_bytes(&output.stderr, REASON);
    match output.reason() {
        Some(reason) => reason.to_owned(),
        None if stderr.is_empty() => otherwise.to_owned(),
        None => stderr.to_owned(),
    }
}

/// What the output adds to the summary of a compaction (FL-28).
fn summary(event: &AnyEvent, output: &Output) -> Answer {
    if output.failure.is_some() || output.status != 0 || output.text.is_empty() {
        return Answer::default();
    }
    let mut summary = event.payload().text("summary").unwrap_or_default().to_owned();
    // One empty line, wherever what precedes it ends.
    summary.push_str(match summary.as_str() {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    });
    let kept = first_bytes(&output.text, SUMMARY);
    summary.push_str(SUMMARY_TAG);
    summary.push('\n');
    summary.push_str(kept);
    if kept.len() < output.text.len() {
        summary.push('\n');
        summary.push_str(SUMMARY_CUT);
    }
    Answer { amendment: Amendment::default().with("summary", summary.into()), ..Answer::default() }
}

#[cfg(test)]
mod tests;
