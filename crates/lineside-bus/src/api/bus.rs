//! The bus: sessions, hooks that hold for all of them, signals, and the end of it all.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_core::budget::Budget;
use lineside_core::journal::{Durability, Journal, Record, Sequence, Unavailable};
use lineside_core::payload::{Interceptable, Point};
use lineside_core::{Notice, PointInfo, SessionId};

use crate::api::of_dialect::OfDialect;
use crate::api::register::{Installed, Intercepting, Observing, RegisterHookError};
use crate::api::scope::Scope;
use crate::api::session::{OpenSession, Quota};
use crate::base::background::Endings;
use crate::base::caught::Failures;
use crate::base::extensions::Extensions;
use crate::base::signal::{Signal, SignalBus, Signals};
use crate::base::stopwatch;
use crate::context::full_texts::{FullTexts, TextsInMemory};
use crate::context::log::{ContextRecovered, Log};
use crate::context::mailbox::WAITING;
use crate::hook::state::{Place, Session, Shared, Tree};
use crate::registry::share::Most;

/// A hook bus. Cloning it costs one reference count; all clones are the same bus.
///
/// ```
/// use std::time::Duration;
/// use lineside_bus::Bus;
/// use lineside_core::Verdict;
/// use lineside_core::json::json;
/// use lineside_points::BeforeTool;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let session = bus.session("s1").open().await?;
/// session.intercept::<BeforeTool>("no-shell").gate(async |call, _cx| match call.tool_name.as_str() {
///     "Shell" => Verdict::block("no shell today"),
///     _ => Verdict::Continue,
/// })?;
///
/// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
/// assert!(decision.is_refused());
/// assert!(bus.drain(Duration::from_secs(5)).await.is_clean());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Bus {
    pub(crate) shared: Arc<Shared>,
}

/// A bus about to be made.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_bus::Bus;
///
/// let bus = Bus::builder().event_budget(Duration::from_secs(2)).context_at_most(1 << 20).build();
/// assert_eq!(bus.failures(), 0);
/// ```
#[derive(Clone, Default)]
pub struct BusBuilder {
    budget: Budget,
    full_texts: Option<Arc<dyn FullTexts>>,
    context: Option<Arc<Log>>,
    most: Option<Most>,
    waiting: Option<usize>,
}

impl BusBuilder {
    /// At most this much time for all hooks of one event together. Without it each hook has its own timeout and
    /// nothing else, because foreign formats allow ten minutes for a single hook.
    #[must_use]
    pub fn event_budget(mut self, time: Duration) -> Self {
        self.budget = Budget::of(time);
        self
    }

    /// Keeps here the whole texts of messages that were cut. Without it they are in memory.
    #[must_use]
    pub fn full_texts(mut self, texts: Arc<dyn FullTexts>) -> Self {
        self.full_texts = Some(texts);
        self
    }

    /// Keeps in this journal which messages wait for which session, and which have been accepted; `recovered` is what
    /// it had when it was opened, in order.
    ///
    /// A session that is opened under an id for which messages are on record gets them, and none that was accepted
    /// there. Messages of automations are on record before their job is done; those of other hooks follow at once. The
    /// journal is this bus's alone. When it fails, everything goes on in memory, and its waiters receive the error.
    #[must_use]
    pub fn context_journal(
        mut self,
        journal: Arc<dyn Journal>,
        recovered: impl IntoIterator<Item = (Sequence, Record)>,
    ) -> Self {
        self.context = Some(Arc::new(Log::open(journal, WAITING, recovered)));
        self
    }

    /// At most this many bytes of messages wait in all mailboxes of a [`context_journal`](Self::context_journal) together,
    /// also for sessions that are not open; 256 MiB unless this says otherwise. What does not fit ends as in a full mailbox.
    #[must_use]
    pub fn context_at_most(mut self, bytes: usize) -> Self {
        self.waiting = Some(bytes);
        self
    }

    /// At most this many sessions are open at once, whose ids, paths and other texts have at most this many bytes together; an
    /// eighth of either in one tree of sessions, of which each session keeps a 64th from what is below it. One that is closed counts until it has come to its end, and so has
    /// everything below it. Without it there is no bound.
    #[must_use]
    pub fn sessions_at_most(mut self, sessions: usize, bytes: usize) -> Self {
        self.most = Some(Most { sessions, bytes });
        self
    }

    /// Makes the bus.
    #[must_use]
    pub fn build(self) -> Bus {
        stopwatch::calibrate();
        let signals = SignalBus::new();
        if let Some(log) = &self.context {
            log.tell_by(&signals);
            self.waiting.into_iter().for_each(|bytes| log.at_most(bytes));
        }
        Bus {
            shared: Arc::new(Shared {
                tree: Tree::new(self.most),
                signals,
                budget: self.budget,
                closed: Mutex::default(),
                endings: Endings::default(),
                failures: Failures::default(),
                extensions: Extensions::default(),
                full_texts: self.full_texts.unwrap_or_else(|| Arc::new(TextsInMemory::default())),
                context: self.context,
            }),
        }
    }
}

impl fmt::Debug for BusBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusBuilder").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new()
    }
}

impl Bus {
    /// A bus with the usual settings.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A bus with other settings.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_bus::Bus;
    ///
    /// // All hooks of one event together have two seconds.
    /// let bus = Bus::builder().event_budget(Duration::from_secs(2)).build();
    /// assert!(bus.sessions().is_empty());
    /// ```
    #[must_use]
    pub fn builder() -> BusBuilder {
        BusBuilder::default()
    }

    /// What several roots and everything below them may have together: this part of
    /// [the sessions that there may be](BusBuilder::sessions_at_most), as 8 for an eighth.
    #[must_use]
    pub fn quota(&self, part: usize) -> Quota {
        Quota(self.shared.tree.quota(part))
    }

    /// A root session of that id, about to be opened.
    ///
    /// ```
    /// use lineside_bus::{Bus, OpenSessionError};
    /// use lineside_core::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").agent(Agent::main("main")).cwd("/work").open().await?;
    /// assert_eq!(session.id().as_str(), "s1");
    ///
    /// // An id is taken until its session is closed.
    /// assert_eq!(bus.session("s1").open().await.err(), Some(OpenSessionError::Taken("s1".into())));
    /// session.close().await;
    /// bus.session("s1").open().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn session(&self, id: impl Into<SessionId>) -> OpenSession {
        OpenSession::root(Arc::clone(&self.shared), id.into())
    }

    /// The open session of that id.
    ///
    /// ```
    /// use lineside_bus::Bus;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").open().await?;
    /// assert_eq!(bus.find("s1").map(|found| found.number()), Some(session.number()));
    /// session.close().await;
    /// assert!(bus.find("s1").is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Session> {
        let node = self.shared.tree.find(id)?;
        Some(Session::new(node, Arc::clone(&self.shared)))
    }

    /// The ids of all open sessions, in no particular order.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionId> {
        self.shared.tree.sessions().iter().map(|node| node.source.session.clone()).collect()
    }

    /// Registers an interceptor for every session.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let registration = bus.intercept::<BeforeTool>("audit").priority(-10).gate(async |_, _cx| Verdict::Continue)?;
    /// let session = bus.session("s1").open().await?;
    /// assert_eq!(session.hooks().len(), 1);
    ///
    /// assert!(registration.remove());
    /// assert!(session.hooks().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn intercept<P: Interceptable>(&self, name: impl Into<Arc<str>>) -> Intercepting<P> {
        Intercepting::new(Arc::clone(&self.shared), Place::Bus, name.into())
    }

    /// Registers an observer for every session.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_points::AfterTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let (told, mut heard) = tokio::sync::mpsc::channel(8);
    /// bus.observe::<AfterTool>("count").run(move |after| {
    ///     let told = told.clone();
    ///     async move { told.send(after.event().tool_name.clone()).await.unwrap_or_default() }
    /// })?;
    ///
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(AfterTool::new("Shell", json!({}))).await?);
    /// assert_eq!(heard.recv().await.as_deref(), Some("Shell"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe<P: Point>(&self, name: impl Into<Arc<str>>) -> Observing<P> {
        Observing::new(Arc::clone(&self.shared), Place::Bus, name.into())
    }

    /// Puts hooks in the place of all that were installed under the same name before, at once: no event sees something
    /// in between, and events under way end with the hooks that they began with.
    ///
    /// # Errors
    /// An interceptor at a fact; nothing is changed then.
    pub fn install(&self, name: &str, hooks: Vec<Installed>) -> Result<(), RegisterHookError> {
        self.install_all([(name, hooks)])
    }

    /// As [`install`](Self::install), for the hooks of several names: an event sees all of them or none.
    ///
    /// # Errors
    /// As [`install`](Self::install).
    pub fn install_all<'a>(
        &self,
        hooks: impl IntoIterator<Item = (&'a str, Vec<Installed>)>,
    ) -> Result<(), RegisterHookError> {
        self.shared.install_all(&Place::Bus, hooks, None)
    }

    /// A scope without hooks, and without sessions.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::new(Arc::clone(&self.shared))
    }

    /// The hooks of one format that are registered on the bus itself.
    #[must_use]
    pub fn of_dialect(&self, dialect: &'static str) -> OfDialect {
        OfDialect::new(Arc::clone(&self.shared), Place::Bus, dialect)
    }

    /// Removes the hooks of the bus that have this name. Returns how many there were.
    pub fn remove(&self, name: &str) -> usize {
        self.shared.remove(&Place::Bus, &|registered| *registered.hook.name == *name)
    }

    /// Removes the hooks of the bus that have this source, at one point or at all. Sources compare as whole
    /// strings; an unknown one is no error.
    pub fn remove_source(&self, point: Option<&PointInfo>, source: &str) -> usize {
        self.shared.remove_source(&Place::Bus, point, source)
    }

    /// What was found in the context journal when the bus was built; nothing without one.
    #[must_use]
    pub fn context_recovered(&self) -> ContextRecovered {
        self.shared.context.as_ref().map(|log| log.recovered).unwrap_or_default()
    }

    /// Sends a signal with a message for the user that belongs to no event.
    ///
    /// ```
    /// use lineside_bus::signal::Watched;
    /// use lineside_bus::{Bus, Signal};
    /// use lineside_core::Notice;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let mut news = bus.news();
    /// bus.announce(Notice::warning("the policy is a week old"));
    /// let Some(Watched::Signal(Signal::Announced { notice })) = news.next().await else { panic!("no news") };
    /// assert_eq!(notice.text, "the policy is a week old");
    /// # Ok(())
    /// # }
    /// ```
    pub fn announce(&self, notice: Notice) {
        self.shared.signals.emit(|| Signal::Announced { notice });
    }

    /// Everything that happens from now on.
    ///
    /// ```
    /// use lineside_bus::signal::Watched;
    /// use lineside_bus::{Bus, Signal};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let mut signals = bus.signals();
    /// bus.session("s1").open().await?;
    /// match signals.next().await {
    ///     Some(Watched::Signal(Signal::SessionOpened { session, .. })) => assert_eq!(session.as_str(), "s1"),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn signals(&self) -> Signals {
        self.shared.signals.watch()
    }

    /// What a person waits to hear from now on: the signals that are [news](Signal::is_news). However much else happens,
    /// it takes no place among them.
    #[must_use]
    pub fn news(&self) -> Signals {
        self.shared.signals.watch_news()
    }

    /// What messages for the context survive that wait or are accepted now, beyond what is on its way to the journal:
    /// nothing but this process without a context journal.
    ///
    /// # Errors
    /// The context journal has failed, for this reason.
    pub fn context_durability(&self) -> Result<Durability, Unavailable> {
        self.shared.context.as_ref().map_or(Ok(Durability::Memory), |log| log.durability())
    }

    /// How many hooks have failed so far, whatever that meant for their events.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::{OnFailure, Verdict};
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").open().await?;
    /// session
    ///     .intercept::<BeforePrompt>("licences")
    ///     .on_failure(OnFailure::Continue)
    ///     .try_gate(async |_, _cx| Err::<Verdict, _>("the server does not answer"))?;
    /// assert!(!session.publish(BeforePrompt::new("hi")).await?.is_refused());
    /// assert_eq!(bus.failures(), 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.shared.failures.so_far()
    }
}
