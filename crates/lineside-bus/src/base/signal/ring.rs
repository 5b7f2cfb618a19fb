//! What is sent to any number of watchers, each at its own speed, bounded by count and by bytes.
//!
//! What all watchers have read is dropped at once. What the slowest of them has not is kept as long as it fits; then the
//! oldest is dropped, and a watcher that has not read it receives the number of dropped values.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;
use tokio::time::timeout;

/// How far a watcher may be behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    /// In what was sent, at least 1.
    pub(super) count: usize,
    /// In bytes; the last that was sent is kept whatever it weighs.
    pub(super) bytes: usize,
}

impl Most {
    /// Whether half of it waits.
    fn is_half<T>(self, state: &State<T>) -> bool {
        state.waiting.len() > self.count / 2 || state.bytes > self.bytes / 2
    }
}

/// Where things are sent. Clones are the same; watchers learn when the last of them is gone.
pub(super) struct Ring<T>(Arc<Open<T>>);

/// Open as long as something may be sent.
struct Open<T>(Arc<Shared<T>>);

struct Shared<T> {
    most: Most,
    state: Mutex<State<T>>,
    sent: Notify,
    /// Half of what may wait does, from now on.
    filling: Notify,
}

struct State<T> {
    waiting: VecDeque<Sent<T>>,
    /// The number of the first that waits; the first of all was 0.
    first: u64,
    bytes: usize,
    watchers: usize,
    is_closed: bool,
}

struct Sent<T> {
    value: T,
    weight: usize,
    /// How many watchers have not read it.
    unread: usize,
}

/// What is dropped, without the lock: it may hold what users have made.
type Gone<T> = SmallVec<[T; 1]>;

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Open<T> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.sent.notify_waiters();
    }
}

impl<T: Clone> Ring<T> {
    pub(super) fn new(most: Most) -> Self {
        let state = State { waiting: VecDeque::new(), first: 0, bytes: 0, watchers: 0, is_closed: false };
        let (state, sent, filling) = (Mutex::new(state), Notify::new(), Notify::new());
        Self(Arc::new(Open(Arc::new(Shared { most, state, sent, filling }))))
    }

    /// Sends this to all that watch now; `weight` is about how many bytes it takes.
    pub(super) fn send(&self, value: T, weight: usize) {
        let shared = &self.0.0;
        let mut gone = Gone::new();
        let fills;
        {
            let mut state = shared.lock();
            if state.watchers == 0 {
                drop(state);
                return drop(value);
            }
            let unread = state.watchers;
            let was_filling = shared.most.is_half(&state);
            state.waiting.push_back(Sent { value, weight, unread });
            state.bytes += weight;
            fills = !was_filling && shared.most.is_half(&state);
            while state.waiting.len() > shared.most.count
                || state.bytes > shared.most.bytes && state.waiting.len() > 1
            {
                state.drop_first(&mut gone);
            }
        }
        shared.sent.notify_waiters();
        if fills {
            shared.filling.notify_waiters();
        }
        drop(gone);
    }

    /// Everything that is sent from now on.
    pub(super) fn watch(&self) -> Watching<T> {
        let mut state = self.0.0.lock();
        state.watchers += 1;
        let next = state.first + state.waiting.len() as u64;
        Watching { shared: Arc::clone(&self.0.0), next }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn drop_first(&mut self, gone: &mut Gone<T>) {
        if let Some(sent) = self.waiting.pop_front() {
            self.bytes -= sent.weight;
            self.first += 1;
            gone.push(sent.value);
        }
    }

    /// Drops what all watchers have read: always the oldest, because all read in order.
    fn drop_read(&mut self, gone: &mut Gone<T>) {
        while self.waiting.front().is_some_and(|sent| sent.unread == 0) {
            self.drop_first(gone);
        }
    }

    /// What waits from this number on.
    fn from(&mut self, next: u64) -> impl Iterator<Item = &mut Sent<T>> {
        let read = usize::try_from(next.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.waiting.iter_mut().skip(read)
    }
}

/// What is sent from the moment on at which it was asked for.
pub(super) struct Watching<T> {
    shared: Arc<Shared<T>>,
    next: u64,
}

/// What a watcher finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<T> {
    Value(T),
    /// This many gave way before they were read.
    Lost(u64),
    /// Nothing, until something is sent.
    Nothing,
    /// Nothing, for ever.
    Closed,
}

impl<T: Clone> Watching<T> {
    /// What is next, as it is now.
    pub(super) fn now(&mut self) -> Found<T> {
        let mut gone = Gone::new();
        let mut state = self.shared.lock();
        if self.next < state.first {
            let lost = state.first - self.next;
            self.next = state.first;
            return Found::Lost(lost);
        }
        let Some(sent) = state.from(self.next).next() else {
            return if state.is_closed { Found::Closed } else { Found::Nothing };
        };
        self.next += 1;
        sent.unread -= 1;
        let (value, is_last) = (sent.value.clone(), sent.unread == 0);
        if is_last {
            state.drop_read(&mut gone);
        }
        drop(state);
        drop(gone);
        Found::Value(value)
    }

    /// What is next, when there is something; never [`Found::Nothing`].
    ///
    /// Cancel safe: a dropped call loses nothing.
    pub(super) async fn next(&mut self) -> Found<T> {
        self.next_gathered(Duration::ZERO).await
    }

    /// The same, where what comes after a pause is left to gather for so long, or until half of what may wait does: who sends
    /// wakes no task meanwhile.
    ///
    /// Cancel safe: a dropped call loses nothing.
    pub(super) async fn next_gathered(&mut self, pause: Duration) -> Found<T> {
        // A reader that never runs dry yields to other tasks.
        consume_budget().await;
        let shared = Arc::clone(&self.shared);
        let mut paused = pause.is_zero();
        loop {
            let mut sent = pin!(shared.sent.notified());
            sent.as_mut().enable();
            match self.now() {
                Found::Nothing if paused => sent.await,
                Found::Nothing => {
                    sent.await;
                    paused = true;
                    let mut filling = pin!(shared.filling.notified());
                    filling.as_mut().enable();
                    if !shared.most.is_half(&shared.lock()) {
                        timeout(pause, filling).await.ok();
                    }
                }
                found => return found,
            }
        }
    }
}

impl<T> Drop for Watching<T> {
    fn drop(&mut self) {
        let mut gone = Gone::new();
        let mut state = self.shared.lock();
        state.watchers -= 1;
        state.from(self.next).for_each(|sent| sent.unread -= 1);
        state.drop_read(&mut gone);
        drop(state);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most { count: 4, bytes: 100 };

    fn all<T: Clone>(watching: &mut Watching<T>) -> Vec<Found<T>> {
        std::iter::from_fn(|| Some(watching.now()).filter(|found| !matches!(found, Found::Nothing))).collect()
    }

    #[test]
    fn the_oldest_gives_way_to_what_is_too_many_or_too_long() {
        let ring = Ring::new(MOST);
        let (mut slow, mut fast) = (ring.watch(), ring.watch());
        for number in 0..6 {
            ring.send(number, 1);
            assert_eq!(all(&mut fast), [Found::Value(number)]);
        }
        assert_eq!(slow.now(), Found::Lost(2));
        assert_eq!(all(&mut slow), [2, 3, 4, 5].map(Found::Value));
        for (number, weight) in [(6, 40), (7, 60), (8, 1), (9, 1_000)] {
            ring.send(number, weight);
        }
        assert_eq!(all(&mut slow), [Found::Lost(3), Found::Value(9)]);
        ring.send(10, 1);
        assert_eq!(all(&mut slow), [Found::Value(10)]);
        assert_eq!(all(&mut fast), [Found::Lost(4), Found::Value(10)]);
    }

    #[test]
    fn what_all_have_read_is_not_kept() {
        let ring = Ring::new(MOST);
        let value = Arc::new(());
        ring.send(Arc::clone(&value), 1);
        assert_eq!(Arc::strong_count(&value), 1, "there is no watcher");
        let (mut one, mut other) = (ring.watch(), ring.watch());
        for _ in 0..3 {
            ring.send(Arc::clone(&value), 1);
        }
        drop((all(&mut one), one.now()));
        assert_eq!(Arc::strong_count(&value), 4);
        drop(other.now());
        assert_eq!(Arc::strong_count(&value), 3);
        // One that comes later has nothing to do with it, and one that goes needs nothing any more.
        let later = ring.watch();
        drop(other);
        assert_eq!(Arc::strong_count(&value), 1);
        drop((later, one));
        let state = ring.0.0.lock();
        assert_eq!((state.bytes, state.waiting.len(), state.watchers), (0, 0, 0));
    }

    #[tokio::test]
    async fn a_watcher_waits_until_something_is_sent_or_nothing_can_be() {
        let ring = Ring::new(MOST);
        let mut watching = ring.watch();
        let other = ring.clone();
        let (found, ()) = tokio::join!(watching.next(), async { ring.send(1, 1) });
        assert_eq!(found, Found::Value(1));
        other.send(2, 1);
        drop(ring);
        assert_eq!(watching.next().await, Found::Value(2));
        let (found, ()) = tokio::join!(watching.next(), async { drop(other) });
        assert_eq!(found, Found::Closed);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_after_a_pause_gathers_for_so_long_or_until_there_is_much() {
        const PAUSE: Duration = Duration::from_secs(1);
        let ring = Ring::new(MOST);
        let mut watching = ring.watch();
        let begun = tokio::time::Instant::now();
        let sends = async {
            ring.send(1, 1);
            tokio::time::sleep(PAUSE / 2).await;
            ring.send(2, 1);
        };
        let (found, ()) = tokio::join!(watching.next_gathered(PAUSE), sends);
        assert_eq!((found, begun.elapsed() >= PAUSE), (Found::Value(1), true));
        // What is there by then is read without another pause.
        let begun = tokio::time::Instant::now();
        assert_eq!((watching.next_gathered(PAUSE).await, begun.elapsed()), (Found::Value(2), Duration::ZERO));
        for weights in [[1, 1, 1], [1, 60, 1]] {
            let begun = tokio::time::Instant::now();
            let sends = async {
                for weight in weights {
                    tokio::task::yield_now().await;
                    ring.send(weight, weight);
                }
            };
            let (found, ()) = tokio::join!(watching.next_gathered(PAUSE), sends);
            assert_eq!((found, begun.elapsed()), (Found::Value(1), Duration::ZERO));
            assert_eq!(all(&mut watching).len(), 2);
        }
    }

    /// Values are dropped without the lock: they may use the ring.
    #[test]
    fn a_value_may_send_when_it_is_dropped() {
        #[derive(Clone)]
        struct Sends(Option<Arc<Ring<Sends>>>);
        impl Drop for Sends {
            fn drop(&mut self) {
                if let Some(ring) = self.0.take().filter(|ring| Arc::strong_count(ring) == 2) {
                    ring.send(Sends(None), 1);
                }
            }
        }
        let ring = Arc::new(Ring::new(Most { count: 1, bytes: 1 }));
        let mut watching = ring.watch();
        ring.send(Sends(Some(Arc::clone(&ring))), 1);
        ring.send(Sends(None), 1);
        assert!(matches!(watching.now(), Found::Lost(2)));
        drop(watching);
    }
}
