//! What a hook knows beside the event: how long it has, and how to publish on behalf of the event that it handles.
//!
//! References to an event and to its session are lent to the calls of one pass and given back by them, so that they are
//! counted for the first call alone: each count is a locked operation, and four for each hook were half of its cost. What
//! was given back is kept by the thread, for the pass that runs on it. A call that is dropped elsewhere, or after the pass,
//! lets go of its references as any other holder does.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use lineside_core::envelope::Cause;
use lineside_core::{AnyEvent, UntilOver};
use tokio::time::Instant;

use crate::hook::durable_run::RunRecorder;
use crate::hook::state::{Node, Session};

thread_local! {
    /// What is being polled on this thread.
    static HANDLING: Cell<Option<Handling>> = const { Cell::new(None) };
}

/// The event that is handled, and the session of it, by its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handled {
    pub(crate) cause: Cause,
    session: usize,
}

impl Handled {
    #[inline]
    pub(crate) fn of(session: &Session, cause: Cause) -> Self {
        Self { cause, session: address(session.node()) }
    }
}

/// What handles it.
#[derive(Clone, Copy)]
struct Handling {
    of: Handled,
    /// It is polled by what handles an event of another session.
    nested: bool,
}

/// The surroundings of one call of a hook.
#[derive(Clone)]
pub struct Cx {
    /// Absent only while this is dropped.
    session: Option<Session>,
    cause: Cause,
    deadline: Instant,
    cold: Option<Box<ColdState>>,
}

/// What few calls have.
#[derive(Clone, Default)]
struct ColdState {
    chain: Option<ChainTime>,
    recorder: Option<Arc<dyn RunRecorder>>,
    /// The attempts before this one.
    failed: u32,
    until_over: Option<UntilOver>,
}

/// Until when hooks whose answers count together may be started.
#[derive(Debug, Clone, Copy)]
pub struct ChainTime {
    /// The end.
    pub ends: Instant,
    /// All of the time.
    pub whole: std::time::Duration,
}

impl Cx {
    #[inline]
    pub(crate) fn new(session: Session, cause: Cause, deadline: Instant) -> Self {
        Self { session: Some(session), cause, deadline, cold: None }
    }

    /// The session whose event is handled.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::{AgentKind, Verdict};
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("no-shell-below").gate(async |_, cx| match cx.session().agent().kind {
    ///     AgentKind::Subagent => Verdict::block("a subagent has no shell"),
    ///     AgentKind::Main => Verdict::Continue,
    /// })?;
    /// let child = session.subagent("s2").open().await?;
    /// let call = || BeforeTool::new("Shell", json!({}));
    /// assert!(!session.publish(call()).await?.is_refused());
    /// assert!(child.publish(call()).await?.is_refused());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn session(&self) -> &Session {
        match &self.session {
            Some(session) => session,
            None => unreachable!("a call lets go of its session when it is dropped"),
        }
    }

    /// When the hook's time is over: the smaller of its own timeout and what remains of the event's.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the number of the attempt: 1 for the first, 2 for the one after the first failure. Only automations and
    /// other hooks with a retry make a second one.
    ///
    /// ```
    /// # use lineside_bus::Cx;
    /// fn timeout(cx: &Cx) -> std::time::Duration {
    ///     std::time::Duration::from_secs(5) * cx.attempt()
    /// }
    /// ```
    #[must_use]
    pub fn attempt(&self) -> u32 {
        1 + self.cold.as_ref().map_or(0, |cold| cold.failed)
    }

    /// Replaces the number of the attempt; a number below 1 counts as 1. For what calls hooks again.
    #[must_use]
    pub fn on_attempt(mut self, number: u32) -> Self {
        if number > 1 || self.cold.is_some() {
            self.cold.get_or_insert_default().failed = number.saturating_sub(1);
        }
        self
    }

    /// Until when hooks may be started whose answers count together with this one's.
    #[must_use]
    pub fn chain_time(&self) -> Option<ChainTime> {
        self.cold.as_ref()?.chain
    }

    /// Where the run is on record, if it is; one that makes several attempts tells of each.
    #[must_use]
    pub fn recorder(&self) -> Option<&Arc<dyn RunRecorder>> {
        self.cold.as_ref()?.recorder.as_ref()
    }

    /// What is to be held until everything has ended that this call starts; for what starts processes.
    #[must_use]
    pub fn until_over(&self) -> Option<&UntilOver> {
        self.cold.as_ref()?.until_over.as_ref()
    }

    /// Has this held until everything has ended that the call starts. For what calls hooks, and gives to others then what
    /// the call has had.
    #[must_use]
    pub fn holding(mut self, until_over: Option<UntilOver>) -> Self {
        if until_over.is_some() {
            self.cold.get_or_insert_default().until_over = until_over;
        }
        self
    }

    pub(crate) fn durable(mut self, recorder: Option<Arc<dyn RunRecorder>>) -> Self {
        if recorder.is_some() {
            self.cold.get_or_insert_default().recorder = recorder;
        }
        self
    }

    pub(crate) fn within(mut self, chain: Option<ChainTime>) -> Self {
        if chain.is_some() {
            self.cold.get_or_insert_default().chain = chain;
        }
        self
    }

    /// The event that is handled, as the cause of others.
    #[inline]
    pub(crate) fn cause(&self) -> Cause {
        self.cause
    }

    #[inline]
    pub(crate) fn handled(&self) -> Handled {
        Handled::of(self.session(), self.cause)
    }
}

impl Drop for Cx {
    #[inline]
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            give_back(session, |slots| &slots.session);
        }
    }
}

/// Runs `work` as part of handling an event, so that what it publishes carries that as its cause.
#[inline]
pub(crate) fn handling<T>(of: Handled, work: impl FnOnce() -> T) -> T {
    let outer = HANDLING.get();
    let nested = outer.is_some_and(|outer| outer.nested || outer.of.session != of.session);
    let _outer = Outer(outer);
    HANDLING.set(Some(Handling { of, nested }));
    work()
}

/// What was handled before, and is again when this is dropped, even by a panic.
struct Outer(Option<Handling>);

impl Drop for Outer {
    fn drop(&mut self) {
        HANDLING.set(self.0);
    }
}

/// The event whose hook is being polled on this thread.
pub(crate) fn handled() -> Option<Cause> {
    HANDLING.get().map(|handling| handling.of.cause)
}

/// Whether what is being polled on this thread may be part of an event of this session, so that it must not wait for
/// the end of that.
pub(crate) fn is_part_of(session: &Node) -> bool {
    HANDLING.get().is_some_and(|handling| handling.nested || handling.of.session == address(session))
}

#[inline]
fn address(session: &Node) -> usize {
    std::ptr::from_ref(session).addr()
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}

thread_local! {
    /// What calls of the pass that runs on this thread have given back.
    static GIVEN_BACK: Slots = const { Slots { open: Cell::new(false), event: Cell::new(None), session: Cell::new(None) } };
}

/// What the last calls have given back.
struct Slots {
    /// Whether a pass that lends runs on this thread.
    open: Cell<bool>,
    event: Cell<Option<AnyEvent>>,
    session: Cell<Option<Session>>,
}

/// A pass that lends. Dropping it ends that, and lets go of what was given back.
pub(crate) struct Lending {
    /// Those of the pass in which this one is nested.
    outer: Slots,
}

impl Lending {
    #[inline]
    pub(crate) fn begin() -> Self {
        let outer = GIVEN_BACK.with(|slots| Slots {
            open: Cell::new(slots.open.replace(true)),
            event: Cell::new(slots.event.take()),
            session: Cell::new(slots.session.take()),
        });
        Self { outer }
    }

    /// A reference to the event: the one that was given back, if it is of this version of it.
    #[inline]
    pub(crate) fn event(&self, event: &AnyEvent) -> AnyEvent {
        let back = GIVEN_BACK.with(|slots| slots.event.take());
        back.filter(|back| back.is_same(event)).unwrap_or_else(|| event.clone())
    }

    /// A reference to the session likewise.
    #[inline]
    pub(crate) fn session(&self, session: &Session) -> Session {
        let back = GIVEN_BACK.with(|slots| slots.session.take());
        back.filter(|back| back.is_same(session)).unwrap_or_else(|| session.clone())
    }
}

impl Drop for Lending {
    #[inline]
    fn drop(&mut self) {
        let Self { outer: Slots { open, event, session } } = self;
        // Replaced before what was in it is dropped, which may run what users have written.
        let mine = GIVEN_BACK.with(|slots| {
            slots.open.set(open.get());
            (slots.event.replace(event.take()), slots.session.replace(session.take()))
        });
        drop(mine);
    }
}

/// Takes back the reference of a call to its event.
#[inline]
pub(crate) fn give_back_event(event: AnyEvent) {
    give_back(event, |slots| &slots.event);
}

/// Takes back a reference of a call, to be lent to the next one where a pass lends on this thread.
#[inline]
fn give_back<T>(reference: T, slot: impl FnOnce(&Slots) -> &Cell<Option<T>>) {
    let mut reference = Some(reference);
    // Nothing is kept by a thread that ends.
    GIVEN_BACK
        .try_with(|slots| {
            if slots.open.get() {
                reference = slot(slots).replace(reference.take());
            }
        })
        .ok();
}
