//! Whose turn it is: those that wait, each in the queue of its kind, and one of each kind after the other.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::poll;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio_util::task::TaskTracker;

use crate::boxed::spawn;

/// What waits for its turn, by kind. A kind of which nothing waits is not kept.
pub(crate) struct Turns<K, T> {
    waiting: HashMap<K, VecDeque<T>>,
    /// The kinds, the one whose turn is next first.
    order: VecDeque<K>,
    /// How many wait, and at most.
    count: usize,
    most: usize,
}

impl<K: Copy + Eq + Hash, T> Turns<K, T> {
    /// With room for this many.
    pub(crate) fn of(most: usize) -> Self {
        Self { waiting: HashMap::new(), order: VecDeque::new(), count: 0, most }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Puts one behind all others of its kind. Gives the one whose turn was next, where there is no room for both.
    pub(crate) fn wait(&mut self, kind: K, one: T) -> Option<T> {
        let queue = self.waiting.entry(kind).or_insert_with(|| {
            self.order.push_back(kind);
            VecDeque::new()
        });
        queue.push_back(one);
        self.count += 1;
        if self.count > self.most { self.next() } else { None }
    }

    /// Takes the one whose turn it is.
    pub(crate) fn next(&mut self) -> Option<T> {
        let kind = self.order.pop_front()?;
        let queue = self.waiting.get_mut(&kind)?;
        let next = queue.pop_front();
        self.count -= usize::from(next.is_some());
        if queue.is_empty() {
            self.waiting.remove(&kind);
        } else {
            self.order.push_back(kind);
        }
        next
    }
}

/// Has work of each kind polled as often as that of others, where more of it is ready than is polled in one round.
///
/// The next round begins behind everything that is ready by then: what waits in the queue of the runtime has said by then that
/// it waits for its turn. Work that finds its round under way costs a lock.
pub(crate) struct Rounds<K> {
    round: Mutex<Round<K>>,
    /// How many polls are in one.
    polls: usize,
    tracker: TaskTracker,
}

struct Round<K> {
    /// How many polls are left in this one; none where something waits.
    left: usize,
    /// Those for the next ones.
    turns: Turns<K, oneshot::Sender<()>>,
    /// Whether there is a task that begins them.
    is_ending: bool,
}

impl<K: Copy + Eq + Hash + Send + 'static> Rounds<K> {
    /// Of this many polls, one at least.
    pub(crate) fn of(polls: usize, tracker: &TaskTracker) -> Arc<Self> {
        let round = Round { left: polls, turns: Turns::of(usize::MAX), is_ending: false };
        Arc::new(Self { round: Mutex::new(round), polls: polls.max(1), tracker: tracker.clone() })
    }

    /// Does work each poll of which has its turn. Of which kind it is, is asked where it has to wait for that. Dropping the
    /// future drops the work.
    ///
    /// # Panics
    /// Outside a tokio runtime; and where the work panics.
    pub(crate) async fn in_turn<F: Future>(self: &Arc<Self>, kind: impl Fn() -> K, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            if !self.has_turn() {
                self.turn(kind()).await;
            }
            match poll!(work.as_mut()) {
                Poll::Ready(done) => return done,
                Poll::Pending => woken().await,
            }
        }
    }

    fn has_turn(&self) -> bool {
        let left = &mut self.round().left;
        let before = *left;
        *left = before.saturating_sub(1);
        before > 0
    }

    async fn turn(self: &Arc<Self>, kind: K) {
        let (gives, given) = oneshot::channel();
        let is_ending = {
            let mut round = self.round();
            round.turns.wait(kind, gives);
            std::mem::replace(&mut round.is_ending, true)
        };
        if !is_ending {
            // None of those that wait begins it: each may be gone before it does.
            spawn(&self.tracker, Arc::clone(self).begin_rounds());
        }
        // Those that give it are dropped with these rounds alone.
        given.await.ok();
    }

    /// Begins one round after the other, until nothing waits.
    async fn begin_rounds(self: Arc<Self>) {
        loop {
            yield_now().await;
            let mut round = self.round();
            round.left = self.polls;
            while round.left > 0
                && let Some(next) = round.turns.next()
            {
                // One that is gone has no turn.
                round.left -= usize::from(next.send(()).is_ok());
            }
            if round.turns.is_empty() {
                round.is_ending = false;
                return;
            }
        }
    }

    fn round(&self) -> MutexGuard<'_, Round<K>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next time that something wakes the task.
fn woken() -> impl Future<Output = ()> {
    let mut is_woken = false;
    poll_fn(move |_| if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::JoinSet;

    use super::*;

    #[test]
    fn one_that_comes_late_waits_for_one_of_each_other_kind() {
        let mut turns = Turns::of(1_001);
        assert!((0..1_000).all(|number| turns.wait("many", number).is_none()));
        assert_eq!(turns.wait("few", 1_000), None);
        assert_eq!(turns.next(), Some(0));
        assert_eq!(turns.wait("new", 2_000), None);
        assert_eq!(turns.wait("more", 3_000), Some(1_000), "there is no room for both");
        let next: Vec<_> = (0..4).filter_map(|_| turns.next()).collect();
        assert_eq!(next, [1, 2_000, 3_000, 2]);
        assert!(turns.waiting.len() == 1 && std::iter::from_fn(|| turns.next()).eq(3..1_000));
        assert!(turns.is_empty() && turns.waiting.is_empty());
    }

    #[tokio::test]
    async fn much_work_of_one_kind_has_one_of_another_polled_as_often_as_itself() {
        let rounds = Rounds::of(4, &TaskTracker::new());
        let polled = Arc::new(AtomicUsize::new(0));
        let mut many = JoinSet::new();
        for _ in 0..1_000 {
            let (rounds, polled) = (Arc::clone(&rounds), Arc::clone(&polled));
            let work = async move {
                loop {
                    polled.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            };
            many.spawn(async move { rounds.in_turn(|| "many", work).await });
        }
        let of_few = Arc::clone(&rounds);
        let few = tokio::spawn(async move {
            let before = polled.load(Ordering::Relaxed);
            let work = async {
                for _ in 0..10 {
                    yield_now().await;
                }
            };
            of_few.in_turn(|| "few", work).await;
            polled.load(Ordering::Relaxed) - before
        });
        let between = few.await.unwrap();
        assert!(between <= 11 * 2 * 4, "{between} polls of others between 11 of its own");
        many.shutdown().await;
        // Those that are gone have no turns, and hold up nothing.
        for _ in 0..10 {
            rounds.in_turn(|| "next", yield_now()).await;
        }
        assert!(rounds.round().turns.is_empty());
    }

    #[tokio::test]
    async fn rounds_begin_until_nothing_waits_whoever_is_gone_meanwhile() {
        let rounds = Rounds::of(1, &TaskTracker::new());
        rounds.in_turn(|| 1, async {}).await;
        let mut work: Vec<_> = (0..100).map(|_| Box::pin(rounds.in_turn(|| 1, async {}))).collect();
        for one in &mut work {
            assert!(poll!(one).is_pending());
        }
        let last = work.pop().unwrap();
        // Some while they wait, and some when they have their turn already.
        drop(work.drain(..50));
        yield_now().await;
        drop(work);
        last.await;
        assert!(rounds.round().turns.is_empty());
    }
}
