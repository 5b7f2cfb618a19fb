//! Registering hooks of this process on a session of the daemon: builders with the names of those of the bus.

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::control::Control;
use lineside_core::json::{Map, Value, json};
use lineside_core::payload::{Amend, Interceptable, Point};
use lineside_core::report::Report;
use lineside_core::{AnyEvent, Event, Failure, Judgement, MatcherDraft, OnFailure, Reach, Reply, Response};

use crate::answer::{self, millis};
use crate::attach::{BoxFuture, Registration, Run};
use crate::cx::Cx;
use crate::request::RequestError;
use crate::session::Session;

/// What every registration says.
struct Draft {
    session: Session,
    entry: Map,
    reach: Reach,
}

impl Draft {
    fn new<P: Point>(session: Session, name: String) -> Self {
        let mut draft = Self { session, entry: Map::new(), reach: Reach::default() };
        draft.put("name", Value::String(name));
        draft.put("on", json!(P::INFO.name));
        draft
    }

    fn put(&mut self, key: &str, value: Value) {
        self.entry.insert(key.to_owned(), value);
    }

    async fn register(self, run: Run) -> Result<Registration, RequestError> {
        let Self { session, entry, reach } = self;
        let mut fields = Map::new();
        fields.insert("reach".to_owned(), json!(reach));
        fields.insert("hook".to_owned(), Value::Object(entry));
        let attachment = session.client().attachment();
        attachment.register(session.opening(), session.path("/hooks"), fields, run).await
    }
}

impl Session {
    /// Registers an interceptor of this process on this session; by default it is inherited by everything below, in
    /// whichever process that is.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use lineside_core::Verdict;
    /// use lineside_core::matcher::tool;
    /// use lineside_points::BeforeTool;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = session
    ///     .intercept::<BeforeTool>("no-rm-rf")
    ///     .priority(900)
    ///     .matching(tool("Shell"))
    ///     .timeout(Duration::from_secs(2))
    ///     .gate(async |call, _cx| match call.command().as_deref() {
    ///         Some(command) if command.contains("rm -rf /") => Verdict::block("refuses to delete /"),
    ///         _ => Verdict::Continue,
    ///     })
    ///     .await?;
    /// assert!(guard.remove().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn intercept<P: Interceptable>(&self, name: impl Into<String>) -> Intercepting<P> {
        let draft = Draft::new::<P>(self.clone(), name.into());
        Intercepting { draft, on_failure: None, timeout: TIMEOUT, point: PhantomData }
    }

    /// Registers an automation of this process on this session; by default it is inherited by everything below.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use lineside_core::flow::Debounce;
    /// use lineside_core::report::Report;
    /// use lineside_points::AfterToolBatch;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// session
    ///     .automate::<AfterToolBatch>("lint")
    ///     .debounce(Debounce::quiet(Duration::from_millis(300)))
    ///     .concurrency("lint:{project_root}")
    ///     .run(async |_batch, _cx| Ok(Report::success("no warnings")))
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn automate<P: Point>(&self, name: impl Into<String>) -> Automating<P> {
        let draft = Draft::new::<P>(self.clone(), name.into());
        Automating { draft, control: Control::default(), cancels: Vec::new(), point: PhantomData }
    }
}

macro_rules! settings {
    () => {
        /// Runs only for events that these filters let through.
        pub fn matching(mut self, matcher: impl Into<MatcherDraft>) -> Self {
            self.draft.put("match", Value::Object(matcher.into().to_json()));
            self
        }

        /// Which sessions it hears; the session and everything below by default.
        pub fn reach(mut self, reach: Reach) -> Self {
            self.draft.reach = reach;
            self
        }
    };
}

/// How long an interceptor may take by default.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An interceptor about to be registered.
#[must_use = "a hook is registered by `gate` or `amend`"]
pub struct Intercepting<P> {
    draft: Draft,
    on_failure: Option<OnFailure>,
    timeout: Duration,
    point: PhantomData<fn() -> P>,
}

impl<P: Interceptable> Intercepting<P> {
    settings!();

    /// Greater runs first; 0 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.draft.put("priority", json!(priority));
        self
    }

    /// What it counts as when it cannot answer, and while this process is gone: gates block and amenders continue when
    /// this is not called.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// Its time, from before it is asked to its answer, in whole milliseconds up to ten minutes; 30 s when this is not
    /// called.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn register(
        mut self,
        usual: OnFailure,
        amends: bool,
        run: Run,
    ) -> Result<Registration, RequestError> {
        self.draft.put("on_failure", json!(self.on_failure.unwrap_or(usual)));
        self.draft.put("timeout", json!(millis(self.timeout)));
        self.draft.put("amends", json!(amends));
        self.draft.register(run).await
    }

    /// Registers a closure that judges. It is polled where its question is read, and goes on in a task of its own where
    /// it has to wait; one that computes for long without waiting holds up the other hooks of this client.
    ///
    /// # Errors
    /// The name is blank, or owned by another program that is there; a filter cannot be compiled; the session is not
    /// open; there is no daemon.
    pub async fn gate<F, Fut>(self, run: F) -> Result<Registration, RequestError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Into<Judgement>> + Send + 'static,
    {
        let run = typed::<P, _, _>(run, |judgement| Ok(said(judgement.into())));
        self.register(OnFailure::Block, false, run).await
    }

    /// As [`gate`](Self::gate), for a closure that may return an error, which is a failure of the hook.
    ///
    /// ```no_run
    /// use lineside_core::{OnFailure, Verdict};
    /// use lineside_points::BeforePrompt;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// session
    ///     .intercept::<BeforePrompt>("limit")
    ///     .on_failure(OnFailure::Continue)
    ///     .try_gate(async |prompt, _cx| {
    ///         let limit: usize = std::env::var("PROMPT_LIMIT").unwrap_or_default().parse()?;
    ///         let is_long = prompt.prompt.len() > limit;
    ///         Ok::<_, std::num::ParseIntError>(if is_long { Verdict::ask("send it?") } else { Verdict::Continue })
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    pub async fn try_gate<F, Fut, J, E>(self, run: F) -> Result<Registration, RequestError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<J, E>> + Send + 'static,
        J: Into<Judgement> + 'static,
        E: Display + 'static,
    {
        let run = typed::<P, _, _>(run, |result| tried(result.map(|judgement| said(judgement.into()))));
        self.register(OnFailure::Block, false, run).await
    }
}

impl<P: Amend> Intercepting<P> {
    /// Registers a closure that may change the payload too. It runs alone.
    ///
    /// ```no_run
    /// use lineside_core::Reply;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// session
    ///     .intercept::<BeforeTool>("locked-tests")
    ///     .amend(async |_call, _cx| {
    ///         Reply::amend(BeforeTool::amend().tool_input(json!({"command": "cargo test --locked"})))
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    pub async fn amend<F, Fut>(self, run: F) -> Result<Registration, RequestError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Into<Reply<P>>> + Send + 'static,
    {
        let run = typed::<P, _, _>(run, |reply| Ok(answer::written(Response::from(reply.into()))));
        self.register(OnFailure::Continue, true, run).await
    }

    /// As [`amend`](Self::amend), for a closure that may return an error, which is a failure of the hook.
    ///
    /// # Errors
    /// As [`gate`](Self::gate).
    pub async fn try_amend<F, Fut, R, E>(self, run: F) -> Result<Registration, RequestError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Reply<P>> + 'static,
        E: Display + 'static,
    {
        let run = typed::<P, _, _>(run, |result| {
            tried(result.map(|reply| answer::written(Response::from(reply.into()))))
        });
        self.register(OnFailure::Continue, true, run).await
    }
}

/// An automation about to be registered; the settings are those of the bus, and take effect in the same order. While
/// this process is gone, an attempt fails at once.
#[must_use = "an automation is registered by `run`"]
pub struct Automating<P> {
    draft: Draft,
    control: Control,
    cancels: Vec<(&'static str, MatcherDraft)>,
    point: PhantomData<fn() -> P>,
}

impl<P: Point> Automating<P> {
    settings!();

    lineside_core::control_setters!();

    /// Events of this point that the filters let through cancel its held and waiting work.
    pub fn cancelled_by<Q: Point>(mut self, matcher: MatcherDraft) -> Self {
        self.cancels.push((Q::INFO.name, matcher));
        self
    }

    async fn register(mut self, run: Run) -> Result<Registration, RequestError> {
        let mut automate = self.control.declared();
        // It stands beside them, as of every hook.
        automate.remove("timeout");
        if !self.cancels.is_empty() {
            let cancels = self.cancels.iter();
            let cancels = cancels.map(|(on, matcher)| json!({"on": on, "match": matcher.to_json()}));
            automate.insert("cancelled_by".to_owned(), cancels.collect());
        }
        self.draft.put("automate", Value::Object(automate));
        self.draft.put("priority", json!(self.control.priority));
        self.draft.put("timeout", json!(millis(self.control.timeout)));
        self.draft.register(run).await
    }

    /// Registers what it runs, here. Its jobs are those of the daemon, and survive this process as they survive the
    /// daemon's.
    ///
    /// # Errors
    /// An invalid setting, and those of [`Intercepting::gate`].
    pub async fn run<F, Fut>(self, run: F) -> Result<Registration, RequestError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Report, Failure>> + Send + 'static,
    {
        let run = typed::<P, _, _>(run, |result| match result {
            Ok(report) => Ok(json!(report)),
            Err(failure) => Err(failure.detail.to_string()),
        });
        self.register(run).await
    }

    /// As [`run`](Self::run), for a closure with errors of its own, each of which is a failure.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn try_run<F, Fut, E>(self, run: F) -> Result<Registration, RequestError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Report, E>> + Send + 'static,
        E: Display + 'static,
    {
        let run = typed::<P, _, _>(run, |result| tried(result.map(|report| json!(report))));
        self.register(run).await
    }
}

fn said(judgement: Judgement) -> Value {
    answer::written(judgement.into())
}

fn tried<E: Display>(result: Result<Value, E>) -> Result<Value, String> {
    result.map_err(|error| format!("{error:#}"))
}

/// A closure for events of one point as one for events.
fn typed<P, F, Fut>(
    run: F,
    written: impl Fn(Fut::Output) -> Result<Value, String> + Copy + Send + Sync + 'static,
) -> Run
where
    P: Point,
    F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    Arc::new(move |event: AnyEvent, cx: Cx| -> BoxFuture<Result<Value, String>> {
        match event.into_typed::<P>() {
            Ok(event) => {
                let answer = run(event, cx);
                Box::pin(async move { written(answer.await) })
            }
            Err(event) => {
                let text = format!("asked about {}, and registered for {}", event.point().name, P::INFO.name);
                Box::pin(std::future::ready(Err(text)))
            }
        }
    })
}
