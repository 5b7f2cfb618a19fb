//! A future that wakes itself while it is polled is polled again at once.
//!
//! A server that hands the body of a request to what reads it wakes its own task in the middle of its poll. The runtime
//! would put the task at the end of a queue and wake another thread for it, with nothing left to be done.
//!
//! No wake-up is lost. One that finds [`IDLE`] wakes the task that was registered before the last poll began; one that
//! finds another state leaves [`WOKEN`], which the poller takes back only to poll once more, or to wake the task. What
//! was done before a wake-up is seen by the poll that follows it: each change of the state reads and releases it, so a poll
//! that takes [`WOKEN`] back has acquired what was released with it; the path over the task has its order from
//! [`AtomicWaker`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often a future is polled again before the other tasks have their turn.
const MOST: usize = 16;

/// Nothing is polled: who wakes it wakes the task.
const IDLE: u8 = 0;
/// The future is polled.
const POLLING: u8 = 1;
/// The same, and it was woken meanwhile.
const WOKEN: u8 = 2;

/// Polls one future.
pub(crate) struct Inline {
    shared: Arc<Shared>,
    waker: Waker,
}

#[derive(Default)]
struct Shared {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = |state| (state != IDLE).then_some(WOKEN);
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, woken).is_err() {
            self.task.wake();
        }
    }
}

impl Default for Inline {
    fn default() -> Self {
        let shared = Arc::<Shared>::default();
        Self { waker: Waker::from(Arc::clone(&shared)), shared }
    }
}

impl Inline {
    /// Polls the future, again for as long as it wakes itself.
    pub(crate) fn poll<F: Future>(&self, mut future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Shared { state, task } = &*self.shared;
        task.register(cx.waker());
        let mut own = Context::from_waker(&self.waker);
        for _ in 0..MOST {
            // Exchanged and not stored: another wake-up may have come since the last look.
            state.swap(POLLING, Ordering::AcqRel);
            let polled = future.as_mut().poll(&mut own);
            if polled.is_ready() {
                // What has ended is woken no more; a stream is asked for its next value before anything is waited for.
                state.swap(IDLE, Ordering::AcqRel);
                return polled;
            }
            if state.compare_exchange(POLLING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Poll::Pending;
            }
        }
        state.swap(IDLE, Ordering::AcqRel);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// How often its task was woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls a future once that wakes itself this many times, and says how often it was polled, and its task woken.
    fn polled(wakes: usize) -> (usize, usize) {
        let woken = Arc::<Woken>::default();
        let mut polls = 0;
        let mut future = pin!(poll_fn(|cx| {
            polls += 1;
            if polls <= wakes {
                cx.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }));
        let inline = Inline::default();
        let waker = Waker::from(Arc::clone(&woken));
        assert!(inline.poll(future.as_mut(), &mut Context::from_waker(&waker)).is_pending());
        (polls, woken.0.load(Ordering::Relaxed))
    }

    #[test]
    fn what_wakes_itself_is_polled_again_and_its_task_is_not_woken() {
        assert_eq!(polled(0), (1, 0));
        assert_eq!(polled(3), (4, 0));
    }

    #[test]
    fn what_wakes_itself_without_end_lets_others_have_their_turn() {
        assert_eq!(polled(usize::MAX), (MOST, 1));
    }

    #[test]
    fn what_was_woken_in_its_last_poll_wakes_its_task_later() {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        let inline = Inline::default();
        let mut own = None;
        let mut ready = pin!(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            own = Some(cx.waker().clone());
            Poll::Ready(())
        }));
        assert!(inline.poll(ready.as_mut(), &mut Context::from_waker(&waker)).is_ready());
        own.take().unwrap().wake();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    }

    /// Another thread wakes it at whatever moment of a poll.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_up_of_another_thread_is_lost() {
        const ROUNDS: usize = 20_000;
        let shared = Arc::new((AtomicUsize::new(0), AtomicWaker::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let wakes = std::thread::spawn(move || {
            let (sent, waker, seen) = &*other;
            for round in 1..=ROUNDS {
                sent.store(round, Ordering::Release);
                waker.wake();
                // A second one, of nothing new, meets the poll that follows.
                waker.wake();
                while seen.load(Ordering::Acquire) < round {
                    std::thread::yield_now();
                }
            }
        });
        let polled = tokio::spawn(async move {
            let (sent, waker, seen) = &*shared;
            let inline = Inline::default();
            let mut future = pin!(poll_fn(|cx| {
                waker.register(cx.waker());
                seen.store(sent.load(Ordering::Acquire), Ordering::Release);
                // Time for the next one to come within this poll.
                (0..200).for_each(|_| std::hint::spin_loop());
                if seen.load(Ordering::Relaxed) == ROUNDS { Poll::Ready(()) } else { Poll::Pending }
            }));
            poll_fn(|cx| inline.poll(future.as_mut(), cx)).await;
        });
        tokio::time::timeout(std::time::Duration::from_secs(60), polled).await.unwrap().unwrap();
        wakes.join().unwrap();
    }

    #[test]
    fn what_is_woken_later_wakes_its_task() {
        let woken = Arc::<Woken>::default();
        let mut inner = None;
        let mut future = pin!(poll_fn(|cx| {
            inner = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let inline = Inline::default();
        let waker = Waker::from(Arc::clone(&woken));
        assert!(inline.poll(future.as_mut(), &mut Context::from_waker(&waker)).is_pending());
        inner.take().unwrap().wake();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    }
}
