//! A session: one agent's run, its place in the tree, and the handle that everything else is reached through.

use std::sync::Arc;

use lineside_core::envelope::{Agent, Attribution, Model};
use lineside_core::payload::{Interceptable, Point};
use lineside_core::plan::Generation;
use lineside_core::{MessageId, Payload, PointInfo, SessionId, Source};

pub use crate::hook::state::Session;

use crate::api::collect::Collect;
use crate::api::decision::Decision;
use crate::api::of_dialect::OfDialect;
use crate::api::publish::{Publication, PublishError, Publishing};
use crate::api::register::{Intercepting, Observing};
use crate::api::scope::Scope;
use crate::base::signal::Signal;
use crate::hook::state::{Shared, State};
use crate::registry::share::Share;
use crate::registry::tree::AddSessionError;

impl Session {
    /// The digest of the hooks that it is under, in hexadecimal; of a session that has come to its end, that of none. Two sessions with the same one are under the same
    /// hooks in the same order at every point.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let before = session.coverage();
    /// session.intercept::<BeforeTool>("guard").gate(async |_, _cx| Verdict::Continue)?;
    /// assert_ne!(session.coverage(), before);
    ///
    /// // A subagent is under the same hooks.
    /// let child = session.subagent("s2").open().await?;
    /// assert_eq!(child.coverage(), session.coverage());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn coverage(&self) -> Arc<str> {
        self.shared().tree.coverage(self.node())
    }

    /// Which hooks it is under now: what was decided by those of another generation may be decided otherwise by these.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.shared().tree.generation(self.node())
    }

    /// The hooks that it is under, by point, in the order in which they run; interceptors first.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("last").gate(async |_, _cx| Verdict::Continue)?;
    /// session.intercept::<BeforeTool>("first").priority(10).gate(async |_, _cx| Verdict::Continue)?;
    /// let hooks = session.hooks();
    /// let names: Vec<_> = hooks.iter().map(|(point, hook)| (*point, &*hook.name)).collect();
    /// assert_eq!(names, [("before_tool", "first"), ("before_tool", "last")]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn hooks(&self) -> Vec<(&'static str, Arc<lineside_core::Hook>)> {
        self.shared().tree.hooks(self.node())
    }

    /// Which interceptors would run for an event, in order, and why the others would not.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_core::matcher::tool;
    /// use lineside_core::{SkipReason, Verdict};
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("all").gate(async |_, _cx| Verdict::Continue)?;
    /// let shell = session.intercept::<BeforeTool>("shell").matching(tool("Shell"));
    /// shell.gate(async |_, _cx| Verdict::Continue)?;
    ///
    /// let decision = session.publish(BeforeTool::new("ReadFile", json!({}))).await?;
    /// let event = &decision.receipt().expect("a hook has run").event;
    /// let why: Vec<_> = session.explain(event).into_iter().map(|(_, skipped)| skipped).collect();
    /// assert_eq!(why, [None, Some(SkipReason::Filter)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn explain(
        &self,
        event: &lineside_core::AnyEvent,
    ) -> Vec<(Arc<lineside_core::Hook>, Option<lineside_core::SkipReason>)> {
        let tables = self.shared().tree.tables(self.node(), event.point());
        let hooks = tables.at(event.point()).all_interceptors().into_values();
        let why = |hook: Arc<lineside_core::Hook>| {
            let skipped = hook.skip(event);
            (hook, skipped)
        };
        hooks.map(|(hook, _)| why(hook)).collect()
    }

    /// Registers an interceptor on this session; by default it is inherited by everything below.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforePrompt>("length").gate(async |prompt, _cx| match prompt.prompt.len() {
    ///     0..1000 => Verdict::Continue,
    ///     _ => Verdict::ask("that is a long prompt"),
    /// })?;
    /// assert!(!session.publish(BeforePrompt::new("hello")).await?.is_refused());
    /// # Ok(())
    /// # }
    /// ```
    pub fn intercept<P: Interceptable>(&self, name: impl Into<Arc<str>>) -> Intercepting<P> {
        Intercepting::new(Arc::clone(self.shared()), self.place(), name.into())
    }

    /// Registers an observer on this session; by default it is inherited by everything below.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let (sender, mut heard) = tokio::sync::mpsc::channel(8);
    /// session.observe::<OnIdle>("idle").run(move |idle| {
    ///     let sender = sender.clone();
    ///     async move { sender.send(idle.event().session().to_string()).await.unwrap_or_default() }
    /// })?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// assert_eq!(heard.recv().await.as_deref(), Some("s1"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe<P: Point>(&self, name: impl Into<Arc<str>>) -> Observing<P> {
        Observing::new(Arc::clone(self.shared()), self.place(), name.into())
    }

    /// Puts it into a scope, as [`OpenSession::scope`] does, when it was opened in none; its further events are under the
    /// hooks of that. `false` when it was put into one before.
    pub fn enter(&self, scope: &Scope) -> bool {
        self.node().enter(scope.clone().into_place())
    }

    /// Puts it into a scope beside those that it is in; its further events are under the hooks of that as well. `false` when
    /// it was put into that one before.
    pub fn enter_too(&self, scope: &Scope) -> bool {
        self.node().enter_too(scope.clone().into_place())
    }

    /// Whether it is under the hooks of this scope: it was put into it, or an ancestor was, also one that is closed.
    #[must_use]
    pub fn is_in(&self, scope: &Scope) -> bool {
        self.node().is_in(|own| scope.is(own))
    }

    /// The scope that it was put into itself; of several the first.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        self.scopes().next()
    }

    /// The scopes that it was put into itself, in that order.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        self.node().scopes().map(|scope| Scope::of(self.shared(), scope))
    }

    /// The scopes whose hooks it is under, each as often as it or an ancestor was put into it, the nearest first.
    #[must_use]
    pub fn all_scopes(&self) -> Vec<Scope> {
        self.node().all_scopes().map(|scope| Scope::of(self.shared(), scope)).collect()
    }

    /// The hooks of one format that are registered on this session itself.
    #[must_use]
    pub fn of_dialect(&self, dialect: &'static str) -> OfDialect {
        OfDialect::new(Arc::clone(self.shared()), self.place(), dialect)
    }

    /// Removes the hooks of that name that were registered on this session. Returns how many there were.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("guard").gate(async |_, _cx| Verdict::Continue)?;
    /// // What a child inherits, it cannot take away.
    /// let child = session.subagent("s2").open().await?;
    /// assert_eq!(child.remove("guard"), 0);
    /// assert_eq!(session.remove("guard"), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self, name: &str) -> usize {
        self.shared().remove(&self.place(), &|registered| *registered.hook.name == *name)
    }

    /// Removes the hooks of that source that were registered on this session, at one point or at all. Sources
    /// compare as whole strings; an unknown one is no error.
    pub fn remove_source(&self, point: Option<&PointInfo>, source: &str) -> usize {
        self.shared().remove_source(&self.place(), point, source)
    }

    /// Publishes an event and waits for the decision.
    ///
    /// At a point without hooks this allocates nothing, takes no lock and serialises nothing.
    /// Not cancel safe: dropping the future cancels the hooks that run and leaves the event undecided.
    /// Outside a tokio runtime, or in one without time, a hook that has to be waited for fails, and a detached one does
    /// not start; hooks that answer at once need no runtime.
    ///
    /// ```
    /// use lineside_bus::{Bus, PublishError};
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
    /// match decision.verdict() {
    ///     // Run the payload of the decision: hooks may have changed it.
    ///     verdict if !verdict.strength().is_final() => assert_eq!(decision.into_payload().command().as_deref(), Some("ls")),
    ///     refused => println!("refused: {refused}"),
    /// }
    ///
    /// // A session that is closed takes no events.
    /// session.close().await;
    /// assert!(matches!(session.publish(BeforeTool::new("Shell", json!({}))).await, Err(PublishError::Closed(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The session is closed, the bus is shutting down, or the event stands at the end of too long a line of causes.
    ///
    /// # Panics
    /// The future is polled again after it was ready.
    pub fn publish<P: Point>(
        &self,
        payload: P,
    ) -> impl Future<Output = Result<Decision<P>, PublishError>> + Send {
        Publishing::new(self, None, payload)
    }

    /// The number of an event without hooks and watchers; `None` when there are any, or when it has to be examined.
    #[inline]
    pub(crate) fn pass(&self, point: &PointInfo) -> Option<u64> {
        let node = &**self.node();
        // Whether it is open comes last: one that was open then was under these hooks, which closing releases.
        let quiet = !self.shared().tree.hears(node, point)
            && !self.shared().is_draining()
            && !self.shared().signals.is_watched()
            && node.state.stops_so_far().is_none()
            && !self.may_have_results(point)
            && node.is_open();
        // It is decided at once.
        quiet.then(|| node.state.in_flight.enter()).flatten().map(|(seq, _)| seq)
    }

    /// An event with more to say about it than its payload.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_bus::Bus;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let prompt = session.event(BeforePrompt::new("hello")).turn(7).within(Duration::from_secs(1));
    /// assert!(!prompt.publish().await?.is_refused());
    /// # Ok(())
    /// # }
    /// ```
    pub fn event<P: Point>(&self, payload: P) -> Publication<P> {
        Publication::new(self.clone(), payload)
    }

    /// An event whose point is known only at run time.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use lineside_bus::Bus;
    /// use lineside_core::json::{Map, json};
    /// use lineside_points::find;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let point = find("before_prompt").expect("it is in the catalogue");
    /// let payload = (point.decode)(point, Map::from([("prompt".to_owned(), json!("hello"))]))?;
    /// let receipt = session.any_event(payload).publish_any().await?;
    /// assert_eq!(receipt.event.point().name, "before_prompt");
    /// # Ok(())
    /// # }
    /// ```
    pub fn any_event(&self, payload: Arc<dyn Payload>) -> Publication<Arc<dyn Payload>> {
        Publication::new(self.clone(), payload)
    }

    /// Whether an event may meet the hooks that are registered on it: it has not come to its end, something is open below it,
    /// or it has a [bequest](Self::bequeath).
    #[must_use]
    pub fn has_heirs(&self) -> bool {
        !self.node().is_released()
    }

    /// Has something done once it has no [heirs](Self::has_heirs); at once when it has none. It is done where the
    /// last session below comes to its end, before that is signalled, and must not block.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use lineside_bus::Bus;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let child = session.subagent("s2").open().await?;
    /// let released = Arc::new(AtomicBool::new(false));
    /// let seen = Arc::clone(&released);
    /// session.at_release(move || seen.store(true, Ordering::Relaxed));
    /// session.close().await;
    /// assert!(!released.load(Ordering::Relaxed), "its child is under its hooks");
    /// child.close().await;
    /// assert!(released.load(Ordering::Relaxed));
    /// # Ok(())
    /// # }
    /// ```
    pub fn at_release(&self, then: impl FnOnce() + Send + 'static) {
        let then = self.shared().tree.at_release(self.node(), Box::new(then));
        then.into_iter().for_each(|then| then());
    }

    /// Keeps its hooks for sessions that are opened below it after its end, for as long as this is kept; `None` when they are
    /// released.
    ///
    /// ```
    /// use lineside_bus::Bus;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let bequest = session.bequeath();
    /// session.close().await;
    /// let child = session.subagent("s2").open().await?;
    /// assert_eq!(child.parent().map(|parent| parent.number()), Some(session.number()));
    /// drop(bequest);
    /// assert!(session.subagent("s3").open().await.is_err(), "it is closed");
    /// assert!(session.has_heirs(), "what was opened goes on below it");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn bequeath(&self) -> Option<Bequest> {
        self.shared().tree.bequeath(self.node()).then(|| Bequest(self.clone()))
    }

    /// Whether hooks are registered on this session itself.
    #[must_use]
    pub fn has_own_hooks(&self) -> bool {
        self.shared().tree.has_own(self.node())
    }

    /// How many sessions were opened as children of it so far.
    #[must_use]
    pub fn children(&self) -> u64 {
        self.node().children()
    }

    /// The number of its opening, from 1: no other session of its bus has the same number, even one with its id.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.node().number
    }

    /// The session that it was opened below, which may have ended.
    ///
    /// ```
    /// use lineside_bus::Bus;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let child = session.subagent("s2").open().await?;
    /// assert_eq!(child.parent().map(|parent| parent.number()), Some(session.number()));
    /// assert!(session.parent().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let parent = self.node().parent.clone()?;
        Some(Self::new(parent, Arc::clone(self.shared())))
    }

    /// Whether it is the child of that session, or of a session below that.
    #[must_use]
    pub fn is_below(&self, above: &Self) -> bool {
        self.node().is_below(above.node())
    }

    /// A session below this one, under its hooks.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_core::{Agent, Verdict};
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("guard").gate(async |_, _cx| Verdict::block("no"))?;
    ///
    /// let child = session.subagent("s2").agent(Agent::subagent("reviewer")).open().await?;
    /// assert!(child.is_below(&session));
    /// assert!(child.publish(BeforeTool::new("Shell", json!({}))).await?.is_refused());
    /// # Ok(())
    /// # }
    /// ```
    pub fn subagent(&self, id: impl Into<SessionId>) -> OpenSession {
        let mut source = (**self.source()).clone();
        source.parent_session = Some(std::mem::replace(&mut source.session, id.into()));
        source.depth += 1;
        source.agent = Agent::subagent("subagent");
        source.attribution = None;
        let parent = Some(self.clone());
        OpenSession { shared: Arc::clone(self.shared()), parent, scope: None, quota: None, source }
    }

    /// The whole text of a message that was cut for a delivery, if it is kept still. It is asked for by the id, which
    /// no two messages share, and also after the session has been opened anew.
    #[must_use]
    pub fn full_text(&self, message: MessageId) -> Option<String> {
        self.shared().full_texts.text(message)
    }

    /// Takes the messages for the agent's context.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::{Judgement, Verdict};
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session
    ///     .intercept::<BeforePrompt>("date")
    ///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("Today is Monday."))?;
    /// drop(session.publish(BeforePrompt::new("plan the week")).await?);
    /// let delivery = session.collect().ready();
    /// assert_eq!(delivery.messages()[0].text, "Today is Monday.");
    /// delivery.accept();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn collect(&self) -> Collect<'_> {
        Collect::new(self)
    }
}

/// The hooks of a session, kept for sessions below it that are yet to be opened. They are released when it is dropped.
#[must_use = "it keeps the hooks until it is dropped"]
pub struct Bequest(Session);

impl std::fmt::Debug for Bequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Bequest").field(self.0.id()).finish()
    }
}

impl Bequest {
    /// Whose hooks these are.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.0
    }
}

impl Drop for Bequest {
    fn drop(&mut self) {
        self.0.shared().tree.end_bequest(self.0.node());
    }
}

/// A session about to be opened.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_core::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new()
///     .session("s1")
///     .agent(Agent::main("planner"))
///     .project_root("/home/me/project")
///     .host("my-agent")
///     .open()
///     .await?;
/// assert_eq!(&*session.agent().id, "planner");
/// assert_eq!(session.source().project_root.as_deref(), Some("/home/me/project"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a session is opened by `open().await`"]
pub struct OpenSession {
    shared: Arc<Shared>,
    parent: Option<Session>,
    scope: Option<Scope>,
    quota: Option<Quota>,
    source: Source,
}

/// What several trees of sessions have together of all that there may be. Clones are the same.
#[derive(Clone)]
pub struct Quota(pub(crate) Arc<Share>);

impl Quota {
    /// Whether no session is open within it, and nothing else has a clone of it.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl std::fmt::Debug for Quota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quota").finish_non_exhaustive()
    }
}

impl OpenSession {
    pub(crate) fn root(shared: Arc<Shared>, id: SessionId) -> Self {
        Self { shared, parent: None, scope: None, quota: None, source: Source::root(id) }
    }

    /// Its agent; `main` for a root, `subagent` below.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.source.agent = agent;
        self
    }

    /// The root of its project.
    pub fn project_root(mut self, root: impl Into<Arc<str>>) -> Self {
        self.source.project_root = Some(root.into());
        self
    }

    /// Its working directory.
    pub fn cwd(mut self, cwd: impl Into<Arc<str>>) -> Self {
        self.source.cwd = Some(cwd.into());
        self
    }

    /// Its models.
    pub fn model(mut self, model: Model) -> Self {
        self.source.model = Some(model);
        self
    }

    /// The agent program that publishes.
    pub fn host(mut self, host: impl Into<Arc<str>>) -> Self {
        self.source.host = Some(host.into());
        self
    }

    /// The W3C trace context that its events carry.
    pub fn traceparent(mut self, traceparent: impl Into<Arc<str>>) -> Self {
        self.source.traceparent = Some(traceparent.into());
        self
    }

    /// The connection that its publisher speaks over.
    pub fn connection(mut self, connection: impl Into<Arc<str>>) -> Self {
        self.source.connection = Some(connection.into());
        self
    }

    /// How it has come to its place among others, as the caller has found out.
    pub fn attribution(mut self, attribution: Attribution) -> Self {
        self.source.attribution = Some(attribution);
        self
    }

    /// Puts it into a scope: it is under the hooks of that from its first event on, and so is everything below it.
    pub fn scope(mut self, scope: &Scope) -> Self {
        self.scope = Some(scope.clone());
        self
    }

    /// Has a root count in a quota with everything below it. A child counts where its root does.
    pub fn within(mut self, quota: &Quota) -> Self {
        self.quota = Some(quota.clone());
        self
    }

    /// That it is below its parent is claimed and not proved: hooks of the sessions above can refuse its events and those
    /// of what is below it, or have the user asked, and nothing else. What one of them would change is refused.
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
    /// session.intercept::<BeforeTool>("read-only").gate(async |_, _cx| Verdict::allow())?;
    /// let child = session.subagent("s2").claimed().open().await?;
    /// // The hooks above cannot allow anything here.
    /// let decision = child.publish(BeforeTool::new("ReadFile", json!({}))).await?;
    /// assert_eq!(decision.verdict(), &Verdict::Continue);
    /// # Ok(())
    /// # }
    /// ```
    pub fn claimed(mut self) -> Self {
        self.source.border = self.source.depth;
        self
    }

    /// What its events share, as far as it has been said.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Opens it. The hooks of its ancestors apply from its first event on.
    ///
    /// # Errors
    /// Its id is taken, its parent is closed, or the bus is shutting down.
    pub async fn open(self) -> Result<Session, OpenSessionError> {
        self.open_now()
    }

    /// As [`open`](Self::open), for callers that are not asynchronous.
    ///
    /// ```
    /// use lineside_bus::Bus;
    ///
    /// let session = Bus::new().session("s1").open_now()?;
    /// assert!(session.is_open());
    /// # Ok::<_, lineside_bus::OpenSessionError>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_now(self) -> Result<Session, OpenSessionError> {
        let Self { shared, parent, scope, quota, source } = self;
        let id = source.session.clone();
        if source.depth > Source::DEEPEST {
            return Err(OpenSessionError::TooDeep(id));
        }
        let above = parent.as_ref().map(|parent| Arc::clone(parent.node()));
        let (scope, quota) = (scope.map(Scope::into_place), quota.map(|quota| quota.0));
        let state = |id: &SessionId| State::new(id, shared.context.as_ref());
        let node = match (shared.tree.open(source, above, scope, quota, state), parent) {
            (Ok(node), _) => node,
            (Err(AddSessionError::ParentClosed), Some(parent)) => {
                return Err(OpenSessionError::ParentClosed(parent.id().clone()));
            }
            (Err(AddSessionError::Draining), _) => return Err(OpenSessionError::Draining),
            (Err(AddSessionError::TooMany), _) => return Err(OpenSessionError::TooMany(id)),
            (Err(_), _) => return Err(OpenSessionError::Taken(id)),
        };
        let session = Session::new(node, shared);
        if let Some(earlier) = session.shared().job_store().and_then(|job_store| job_store.opened(&id)) {
            session.node().state.background().holds(&earlier);
        }
        session.shared().signals.emit(|| Signal::SessionOpened {
            session: id,
            parent: session.source().parent_session.clone(),
            coverage: session.coverage(),
        });
        if session.shared().context.is_some()
            && let (messages @ 1.., _) = session.node().state.mailbox().counts()
        {
            let session = session.clone();
            session
                .shared()
                .signals
                .emit(|| Signal::ContextRecovered { session: session.id().clone(), messages });
        }
        Ok(session)
    }
}

/// Why a session cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenSessionError {
    /// There is an open session of that id.
    #[error("session `{0}` is open already")]
    Taken(SessionId),
    /// A closed session has no subagents, unless it has a [bequest](Session::bequeath).
    #[error("its parent session `{0}` is closed")]
    ParentClosed(SessionId),
    /// It would be further below its root than [`Source::DEEPEST`].
    #[error("session `{0}` would be more than {most} levels below its root", most = Source::DEEPEST)]
    TooDeep(SessionId),
    /// As many sessions are open, or closed above open ones, as there may be, in all, in its quota, in its tree, or below
    /// one of its ancestors, or their texts are too long together.
    #[error("session `{0}` is one too many; close others")]
    TooMany(SessionId),
    /// The bus is shutting down.
    #[error("the bus is shutting down")]
    Draining,
}
