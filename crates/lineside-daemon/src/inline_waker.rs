//! A future that wakes itself while it is polled is polled again at once.
//!
//! A server that hands the body of a request to what reads it wakes its own task in the middle of its poll. The runtime
//! would put the task at the end of a queue and wake another thread for it, with nothing left to be done.

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
            state.store(POLLING, Ordering::Release);
            let polled = future.as_mut().poll(&mut own);
            let is_quiet = state.compare_exchange(POLLING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok();
            if polled.is_ready() || is_quiet {
                return polled;
            }
        }
        state.store(IDLE, Ordering::Release);
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
