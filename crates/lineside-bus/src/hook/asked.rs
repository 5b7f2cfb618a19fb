//! Actors as interceptors: asked through their own mailbox, in the order of the questions.
//!
//! A question without a waiter is not put to the actor. It cannot be taken out of the mailbox; it is
//! passed over when its turn comes, which takes no time. Otherwise an actor that has once been asked too much would
//! answer one question after another that is too late, and never again one in time. One that the actor has begun with
//! comes to its end, because an actor cannot be interrupted.

use std::future::ready;
use std::marker::PhantomData;

use kameo::actor::ActorRef;
use kameo::error::{BoxSendError, SendError};
use kameo::mailbox::Signal;
use kameo::message::{BoxReply, Message};
use kameo::reply::{BoxReplySender, ReplyError};
use kameo::{Actor, Reply};
use lineside_core::payload::Point;
use lineside_core::{AnyEvent, Event, Failure, FailureKind, Response};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use crate::base::caught::BoxFuture;
use crate::hook::closure::wrong_point;
use crate::hook::cx::Cx;
use crate::hook::interceptor::Interceptor;

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

/// An actor that answers events of one point.
pub(crate) struct Asked<P, T, A: Actor> {
    actor: ActorRef<A>,
    types: PhantomData<fn(P) -> T>,
}

impl<P, T, A: Actor> Asked<P, T, A> {
    pub(crate) fn new(actor: ActorRef<A>) -> Self {
        Self { actor, types: PhantomData }
    }
}

impl<P, T, A> Interceptor for Asked<P, T, A>
where
    P: Point,
    T: Into<Response> + 'static,
    A: Message<Intercept<P>>,
    <A::Reply as Reply>::Ok: Into<T>,
{
    fn lives_here(&self) -> bool {
        true
    }

    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let event = match event.into_typed() {
            Ok(event) => event,
            Err(event) => return wrong_point(&event),
        };
        let question = Intercept { event, cx };
        // Until it has started, an actor keeps messages back, and no other kind of signal.
        if self.actor.with_startup_result(|_| ()).is_none() {
            let actor = self.actor.clone();
            return Box::pin(async move {
                let answer = actor.ask(question).await.map_err(|error| unanswered(&error))?;
                Ok(answer.into().into())
            });
        }
        let (reply, answer) = oneshot::channel();
        let signal = put(self.actor.clone(), Box::new(question), reply);
        // Sent here, where nothing has to be kept for it; only a full mailbox has to be waited for, and that is kept apart,
        // because a signal is large.
        match self.actor.mailbox_sender().try_send(signal) {
            Ok(()) => Box::pin(answered::<P, T, A>(answer)),
            Err(TrySendError::Full(signal)) => {
                let mailbox = self.actor.mailbox_sender().clone();
                Box::pin(async move {
                    match mailbox.send(signal).await {
                        Ok(()) => answered::<P, T, A>(answer).await,
                        Err(_) => Err(not_running::<A>()),
                    }
                })
            }
            Err(TrySendError::Closed(_)) => Box::pin(ready(Err(not_running::<A>()))),
        }
    }
}

/// Waits for the reply to a question that is in the mailbox.
async fn answered<P, T, A>(
    reply: oneshot::Receiver<Result<BoxReply, BoxSendError>>,
) -> Result<Response, Failure>
where
    P: Point,
    T: Into<Response>,
    A: Message<Intercept<P>>,
    <A::Reply as Reply>::Ok: Into<T>,
{
    match reply.await {
        Ok(Ok(answer)) => Ok(A::Reply::downcast_ok(answer).into().into()),
        Ok(Err(error)) => Err(unanswered(&A::Reply::downcast_err::<Intercept<P>>(error))),
        Err(_) => Err(unanswered(&SendError::<(), A::Error>::ActorStopped)),
    }
}

/// What puts a question to an actor when its turn comes, unless it was dropped before.
fn put<A, M>(actor_ref: ActorRef<A>, question: Box<M>, reply: BoxReplySender) -> Signal<A>
where
    A: Message<M>,
    M: Send + 'static,
{
    Signal::Callback {
        actor_ref,
        callback: Box::new(move |actor: &mut A, cx| {
            let actor_ref = cx.actor_ref().clone();
            Box::pin(async move {
                if reply.is_closed() {
                    return;
                }
                let mut stop = false;
                let handled = actor.on_message(question, actor_ref, Some(reply), &mut stop).await;
                if let Err(error) = handled {
                    // As an actor meets an error that it could not give to who asked; it has no other way here.
                    std::panic::resume_unwind(Box::new(error));
                }
                if stop {
                    cx.stop();
                }
            })
        }),
    }
}

fn not_running<A: Actor>() -> Failure {
    unanswered(&SendError::<(), A::Error>::ActorNotRunning(()))
}

fn unanswered<M, E: ReplyError>(error: &SendError<M, E>) -> Failure {
    match error {
        SendError::ActorNotRunning(_) => {
            Failure::not_started(FailureKind::Closed, "the actor is not running")
        }
        SendError::ActorRestarting(_) => Failure::not_started(FailureKind::Closed, "the actor is restarting"),
        SendError::MailboxFull(_) => Failure::not_started(FailureKind::Closed, "the actor's mailbox is full"),
        SendError::ActorStopped => Failure::new(FailureKind::Closed, "the actor stopped before it answered"),
        SendError::Timeout(_) => Failure::new(FailureKind::Timeout, "the actor did not answer in time"),
        SendError::HandlerError(error) => Failure::new(FailureKind::Error, format!("{error:?}")),
    }
}
