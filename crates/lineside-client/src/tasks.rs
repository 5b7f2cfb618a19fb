//! The task owner of the crate: connections and calls run here, each cancelled when what it is for is dropped, and requests
//! that are not to be broken off, each to its end.

use std::any::Any;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use tokio::task::{AbortHandle, Id, JoinError, JoinHandle, JoinSet};
use tokio_util::task::AbortOnDropHandle;

/// Something that runs until it ends or its handle is dropped.
pub(crate) type Running = AbortOnDropHandle<()>;

/// Runs this until the handle is dropped.
pub(crate) fn start(work: impl Future<Output = ()> + Send + 'static) -> Running {
    AbortOnDropHandle::new(spawn(Box::pin(work)))
}

/// Runs this to its end, for requests that are not to be broken off.
pub(crate) fn leave(work: impl Future<Output = ()> + Send + 'static) {
    spawn(Box::pin(work));
}

/// Boxed: what the runtime needs of a task is then compiled once, and not for each.
fn spawn(work: Pin<Box<dyn Future<Output = ()> + Send>>) -> JoinHandle<()> {
    tokio::spawn(work)
}

/// The calls of one connection, by their ids.
#[derive(Default)]
pub(crate) struct Calls<T> {
    running: JoinSet<T>,
    by_id: HashMap<String, AbortHandle>,
    ids: HashMap<Id, String>,
}

/// How a call ended.
pub(crate) enum Ended<T> {
    /// With this.
    With(T),
    /// With a panic.
    Panicked(String),
    /// It was cancelled.
    Cancelled,
}

impl<T: Send + 'static> Calls<T> {
    pub(crate) fn new() -> Self {
        Self { running: JoinSet::new(), by_id: HashMap::new(), ids: HashMap::new() }
    }

    /// Runs a call. One that answers when it is first polled, as most do, has no task of its own, and its end is
    /// returned with its id. Cancel safe.
    pub(crate) async fn start(
        &mut self,
        id: String,
        mut work: Pin<Box<dyn Future<Output = T> + Send>>,
    ) -> Option<(String, Ended<T>)> {
        let polled = poll_fn(|cx| Poll::Ready(catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)))));
        match polled.await {
            Ok(Poll::Ready(value)) => return Some((id, Ended::With(value))),
            Err(panic) => {
                // What it says when it is dropped too would hide why it panicked first.
                catch_unwind(AssertUnwindSafe(|| drop(work))).ok();
                return Some((id, Ended::Panicked(text(&*panic))));
            }
            Ok(Poll::Pending) => {}
        }
        let handle = self.running.spawn(work);
        self.ids.insert(handle.id(), id.clone());
        self.by_id.insert(id, handle);
        None
    }

    /// Cancels a call; its end follows.
    pub(crate) fn cancel(&mut self, id: &str) {
        if let Some(handle) = self.by_id.get(id) {
            handle.abort();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The next call that ends, with its id; waits for ever while there is none. Cancel safe.
    pub(crate) async fn next(&mut self) -> (String, Ended<T>) {
        let Some(ended) = self.running.join_next_with_id().await else { return std::future::pending().await };
        let (task, ended) = match ended {
            Ok((task, value)) => (task, Ended::With(value)),
            Err(error) => (error.id(), failed(error)),
        };
        let id = self.ids.remove(&task).unwrap_or_default();
        self.by_id.remove(&id);
        (id, ended)
    }
}

fn failed<T>(error: JoinError) -> Ended<T> {
    if error.is_cancelled() {
        return Ended::Cancelled;
    }
    Ended::Panicked(text(&*error.into_panic()))
}

/// Has what a user wrote come to its end; `None` when it panics.
pub(crate) async fn caught<F: Future>(work: F) -> Option<F::Output> {
    let mut work = Box::pin(work);
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}

/// What a panic says.
fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_owned())
}
