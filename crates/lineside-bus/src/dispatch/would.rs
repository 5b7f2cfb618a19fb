//! What counts of an answer whose event is decided: what a hook in shadow would have come to, and that a hook without
//! authority refuses nothing.

use std::sync::Arc;

use lineside_core::hook::Hook;
use lineside_core::outcome::FromHook;
use lineside_core::receipt::Given;
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Outcome, Part, Response, Verdict};

use crate::dispatch::side_effects::extend;

/// What would have become of a hook in shadow, had it not been in shadow and had no other hook run.
pub(crate) struct Would {
    pub(crate) outcome: Outcome,
    pub(crate) given: Option<Box<Given>>,
    pub(crate) earlier: Vec<Failure>,
}

impl Would {
    /// Of the answer of the hook at a place, for the event as it was shown.
    pub(crate) fn of(
        hook: &Arc<Hook>,
        place: u32,
        event: &AnyEvent,
        result: Result<Response, Failure>,
    ) -> Self {
        let answered = |said: Response| match said {
            Response::Verdict(verdict) => Ok((verdict.with_readable_reason(&hook.name), None, Vec::new())),
            Response::Answer(answer) => given(hook, place, event, *answer),
        };
        let mut failure = match result.and_then(answered) {
            Ok((verdict, given, earlier)) => {
                let outcome = Outcome::Answered(if has_say(hook) { verdict } else { Verdict::Continue });
                return Self { outcome, given, earlier };
            }
            Err(failure) => failure,
        };
        let earlier = std::mem::take(&mut failure.earlier);
        if !has_say(hook) {
            return Self { outcome: failed(failure), given: None, earlier };
        }
        let taken_as = failure.taken_as.take().and_then(|answer| given(hook, place, event, *answer).ok());
        let (verdict, given) = match taken_as {
            Some((verdict, given, _)) => (verdict, given),
            None => (hook.taken_for(&failure), None),
        };
        Self { outcome: Outcome::Failed { failure: Box::new(failure), verdict }, given, earlier }
    }
}

fn has_say(hook: &Hook) -> bool {
    !matches!(hook.part, Part::Detached | Part::PostDecision)
}

type Told = (Verdict, Option<Box<Given>>, Vec<Failure>);

/// What an answer would have given. One whose amendment would have been refused is a failure.
fn given(hook: &Hook, place: u32, event: &AnyEvent, answer: Answer) -> Result<Told, Failure> {
    let Answer { verdict, amendment, context, notices, remarks, extra, earlier, keep_working, .. } = answer;
    let mut given = Given { extra, ..Given::default() };
    if has_say(hook) && !amendment.is_empty() && !verdict.strength().is_final() {
        may_amend(hook)?;
        let amended = amendment.apply(event.payload()).map_err(|error| refused(&error.to_string()))?;
        extend(&mut given.changes, place, amended.map(|amended| amended.changes).unwrap_or_default());
    }
    extend(&mut given.context, place, context);
    given.context.extend(keep_working.map(|given| FromHook { hook: place, what: given.append }));
    extend(&mut given.notices, place, notices);
    extend(&mut given.remarks, place, remarks);
    let has_some = !given.changes.is_empty()
        || !given.context.is_empty()
        || !given.notices.is_empty()
        || !given.remarks.is_empty();
    Ok((verdict.with_readable_reason(&hook.name), has_some.then(|| Box::new(given)), earlier))
}

/// A detached hook has no authority, so its failure refuses nothing.
pub(crate) fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { failure: Box::new(failure), verdict: Verdict::Continue }
}

/// Whether an amendment of a hook counts.
pub(crate) fn may_amend(hook: &Hook) -> Result<(), Failure> {
    if hook.part == Part::Amender { Ok(()) } else { Err(refused("a gate only judges")) }
}

pub(crate) fn refused(why: &str) -> Failure {
    Failure::new(FailureKind::Output, format!("amendment refused: {why}"))
}
