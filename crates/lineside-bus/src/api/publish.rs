//! Publishing: from a payload to a decision.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lineside_core::Timestamp;
use lineside_core::budget::Budget;
use lineside_core::envelope::{Agent, Cause, Model};
use lineside_core::payload::Point;
use lineside_core::{AnyEvent, EventId, Extra, Payload, Receipt, Source, Verdict};
use tokio::time::Instant;

pub use crate::dispatch::admission::{DEEPEST_CAUSE, PublishError, StopBound};

use crate::api::decision::Decision;
use crate::base::approver::{Approver, CarriedOut};
use crate::dispatch::admission::Details;
use crate::dispatch::event::{Begun, Waiting};
use crate::hook::cx::Cx;
use crate::hook::state::Session;

/// An event about to be published. What is not stated comes from its session.
///
/// ```
/// use std::time::Duration;
/// use lineside_bus::Bus;
/// use lineside_core::Agent;
/// use lineside_core::json::json;
/// use lineside_points::BeforeTool;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// let decision = session
///     .event(BeforeTool::new("Shell", json!({"command": "make"})))
///     .agent(Agent::subagent("builder"))
///     .turn(3)
///     .within(Duration::from_secs(2))
///     .publish()
///     .await?;
/// assert!(!decision.is_refused());
/// # Ok(())
/// # }
/// ```
#[must_use = "an event is published by `publish().await`"]
pub struct Publication<P> {
    session: Session,
    payload: P,
    details: Details,
}

impl<P> Publication<P> {
    pub(crate) fn new(session: Session, payload: P) -> Self {
        Self { session, payload, details: Details::default() }
    }

    /// The turn of the agent.
    pub fn turn(mut self, turn: u64) -> Self {
        self.details.turn = Some(turn);
        self
    }

    /// The event that led to it. Events published by a closure while it handles another one have it anyway.
    pub fn cause(mut self, cause: Cause) -> Self {
        self.details.cause = Some(Cause { depth: cause.depth.saturating_add(1), ..cause });
        self
    }

    /// At most this much time for all hooks together, in the smaller of this and the bus's own bound.
    pub fn within(mut self, time: std::time::Duration) -> Self {
        self.details.budget = self.details.budget.within(Budget::of(time));
        self
    }

    /// The id it already has, for events that were recorded elsewhere. The log takes the time of an event from its id, and
    /// automations run once for an id.
    pub fn id(mut self, id: EventId) -> Self {
        self.details.id = Some(id);
        self
    }

    /// The time at which it happened, for events that were recorded elsewhere. One that is still to come is now.
    pub fn time(mut self, time: Timestamp) -> Self {
        self.details.time = Some(time);
        self
    }

    /// Fields of the host without a canonical name.
    pub fn extra(mut self, extra: impl Into<Extra>) -> Self {
        let extra = extra.into();
        self.details.extra = (!extra.is_empty()).then(|| Arc::new(extra));
        self
    }

    /// It was decided before it is published: interceptors do not run, and observers hear it with this verdict.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let mut signals = bus.signals();
    /// let session = bus.session("s1").open().await?;
    /// let call = BeforeTool::new("Shell", json!({"command": "ls"}));
    /// let decision = session.event(call).decided(Verdict::block("by the user")).publish().await?;
    /// assert_eq!(decision.verdict(), &Verdict::block("by the user"));
    /// # drop(signals.try_next());
    /// # Ok(())
    /// # }
    /// ```
    pub fn decided(mut self, verdict: Verdict) -> Self {
        self.details.decided = Some(verdict);
        self
    }

    /// Whether the bus or the publisher limits how often its agent is kept working.
    pub fn stops(mut self, stops: StopBound) -> Self {
        self.details.stops = stops;
        self
    }

    /// Who answers what its hooks ask, before it is decided; without one, the verdict of such an event is `ask`. The time
    /// that this takes is no time of the hooks.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use lineside_bus::Bus;
    /// use lineside_bus::approver::{Approver, Asked, Question};
    /// use lineside_core::json::json;
    /// use lineside_core::{Approval, ApprovalScope, Timestamp, Verdict};
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// /// Answers every question with yes.
    /// struct Yes;
    ///
    /// impl Approver for Yes {
    ///     fn ask(&self, _: Question) -> Asked {
    ///         Asked::Answered(Approval {
    ///             id: "q1".into(),
    ///             verdict: Verdict::allow(),
    ///             by: "a test".into(),
    ///             at: Timestamp::UNIX_EPOCH,
    ///             scope: ApprovalScope::Once,
    ///             waited: Duration::ZERO,
    ///         })
    ///     }
    /// }
    ///
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("ask").gate(async |_, _cx| Verdict::ask("really?"))?;
    /// let call = BeforeTool::new("Shell", json!({"command": "git push"}));
    /// let decision = session.event(call).answered_by(Arc::new(Yes)).publish().await?;
    /// assert_eq!(decision.verdict(), &Verdict::allow());
    /// # Ok(())
    /// # }
    /// ```
    pub fn answered_by(mut self, approver: Arc<dyn Approver>) -> Self {
        self.details.approver = Some(approver);
        self
    }

    /// What becomes of the decision at the publisher, which its receipt and all that hears of it then have. The closure must
    /// neither block nor panic.
    pub fn carried_out(mut self, carried: CarriedOut) -> Self {
        self.details.carried = Some(carried);
        self
    }

    /// Another agent than the session's.
    pub fn agent(self, agent: Agent) -> Self {
        self.differs(|source| source.agent = agent)
    }

    /// Another model than the session's.
    pub fn model(self, model: Model) -> Self {
        self.differs(|source| source.model = Some(model))
    }

    /// Another working directory than the session's.
    pub fn cwd(self, cwd: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.cwd = Some(cwd.into()))
    }

    /// Another project than the session's.
    pub fn project_root(self, root: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.project_root = Some(root.into()))
    }

    /// Another trace than the session's.
    pub fn traceparent(self, traceparent: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.traceparent = Some(traceparent.into()))
    }

    /// Another connection than that of the session.
    pub fn connection(self, connection: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.connection = Some(connection.into()))
    }

    /// The digest of the hooks that its publisher believes it is under, as [`Session::coverage`] gives it. When it is
    /// another one, the event is decided all the same; the receipt and a signal tell it.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::OnIdle;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::Continue)?;
    /// let decision = session.event(BeforePrompt::new("hi")).expect_coverage("an old digest").publish().await?;
    /// let mismatch = decision.receipt().and_then(|receipt| receipt.coverage.as_ref());
    /// assert_eq!(mismatch.map(|mismatch| &mismatch.in_force), Some(&session.coverage()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn expect_coverage(mut self, coverage: impl Into<Arc<str>>) -> Self {
        self.details.coverage = Some(coverage.into());
        self
    }

    fn differs(mut self, change: impl FnOnce(&mut Source)) -> Self {
        let source = &self.session.node().source;
        change(Arc::make_mut(self.details.source.get_or_insert_with(|| Arc::clone(source))));
        self
    }
}

impl Cx {
    /// An event that the handled one has led to; it carries its `cause`.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_core::json::json;
    /// use lineside_points::{BeforeTool, OnNotification};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let (sender, mut heard) = tokio::sync::mpsc::channel(8);
    /// bus.observe::<OnNotification>("desktop").run(move |news| {
    ///     let sender = sender.clone();
    ///     async move { sender.send(news.event().envelope().cause).await.unwrap_or_default() }
    /// })?;
    /// let session = bus.session("s1").open().await?;
    /// session.intercept::<BeforeTool>("notify").gate(async |call, cx| {
    ///     let news = OnNotification::new(format!("{} is called", call.tool_name));
    ///     drop(cx.event(news).publish().await);
    ///     Verdict::Continue
    /// })?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({}))).await?;
    /// let cause = heard.recv().await.flatten();
    /// assert_eq!(cause.map(|cause| cause.event), Some(decision.id()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn event<P: Point>(&self, payload: P) -> Publication<P> {
        self.session().event(payload).cause(self.cause())
    }
}

impl<P: Point> Publication<P> {
    /// Publishes it and waits for the decision.
    ///
    /// Not cancel safe: dropping the future cancels the hooks that run and leaves the event undecided, which a signal
    /// tells.
    ///
    /// # Errors
    /// The session is closed, the bus is shutting down, or the line of causes is too long.
    pub async fn publish(self) -> Result<Decision<P>, PublishError> {
        let Self { session, payload, details } = self;
        Publishing::new(&session, Some(&details), payload).await
    }
}

/// The decision about an event that is let in when this is first polled.
///
/// The payload stays where the caller has put it until it goes into the event: it is large, and each further move of it
/// would be a good part of what publishing costs.
pub(crate) struct Publishing<'a, P> {
    session: &'a Session,
    /// Absent when the event says nothing different from its session.
    details: Option<&'a Details>,
    payload: Option<P>,
    /// Present while it has to be waited for.
    waiting: Option<Waiting<'a>>,
}

impl<'a, P> Publishing<'a, P> {
    #[inline]
    pub(crate) fn new(session: &'a Session, details: Option<&'a Details>, payload: P) -> Self {
        Self { session, details, payload: Some(payload), waiting: None }
    }
}

/// A payload is not polled.
impl<P> Unpin for Publishing<'_, P> {}

impl<P: Point> Future for Publishing<'_, P> {
    type Output = Result<Decision<P>, PublishError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { session, details, payload, waiting } = &mut *self;
        if let Some(waiting) = waiting {
            return waiting.as_mut().poll(task).map(|record| Ok(Decision::settled(record)));
        }
        // Before it is let in: it would have a second number.
        assert!(payload.is_some(), "the future of an event is polled after its decision");
        if details.is_none()
            && let Some(seq) = session.pass(P::INFO)
        {
            return decided_at_once(payload, seq);
        }
        let tables = session.shared().tree.tables(session.node(), P::INFO);
        let in_force = tables.at(P::INFO);
        let dispatch = match details.unwrap_or(Details::NONE).admit(session, P::INFO) {
            Ok(dispatch) => dispatch,
            Err(error) => {
                *payload = None;
                return Poll::Ready(Err(error));
            }
        };
        if !dispatch.is_heard(&in_force, P::INFO) {
            return decided_at_once(payload, dispatch.seq);
        }
        let now = Instant::now();
        let envelope = dispatch.envelope(now);
        let Some(event) = payload.take().map(|payload| AnyEvent::of(envelope, payload)) else {
            return Poll::Pending;
        };
        match dispatch.begin(&in_force, event, now, task) {
            Begun::Settled(record) => Poll::Ready(Ok(Decision::settled(record))),
            Begun::UnderWay(under_way) => {
                let waiting = waiting.insert(under_way);
                waiting.as_mut().poll(task).map(|record| Ok(Decision::settled(record)))
            }
        }
    }
}

/// The decision about an event without hooks and watchers.
#[inline]
fn decided_at_once<P: Point>(payload: &mut Option<P>, seq: u64) -> Poll<Result<Decision<P>, PublishError>> {
    match payload.take() {
        Some(payload) => Poll::Ready(Ok(Decision::unheard(payload, seq))),
        None => Poll::Pending,
    }
}

impl Publication<Arc<dyn Payload>> {
    /// Publishes it and waits for the decision, which is in the receipt.
    ///
    /// Not cancel safe, as [`Publication::publish`].
    ///
    /// # Errors
    /// As [`Publication::publish`].
    pub async fn publish_any(self) -> Result<Arc<Receipt>, PublishError> {
        let Self { session, payload, details } = self;
        let point = payload.info();
        let begin = |task: &mut Context<'_>| {
            let tables = session.shared().tree.tables(session.node(), point);
            let dispatch = details.admit(&session, point)?;
            let now = Instant::now();
            let event = AnyEvent::new(dispatch.envelope(now), Arc::clone(&payload));
            Ok(dispatch.begin(&tables.at(point), event, now, task))
        };
        match poll_fn(|task| Poll::Ready(begin(task))).await? {
            Begun::Settled(record) => Ok(record.into()),
            Begun::UnderWay(waiting) => Ok(waiting.await.into()),
        }
    }
}
