//! What runs an interceptor: one trait, behind which stand closures, kameo actors, and whatever else answers.

use std::fmt::Debug;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use lineside_core::payload::Point;
use lineside_core::{AnyEvent, Event, Failure, FailureKind, Outcome, Said, SessionId, SkipReason};

use crate::dispatch::detached::Ticket;
use crate::hook::background::Release;
use crate::hook::cx::Cx;
use crate::hook::ledger::Accepted;

/// A future on the heap.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Something that answers events of any point.
///
/// Dropping the future cancels the call; an implementation ends what it has started then.
pub trait Interceptor: Send + Sync {
    /// Answers one event.
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Said, Failure>>;

    /// The name under which it is known in another life of the process, when what it runs without being waited for is
    /// kept until then; `None` when it is not.
    fn kept_as(&self) -> Option<&str> {
        None
    }

    /// Takes over a run that nobody waits for, if it is [kept](Self::kept_as): it uses the ticket when the run is on
    /// record. By default it gives the ticket back.
    ///
    /// # Errors
    /// The ticket, when it cannot be kept; then it runs as if nobody kept anything.
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Accepted, Ticket> {
        let _ = event;
        Err(ticket)
    }

    /// Takes an event that it is told of, to run for it later or never, and says what has become of it. By default it
    /// gives the ticket back, which means that it runs at once.
    ///
    /// # Errors
    /// The ticket, when it does not take the event.
    fn hold(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        let _ = event;
        Err(ticket)
    }

    /// Runs at once for the events of a session that it holds.
    fn release(&self, session: &SessionId, which: Release) {
        let _ = (session, which);
    }

    /// Waits until everything is over that it holds or runs for a session by itself, up to now: what the next model
    /// call waits for, or what the end of the session does. Runs of tickets are waited for anyway.
    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        let _ = (session, which);
        Box::pin(std::future::ready(()))
    }

    /// A session has ended, and what it runs by itself for that has no more time.
    fn cut(&self, session: &SessionId) {
        let _ = session;
    }

    /// It would have had its turn, and does not run.
    fn skipped(&self, event: &AnyEvent, why: SkipReason) {
        let _ = (event, why);
    }
}

/// The message that an actor gets as an interceptor; its reply is the answer.
///
/// The reply travels through a oneshot channel: an actor may delegate it and answer from elsewhere.
#[derive(Debug)]
pub struct Intercept<P> {
    /// The event.
    pub event: Event<P>,
    /// How long there is, and how to publish on behalf of the event.
    pub cx: Cx,
}

/// A closure that may fail.
pub(crate) struct Fallible<F>(pub(crate) F);

/// A closure that answers events of one point.
pub(crate) struct Closure<P, T, F> {
    run: F,
    types: PhantomData<fn(P) -> T>,
}

impl<P, T, F> Closure<P, T, F> {
    pub(crate) fn new(run: F) -> Self {
        Self { run, types: PhantomData }
    }
}

impl<P, T, F, Fut> Interceptor for Closure<P, T, F>
where
    P: Point,
    T: Into<Said> + 'static,
    F: Fn(Event<P>, Cx) -> Fut + Send + Sync,
    Fut: Future<Output: Into<T>> + Send + 'static,
{
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Said, Failure>> {
        match event.into_typed() {
            Ok(event) => {
                let answer = (self.run)(event, cx);
                Box::pin(async move { Ok(answer.await.into().into()) })
            }
            Err(event) => wrong_point(&event),
        }
    }
}

impl<P, T, F, Fut, V, E> Interceptor for Fallible<Closure<P, T, F>>
where
    P: Point,
    T: Into<Said> + 'static,
    F: Fn(Event<P>, Cx) -> Fut + Send + Sync,
    Fut: Future<Output = Result<V, E>> + Send + 'static,
    V: Into<T>,
    E: std::fmt::Display,
{
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Said, Failure>> {
        match event.into_typed() {
            Ok(event) => {
                let answer = (self.0.run)(event, cx);
                Box::pin(async move {
                    match answer.await {
                        Ok(answer) => Ok(answer.into().into()),
                        Err(error) => Err(Failure::new(FailureKind::Error, format!("{error:#}"))),
                    }
                })
            }
            Err(event) => wrong_point(&event),
        }
    }
}

/// Plans only hold interceptors of their own point; this is what would be seen if one did not.
pub(crate) fn wrong_point(event: &AnyEvent) -> BoxFuture<Result<Said, Failure>> {
    let detail = format!("registered for another point than {}", event.point().name);
    Box::pin(std::future::ready(Err(Failure::not_started(FailureKind::Error, detail))))
}

impl Debug for Cx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}
