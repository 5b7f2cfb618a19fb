//! A task whose callers may poll it inline: a caller that has brought it work polls it at once, instead of waking another
//! thread for that.
//!
//! The task itself wakes the caller that waits for the answer, as always.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::{Handle, Id};

/// How often it is run again because it was woken meanwhile, before its task does that.
const MOST: usize = 4;

/// It is not run: what wakes it wakes its task.
const IDLE: u8 = 0;
/// It is run.
const RUNNING: u8 = 1;
/// The same, and it was woken meanwhile.
const WOKEN: u8 = 2;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The work of one task.
pub(super) struct CallerPolled {
    /// Absent once it is over.
    work: Mutex<Option<Work>>,
    wakes: Arc<Wakes>,
    waker: Waker,
    /// Its timers are of this runtime, and it is run in no other one.
    runtime: Id,
}

impl std::fmt::Debug for CallerPolled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallerPolled").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Wakes {
    state: AtomicU8,
    task: Mutex<Option<Waker>>,
}

impl Wakes {
    fn task(&self) -> MutexGuard<'_, Option<Waker>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_task(&self) {
        if let Some(task) = &*self.task() {
            task.wake_by_ref();
        }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = |state| (state != IDLE).then_some(WOKEN);
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, woken).is_err() {
            self.wake_task();
        }
    }
}

/// Ends the work with its task, also where that goes with its runtime; and lets go of the task, which has a hold on the
/// runtime.
struct Ends(Arc<CallerPolled>);

impl Drop for Ends {
    fn drop(&mut self) {
        let work = self.0.work().take();
        drop(work);
        let task = self.0.wakes.task().take();
        drop(task);
    }
}

impl CallerPolled {
    /// The work, which is done by the second.
    pub(super) fn new(
        work: impl Future<Output = ()> + Send + 'static,
        runtime: &Handle,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let wakes = Arc::<Wakes>::default();
        let waker = Waker::from(Arc::clone(&wakes));
        let work: Option<Work> = Some(Box::pin(work));
        let helped = Arc::new(Self { work: Mutex::new(work), wakes, waker, runtime: runtime.id() });
        let ends = Ends(Arc::clone(&helped));
        let task = poll_fn(move |cx| ends.0.poll(cx));
        (helped, task)
    }

    /// Does the work after this has brought it something: here and now, unless it is being done, or belongs to another
    /// runtime.
    pub(super) fn after(&self, bring: impl FnOnce()) {
        let is_here = Handle::try_current().is_ok_and(|here| here.id() == self.runtime);
        let work = match self.work.try_lock() {
            Ok(work) if is_here => Some(work),
            Err(TryLockError::Poisoned(_)) | Err(TryLockError::WouldBlock) | Ok(_) => None,
        };
        let Some(mut work) = work else { return bring() };
        self.wakes.state.store(RUNNING, Ordering::Release);
        bring();
        if self.run(&mut work).is_ready() {
            self.wakes.wake_task();
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut work = self.work();
        {
            let mut task = self.wakes.task();
            if !task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
                *task = Some(cx.waker().clone());
            }
        }
        self.run(&mut work)
    }

    fn run(&self, slot: &mut Option<Work>) -> Poll<()> {
        let state = &self.wakes.state;
        for _ in 0..MOST {
            state.store(RUNNING, Ordering::Release);
            let Some(work) = slot else {
                state.store(IDLE, Ordering::Release);
                return Poll::Ready(());
            };
            if work.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready() {
                *slot = None;
                continue;
            }
            if state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Poll::Pending;
            }
        }
        state.store(IDLE, Ordering::Release);
        self.wakes.wake_task();
        if slot.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn work(&self) -> MutexGuard<'_, Option<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::Notify;

    use super::*;

    /// Work that counts how often it was woken by what it waits for, on which thread, and that ends when it is to.
    #[derive(Default)]
    struct Work {
        brought: Notify,
        end: Notify,
        done: AtomicUsize,
    }

    impl Work {
        async fn run(self: Arc<Self>) {
            loop {
                tokio::select! {
                    () = self.brought.notified() => drop(self.done.fetch_add(1, Ordering::Relaxed)),
                    () = self.end.notified() => return,
                }
            }
        }

        fn done(&self) -> usize {
            self.done.load(Ordering::Relaxed)
        }
    }

    async fn started(work: &Arc<Work>) -> (Arc<CallerPolled>, tokio::task::JoinHandle<()>) {
        let (helped, task) = CallerPolled::new(Arc::clone(work).run(), &Handle::current());
        let task = tokio::spawn(task);
        tokio::task::yield_now().await;
        (helped, task)
    }

    #[tokio::test]
    async fn work_is_done_by_who_brings_it() {
        let work = Arc::<Work>::default();
        let (helped, task) = started(&work).await;
        for count in 1..=3 {
            helped.after(|| work.brought.notify_one());
            assert_eq!(work.done(), count, "before the task has its turn");
        }
        work.brought.notify_one();
        assert_eq!(work.done(), 3);
        tokio::task::yield_now().await;
        assert_eq!(work.done(), 4, "what wakes it otherwise wakes its task");
        helped.after(|| work.end.notify_one());
        task.await.unwrap();
        helped.after(|| work.brought.notify_one());
        assert_eq!(work.done(), 4);
    }

    #[tokio::test]
    async fn work_of_another_runtime_is_left_to_its_task() {
        let work = Arc::<Work>::default();
        let (helped, task) = started(&work).await;
        let (elsewhere, brings) = (Arc::clone(&helped), Arc::clone(&work));
        let done = std::thread::spawn(move || {
            elsewhere.after(|| brings.brought.notify_one());
            brings.done()
        });
        // Nothing is awaited here, so that the task does not run either.
        assert_eq!(done.join().unwrap(), 0);
        tokio::task::yield_now().await;
        assert_eq!(work.done(), 1);
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(helped.work().is_none(), "the work goes with its task");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_work_is_forgotten_however_many_bring_it() {
        let work = Arc::<Work>::default();
        let (helped, task) = started(&work).await;
        let bringing = (0..4).map(|_| {
            let (helped, work) = (Arc::clone(&helped), Arc::clone(&work));
            tokio::spawn(async move {
                for _ in 0..1_000 {
                    let before = work.done();
                    helped.after(|| work.brought.notify_one());
                    while work.done() == before {
                        tokio::task::yield_now().await;
                    }
                }
            })
        });
        for one in bringing.collect::<Vec<_>>() {
            one.await.unwrap();
        }
        work.end.notify_one();
        task.await.unwrap();
    }
}
