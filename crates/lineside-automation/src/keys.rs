//! One run at a time for each key, in the order in which the runs became due.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// The keys of a runtime. Clones are the same keys.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    queues: Arc<Mutex<Queues>>,
}

/// The waiters of each held key.
type Queues = HashMap<Arc<str>, VecDeque<oneshot::Sender<Held>>>;

/// A place in the queue of a key; a future that gives the key. Dropping it gives up the place.
#[derive(Debug)]
pub struct Queued {
    state: State,
}

#[derive(Debug)]
enum State {
    Got(Held),
    Waiting(oneshot::Receiver<Held>),
    Over,
}

/// A key that one run has. Dropping it hands the key to the next one.
#[derive(Debug)]
pub struct Held {
    key: Arc<str>,
    queues: Arc<Mutex<Queues>>,
}

impl Keys {
    /// Takes a place in the queue of a key, now and not when it is first polled.
    #[must_use = "the place is given up when it is dropped"]
    pub fn queue(&self, key: &Arc<str>) -> Queued {
        let mut queues = lock(&self.queues);
        let state = match queues.get_mut(key) {
            Some(waiting) => {
                let (sender, receiver) = oneshot::channel();
                waiting.push_back(sender);
                State::Waiting(receiver)
            }
            None => {
                queues.insert(Arc::clone(key), VecDeque::new());
                State::Got(Held { key: Arc::clone(key), queues: Arc::clone(&self.queues) })
            }
        };
        Queued { state }
    }
}

impl Future for Queued {
    type Output = Held;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Held> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Got(held) => Poll::Ready(held),
            State::Waiting(mut receiver) => match Pin::new(&mut receiver).poll(cx) {
                Poll::Ready(Ok(held)) => Poll::Ready(held),
                Poll::Pending => {
                    self.state = State::Waiting(receiver);
                    Poll::Pending
                }
                Poll::Ready(Err(_)) => unreachable!("a sender is only dropped together with its queue"),
            },
            State::Over => unreachable!("it was polled after it had given the key"),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let next = loop {
            let mut queues = lock(&self.queues);
            let Some(waiting) = queues.get_mut(&self.key) else { return };
            let Some(next) = waiting.pop_front() else {
                queues.remove(&self.key);
                return;
            };
            if !next.is_closed() {
                break next;
            }
        };
        let held = Self { key: Arc::clone(&self.key), queues: Arc::clone(&self.queues) };
        // One that has given up its place meanwhile gives the key back, and dropping it hands it on.
        drop(next.send(held));
    }
}

fn lock(queues: &Mutex<Queues>) -> MutexGuard<'_, Queues> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn is_ready(queued: &mut Queued) -> Option<Held> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match Pin::new(queued).poll(&mut cx) {
            Poll::Ready(held) => Some(held),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_key_goes_round_in_the_order_of_the_queue() {
        // CH-55
        let (keys, key) = (Keys::default(), Arc::from("db"));
        let mut places: Vec<_> = (0..3).map(|_| keys.queue(&key)).collect();
        let first = is_ready(&mut places[0]).unwrap();
        assert!(is_ready(&mut places[2]).is_none());
        assert!(is_ready(&mut places[1]).is_none());
        drop(first);
        assert!(is_ready(&mut places[2]).is_none());
        let second = is_ready(&mut places[1]).unwrap();
        drop(second);
        assert!(is_ready(&mut places[2]).is_some());
    }

    #[test]
    fn who_gives_up_his_place_holds_nobody_up() {
        let (keys, key) = (Keys::default(), Arc::from("db"));
        let mut first = keys.queue(&key);
        let held = is_ready(&mut first).unwrap();
        let (second, mut third) = (keys.queue(&key), keys.queue(&key));
        drop(second);
        drop(held);
        drop(is_ready(&mut third).unwrap());
        assert!(lock(&keys.queues).is_empty());
    }

    #[test]
    fn a_key_that_was_handed_over_and_never_taken_goes_on() {
        let (keys, key) = (Keys::default(), Arc::from("db"));
        let mut first = keys.queue(&key);
        let held = is_ready(&mut first).unwrap();
        let (second, mut third) = (keys.queue(&key), keys.queue(&key));
        drop(held);
        drop(second);
        assert!(is_ready(&mut third).is_some());
    }

    #[test]
    fn different_keys_know_nothing_of_each_other() {
        let keys = Keys::default();
        let mut one = keys.queue(&Arc::from("a"));
        let mut other = keys.queue(&Arc::from("b"));
        let _one = is_ready(&mut one).unwrap();
        assert!(is_ready(&mut other).is_some());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn never_two_at_a_time() {
        let (keys, key): (_, Arc<str>) = (Keys::default(), Arc::from("db"));
        let inside = Arc::new(AtomicUsize::new(0));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let (keys, key, inside) = (keys.clone(), Arc::clone(&key), Arc::clone(&inside));
            tasks.spawn(async move {
                let _held = keys.queue(&key).await;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    }
}
