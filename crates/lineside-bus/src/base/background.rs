//! The task owner of the crate: detached hooks run here, tracked and cancellable.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_core::SessionId;
use lineside_core::hook::Join;
use tokio::runtime::{Handle, TryCurrentError};
use tokio::sync::Notify;
use tokio::task::coop::unconstrained;
use tokio_util::sync::CancellationToken;

use crate::base::caught::{BoxFuture, Failures};

/// Which of the events that are held are to be run for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Those of hooks that the next model call waits for.
    Joining,
    /// All of them: the session ends.
    All,
}

/// What holds events of a session, or has done so.
pub(crate) trait Holder: Clone + Send + 'static {
    /// Runs at once for the events of a session that it holds.
    fn release(&self, session: &SessionId, which: Release);

    /// Waits until everything is over that it holds or runs for a session by itself, up to now.
    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()>;

    /// A session has ended, and what it runs by itself for that has no more time.
    fn cut(&self, session: &SessionId);

    /// Whether the two are the same.
    fn is(&self, other: &Self) -> bool;
}

/// How the end of a session waits for a detached run.
pub(crate) struct Terms {
    /// By the next model call.
    pub(crate) join: Join,
    /// By the end of the session, at most so long.
    pub(crate) drain: Option<Duration>,
    /// What cancels it, beside the end of the session.
    pub(crate) cancel: Option<BoxFuture<()>>,
}

/// What came before the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The session has ended, and has no more time.
    Deadline,
    /// The session had ended before it began.
    Unbegun,
    /// It was to begin outside a runtime.
    NoRuntime,
    /// The session has ended, and the hook itself has no more time.
    Patience,
    /// It was cancelled.
    Cancelled,
}

/// What a session runs without waiting for it.
pub(crate) struct Background<H> {
    tasks: Tasks,
    cancel: CancellationToken,
    /// The session is ending; what has a limit for that has it from now on.
    ending: CancellationToken,
    finished: AtomicU64,
    cut_short: AtomicU64,
    joining: Mutex<HashMap<u64, CancellationToken>>,
    started: AtomicU64,
    /// Hooks that hold events of the session, or have done so.
    holders: Mutex<Vec<H>>,
}

impl<H> Default for Background<H> {
    fn default() -> Self {
        Self {
            tasks: Tasks::default(),
            cancel: CancellationToken::new(),
            ending: CancellationToken::new(),
            finished: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
            joining: Mutex::default(),
            started: AtomicU64::new(0),
            holders: Mutex::new(Vec::new()),
        }
    }
}

impl<H: Holder> Background<H> {
    /// Starts `work`, within a runtime; `cut` runs instead of its end when something else comes first. `done` is cancelled
    /// when it is over.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        terms: Terms,
        done: CancellationToken,
        work: impl Future<Output = ()> + Send + 'static,
        cut: impl FnOnce(Cut) + Send + 'static,
    ) {
        let Terms { join, drain, cancel: own } = terms;
        let (cancel, ending) = (self.cancel.clone(), self.ending.clone());
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        if join == Join::BeforeNextModel {
            lock(&self.joining).insert(number, done.clone());
        }
        let over = Over { background: Arc::clone(self), number, done };
        let running = self.tasks.running();
        tokio::spawn(async move {
            let (_running, _over) = (running, over);
            let patience = async {
                match drain {
                    Some(drain) => {
                        ending.cancelled().await;
                        // The work may use up what the task may do at once, and a timer would have to wait for more.
                        unconstrained(tokio::time::sleep(drain)).await;
                    }
                    None => std::future::pending().await,
                }
            };
            let cancelled = async {
                match own {
                    Some(own) => own.await,
                    None => std::future::pending().await,
                }
            };
            let why = tokio::select! {
                biased;
                () = work => return,
                () = cancel.cancelled() => Cut::Deadline,
                () = cancelled => Cut::Cancelled,
                () = patience => Cut::Patience,
            };
            cut(why);
        });
    }

    /// Waits until everything has ended that the next model call must wait for and that has been started by now.
    pub(crate) async fn joined(&self, session: &SessionId, failures: &Failures) {
        let holders = lock(&self.holders).clone();
        let waiting: Vec<CancellationToken> = lock(&self.joining).values().cloned().collect();
        for one in waiting {
            one.cancelled().await;
        }
        for holder in holders {
            failures.caught_later(|| holder.settled(session, Release::Joining)).await.ok();
        }
    }

    /// A hook holds an event of the session.
    pub(crate) fn holds(&self, holder: &H) {
        let mut holders = lock(&self.holders);
        if !holders.iter().any(|other| other.is(holder)) {
            holders.push(holder.clone());
        }
    }

    /// Has held events of the session run for at once.
    pub(crate) fn release(&self, session: &SessionId, which: Release, failures: &Failures) {
        let holders = lock(&self.holders).clone();
        for holder in holders {
            failures.caught(|| holder.release(session, which)).ok();
        }
    }

    /// Lets something begin; `None` when the session has ended and has no more time. The end waits for the token, so
    /// that nothing begins beside it.
    pub(crate) fn admit(&self) -> Option<Running> {
        let running = self.tasks.running();
        (!self.cancel.is_cancelled()).then_some(running)
    }

    /// Lets a task begin.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) fn admit_task(&self) -> Result<Running, Cut> {
        let running = self.admit().ok_or(Cut::Unbegun)?;
        Handle::try_current().map(|_| running).map_err(|_| Cut::NoRuntime)
    }

    /// Whether something runs, or is held.
    pub(crate) fn goes_on(&self) -> bool {
        self.tasks.are_running() || !lock(&self.holders).is_empty()
    }

    /// One run has come to its own end.
    pub(crate) fn count_finished(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// One run was cut short.
    pub(crate) fn count_cut_short(&self) {
        self.cut_short.fetch_add(1, Ordering::Relaxed);
    }

    /// How many runs have come to their end, and how many were cut short.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.finished.load(Ordering::Relaxed), self.cut_short.load(Ordering::Relaxed))
    }

    /// Waits until everything has ended; what has not by `deadline` is cut short.
    pub(crate) async fn drain(
        &self,
        session: &SessionId,
        deadline: Option<tokio::time::Instant>,
        failures: &Failures,
    ) {
        self.end(session, failures);
        if let Some(deadline) = deadline
            && tokio::time::timeout_at(deadline, self.ended(session, failures)).await.is_err()
        {
            self.cut(session, failures);
        }
        self.ended(session, failures).await;
        let held = std::mem::take(&mut *lock(&self.holders));
        // Outside the lock: hooks are values of others, who may call the bus when they are dropped.
        drop(held);
    }

    /// The session ends: what is held runs at once, and what has a time for its end has it from now on.
    pub(crate) fn end(&self, session: &SessionId, failures: &Failures) {
        self.release(session, Release::All, failures);
        self.ending.cancel();
    }

    /// There is no more time.
    pub(crate) fn cut(&self, session: &SessionId, failures: &Failures) {
        // First, so that nothing takes the place of what is cut short.
        for holder in lock(&self.holders).clone() {
            failures.caught(|| holder.cut(session)).ok();
        }
        self.cancel.cancel();
    }

    /// Waits until everything has ended, and lets go of the hooks that hold nothing of the session any more.
    pub(crate) async fn ended(&self, session: &SessionId, failures: &Failures) {
        self.tasks.ended().await;
        let holders = lock(&self.holders).clone();
        for holder in holders {
            failures.caught_later(|| holder.settled(session, Release::All)).await.ok();
            lock(&self.holders).retain(|other| !other.is(&holder));
        }
    }
}

/// Ends of sessions without a waiter.
#[derive(Default)]
pub(crate) struct Endings(Writers);

impl Endings {
    /// Starts one; `false` where there is no runtime.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(&self, end: impl FnOnce() -> F) -> bool {
        self.0.start(end)
    }

    /// Waits until all have come that have been started by now.
    pub(crate) async fn come(&self) {
        let Writers(tasks) = &self.0;
        tasks.ended().await;
    }
}

/// Tasks that write down what is to be kept; they end by themselves.
#[derive(Default)]
pub(crate) struct Writers(Tasks);

impl Writers {
    /// Starts one; `false` where there is no runtime.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(&self, work: impl FnOnce() -> F) -> bool {
        let Ok(runtime) = Handle::try_current() else { return false };
        let (running, work) = (self.0.running(), work());
        runtime.spawn(async move {
            let _running = running;
            work.await;
        });
        true
    }
}

/// Counts what runs, so that its end can be awaited.
#[derive(Default)]
struct Tasks(Arc<Count>);

#[derive(Default)]
struct Count {
    running: AtomicUsize,
    none: Notify,
}

impl Tasks {
    /// One more runs, until what is returned is dropped.
    fn running(&self) -> Running {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(&self.0))
    }

    fn are_running(&self) -> bool {
        self.0.running.load(Ordering::Acquire) > 0
    }

    /// Waits until none runs. Cancel safe.
    async fn ended(&self) {
        // Notified from here on, so that an end between the two lines is not missed.
        let none = self.0.none.notified();
        if self.are_running() {
            none.await;
        }
    }
}

/// One that runs.
pub(crate) struct Running(Arc<Count>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

/// Starts the task of an observer, which ends by itself when its queue is dropped.
///
/// # Errors
/// There is no tokio runtime.
pub(crate) fn start_watcher(
    watcher: impl Future<Output = ()> + Send + 'static,
) -> Result<(), TryCurrentError> {
    Handle::try_current().map(|runtime| drop(runtime.spawn(watcher)))
}

/// Tells that a run is over, however it ended.
struct Over<H> {
    background: Arc<Background<H>>,
    number: u64,
    done: CancellationToken,
}

impl<H> Drop for Over<H> {
    fn drop(&mut self) {
        lock(&self.background.joining).remove(&self.number);
        self.done.cancel();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
