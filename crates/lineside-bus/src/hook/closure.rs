//! Closures as interceptors.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use lineside_core::payload::Point;
use lineside_core::{AnyEvent, Event, Failure, FailureKind, Response};
use pin_project_lite::pin_project;

use crate::base::caught::BoxFuture;
use crate::hook::cx::{Cx, give_back_event};
use crate::hook::interceptor::Interceptor;

/// A closure that may fail.
pub(crate) struct Fallible<F>(pub(crate) F);

/// A closure that answers events of one point.
pub(crate) struct Closure<P, T, F> {
    run: F,
    types: PhantomData<fn(P) -> T>,
}

pin_project! {
    /// What a closure answers, as what is said. An `async` block would move the closure's future before it polls it.
    struct Answer<F, S> {
        #[pin]
        answer: F,
        said: S,
    }
}

impl<F: Future, S: Fn(F::Output) -> T, T> Future for Answer<F, S> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        this.answer.poll(task).map(this.said)
    }
}

impl<P, T, F> Closure<P, T, F> {
    pub(crate) fn new(run: F) -> Self {
        Self { run, types: PhantomData }
    }
}

impl<P, T, F, Fut> Interceptor for Closure<P, T, F>
where
    P: Point,
    T: Into<Response> + 'static,
    F: Fn(Event<P>, Cx) -> Fut + Send + Sync,
    Fut: Future<Output: Into<T>> + Send + 'static,
{
    fn lives_here(&self) -> bool {
        true
    }

    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        match event.into_typed::<P>() {
            Ok(event) => {
                let answer = (self.run)(event.given_back_to(give_back_event), cx);
                Box::pin(Answer { answer, said: |answer: Fut::Output| Ok(answer.into().into()) })
            }
            Err(event) => wrong_point(&event),
        }
    }
}

impl<P, T, F, Fut, V, E> Interceptor for Fallible<Closure<P, T, F>>
where
    P: Point,
    T: Into<Response> + 'static,
    F: Fn(Event<P>, Cx) -> Fut + Send + Sync,
    Fut: Future<Output = Result<V, E>> + Send + 'static,
    V: Into<T>,
    E: std::fmt::Display,
{
    fn lives_here(&self) -> bool {
        true
    }

    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        match event.into_typed::<P>() {
            Ok(event) => {
                let answer = (self.0.run)(event.given_back_to(give_back_event), cx);
                let said = |answer| match answer {
                    Ok(answer) => Ok(V::into(answer).into()),
                    Err(error) => Err(Failure::new(FailureKind::Error, format!("{error:#}"))),
                };
                Box::pin(Answer { answer, said })
            }
            Err(event) => wrong_point(&event),
        }
    }
}

/// Plans only hold interceptors of their own point; this is what would be seen if one did not.
pub(crate) fn wrong_point(event: &AnyEvent) -> BoxFuture<Result<Response, Failure>> {
    let detail = format!("registered for another point than {}", event.point().name);
    Box::pin(std::future::ready(Err(Failure::not_started(FailureKind::Error, detail))))
}
