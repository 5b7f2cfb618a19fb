//! Everything that happens, as typed signals. Who watches them has no influence on anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_core::receipt::Given;
use lineside_core::{
    Approval, CoverageMismatch, EventId, Failure, Hook, MessageId, Notice, Outcome, Receipt, SessionId,
    SkipReason,
};

mod ring;

use ring::{Found, Most, Ring, Watching};

/// Something that has happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Signal {
    /// A session was opened.
    SessionOpened {
        /// The session.
        session: SessionId,
        /// The session that opened it.
        parent: Option<SessionId>,
        /// The digest of the hooks that it is under.
        coverage: Arc<str>,
    },
    /// A session was closed.
    SessionClosed {
        /// The session.
        session: SessionId,
        /// The number of its last event.
        last_seq: u64,
    },
    /// A publisher believes that its session is under other hooks than it is.
    CoverageMismatch {
        /// The session.
        session: SessionId,
        /// The event that stated it.
        event: EventId,
        /// What was stated, and what is.
        mismatch: CoverageMismatch,
    },
    /// An event was decided.
    Decided(Arc<Receipt>),
    /// The publisher gave an event up before it was decided.
    Abandoned {
        /// The session.
        session: SessionId,
        /// The number of the event.
        seq: u64,
        /// The event.
        event: EventId,
        /// The event as it was published and for how long it was waited for, in a receipt that has no hooks and decides
        /// nothing.
        left: Arc<Receipt>,
    },
    /// A detached hook has ended.
    DetachedFinished {
        /// The event that had started it.
        event: EventId,
        /// The session of the event.
        session: SessionId,
        /// The hook.
        hook: Arc<Hook>,
        /// What became of it; of one in shadow, what it would have come to.
        outcome: Outcome,
        /// What one in shadow would have changed and given; `None` when that is nothing, and of all others.
        given: Option<Box<Given>>,
        /// The attempts before that, all of which failed.
        earlier: Vec<Failure>,
        /// How long it took.
        took: Duration,
    },
    /// A hook that held events has started for what they came to, or does not run for it after all.
    Released {
        /// The event: the last of those that were held.
        event: EventId,
        /// The session of the events.
        session: SessionId,
        /// The hook.
        hook: Arc<Hook>,
        /// Why it does not run; `None` when it does.
        skipped: Option<SkipReason>,
    },
    /// A detached hook has a message for the user.
    Notified {
        /// The event that had started it.
        event: EventId,
        /// The session of the event.
        session: SessionId,
        /// The hook.
        hook: Arc<str>,
        /// The message.
        notice: Notice,
    },
    /// There is a message for the user that belongs to no event.
    Announced {
        /// The message.
        notice: Notice,
    },
    /// Messages were handed over to an agent's context.
    ContextDelivered {
        /// The session.
        session: SessionId,
        /// How many.
        messages: usize,
    },
    /// A message did not fit into a mailbox and was dropped.
    ContextDropped {
        /// The session.
        session: SessionId,
        /// Whose message it was.
        hook: Arc<str>,
    },
    /// A message was too old when its turn came.
    ContextExpired {
        /// The session.
        session: SessionId,
        /// Whose message it was.
        hook: Arc<str>,
    },
    /// A later message of the same hook with the same key has taken the place of one that waited.
    ContextReplaced {
        /// The session.
        session: SessionId,
        /// Whose messages they are.
        hook: Arc<str>,
    },
    /// A message was longer than a delivery may be, and only its head and its tail are in it.
    ContextCut {
        /// The session.
        session: SessionId,
        /// Whose message it is.
        hook: Arc<str>,
        /// The message, by which the whole text can be asked for.
        message: MessageId,
    },
    /// A session was opened for which messages had been kept.
    ContextRecovered {
        /// The session.
        session: SessionId,
        /// How many.
        messages: usize,
    },
    /// Something has become of an event that an automation is for.
    Automation {
        /// The automation.
        hook: Arc<str>,
        /// The job; `None` when the event never became one.
        job: Option<u64>,
        /// The event, or the last one of the job.
        event: EventId,
        /// The session of the event.
        session: SessionId,
        /// What.
        news: JobNews,
    },
    /// The questions of hooks about an event wait for an answer.
    ApprovalAsked {
        /// The session.
        session: SessionId,
        /// The event.
        event: EventId,
        /// The name of the question, by which it is answered.
        id: Arc<str>,
        /// The first of the hooks that ask.
        hook: Arc<str>,
        /// Why it asks.
        reason: Arc<str>,
        /// For how long an answer is waited for.
        within: Duration,
    },
    /// The questions of hooks about an event were answered, by a person or as was settled before.
    ApprovalAnswered {
        /// The session.
        session: SessionId,
        /// The event.
        event: EventId,
        /// The first of the hooks that ask.
        hook: Arc<str>,
        /// The answer.
        approval: Box<Approval>,
    },
    /// An observer did not keep up.
    ObserverLagged {
        /// The observer.
        hook: Arc<str>,
        /// How many events it has lost so far.
        lost: u64,
    },
}

impl Signal {
    /// The session that it is about; `None` for one about the whole bus.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_bus::signal::Watched;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let mut signals = bus.signals();
    /// bus.session("s1").open().await?;
    /// let Some(Watched::Signal(opened)) = signals.next().await else { panic!("the bus has ended") };
    /// assert_eq!(opened.session().map(|id| id.as_str()), Some("s1"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Decided(receipt) => Some(&receipt.event.envelope().source.session),
            Self::SessionOpened { session, .. }
            | Self::CoverageMismatch { session, .. }
            | Self::SessionClosed { session, .. }
            | Self::Abandoned { session, .. }
            | Self::DetachedFinished { session, .. }
            | Self::Released { session, .. }
            | Self::Notified { session, .. }
            | Self::ContextDelivered { session, .. }
            | Self::ContextDropped { session, .. }
            | Self::ContextExpired { session, .. }
            | Self::ContextReplaced { session, .. }
            | Self::ContextCut { session, .. }
            | Self::ContextRecovered { session, .. }
            | Self::Automation { session, .. }
            | Self::ApprovalAsked { session, .. }
            | Self::ApprovalAnswered { session, .. } => Some(session),
            Self::Announced { .. } | Self::ObserverLagged { .. } => None,
        }
    }
}

/// What has become of a job of an automation. Reasons are for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobNews {
    /// Its event is held with others.
    Held,
    /// It will run.
    Queued,
    /// Its event was not accepted, for this reason.
    Refused(String),
    /// An attempt has started.
    Started {
        /// Which one, from 1.
        attempt: u32,
    },
    /// An attempt has failed, and there is another one.
    Retried {
        /// How it failed.
        failed: String,
        /// How long it is until then.
        pause: Duration,
    },
    /// It has come to a good end.
    Finished,
    /// It has come to a bad end and rests in the dead letters, for this reason.
    Dead(String),
    /// It will not run, or not to its end, for this reason.
    Cancelled(String),
    /// It rests until its automation is there again.
    Parked,
    /// A person has taken it up again.
    Revived,
    /// It was the oldest dead letter, and is thrown away.
    Forgotten,
}

impl Signal {
    /// Whether it is news for a person: a message, a question, or the end of a detached run. Whatever goes as it
    /// should and says nothing is none.
    #[must_use]
    pub fn is_news(&self) -> bool {
        matches!(
            self,
            Self::DetachedFinished { .. }
                | Self::Notified { .. }
                | Self::Announced { .. }
                | Self::ApprovalAsked { .. }
                | Self::Automation { news: JobNews::Dead(_), .. }
        )
    }
}

/// Where signals are sent. Clones are the same.
#[derive(Clone)]
pub(crate) struct SignalBus {
    all: Heard,
    news: Heard,
    /// Of either.
    watchers: Arc<AtomicUsize>,
}

/// How far a watcher may be behind before it loses the oldest signals: a flood of a few seconds, and receipts of large
/// events as well as of small ones.
const BEHIND: Most = Most { count: 4096, bytes: 32 << 20 };

#[derive(Clone)]
struct Heard {
    ring: Ring<Signal>,
    watchers: Arc<AtomicUsize>,
}

impl Heard {
    fn new() -> Self {
        Self { ring: Ring::new(BEHIND), watchers: Arc::default() }
    }

    #[inline]
    fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }
}

impl Signal {
    /// About how many bytes it keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        /// Ids and names.
        const BASE: usize = 256;
        let texts = match self {
            Self::Decided(receipt) => receipt.weight(),
            Self::DetachedFinished { earlier, given, outcome, .. } => {
                let earlier: usize = earlier.iter().map(|failure| BASE + failure.detail.len()).sum();
                let said = outcome.verdict().map_or(0, lineside_core::Verdict::weight);
                earlier + said + given.as_ref().map_or(0, |given| given.weight())
            }
            Self::Notified { notice, .. } | Self::Announced { notice } => notice.text.len(),
            Self::ApprovalAsked { reason, .. } => reason.len(),
            Self::ApprovalAnswered { approval, .. } => approval.by.len(),
            Self::Automation { news, .. } => match news {
                JobNews::Refused(why) | JobNews::Dead(why) | JobNews::Cancelled(why) => why.len(),
                JobNews::Retried { failed, .. } => failed.len(),
                _ => 0,
            },
            _ => 0,
        };
        BASE + texts
    }
}

impl SignalBus {
    pub(crate) fn new() -> Self {
        Self { all: Heard::new(), news: Heard::new(), watchers: Arc::default() }
    }

    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Sends a signal, which is only made when there is a watcher.
    #[inline]
    pub(crate) fn emit(&self, signal: impl FnOnce() -> Signal) {
        if !self.is_watched() {
            return;
        }
        let signal = signal();
        if signal.is_news() && self.news.is_watched() {
            self.news.ring.send(signal.clone(), signal.weight());
        }
        if self.all.is_watched() {
            let weight = signal.weight();
            self.all.ring.send(signal, weight);
        }
    }

    pub(crate) fn watch(&self) -> Signals {
        self.watch_ring(&self.all)
    }

    /// Of [news](Signal::is_news) alone, which no flood of other signals pushes out.
    pub(crate) fn watch_news(&self) -> Signals {
        self.watch_ring(&self.news)
    }

    fn watch_ring(&self, heard: &Heard) -> Signals {
        let watchers = [Arc::clone(&self.watchers), Arc::clone(&heard.watchers)];
        for watchers in &watchers {
            watchers.fetch_add(1, Ordering::Relaxed);
        }
        Signals { watching: heard.ring.watch(), watchers }
    }
}

/// A stream of signals, from the moment at which it was asked for.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_bus::signal::{Signal, Watched};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let mut signals = bus.signals();
/// let session = bus.session("s1").open().await?;
/// let opened = signals.next().await;
/// assert!(matches!(opened, Some(Watched::Signal(Signal::SessionOpened { session, .. })) if session.as_str() == "s1"));
/// # drop(session);
/// # Ok(())
/// # }
/// ```
pub struct Signals {
    watching: Watching<Signal>,
    watchers: [Arc<AtomicUsize>; 2],
}

/// What a watcher gets.
#[derive(Debug, Clone)]
pub enum Watched {
    /// A signal.
    Signal(Signal),
    /// This many signals were lost here because the watcher was too slow.
    Lost(u64),
}

impl Signals {
    /// The next signal; `None` once the bus is gone.
    ///
    /// Cancel safe: a dropped call loses nothing.
    pub async fn next(&mut self) -> Option<Watched> {
        self.watching.next().await.watched()
    }

    /// The next signal, where one that comes after a pause is left to gather with others for `pause`, or until the half
    /// waits that may: a reader that may be late by so much is woken once for all of them, and costs publishers no wake for
    /// each. `None` once the bus is gone.
    ///
    /// Cancel safe: a dropped call loses nothing.
    pub async fn next_gathered(&mut self, pause: Duration) -> Option<Watched> {
        self.watching.next_gathered(pause).await.watched()
    }

    /// The next signal if there is one already.
    ///
    /// ```
    /// use lineside_bus::Bus;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let mut signals = bus.signals();
    /// assert!(signals.try_next().is_none());
    /// bus.session("s1").open().await?;
    /// assert!(signals.try_next().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_next(&mut self) -> Option<Watched> {
        self.watching.now().watched()
    }
}

impl Found<Signal> {
    fn watched(self) -> Option<Watched> {
        match self {
            Self::Value(signal) => Some(Watched::Signal(signal)),
            Self::Lost(lost) => Some(Watched::Lost(lost)),
            Self::Nothing | Self::Closed => None,
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for watchers in &self.watchers {
            watchers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_other_signals_takes_no_place_among_news() {
        let signals = SignalBus::new();
        let (mut news, mut all) = (signals.watch_news(), signals.watch());
        signals.emit(|| Signal::Announced { notice: Notice::info("one") });
        for seq in 0..2 * BEHIND.count as u64 {
            signals.emit(|| Signal::SessionClosed { session: "s1".into(), last_seq: seq });
        }
        signals.emit(|| Signal::Announced { notice: Notice::info("two") });
        for expected in ["one", "two"] {
            let Some(Watched::Signal(Signal::Announced { notice })) = news.try_next() else { panic!() };
            assert_eq!(notice.text, expected);
        }
        assert!(news.try_next().is_none());
        assert!(matches!(all.try_next(), Some(Watched::Lost(_))));
        drop((news, all));
        assert!(!signals.is_watched() && !signals.news.is_watched());
    }
}
