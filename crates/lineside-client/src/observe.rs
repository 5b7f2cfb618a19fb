//! Observers: what was decided in a session and below it, heard as it happens over the stream of signals.
//!
//! Nothing waits for an observer, and its losses are reported with the next event that it receives.

use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use lineside_core::json::{Map, Value};
use lineside_core::payload::Point;
use lineside_core::{Event, Matcher, MatcherDraft, Reach, Reason, Verdict};
use lineside_points::read_event;
use tokio::time::sleep;

use crate::decision::verdict_of;
use crate::request::RequestError;
use crate::segment::segment;
use crate::session::Session;
use crate::signals::Signals;
use crate::tasks::{Running, caught, start};

/// How long the wait is before the stream is opened again.
const AGAIN: Duration = Duration::from_millis(100);

/// An event and its outcome.
///
/// ```no_run
/// use lineside_points::BeforeTool;
///
/// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
/// let observation = session.observe::<BeforeTool>("audit").run(async |heard| {
///     println!("{}: {} ({} lost)", heard.event().tool_name, heard.verdict(), heard.lost());
/// }).await?;
/// drop(observation);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Heard<P> {
    event: Event<P>,
    verdict: Verdict,
    lost: u64,
    json: Map,
}

impl<P: Point> Heard<P> {
    /// The event, with the payload that was decided about.
    #[must_use]
    pub fn event(&self) -> &Event<P> {
        &self.event
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        self.verdict.reason()
    }

    /// How many signals were lost since the last one that was heard; events of other points are among them, and those at
    /// which the closure has panicked.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The whole receipt, as the API of the daemon describes it.
    #[must_use]
    pub fn json(&self) -> &Map {
        &self.json
    }
}

/// An observer about to be registered.
#[must_use = "an observer is registered by `run`"]
pub struct Observing<P> {
    session: Session,
    matcher: Option<MatcherDraft>,
    reach: Reach,
    point: PhantomData<fn() -> P>,
}

/// An observer that hears. Dropping it ends it.
#[must_use = "an observer hears as long as this is held"]
#[derive(Debug)]
pub struct Observation(#[allow(dead_code, reason = "it is held")] Running);

impl Session {
    /// Has this process hear what is decided in this session and below it. The name is for people who read the program.
    ///
    /// ```no_run
    /// use lineside_core::Reach;
    /// use lineside_core::matcher::tool;
    /// use lineside_points::AfterTool;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let observing = session.observe::<AfterTool>("shell").matching(tool("Shell")).reach(Reach::Itself);
    /// let observation = observing.run(async |after| println!("{}", after.event().tool_name)).await?;
    /// drop(observation);
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe<P: Point>(&self, name: impl Into<String>) -> Observing<P> {
        drop(name.into());
        Observing { session: self.clone(), matcher: None, reach: Reach::default(), point: PhantomData }
    }
}

impl<P: Point> Observing<P> {
    /// Hears only events that these filters let through.
    pub fn matching(mut self, matcher: impl Into<MatcherDraft>) -> Self {
        self.matcher = Some(matcher.into());
        self
    }

    /// Which sessions it hears; the session and everything below by default.
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Hears from here on: everything that is decided after this has returned. The closure gets one event at a time.
    ///
    /// # Errors
    /// A filter cannot be compiled, the session is not open, or there is no daemon.
    pub async fn run<F, Fut>(self, run: F) -> Result<Observation, RequestError>
    where
        F: FnMut(Heard<P>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send,
    {
        let Self { session, matcher, reach, .. } = self;
        let matcher = matcher.as_ref().map(MatcherDraft::compile).transpose();
        let matcher = matcher.map_err(|error| RequestError::Unreadable(error.to_string()))?;
        let (id, all) = (session.id().as_str(), reach != Reach::Itself);
        let path = format!("/v1/signals?session={}&below={all}&point={}", segment(id), P::INFO.name);
        let mut first = Signals::of(session.client().stream(&path, None).await?);
        first.begins().await;
        let mut stream =
            Stream { session, path, reach, matcher, after: None, lost: 0, run, point: PhantomData };
        Ok(Observation(start(async move { stream.keep(first).await })))
    }
}

struct Stream<P, F> {
    session: Session,
    path: String,
    reach: Reach,
    matcher: Option<Matcher>,
    /// The id of the last signal, or of the one after which the stream began.
    after: Option<String>,
    lost: u64,
    run: F,
    point: PhantomData<fn() -> P>,
}

impl<P, F, Fut> Stream<P, F>
where
    P: Point,
    F: FnMut(Heard<P>) -> Fut + Send,
    Fut: Future<Output = ()> + Send,
{
    /// Hears over one connection after another.
    async fn keep(&mut self, first: Signals) {
        let mut next = Some(first);
        loop {
            if let Some(signals) = next.take() {
                self.hear(signals).await;
            }
            sleep(AGAIN).await;
            let again = self.session.client().stream(&self.path, self.after.as_deref()).await;
            next = again.ok().map(Signals::of);
        }
    }

    async fn hear(&mut self, mut signals: Signals) {
        while let Some(fields) = signals.next().await {
            match fields.get("kind").and_then(Value::as_str) {
                Some("lost") => {
                    self.lost += fields.get("lost").and_then(Value::as_u64).unwrap_or_default();
                }
                Some("decided") => {
                    let Some(heard) = self.heard(fields) else { continue };
                    let (lost, run) = (heard.lost, &mut self.run);
                    if caught(async move { run(heard).await }).await.is_none() {
                        // It has not heard of those, and hears what comes.
                        self.lost += lost + 1;
                    }
                }
                _ => {}
            }
        }
        if let Some(last) = signals.last() {
            self.after = Some(last.to_owned());
        }
    }

    fn heard(&mut self, json: Map) -> Option<Heard<P>> {
        let verdict = verdict_of(&json)?;
        let mut event = json.get("envelope")?.as_object()?.clone();
        event.insert("payload".to_owned(), json.get("payload")?.clone());
        let event = read_event(&event, 0).ok()?.into_typed::<P>().ok()?;
        let own = event.envelope().source.session == *self.session.id();
        let reached = self.reach.covers(u32::from(!own));
        let chosen = self.matcher.as_ref().is_none_or(|matcher| matcher.matches(event.any()));
        (reached && chosen).then(|| Heard { event, verdict, lost: std::mem::take(&mut self.lost), json })
    }
}
