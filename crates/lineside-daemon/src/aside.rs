//! Long work that never waits, as reading a large document: on threads of its own, so that the workers of the runtime go on
//! with small requests.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::{Notify, Semaphore};
use tokio::task::spawn_blocking;

/// From how many bytes on a body is worked at aside: reading this much takes about a millisecond.
const LARGE: usize = 256 << 10;

/// From how many characters on with which a shell expands something the body of a call is worked at aside: what its patterns
/// match is looked for on the disk, and its variables are worked out.
const EXPANSIONS: usize = 64;

/// How many are worked at at the same time.
const AT_ONCE: usize = 2;

/// The length of a body as far as the work with it goes: one whose commands expand much is as one that is large.
pub(crate) fn weight(body: &[u8]) -> usize {
    let expansions = body.iter().filter(|byte| matches!(byte, b'*' | b'?' | b'$')).count();
    if expansions < EXPANSIONS { body.len() } else { body.len().max(LARGE) }
}

/// The threads for large bodies. Clones have the same places.
#[derive(Clone)]
pub(crate) struct Aside(Arc<Semaphore>);

impl Default for Aside {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// Has work polled again.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

impl Aside {
    /// One place, for what may be long and is a stranger's: it holds up nothing else.
    pub(crate) fn of_strangers() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Does work for a body of this length: where it is large, each poll is one on another thread. A place is taken while
    /// it is polled, and not while it waits for something. Dropping it ends the work after a poll that is under way.
    ///
    /// # Panics
    /// Where the work panics.
    pub(crate) fn run<F>(&self, length: usize, work: F) -> impl Future<Output = F::Output> + Send + use<F>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let places = Arc::clone(&self.0);
        // What it consists of is moved once, and not from each future around it to the next: they are on one stack.
        let mut pending = Box::pin(work);
        async move {
            if length < LARGE {
                return pending.await;
            }
            let woken = Arc::<Woken>::default();
            loop {
                // The places are never closed.
                let place = places.acquire().await;
                let (mut work, waker) = (pending, Waker::from(Arc::clone(&woken)));
                let polled =
                    spawn_blocking(move || match work.as_mut().poll(&mut Context::from_waker(&waker)) {
                        // What is left of it is dropped here.
                        Poll::Ready(done) => Ok(done),
                        Poll::Pending => Err(work),
                    });
                pending = match polled.await {
                    Ok(Ok(done)) => return done,
                    Ok(Err(pending)) => pending,
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => resume_unwind(panic),
                        // The runtime is over: nothing is polled again.
                        Err(_) => std::future::pending().await,
                    },
                };
                drop(place);
                woken.0.notified().await;
            }
        }
    }
}

#[cfg(test)]
impl Aside {
    /// Every place: nothing is worked at aside until this is dropped.
    pub(crate) async fn all_places(&self) -> tokio::sync::OwnedSemaphorePermit {
        let all = u32::try_from(self.0.available_permits()).unwrap();
        Arc::clone(&self.0).acquire_many_owned(all).await.unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::{AT_ONCE, Aside, LARGE};

    #[tokio::test]
    async fn work_for_a_large_body_keeps_nothing_else_waiting_and_only_so_many_are_worked_at() {
        let aside = Aside::default();
        let (mut begun, mut gates, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..AT_ONCE * 10 {
            let ((begins, begin), (opens, gate)) = (oneshot::channel(), mpsc::sync_channel::<()>(1));
            tasks.push(tokio::spawn(aside.run(LARGE, async move {
                // What waits has no place.
                tokio::task::yield_now().await;
                begins.send(()).unwrap();
                // Blocks its thread, as long work does; this one has another.
                gate.recv().unwrap();
            })));
            begun.push(begin);
            gates.push(opens);
        }
        let mut under_way = Vec::new();
        while under_way.len() < AT_ONCE {
            let (_, at, rest) = futures_util::future::select_all(begun).await;
            begun = rest;
            under_way.push(gates.remove(at));
        }
        assert_eq!(aside.0.available_permits(), 0);
        for gate in under_way.iter().chain(&gates) {
            gate.send(()).unwrap();
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(aside.0.available_permits(), AT_ONCE);
    }

    #[tokio::test]
    async fn work_that_panics_aside_has_its_caller_panic() {
        let panics = tokio::spawn(Aside::default().run(LARGE, async { panic!("as it was asked to") }));
        assert!(panics.await.unwrap_err().is_panic());
    }
}
