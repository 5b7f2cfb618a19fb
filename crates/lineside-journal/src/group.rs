//! The appends that are written together, and the futures that wait for them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use lineside_core::journal::{AppendAck, Durability, Sequence, Unavailable};

/// How far a group has come, and who waits for it to come further.
#[derive(Debug)]
pub(crate) struct Group(Mutex<Progress>);

#[derive(Debug)]
struct Progress {
    reached: Durability,
    failed: Option<Unavailable>,
    waiting: Vec<(Durability, Waker)>,
}

impl Group {
    /// A group in memory.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Progress {
            reached: Durability::Memory,
            failed: None,
            waiting: Vec::new(),
        })))
    }

    /// It is this durable now, and it has not failed.
    pub(crate) fn reached(&self, durability: Durability) {
        let woken = {
            let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            progress.reached = durability;
            let waiting = std::mem::take(&mut progress.waiting);
            let (woken, waiting): (Vec<_>, _) =
                waiting.into_iter().partition(|(wanted, _)| *wanted <= durability);
            progress.waiting = waiting;
            woken
        };
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// It will not become any more durable.
    pub(crate) fn failed(&self, why: &Unavailable) {
        let woken = {
            let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            progress.failed = Some(why.clone());
            std::mem::take(&mut progress.waiting)
        };
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

/// Waits until the group of an append is as durable as asked for.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    pub(crate) group: Arc<Group>,
    pub(crate) last: Sequence,
    pub(crate) wanted: Durability,
    /// Where its waker stands among those of the group.
    pub(crate) slot: Option<usize>,
}

impl Future for Acknowledged {
    type Output = Result<AppendAck, Unavailable>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut progress = this.group.0.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.reached >= this.wanted {
            return Poll::Ready(Ok(AppendAck { last: this.last, durability: progress.reached }));
        }
        if let Some(why) = &progress.failed {
            return Poll::Ready(Err(why.clone()));
        }
        let known = this.slot.and_then(|slot| progress.waiting.get_mut(slot));
        match known.filter(|(wanted, waker)| *wanted == this.wanted && waker.will_wake(cx.waker())) {
            Some(_) => {}
            None => {
                this.slot = Some(progress.waiting.len());
                progress.waiting.push((this.wanted, cx.waker().clone()));
            }
        }
        Poll::Pending
    }
}
