//! Registering hooks: a builder that is configured and then given what it runs.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "actors")]
use kameo::actor::ActorRef;
#[cfg(feature = "actors")]
use kameo::message::Message;
#[cfg(feature = "actors")]
use kameo::{Actor, Reply as ActorReply};
use lineside_core::hook::{Hook, Mode, Tighter};
use lineside_core::matcher::{CompileMatcherError, MatcherDraft};
use lineside_core::nearest::nearest;
use lineside_core::payload::{Amend, Interceptable, Point};
use lineside_core::{Event, Judgement, Layer, OnFailure, Part, PointInfo, Reach, Reply, SessionId};
use lineside_points::CATALOGUE;

use crate::api::living::is_living;
#[cfg(feature = "actors")]
use crate::hook::asked::{Asked, Intercept};
use crate::hook::closure::{Closure, Fallible};
use crate::hook::cx::Cx;
use crate::hook::interceptor::{BackgroundRuns, Interceptor, TakenOver};
#[cfg(feature = "actors")]
use crate::hook::observer::hear_by;
use crate::hook::observer::{Capacity, Hear, Heard, Overflow, Queue, hear_with};
use crate::hook::state::{Added, Leaves, Place, Registered, Runs, Shared};
use crate::registry::tree::SessionIsClosed;

/// A hook whose point is known only at run time, to be installed.
pub struct Installed {
    /// The point.
    pub point: &'static PointInfo,
    /// The hook. Its registration number is given when it is installed.
    pub hook: Hook,
    /// What it runs.
    pub run: Arc<dyn Interceptor>,
}

impl Installed {
    /// A detached or post-decision hook that runs for no event itself: all of its runs are taken over.
    #[must_use]
    pub fn in_background(point: &'static PointInfo, hook: Hook, runs: Arc<dyn BackgroundRuns>) -> Self {
        Self { point, hook, run: Arc::new(TakenOver(runs)) }
    }

    pub(crate) fn added(self, installed: Option<Arc<str>>) -> Added {
        let Self { point, hook, run } = self;
        Added { hook, point, runs: Runs::Interceptor(run), installed, instead_of: None }
    }
}

/// What is asked of a hook of the bus, if anything is.
type Tighten<'a> = &'a dyn Fn(&Hook) -> Option<Tighter>;

/// The name under which the hooks of the bus are installed in a scope that are tightened there.
const TIGHTENED: &str = "tightened";

/// What every registration says.
struct Draft {
    shared: Arc<Shared>,
    place: Place,
    hook: Hook,
    matcher: Option<MatcherDraft>,
    on_failure: Option<OnFailure>,
}

impl Draft {
    fn new(shared: Arc<Shared>, place: Place, name: Arc<str>, part: Part) -> Self {
        let mut hook = Hook::native(name, part);
        hook.layer = Layer::Managed;
        Self { shared, place, hook, matcher: None, on_failure: None }
    }

    fn register<P: Point>(self, runs: Runs) -> Result<Registration, RegisterHookError> {
        let Self { shared, place, mut hook, matcher, on_failure } = self;
        if hook.name.trim().is_empty() {
            return Err(RegisterHookError::NoName);
        }
        if let Some(draft) = matcher {
            hook.select = Some(Arc::new(draft.compile()?));
        }
        hook.on_failure = on_failure.unwrap_or(hook.on_failure);
        shared.register(place, Added { hook, point: P::INFO, runs, installed: None, instead_of: None })
    }
}

impl Shared {
    /// Registers one hook at one place.
    pub(crate) fn register(
        self: &Arc<Self>,
        place: Place,
        added: Added,
    ) -> Result<Registration, RegisterHookError> {
        let lives = is_living((&added.hook, added.point, &added.runs));
        let numbers = self.replace(&place, None, vec![added])?;
        let number = numbers.first().copied().unwrap_or_default();
        if lives {
            self.changed(&place);
        }
        Ok(Registration { shared: Arc::clone(self), place, number })
    }

    /// Removes hooks and registers others at one place, at once. Every registration comes by here, so that each hook
    /// has the authority that it needs and stands in the layer of its place.
    pub(crate) fn replace(
        &self,
        place: &Place,
        leaves: Option<Leaves<'_>>,
        mut added: Vec<Added>,
    ) -> Result<Vec<u64>, RegisterHookError> {
        for Added { hook, point, runs, .. } in &mut added {
            let asked = matches!(runs, Runs::Interceptor(_))
                && !matches!(hook.part, Part::Detached | Part::PostDecision);
            if asked && !point.phase.may_intercept() {
                return Err(RegisterHookError::no_authority(point));
            }
            match place {
                // Every session hears the hooks of the bus, and every one of a scope those of the scope.
                Place::Bus | Place::Scope(_) => (hook.depth, hook.reach) = (0, Reach::Subtree),
                Place::Session(node) => (hook.layer, hook.depth) = (Layer::Session, node.source.depth),
            }
        }
        let replaced = self.tree.replace(place, leaves, added);
        replaced.map_err(|SessionIsClosed(session)| RegisterHookError::Closed(session))
    }

    /// Puts hooks in the place of all that were installed at one place under these names before, at once, and with them
    /// those of the bus that are tightened there.
    pub(crate) fn install_all<'a>(
        &self,
        place: &Place,
        hooks: impl IntoIterator<Item = (&'a str, Vec<Installed>)>,
        tighter: Option<Tighten<'_>>,
    ) -> Result<(), RegisterHookError> {
        let (mut names, mut added) = (Vec::new(), Vec::new());
        for (name, hooks) in hooks {
            let name: Arc<str> = name.into();
            added.extend(hooks.into_iter().map(|hook| hook.added(Some(Arc::clone(&name)))));
            names.push(name);
        }
        if let Some(tighter) = tighter {
            let name: Arc<str> = TIGHTENED.into();
            let of_bus = self.tree.of_bus().into_iter();
            added.extend(of_bus.filter_map(|above| above.tightened(tighter(&above.hook)?, &name)));
            names.push(name);
        }
        let leaves =
            |registered: &Registered| registered.installed.as_ref().is_some_and(|name| names.contains(name));
        self.replace(place, Some(&leaves), added)?;
        Ok(())
    }
}

macro_rules! settings {
    () => {
        /// Who registers it, for removal by source.
        pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
            self.draft.hook.source = source.into();
            self
        }

        /// Runs only for events that these filters let through.
        pub fn matching(mut self, matcher: impl Into<MatcherDraft>) -> Self {
            self.draft.matcher = Some(matcher.into());
            self
        }

        /// Which sessions it hears; the session and everything below by default.
        pub fn reach(mut self, reach: Reach) -> Self {
            self.draft.hook.reach = reach;
            self
        }

        /// Its layer, for hooks of the bus; `managed` by default. Hooks of a session stay in its layer.
        pub fn layer(mut self, layer: Layer) -> Self {
            self.draft.hook.layer = layer;
            self
        }
    };
}

/// An interceptor about to be registered.
#[must_use = "a hook is registered by `gate`, `amend`, `actor` or `amending_actor`"]
pub struct Intercepting<P> {
    draft: Draft,
    point: PhantomData<fn() -> P>,
}

impl<P: Interceptable> Intercepting<P> {
    pub(crate) fn new(shared: Arc<Shared>, place: Place, name: Arc<str>) -> Self {
        Self { draft: Draft::new(shared, place, name, Part::Gate), point: PhantomData }
    }

    settings!();

    /// Greater runs first; 0 by default.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("late").gate(async |_, _cx| Verdict::block("late"))?;
    /// session.intercept::<BeforeTool>("early").priority(10).gate(async |_, _cx| Verdict::block("early"))?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({}))).await?;
    /// assert_eq!(decision.verdict(), &Verdict::block("early"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn priority(mut self, priority: i32) -> Self {
        self.draft.hook.priority = priority;
        self
    }

    /// Has it run in [shadow](Mode::Shadow): what it says is recorded and counts for nothing.
    ///
    /// ```
    /// use lineside_bus::{Bus, Signal, signal::Watched};
    /// use lineside_core::json::json;
    /// use lineside_core::{Outcome, Verdict};
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let mut signals = bus.signals();
    /// let session = bus.session("s1").open().await?;
    /// session.intercept::<BeforeTool>("new-guard").shadow().gate(async |_, _| Verdict::block("not here"))?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
    /// assert_eq!(decision.verdict(), &Verdict::Continue);
    /// session.close().await;
    /// let mut would = None;
    /// while let Some(watched) = signals.try_next() {
    ///     if let Watched::Signal(Signal::DetachedFinished { outcome, .. }) = watched {
    ///         would = Some(outcome);
    ///     }
    /// }
    /// assert_eq!(would, Some(Outcome::Answered(Verdict::block("not here"))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn shadow(mut self) -> Self {
        self.draft.hook.mode = Mode::Shadow;
        self
    }

    /// What it counts as when it cannot answer: gates block and amenders continue by default.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.draft.on_failure = Some(on_failure);
        self
    }

    /// Its time, from before its start to its answer; 30 s by default.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::time::pause();
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforePrompt>("slow").timeout(Duration::from_millis(300)).gate(async |_, _cx| {
    ///     tokio::time::sleep(Duration::from_secs(60)).await;
    ///     Verdict::Continue
    /// })?;
    /// let decision = session.publish(BeforePrompt::new("hi")).await?;
    /// assert!(decision.reason().is_some_and(|reason| reason.as_str().contains("timed out after 0.3 s")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.draft.hook.timeout = timeout;
        self
    }

    fn register(
        mut self,
        part: Part,
        run: impl Interceptor + 'static,
    ) -> Result<Registration, RegisterHookError> {
        self.draft.hook.part = part;
        self.draft.hook.on_failure = Hook::native("", part).on_failure;
        self.draft.register::<P>(Runs::Interceptor(Arc::new(run)))
    }

    /// Registers a closure that judges. It runs in the publisher's task, together with the gates beside it that have
    /// the same priority.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_core::matcher::tool;
    /// use lineside_core::{OnFailure, Verdict};
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("guard").matching(tool("Shell")).on_failure(OnFailure::Block).gate(
    ///     async |call, _cx| match call.command().as_deref() {
    ///         Some(command) if command.starts_with("git push") => Verdict::ask("push?"),
    ///         _ => Verdict::Continue,
    ///     },
    /// )?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "git push"}))).await?;
    /// assert_eq!(decision.verdict(), &Verdict::ask("push?"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The name is blank, a matcher cannot be compiled, or the session is closed.
    pub fn gate<F, Fut>(self, run: F) -> Result<Registration, RegisterHookError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Into<Judgement>> + Send + 'static,
    {
        self.register(Part::Gate, Closure::<P, Judgement, F>::new(run))
    }

    /// As [`gate`](Self::gate), for a closure that may return an error, which is a failure of the hook.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforePrompt>("limit").try_gate(async |prompt, _cx| {
    ///     let limit: usize = "1O0".parse()?;
    ///     let verdict = if prompt.prompt.len() > limit { Verdict::block("too long") } else { Verdict::Continue };
    ///     Ok::<_, std::num::ParseIntError>(verdict)
    /// })?;
    /// // The gate failed, and a gate that fails blocks.
    /// let decision = session.publish(BeforePrompt::new("hello")).await?;
    /// assert!(decision.reason().is_some_and(|reason| reason.as_str().contains("invalid digit")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    pub fn try_gate<F, Fut, J, E>(self, run: F) -> Result<Registration, RegisterHookError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<J, E>> + Send + 'static,
        J: Into<Judgement> + 'static,
        E: std::fmt::Display + 'static,
    {
        self.register(Part::Gate, Fallible(Closure::<P, Judgement, F>::new(run)))
    }

    /// Registers an actor that judges. It is asked and answers through a oneshot reply.
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    #[cfg(feature = "actors")]
    pub fn actor<A>(self, actor: ActorRef<A>) -> Result<Registration, RegisterHookError>
    where
        A: Actor + Message<Intercept<P>>,
        <<A as Message<Intercept<P>>>::Reply as ActorReply>::Ok: Into<Judgement>,
    {
        self.register(Part::Gate, Asked::<P, Judgement, A>::new(actor))
    }
}

impl<P: Amend> Intercepting<P> {
    /// Registers a closure that may change the payload too. It runs alone.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Reply;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("dry-run").amend(async |call, _cx| {
    ///     let command = format!("echo {}", call.command().unwrap_or_default());
    ///     Reply::amend(BeforeTool::amend().tool_input(json!({ "command": command })))
    /// })?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "rm x"}))).await?;
    /// assert_eq!(decision.payload().command().as_deref(), Some("echo rm x"));
    /// assert_eq!(decision.changes().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    pub fn amend<F, Fut>(self, run: F) -> Result<Registration, RegisterHookError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Into<Reply<P>>> + Send + 'static,
    {
        self.register(Part::Amender, Closure::<P, Reply<P>, F>::new(run))
    }

    /// As [`amend`](Self::amend), for a closure that may return an error, which is a failure of the hook.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Reply;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforePrompt>("glossary").try_amend(async |_, _cx| {
    ///     let terms = String::from_utf8(vec![0xff])?;
    ///     Ok::<_, std::string::FromUtf8Error>(Reply::amend(BeforePrompt::amend().prompt(terms)))
    /// })?;
    /// // An amender that fails changes nothing, and refuses nothing.
    /// let decision = session.publish(BeforePrompt::new("hi")).await?;
    /// assert!(!decision.is_refused() && decision.changes().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    pub fn try_amend<F, Fut, R, E>(self, run: F) -> Result<Registration, RegisterHookError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Reply<P>> + 'static,
        E: std::fmt::Display + 'static,
    {
        self.register(Part::Amender, Fallible(Closure::<P, Reply<P>, F>::new(run)))
    }

    /// Registers an actor that may change the payload too. It runs alone.
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    #[cfg(feature = "actors")]
    pub fn amending_actor<A>(self, actor: ActorRef<A>) -> Result<Registration, RegisterHookError>
    where
        A: Actor + Message<Intercept<P>>,
        <<A as Message<Intercept<P>>>::Reply as ActorReply>::Ok: Into<Reply<P>>,
    {
        self.register(Part::Amender, Asked::<P, Reply<P>, A>::new(actor))
    }
}

/// How much waits for an observer at most by default: what comes in a burst, and little enough for many
/// observers.
const OBSERVER_CAPACITY: Capacity = Capacity { events: 256, bytes: 16 << 20 };

/// An observer about to be registered.
#[must_use = "an observer is registered by `run` or `actor`"]
pub struct Observing<P> {
    draft: Draft,
    capacity: Capacity,
    overflow: Overflow,
    point: PhantomData<fn() -> P>,
}

impl<P: Point> Observing<P> {
    pub(crate) fn new(shared: Arc<Shared>, place: Place, name: Arc<str>) -> Self {
        let draft = Draft::new(shared, place, name, Part::Observer);
        Self { draft, capacity: OBSERVER_CAPACITY, overflow: Overflow::default(), point: PhantomData }
    }

    settings!();

    /// How many events wait for it at most, at least 1; 256 by default.
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity.events = events.max(1);
        self
    }

    /// How many bytes of events wait for it at most, though one alone may be longer; 16 MiB by default.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.capacity.bytes = bytes;
        self
    }

    /// What gives way when its queue is full; the oldest event by default.
    ///
    /// ```
    /// use lineside_bus::{Bus, Overflow};
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let kept = bus
    ///     .observe::<OnIdle>("first-ones")
    ///     .capacity(16)
    ///     .overflow(Overflow::DropNewest)
    ///     .run(async |heard| println!("lost {}", heard.lost().0))?;
    /// assert!(kept.remove());
    /// # Ok(())
    /// # }
    /// ```
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    fn register(self, hear: Hear<P>) -> Result<Registration, RegisterHookError> {
        let queue =
            Queue::start(self.capacity, self.overflow, hear).map_err(|_| RegisterHookError::NoRuntime)?;
        self.draft.register::<P>(Runs::Observer(Arc::new(queue)))
    }

    /// Registers a closure; a task of its own runs it, one event at a time. A panic costs that event alone.
    ///
    /// # Errors
    /// The name is blank, a matcher cannot be compiled, the session is closed, or there is no tokio runtime.
    pub fn run<F, Fut>(self, run: F) -> Result<Registration, RegisterHookError>
    where
        F: FnMut(Heard<P>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.register(hear_with(run))
    }

    /// Registers an actor, which gets each event as a message, no faster than its own mailbox takes them.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[cfg(feature = "actors")]
    pub fn actor<A>(self, actor: ActorRef<A>) -> Result<Registration, RegisterHookError>
    where
        A: Actor + Message<Heard<P>>,
    {
        self.register(hear_by(actor))
    }
}

/// A registered hook. Dropping it changes nothing.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_core::Verdict;
/// use lineside_points::BeforePrompt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// let guard = session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::block("closed"))?;
/// assert!(session.publish(BeforePrompt::new("hi")).await?.is_refused());
/// assert!(guard.remove() && !guard.remove());
/// assert!(!session.publish(BeforePrompt::new("hi")).await?.is_refused());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registration {
    pub(crate) shared: Arc<Shared>,
    pub(crate) place: Place,
    pub(crate) number: u64,
}

impl Registration {
    /// Takes the hook away; events under way still see it. `false` when it was gone already.
    pub fn remove(&self) -> bool {
        self.shared.remove(&self.place, &|registered| registered.hook.registration == self.number) > 0
    }
}

/// Why a hook cannot be registered.
///
/// ```
/// use lineside_bus::{Bus, RegisterHookError};
/// use lineside_core::Verdict;
/// use lineside_core::matcher::text;
/// use lineside_points::BeforePrompt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let no_name = bus.intercept::<BeforePrompt>(" ").gate(async |_, _cx| Verdict::Continue);
/// assert_eq!(no_name.err(), Some(RegisterHookError::NoName));
/// let unclosed = bus.intercept::<BeforePrompt>("guard").matching(text("("));
/// let refused = unclosed.gate(async |_, _cx| Verdict::Continue);
/// assert!(matches!(refused.err(), Some(RegisterHookError::Matcher(_))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterHookError {
    /// It has no name to be found by.
    #[error("a hook needs a name")]
    NoName,
    /// A matcher that matches nothing it could mean.
    #[error(transparent)]
    Matcher(#[from] CompileMatcherError),
    /// The session is closed; a hook there would never run.
    #[error("session `{0}` is closed")]
    Closed(SessionId),
    /// An interceptor at a point without authority.
    #[error(
        "an interceptor has no authority at `{point}`, which is a fact; `{nearest}` is the nearest gate or review"
    )]
    NoAuthority {
        /// The point.
        point: &'static str,
        /// A point at which it would have authority.
        nearest: &'static str,
    },
    /// A hook of another format.
    #[error("expected a hook of `{expected}`, found one of `{found}`")]
    OtherDialect {
        /// The format that was spoken of.
        expected: &'static str,
        /// The hook's.
        found: &'static str,
    },
    /// An observer outside a tokio runtime.
    #[error("an observer needs a tokio runtime, because it is an actor")]
    NoRuntime,
}

impl RegisterHookError {
    pub(crate) fn no_authority(point: &PointInfo) -> Self {
        let others = CATALOGUE.iter().filter(|other| other.phase.may_intercept()).map(|other| other.name);
        let nearest = nearest(point.name, others).unwrap_or_default();
        Self::NoAuthority { point: point.name, nearest }
    }
}
