//! One answer from a thread to a future.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use lineside_core::journal::Unavailable;

/// What a promise is about.
type Answer = Result<(), Unavailable>;

#[derive(Debug, Default)]
struct Place {
    answer: Option<Answer>,
    waker: Option<Waker>,
}

/// Its holder has to answer. Dropped without an answer, it answers that the journal is unavailable.
#[derive(Debug)]
pub(crate) struct Promise(Arc<Mutex<Place>>);

/// The answer, when it is there.
#[derive(Debug)]
pub(crate) struct Promised(Arc<Mutex<Place>>);

/// A promise and what it promises.
pub(crate) fn promise() -> (Promise, Promised) {
    let place = Arc::default();
    (Promise(Arc::clone(&place)), Promised(place))
}

impl Promise {
    /// Answers; only the first answer counts.
    pub(crate) fn keep(self, answer: Answer) {
        self.answer(answer);
    }

    fn answer(&self, answer: Answer) {
        let waker = {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            place.answer.get_or_insert(answer);
            place.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.answer(Err(Unavailable::because("it was closed")));
    }
}

impl Future for Promised {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &place.answer {
            Some(answer) => Poll::Ready(answer.clone()),
            None => {
                place.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Promised {
    /// Blocks the thread until the answer is there.
    pub(crate) fn wait(self) -> Answer {
        block_on(self)
    }
}

/// Drives a future on this thread alone.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
