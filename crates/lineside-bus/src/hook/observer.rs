//! Observers: tasks that hear events and outcomes through a bounded queue, and can neither slow nor break anything.
//!
//! The publisher pushes a reference into the queue and goes on. What does not fit is dropped by the declared policy,
//! counted, signalled, and told to the observer with the next event that it gets.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(feature = "actors")]
use kameo::{actor::ActorRef, message::Message};
use lineside_core::failure::drop_payload;
use lineside_core::payload::Point;
use lineside_core::{Event, Hook, Receipt, Verdict};
use smallvec::SmallVec;
use tokio::runtime::TryCurrentError;
use tokio::sync::{Notify, mpsc};

use crate::base::background::start_watcher;
use crate::base::caught::{self, BoxFuture};

/// An event and its outcome, as an observer hears them.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_core::Verdict;
/// use lineside_points::BeforePrompt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let (sender, mut heard) = tokio::sync::mpsc::channel(8);
/// bus.observe::<BeforePrompt>("audit").run(move |heard| {
///     let sender = sender.clone();
///     async move {
///         let line = format!("{} by {:?}", heard.verdict(), heard.author().map(|hook| hook.name.to_string()));
///         sender.send(line).await.unwrap_or_default();
///     }
/// })?;
/// let session = bus.session("s1").open().await?;
/// session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::block("closed"))?;
/// drop(session.publish(BeforePrompt::new("hi")).await?);
/// assert_eq!(heard.recv().await.as_deref(), Some("block: closed by Some(\"guard\")"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Heard<P> {
    event: Event<P>,
    receipt: Arc<Receipt>,
    lost: Lost,
}

/// How many events were dropped between the one before and this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost(pub u64);

impl<P: Point> Heard<P> {
    /// The event, with the payload that was decided about.
    #[must_use]
    pub fn event(&self) -> &Event<P> {
        &self.event
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.receipt.verdict
    }

    /// What happened to the event.
    #[must_use]
    pub fn receipt(&self) -> &Arc<Receipt> {
        &self.receipt
    }

    /// The hook whose verdict it is; `None` for `continue`.
    #[must_use]
    pub fn author(&self) -> Option<&Hook> {
        self.receipt.author()
    }

    /// How many events this observer has lost since the last one that it heard.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }
}

/// What gives way when an observer's queue is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The event that has waited longest: the observer stays up to date.
    #[default]
    DropOldest,
    /// The event that comes: the observer sees what led up to the jam.
    DropNewest,
}

/// The publisher's side of an observer.
pub(crate) trait Listener: Send + Sync {
    /// Hands an outcome over, which takes about so many bytes. Never waits. Returns the number lost so far when something was dropped.
    fn push(&self, receipt: &Arc<Receipt>, weight: usize) -> Option<u64>;

    /// Waits until everything that was pushed so far has been heard.
    fn flush(&self) -> BoxFuture<()>;

    /// How many events were lost so far, and how many times the observer panicked.
    fn losses(&self) -> (u64, u64);
}

/// An observer's queue. A task empties it, which ends when the queue is dropped and everything in it has been heard.
pub(crate) struct Queue {
    ring: Arc<Ring>,
    /// Wakes the task; it is closed when the task has ended.
    wake: mpsc::Sender<()>,
}

/// How much waits for an observer at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    /// Events, at least 1.
    pub(crate) events: usize,
    /// Bytes of events; one alone may be longer.
    pub(crate) bytes: usize,
}

#[derive(Default)]
struct Waiting {
    /// Each with about how many bytes it takes.
    receipts: VecDeque<(Arc<Receipt>, usize)>,
    bytes: usize,
}

struct Ring {
    waiting: Mutex<Waiting>,
    most: Capacity,
    overflow: Overflow,
    woken: AtomicBool,
    lost: AtomicU64,
    panics: AtomicU64,
    /// How many events ever came, and of how many it is over: they were heard or lost.
    pushed: AtomicU64,
    over: AtomicU64,
    progress: Notify,
}

/// What an observer runs for each event.
pub(crate) type Hear<P> = Box<dyn FnMut(Heard<P>) -> BoxFuture<()> + Send>;

impl Queue {
    /// Starts the task.
    ///
    /// # Errors
    /// There is no tokio runtime.
    pub(crate) fn start<P: Point>(
        most: Capacity,
        overflow: Overflow,
        hear: Hear<P>,
    ) -> Result<Self, TryCurrentError> {
        let ring = Arc::new(Ring {
            waiting: Mutex::default(),
            most,
            overflow,
            woken: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            pushed: AtomicU64::new(0),
            over: AtomicU64::new(0),
            progress: Notify::new(),
        });
        let (wake, woken) = mpsc::channel(1);
        start_watcher(Watcher { ring: Arc::clone(&ring), hear, told: 0 }.run(woken))?;
        Ok(Self { ring, wake })
    }
}

/// What a closure hears.
pub(crate) fn hear_with<P, F, Fut>(mut run: F) -> Hear<P>
where
    P: Point,
    F: FnMut(Heard<P>) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Box::new(move |heard| Box::pin(run(heard)))
}

/// What an actor hears: each event as a message, no faster than its own mailbox takes them.
#[cfg(feature = "actors")]
pub(crate) fn hear_by<P, A>(actor: ActorRef<A>) -> Hear<P>
where
    P: Point,
    A: Message<Heard<P>>,
{
    Box::new(move |heard| {
        let actor = actor.clone();
        // An actor that is gone hears nothing; that concerns no other observer.
        Box::pin(async move { actor.tell(heard).await.map_or((), |()| ()) })
    })
}

impl Listener for Queue {
    fn push(&self, receipt: &Arc<Receipt>, weight: usize) -> Option<u64> {
        let lost = self.ring.push(receipt, weight);
        if !self.ring.woken.swap(true, Ordering::AcqRel) {
            // A full channel holds a wake-up already.
            self.wake.try_send(()).ok();
        }
        lost
    }

    fn flush(&self) -> BoxFuture<()> {
        let ring = Arc::clone(&self.ring);
        let pushed = ring.pushed.load(Ordering::Acquire);
        // The task does not end before that.
        let wake = self.wake.clone();
        Box::pin(async move {
            loop {
                let progress = ring.progress.notified();
                if ring.over.load(Ordering::Acquire) >= pushed || wake.is_closed() {
                    return;
                }
                progress.await;
            }
        })
    }

    fn losses(&self) -> (u64, u64) {
        (self.ring.lost.load(Ordering::Relaxed), self.ring.panics.load(Ordering::Relaxed))
    }
}

impl Ring {
    fn push(&self, receipt: &Arc<Receipt>, weight: usize) -> Option<u64> {
        self.pushed.fetch_add(1, Ordering::AcqRel);
        let lost = self.put(receipt, weight);
        self.are_over(lost);
        (lost > 0).then(|| self.lost.fetch_add(lost, Ordering::Relaxed) + lost)
    }

    fn are_over(&self, events: u64) {
        if events > 0 {
            self.over.fetch_add(events, Ordering::AcqRel);
            self.progress.notify_waiters();
        }
    }

    /// Returns how many events gave way, this one among them where the newest does.
    fn put(&self, receipt: &Arc<Receipt>, weight: usize) -> u64 {
        let mut waiting = self.lock();
        let fits = |waiting: &Waiting| {
            let is_empty = waiting.receipts.is_empty();
            is_empty || waiting.receipts.len() < self.most.events && waiting.bytes + weight <= self.most.bytes
        };
        if self.overflow == Overflow::DropNewest && !fits(&waiting) {
            return 1;
        }
        let mut dropped = SmallVec::<[_; 1]>::new();
        while !fits(&waiting) {
            dropped.extend(waiting.pop());
        }
        waiting.bytes += weight;
        waiting.receipts.push_back((Arc::clone(receipt), weight));
        drop(waiting);
        dropped.len() as u64
    }

    fn pop(&self) -> Option<Arc<Receipt>> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Arc<Receipt>> {
        let (receipt, weight) = self.receipts.pop_front()?;
        self.bytes -= weight;
        Some(receipt)
    }
}

/// What the task of one observer has.
struct Watcher<P: Point> {
    ring: Arc<Ring>,
    hear: Hear<P>,
    /// How many lost events the observer knows of.
    told: u64,
}

/// One event, which is over when this is dropped.
struct Over(Arc<Ring>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.are_over(1);
    }
}

impl<P: Point> Watcher<P> {
    /// Hears what waits whenever it is woken, until the queue has been dropped.
    async fn run(mut self, mut woken: mpsc::Receiver<()>) {
        while woken.recv().await.is_some() {
            self.ring.woken.store(false, Ordering::Release);
            while let Some(receipt) = self.ring.pop() {
                self.hear(receipt).await;
            }
        }
    }

    async fn hear(&mut self, receipt: Arc<Receipt>) {
        let _over = Over(Arc::clone(&self.ring));
        let Some(event) = receipt.event.typed() else { return };
        let lost = self.ring.lost.load(Ordering::Relaxed);
        let heard = Heard { event, receipt, lost: Lost(lost - self.told) };
        self.told = lost;
        let hear = &mut self.hear;
        let started = std::panic::catch_unwind(AssertUnwindSafe(|| hear(heard)));
        let ended = match started {
            Ok(run) => caught::caught(run).await,
            Err(panic) => Err(panic),
        };
        if let Err(panic) = ended {
            drop_payload(panic);
            self.ring.panics.fetch_add(1, Ordering::Relaxed);
        }
    }
}
