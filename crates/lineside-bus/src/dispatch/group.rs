//! Gates of equal priority at the same time.
//!
//! All of them start; their answers are taken in plan order. A block cancels the gates after it and waits for those
//! before it, so that what comes out does not depend on which of them is faster.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_core::outcome::Round;
use lineside_core::{Failure, Response, SkipReason};

use crate::dispatch::dispatcher::{Dispatcher, strength_of_gate};
use crate::hook::guard::Guarded;
use crate::hook::state::Plan;

/// One gate under way.
struct Running<'a> {
    index: u32,
    call: Call<'a>,
}

enum Call<'a> {
    Pending(Guarded<'a>),
    Ended(Result<Response, Failure>, Duration),
    /// With how that went wrong.
    Cancelled(Option<Failure>),
}

/// Runs the gates at these places, behind one that has begun, and takes in what comes of them.
pub(crate) async fn run<'a>(
    turn: &mut Dispatcher<'a>,
    plan: &Plan<'_>,
    first: Option<(u32, Guarded<'a>)>,
    mut indices: impl Iterator<Item = u32>,
    round: Round,
) {
    let start = turn.time.last();
    // What one of them computes is not of the time of the next.
    turn.time.waited();
    let first = first.map(|(index, call)| Running { index, call: Call::Pending(call) });
    let mut running: Vec<Running<'a>> = first.into_iter().collect();
    // As long as every gate answers when it is first polled, nothing has to be kept.
    poll_fn(|cx| {
        for index in indices.by_ref() {
            let Some((hook, run)) = plan.entry(index) else { continue };
            if hook.is_judging_shadow() {
                turn.keep_for_shadow(index, hook, &**run);
                continue;
            }
            let Some(time) = turn.admit(index, hook, &**run, None, round) else { continue };
            let mut call = Guarded::start(&**run, &turn.event, turn.cx(time), time, turn.failures());
            match Pin::new(&mut call).poll(cx) {
                Poll::Ready(result) if running.is_empty() => {
                    let took = turn.time.waited();
                    turn.fold(index, round, took, result);
                }
                Poll::Ready(result) => {
                    turn.time.waited();
                    let call = Call::Ended(result, turn.time.now() - start);
                    running.push(Running { index, call });
                }
                Poll::Pending => {
                    turn.time.waited();
                    running.push(Running { index, call: Call::Pending(call) });
                }
            }
        }
        Poll::Ready(())
    })
    .await;
    if running.is_empty() {
        return;
    }
    let mut first = 0;
    poll_fn(|cx| {
        first = (first + 1) % running.len();
        poll_all(&mut running, first, cx, start, plan)
    })
    .await;
    turn.time.waited();
    for Running { index, call } in running {
        match call {
            Call::Ended(result, took) => turn.fold(index, round, took, result),
            Call::Pending(_) | Call::Cancelled(_) => {
                let why = turn.chain.refuses(index).unwrap_or(SkipReason::Blocked);
                if let Some((hook, run)) = plan.entry(index) {
                    if let Call::Cancelled(Some(failure)) = &call {
                        turn.tell_failure(hook, failure);
                    }
                    turn.leave_out(index, &**run, round, why);
                }
            }
        }
    }
}

/// Polls all of them, and cancels what stands after a block in plan order.
///
/// Each round begins with another one: a gate that is always ready uses up what the task may do at once, and those
/// polled behind it get nothing done in that round. In which order they are polled cannot be seen in what comes out.
fn poll_all(
    running: &mut [Running<'_>],
    first: usize,
    cx: &mut Context<'_>,
    start: tokio::time::Instant,
    plan: &Plan<'_>,
) -> Poll<()> {
    let (before, from) = running.split_at_mut(first);
    for Running { call, .. } in from.iter_mut().chain(before) {
        if let Call::Pending(pending) = call
            && let Poll::Ready(result) = Pin::new(pending).poll(cx)
        {
            *call = Call::Ended(result, tokio::time::Instant::now() - start);
        }
    }
    let mut waiting = false;
    let mut refused = false;
    for Running { index, call } in running {
        match call {
            Call::Pending(pending) if refused => *call = Call::Cancelled(pending.cancel()),
            Call::Ended(..) if refused => *call = Call::Cancelled(None),
            Call::Pending(_) => waiting = true,
            Call::Ended(result, _) => refused = refuses(result, *index, plan),
            Call::Cancelled(_) => {}
        }
    }
    if waiting { Poll::Pending } else { Poll::Ready(()) }
}

/// Whether what came of a gate ends the chain, by the rule that takes it in afterwards.
fn refuses(result: &Result<Response, Failure>, index: u32, plan: &Plan<'_>) -> bool {
    plan.entry(index).is_some_and(|(hook, _)| strength_of_gate(hook, result).is_final())
}
