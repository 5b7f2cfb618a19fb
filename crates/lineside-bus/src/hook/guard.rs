//! One call of one interceptor: polled at once, its panics caught, its time bounded.

use std::any::Any;
use std::borrow::Cow;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lineside_core::budget::Bound;
use lineside_core::failure::{drop_payload, seconds};
use lineside_core::{AnyEvent, Failure, FailureKind, Response, Verdict};
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::base::caught::{BoxFuture, Failures, panicked};
use crate::hook::cx::{Cx, Handled, handling};
use crate::hook::interceptor::{Interceptor, Latency};

/// The time of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    pub(crate) granted: std::time::Duration,
    pub(crate) bound: Bound,
    pub(crate) deadline: Instant,
}

/// A call under way. Dropping it cancels it.
pub(crate) struct Guarded<'a, T = Response> {
    call: Call<T>,
    handled: Handled,
    /// Counts a panic when the call is given up; borrowed where a publisher waits for the call.
    failures: Cow<'a, Failures>,
    time: Time,
    timer: Timer,
}

enum Call<T> {
    Running(BoxFuture<Result<T, Failure>>),
    /// It panicked before there was a future.
    Failed(Box<Failure>),
    Ended,
}

/// What came of a call that was polled once.
pub(crate) enum AtOnce {
    /// It answered that it has no objection, as most do.
    Passed,
    /// It ended in another way.
    Ended(Result<Response, Failure>),
    /// It is under way, and takes this long.
    Pending(BoxFuture<Result<Response, Failure>>, Latency),
}

/// When the timer is armed. Most calls answer when they are polled first, and most actors by the time the publisher is
/// polled again, so that arming it at once would cost more than all the rest. Where the answer comes from outside the
/// process, a further poll would cost more: it wakes another thread of the runtime.
enum Timer {
    /// The call was polled when it began, and need not be polled again at once.
    JustPolled(Latency),
    Unused(Latency),
    PolledAgain,
    Armed(Pin<Box<Sleep>>),
}

impl<'a> Guarded<'a> {
    pub(crate) fn start(
        run: &dyn Interceptor,
        event: &AnyEvent,
        cx: Cx,
        time: Time,
        failures: Cow<'a, Failures>,
    ) -> Self {
        let mut latency = Latency::Short;
        let mut guarded = Self::of(cx, time, failures, |cx| {
            latency = run.latency();
            run.intercept(event.clone(), cx)
        });
        guarded.timer = Timer::Unused(latency);
        guarded
    }

    /// A call that was polled when it began, and is still under way.
    pub(crate) fn under_way(
        (call, latency): (BoxFuture<Result<Response, Failure>>, Latency),
        handled: Handled,
        time: Time,
        failures: Cow<'a, Failures>,
    ) -> Self {
        Self { call: Call::Running(call), handled, failures, time, timer: Timer::JustPolled(latency) }
    }
}

/// Begins a call with what is `given` to it, and polls it once. The caller runs this as part of [handling] the event.
#[inline]
pub(crate) fn poll_once(
    run: &dyn Interceptor,
    given: impl FnOnce() -> (AnyEvent, Cx),
    handled: &Handled,
    failures: &Failures,
    task: &mut Context<'_>,
) -> AtOnce {
    // Outside, so that neither is dropped while a panic unwinds. An answer is looked at where the call has left it: most
    // say nothing, and need not be moved.
    let (mut call, mut answer, mut passed, mut latency) = (None, None, false, Latency::Short);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let (event, cx) = given();
        match call.insert(run.intercept(event, cx)).as_mut().poll(task) {
            Poll::Pending => return latency = run.latency(),
            Poll::Ready(Ok(Response::Verdict(Verdict::Continue))) => passed = true,
            Poll::Ready(other) => answer = Some(other),
        }
        drop(call.take());
    }));
    match (panic, answer, call) {
        (Ok(()), None, _) if passed => AtOnce::Passed,
        (Ok(()), Some(answer), _) => AtOnce::Ended(answer),
        (Ok(()), None, Some(call)) => AtOnce::Pending(call, latency),
        (Ok(()), None, None) => unreachable!("what is pending was kept"),
        // It was dropped when it had answered.
        (Err(panic), answer, _) if passed || answer.is_some() => {
            failures.count();
            warn_of(*handled, &panicked(panic));
            answer.map_or(AtOnce::Passed, AtOnce::Ended)
        }
        (Err(panic), _, call) => {
            let failure = panicked(panic);
            // What it says when it is dropped too would hide why it panicked first.
            catch_unwind(AssertUnwindSafe(|| drop(call))).unwrap_or_else(drop_payload);
            AtOnce::Ended(Err(failure))
        }
    }
}

impl<'a, T> Guarded<'a, T> {
    /// A call of something else than an interceptor.
    pub(crate) fn of(
        cx: Cx,
        time: Time,
        failures: Cow<'a, Failures>,
        call: impl FnOnce(Cx) -> BoxFuture<Result<T, Failure>>,
    ) -> Self {
        let handled = cx.handled();
        let started = handling(handled, || catch_unwind(AssertUnwindSafe(|| call(cx))));
        let call = match started {
            Ok(call) => Call::Running(call),
            Err(panic) => Call::Failed(Box::new(panicked(panic))),
        };
        Self { call, handled, failures, time, timer: Timer::Unused(Latency::Short) }
    }

    /// Cancels the call, if it runs still. Gives how that went wrong: what it holds may panic when it is dropped.
    pub(crate) fn cancel(&mut self) -> Option<Failure> {
        let Call::Running(call) = std::mem::replace(&mut self.call, Call::Ended) else { return None };
        let dropped = handling(self.handled, || catch_unwind(AssertUnwindSafe(|| drop(call))));
        let Failure { kind, detail, .. } = panicked(dropped.err()?);
        Some(Failure::new(kind, format!("when it was cancelled it {detail}")))
    }

    /// Ready when the call may take no more time: with the failure that this is.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        loop {
            match &mut self.timer {
                Timer::JustPolled(Latency::Long) | Timer::Unused(Latency::Long) => {
                    self.timer = Timer::PolledAgain;
                }
                Timer::JustPolled(Latency::Short) | Timer::Unused(Latency::Short) => {
                    self.timer = Timer::PolledAgain;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // Without a runtime, and in one without time, there is no timer.
                Timer::PolledAgain => match catch_unwind(|| Box::pin(sleep_until(self.time.deadline))) {
                    Ok(sleep) => self.timer = Timer::Armed(sleep),
                    Err(panic) => return Poll::Ready(untimed(panic)),
                },
                // A call that is always ready has used up by now what its task may do at once; a timer that had to
                // wait for more would never be over.
                Timer::Armed(sleep) => {
                    ready!(Pin::new(&mut unconstrained(sleep.as_mut())).poll(cx));
                    return Poll::Ready(timed_out(self.time));
                }
            }
        }
    }
}

impl<T> Future for Guarded<'_, T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let handled = self.handled;
        if let Timer::JustPolled(_) = self.timer {
            return self.poll_timer(cx).map(Err);
        }
        let call = match &mut self.call {
            Call::Running(call) => call,
            Call::Failed(_) | Call::Ended => {
                let failure = match std::mem::replace(&mut self.call, Call::Ended) {
                    Call::Failed(failure) => *failure,
                    Call::Running(_) | Call::Ended => {
                        Failure::new(FailureKind::Closed, "it had ended before")
                    }
                };
                return Poll::Ready(Err(failure));
            }
        };
        match handling(handled, || catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)))) {
            Ok(Poll::Ready(answer)) => Poll::Ready(answer),
            Ok(Poll::Pending) => {
                let mut failure = ready!(self.poll_timer(cx));
                if let Some(panic) = self.cancel() {
                    failure.detail = format!("{}; {}", failure.detail, panic.detail).into();
                }
                Poll::Ready(Err(failure))
            }
            Err(panic) => {
                let failure = panicked(panic);
                // What it says when it is dropped too would hide why it panicked first.
                self.cancel();
                Poll::Ready(Err(failure))
            }
        }
    }
}

impl<T> Drop for Guarded<'_, T> {
    fn drop(&mut self) {
        if let Some(failure) = self.cancel() {
            self.failures.count();
            warn_of(self.handled, &failure);
        }
    }
}

fn warn_of(handled: Handled, failure: &Failure) {
    tracing::warn!(event = %handled.cause.event, detail = %failure.detail, "a hook that was cancelled failed");
}

/// The failure of a call whose time cannot be bounded.
#[cold]
fn untimed(panic: Box<dyn Any + Send>) -> Failure {
    let Failure { detail, .. } = panicked(panic);
    Failure::new(FailureKind::Error, format!("cannot enforce the timeout: there is no timer: {detail}"))
}

/// The failure of a call whose time is over.
fn timed_out(time: Time) -> Failure {
    let granted = seconds(time.granted);
    Failure::new(
        FailureKind::Timeout,
        match time.bound {
            Bound::Hook => format!("timed out after {granted} s"),
            Bound::Event => {
                format!("timed out after {granted} s, which was all that was left of the event's time")
            }
        },
    )
}
