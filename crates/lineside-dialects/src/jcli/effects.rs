//! How a run ended to what the hook says (JC-28, JC-32 to JC-40, JC-45).

use lineside_core::answer::Beyond;
use lineside_core::invocation::Ended;
use lineside_core::json::Value;
use lineside_core::{Amendment, Answer, Append, Failure, FailureKind, KeepWorking, Notice, Role, Verdict};

use super::events::{Event, Feedback, SKIPPED};
use super::output::{self, Action, ReadOutputError, Reply};
use crate::ending;

/// Reads the end of a command.
pub(super) fn of_command(event: &Event, ended: &Ended) -> Result<Answer, Failure> {
    match ending::status(ended)? {
        // JC-15: what stdout holds is no failure.
        0 if event.notice_only => Ok(Answer::default()),
        0 => output::read(&ended.stdout, event).map_err(unreadable).map(|reply| said(event, reply)),
        code => Err(ending::bad_status(code, ended)),
    }
}

/// What was printed or answered cannot be read.
#[allow(clippy::needless_pass_by_value, reason = "it is the end of the error")]
pub(super) fn unreadable(error: ReadOutputError) -> Failure {
    Failure::new(FailureKind::Output, format!("unreadable output: {error}"))
}

/// What an object amounts to at an event.
///
/// Feedback without a halt is no verdict yet, for the chain goes on: it stands in `own`, for the chain to be made one
/// of.
pub(super) fn said(event: &Event, reply: Reply) -> Answer {
    let mut answer = Answer::default();
    let mut refused: Vec<String> = Vec::new();
    for (field, value) in reply.amends {
        match event.amends.iter().find(|(own, _)| *own == field) {
            Some((_, target)) => answer.amendment = answer.amendment.with(target, value),
            None => refused.push(format!("`{field}`")),
        }
    }
    // JC-38: before `additional_context`.
    match reply.inject {
        Some(messages) if event.inject => answer.context.extend(messages),
        Some(_) => refused.push("`inject_messages`".to_owned()),
        None => {}
    }
    // JC-37
    match reply.context {
        Some(text) if event.context => answer.context.push(Append::system(text)),
        Some(_) => refused.push("`additional_context`".to_owned()),
        None => {}
    }
    // JC-40
    answer.notices.extend(reply.notice.map(Notice::info));
    let feedback = match reply.feedback {
        Some(text) if event.feedback != Feedback::Refused => Some(text),
        Some(_) => {
            refused.push("`retry_feedback`".to_owned());
            None
        }
        None => None,
    };
    let halt = match reply.action {
        Some(action) if action.is_listed(event) => Some(action),
        Some(action) => {
            refused.push(format!("`action: {}`", action.name()));
            None
        }
        None => None,
    };
    // JC-32
    let remark = |what: String| format!("{what} has no effect at {}", event.name).into();
    answer.remarks.extend(refused.into_iter().map(remark));
    match (halt, feedback) {
        (None, None) => {}
        (None, Some(text)) => {
            appended(event, &text, &mut answer);
            answer.own = Some(Box::new(Value::String(text)));
        }
        // JC-35: feedback outranks a stop of the same hook.
        (Some(_), Some(text)) => {
            appended(event, &text, &mut answer);
            answer.verdict = Verdict::block(text);
        }
        (Some(Action::Stop), None) => answer.verdict = Verdict::stop(event.stop.unwrap_or_default()),
        (Some(Action::Skip), None) => {
            // JC-19, JC-34: what is skipped is not changed either.
            answer.amendment = Amendment::default();
            answer.verdict = Verdict::block(SKIPPED);
        }
    }
    answer
}

/// Has feedback appended to the context, as often as JC-36 allows.
fn appended(event: &Event, feedback: &str, answer: &mut Answer) {
    let append = Append::new(Role::User, feedback);
    let beyond = match event.feedback {
        Feedback::Refused => return,
        Feedback::Unlimited => return answer.context.push(append),
        Feedback::Overridden => Beyond::Continue(Notice::warning(format!(
            "[Warning: {} hook gave feedback 4 times, exceeding limit. Allowing {} to proceed.]",
            event.name, event.name
        ))),
        Feedback::Stops => Beyond::Stop,
    };
    answer.keep_working = Some(Box::new(KeepWorking { append, beyond, at_most: None }));
}

/// What ends the chain because of a failure (JC-21).
pub(super) fn refusal(event: &Event, name: &str, failure: &Failure) -> Answer {
    if event.stop.is_some() {
        Verdict::stop(format!("hook \"{name}\" failed: {failure}")).into()
    } else {
        Answer { ends_chain: true, ..Answer::default() }
    }
}

#[cfg(test)]
mod tests;
