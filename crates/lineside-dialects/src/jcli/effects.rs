//! How a run ended to what the hook says (JC-28, JC-32 to JC-40, JC-45).

use lineside_core::answer::Beyond;
use lineside_core::invocation::Ended;
use lineside_core::json::Value;
use lineside_core::{Amendment, Answer, Append, Failure, KeepWorking, Notice, Role, Verdict};

use super::events::{Event, Feedback, SKIPPED};
use super::output::{self, Action, Reply};
use crate::ending;

/// Reads the end of a command.
pub(super) fn of_command(event: &Event, ended: &Ended) -> Result<Answer, Failure> {
    match ending::status(ended)? {
        // What stdout holds is no failure (JC-15).
        0 if event.notice_only => Ok(Answer::default()),
        0 => Ok(said(event, output::read(&ended.stdout, event)?)),
        code => Err(ending::bad_status(code, ended)),
    }
}

/// What an object amounts to at an event.
///
/// Feedback without a halt is no verdict yet, for the chain goes on: it stands in `own`, for the chain to be made one
/// of.
pub(super) fn said(event: &Event, reply: Reply) -> Answer {
    let mut answer = Answer::default();
    let mut refused = Vec::new();
    // What the event does not list has no effect, which the record says (JC-32).
    let mut takes = |takes: bool, what: &str| {
        if !takes {
            refused.push(format!("{what} has no effect at {}", event.name).into());
        }
        takes
    };
    for (field, value) in reply.amends {
        let target = event.amends.iter().find(|(own, _)| *own == field);
        if takes(target.is_some(), &format!("`{field}`"))
            && let Some((_, target)) = target
        {
            answer.amendment = answer.amendment.with(target, value);
        }
    }
    // Injected messages stand before `additional_context`, which the model reads as the system's (JC-37, JC-38).
    let inject = reply.inject.filter(|_| takes(event.inject, "`inject_messages`"));
    let context = reply.context.filter(|_| takes(event.context, "`additional_context`"));
    answer.context.extend(inject.into_iter().flatten().chain(context.map(Append::system)));
    // The user reads `system_message` (JC-40).
    answer.notices.extend(reply.notice.map(Notice::info));
    let feedback = reply.feedback.filter(|_| takes(event.feedback != Feedback::Refused, "`retry_feedback`"));
    let halt = reply.action;
    let halt = halt.filter(|action| takes(action.is_listed(event), &format!("`action: {}`", action.name())));
    answer.remarks = refused;
    match (halt, feedback) {
        (None, None) => {}
        (None, Some(text)) => {
            appended(event, &text, &mut answer);
            answer.own = Some(Box::new(Value::String(text)));
        }
        // Feedback outranks a stop of the same hook (JC-35).
        (Some(_), Some(text)) => {
            appended(event, &text, &mut answer);
            answer.verdict = Verdict::block(text);
        }
        (Some(Action::Stop), None) => answer.verdict = Verdict::stop(event.stop.unwrap_or_default()),
        (Some(Action::Skip), None) => {
            // What is skipped is not changed either (JC-19, JC-34).
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
