//! How a hook ended to what it says (AH-46, AH-47, AH-53 to AH-59, AH-61, AH-64).

use std::borrow::Cow;

use lineside_core::answer::Beyond;
use lineside_core::invocation::{Captured, Ended, Exit};
use lineside_core::json::Value;
use lineside_core::{Amendment, Answer, AnyEvent, Append, Failure, KeepWorking, Notice, Verdict};

use super::fields::Mode;
use super::identity::Identity;
use super::output::{self, Decision, Reply, Stdout};
use super::triggers::{Ask, Kind};
use crate::ending;
use crate::handler::Returned;
use crate::raw_object::Unreadable;
use crate::text::truncated;

/// The longest reason and the longest notice, in characters (AH-47).
const LONGEST: usize = 10_000;

/// Reads an end.
pub(super) fn answer(hook: &Identity, event: &AnyEvent, ended: &Ended) -> Result<Answer, Failure> {
    match ending::status(ended)? {
        0 => {
            let mut answer = printed(hook, event, &ended.stdout)?;
            // The user reads what is on standard error (AH-53).
            let stderr = ended.stderr.trimmed_text();
            if !stderr.is_empty() && hook.mode == Mode::Sync {
                let text = format!("[Hook {}]: {}", hook.name, truncated(&stderr, LONGEST));
                answer.notices.push(Notice::info(text));
            }
            Ok(answer)
        }
        // Nothing can be blocked by a hook that is not waited for (AH-61).
        2 if hook.mode == Mode::Async => Ok(Answer::default()),
        // Standard error is the reason of a block (AH-47).
        2 => {
            let stderr = ended.stderr.trimmed_text();
            let reason = if stderr.is_empty() { "Blocked by hook (exit code 2)" } else { &stderr };
            Ok(block(hook, event, truncated(reason, LONGEST)))
        }
        code => Err(ending::bad_status(code, ended)),
    }
}

/// Whether all that a hook may have objected was heard. What a guard prints may be text, which is no objection; text
/// with an answer in it, or with an end that is not there, may be one.
///
/// # Errors
/// It was not.
pub(super) fn heard_whole(ended: &Ended) -> Result<(), Failure> {
    let is_lost = ended.exit == Exit::Code(0)
        && (ended.stdout.is_cut() && output::read(&ended.stdout) == Ok(Stdout::Plain)
            || output::is_buried(&ended.stdout));
    if !is_lost {
        return Ok(());
    }
    Err(Failure::from(if ended.stdout.is_cut() {
        Unreadable::cut(&ended.stdout)
    } else {
        Unreadable("text with an answer in it".to_owned())
    }))
}

/// What is printed at exit 0.
fn printed(hook: &Identity, event: &AnyEvent, stdout: &Captured) -> Result<Answer, Failure> {
    let reply = match output::read(stdout) {
        Ok(Stdout::Reply(reply)) => reply,
        Ok(Stdout::Nothing | Stdout::Plain) => Reply::default(),
        Err(error) => return Err(error.into()),
    };
    Ok(if hook.mode == Mode::Async { Answer::default() } else { said(hook, event, reply) })
}

/// Reads the end of a call in a worker. What it answers is what a process would have printed at exit 0.
pub(super) fn of_worker(hook: &Identity, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
    let text = returned.warm()?;
    printed(hook, event, &Captured { bytes: text.as_bytes().to_vec(), dropped: 0 })
}

/// What the object on standard output amounts to.
fn said(hook: &Identity, event: &AnyEvent, reply: Reply) -> Answer {
    let reason = |missing: &str| truncated(reply.reason.as_deref().unwrap_or(missing), LONGEST);
    let asks = || reason("Hook requested confirmation");
    let mut answer = match (reply.decision, hook.trigger.ask) {
        (Decision::None, _) => Answer::default(),
        (Decision::Deny, _) => block(hook, event, reason(&format!("Blocked by hook '{}'", hook.name))),
        // Where no user can be asked, `ask` is a block or has no effect (AH-59).
        (Decision::Ask, Ask::Asks) => Verdict::ask(asks()).into(),
        (Decision::Ask, Ask::Blocks) => block(hook, event, asks()),
        (Decision::Ask, Ask::Refused) => remark(format!("no user can be asked at {}", hook.trigger.page)),
    };
    if let Some(input) = reply.modified_input {
        // Only before a tool is there an input to change (AH-30, AH-50).
        if hook.trigger.kind == Kind::BeforeTool {
            answer.amendment = Amendment::default().with("tool_input", Value::Object(input));
        } else {
            let refused = format!("`modified_input` has no effect at {}", hook.trigger.page);
            answer.remarks.push(refused.into());
        }
    }
    if let Some(text) = reply.additional_context {
        // Where the context would not be read, it is dropped (AH-55).
        match no_context(hook.trigger.kind, event) {
            None => answer.context.push(Append::system(text)),
            Some(why) => answer.remarks.push(why.into()),
        }
    }
    answer
}

/// Why additional context is dropped, if it is (AH-55).
fn no_context(kind: Kind, event: &AnyEvent) -> Option<&'static str> {
    match (kind, event.payload().text("source")) {
        (Kind::SessionEnd, _) => Some("`additional_context` was dropped: the session has ended"),
        (Kind::SessionStart, Some("resume" | "fork")) => {
            Some("`additional_context` was dropped: the restored history has it already")
        }
        _ => None,
    }
}

/// A block, as it is put at this trigger.
pub(super) fn block(hook: &Identity, event: &AnyEvent, reason: String) -> Answer {
    let kind = hook.trigger.kind;
    // Such a stop cannot be kept from happening (AH-58).
    if kind == Kind::BeforeStop
        && let Some(stop @ ("tool_rejected" | "max_steps")) = event.payload().text("reason")
    {
        return remark(format!("a block has no effect on a stop for {stop}: {reason}"));
    }
    // A block keeps the agent working, three times in a row at most (AH-56, AH-57).
    let keep_working = kind.keeps_working().then(|| {
        Box::new(KeepWorking {
            append: Append::system(format!("[Hook blocked stop: {reason}]")),
            at_most: None,
            beyond: Beyond::Continue(Notice::warning(format!(
                "[Warning: {} hook blocked stop 4 times, exceeding limit. Allowing stop to proceed.]",
                hook.trigger.page
            ))),
        })
    });
    Answer { verdict: Verdict::block(reason), keep_working, ..Answer::default() }
}

fn remark(text: impl Into<Cow<'static, str>>) -> Answer {
    Answer { remarks: vec![text.into()], ..Answer::default() }
}

#[cfg(test)]
mod tests;
