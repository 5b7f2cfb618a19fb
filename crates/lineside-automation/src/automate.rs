//! Registering automations: `session.automate::<AfterToolBatch>("lint")`, a builder that is configured and then given
//! what it runs.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::register::RegisterHookError;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Registration, Session};
use lineside_core::hook::Hook;
use lineside_core::matcher::{CompileMatcherError, MatcherDraft};
use lineside_core::payload::Point;
use lineside_core::{AnyEvent, Event, Failure, FailureKind, Layer, Part, PointInfo, Reach};

use crate::control::{Control, ControlError};
use crate::engine::{Automations, Canceller, Does, Handler, OpenError, Run, Trigger};
use crate::hook_id::{Owner, automation_id, escaped};
use crate::machine::job::AutomationId;
use crate::report::Report;

mod sealed {
    pub trait Sealed {}
    impl Sealed for lineside_bus::Bus {}
    impl Sealed for lineside_bus::Session {}
}

/// Registers automations: on a [`Bus`] for every session, on a [`Session`] for it and those below it. No other type
/// implements it.
pub trait Automate: sealed::Sealed {
    /// Begins an automation at a point; [`Automating::run`] registers it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_automation::{Automate, Automations, Report, Retry};
    /// use lineside_bus::Bus;
    /// use lineside_core::flow::Debounce;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy")
    ///     .debounce(Debounce::quiet(Duration::from_millis(10)))
    ///     .retry(Retry::constant(3, Duration::from_millis(10)))
    ///     .run(async |_event, _cx| Ok(Report::success("nothing to do")))?;
    ///
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// Automations::of(&bus)?.all_settled().await?;
    /// assert_eq!(bus.drain(Duration::from_secs(5)).await.jobs.finished, 1);
    /// # Ok(())
    /// # }
    /// ```
    fn automate<P: Point>(&self, name: impl Into<Arc<str>>) -> Automating<P>;
}

impl Automate for Session {
    /// It hears this session and, by default, everything below.
    fn automate<P: Point>(&self, name: impl Into<Arc<str>>) -> Automating<P> {
        Automating::new(Place::Session(self.clone()), name.into())
    }
}

impl Automate for Bus {
    /// It hears every session.
    fn automate<P: Point>(&self, name: impl Into<Arc<str>>) -> Automating<P> {
        Automating::new(Place::Bus(self.clone()), name.into())
    }
}

enum Place {
    Bus(Bus),
    Session(Session),
}

impl Place {
    fn bus(&self) -> Bus {
        match self {
            Self::Bus(bus) => bus.clone(),
            Self::Session(session) => session.bus(),
        }
    }

    fn attach(&self, hook: Installed) -> Result<Registration, RegisterHookError> {
        match self {
            Self::Bus(bus) => bus.attach(hook),
            Self::Session(session) => session.attach(hook),
        }
    }

    /// The name of an automation, the same after a restart.
    fn id(&self, point: &PointInfo, name: &str) -> AutomationId {
        Owner::name_of_automation(match self {
            Self::Bus(_) => format!("{}/{}", point.name, escaped(name)),
            Self::Session(session) => automation_id(&escaped(session.id().as_str()), point.name, name),
        })
    }
}

/// An automation about to be registered. The settings take effect in this order, whatever the order of the calls:
/// match, rate, debounce and batch, priority, concurrency key, run, retry, result.
///
/// ```
/// use std::time::Duration;
/// use lineside_automation::{Automate, OnBusy, Rate, Report, ResultRule, ResultWhen};
/// use lineside_bus::Bus;
/// use lineside_points::AfterToolBatch;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").project_root("/home/me/project").open().await?;
/// let lint = session
///     .automate::<AfterToolBatch>("lint")
///     .rate(Rate::new(10, Duration::from_secs(60)))
///     .concurrency("lint:{project_root}")
///     .on_busy(OnBusy::Coalesce)
///     .result(ResultRule { when: ResultWhen::AppendAlways, ..ResultRule::default() })
///     .run(async |_batch, _cx| Ok(Report::failure("2 warnings").body("src/lib.rs:7: unused")))?;
/// assert_eq!(lint.id(), "s1/after_tool_batch/lint");
/// # Ok(())
/// # }
/// ```
#[must_use = "an automation is registered by `run`"]
pub struct Automating<P> {
    place: Place,
    hook: Hook,
    matcher: Option<MatcherDraft>,
    cancels: Vec<(&'static PointInfo, MatcherDraft)>,
    control: Control,
    point: PhantomData<fn() -> P>,
}

impl<P: Point> Automating<P> {
    fn new(place: Place, name: Arc<str>) -> Self {
        let mut hook = Hook::native(name, Part::PostDecision);
        if matches!(place, Place::Bus(_)) {
            hook.layer = Layer::Managed;
        }
        let (matcher, cancels, control) = (None, Vec::new(), Control::default());
        Self { place, hook, matcher, cancels, control, point: PhantomData }
    }

    /// Who registers it, for removal by source.
    ///
    /// ```
    /// use lineside_automation::{Automate, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy").source("plugin-a").run(async |_idle, _cx| Ok(Report::success("tidy")))?;
    /// assert_eq!(bus.remove_source(None, "plugin-a"), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.hook.source = source.into();
        self
    }

    /// Only for events that these filters let through.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Report, jobs::WhichState};
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_core::matcher::tool;
    /// use lineside_points::AfterTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<AfterTool>("tests")
    ///     .matching(tool("WriteFile"))
    ///     .run(async |_after, _cx| Ok(Report::success("all pass")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(AfterTool::new("Shell", json!({}))).await?);
    /// drop(session.publish(AfterTool::new("WriteFile", json!({}))).await?);
    /// assert_eq!(Automations::of(&bus)?.jobs().count(WhichState::Any), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn matching(mut self, matcher: impl Into<MatcherDraft>) -> Self {
        self.matcher = Some(matcher.into());
        self
    }

    /// Which sessions it hears; the session and everything below by default.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Report, jobs::WhichState};
    /// use lineside_bus::Bus;
    /// use lineside_core::Reach;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").open().await?;
    /// session
    ///     .automate::<OnIdle>("tidy")
    ///     .reach(Reach::Itself)
    ///     .run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let child = session.subagent("s2").open().await?;
    /// drop(child.publish(OnIdle::new()).await?);
    /// assert_eq!(Automations::of(&bus)?.jobs().count(WhichState::Any), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reach(mut self, reach: Reach) -> Self {
        self.hook.reach = reach;
        self
    }

    lineside_core::control_setters!();

    /// Events of another point that cancel its held and waiting work of the same key: the concurrency key if there is
    /// one, else what is held together. What runs is left alone.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_automation::{Automate, Automations, Report, jobs::WhichState};
    /// use lineside_bus::Bus;
    /// use lineside_core::MatcherDraft;
    /// use lineside_core::flow::Debounce;
    /// use lineside_points::{OnIdle, OnPrompt};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("remind")
    ///     .debounce(Debounce::quiet(Duration::from_secs(600)))
    ///     .cancelled_by::<OnPrompt>(MatcherDraft::default())
    ///     .run(async |_idle, _cx| Ok(Report::success("reminded")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let jobs = Automations::of(&bus)?.jobs();
    /// assert_eq!(jobs.count(WhichState::Live), 1);
    /// drop(session.publish(OnPrompt::new("go on")).await?);
    /// assert_eq!(jobs.count(WhichState::Live), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancelled_by<Q: Point>(mut self, matcher: MatcherDraft) -> Self {
        self.cancels.push((Q::INFO, matcher));
        self
    }

    /// Registers what it runs. A failure is tried again if that was said; a report that something is not in order is
    /// a result. A panic is a failure, and so is taking longer than the timeout.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::AfterToolBatch;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").open().await?;
    /// session
    ///     .automate::<AfterToolBatch>("lint")
    ///     .run(async |_batch, _cx| Ok(Report::failure("2 warnings").body("src/lib.rs:7: unused")))?;
    /// drop(session.publish(AfterToolBatch::new(vec![], vec![])).await?);
    /// Automations::of(&bus)?.all_settled().await?;
    /// // What is not in order goes to the agent's context.
    /// let delivery = session.collect().ready();
    /// assert_eq!(delivery.messages()[0].text, "2 warnings\nsrc/lib.rs:7: unused");
    /// delivery.accept();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An invalid setting, a matcher that cannot be compiled, a name that is blank or taken, or no tokio
    /// runtime. The error names file and line of the caller.
    #[track_caller]
    pub fn run<F, Fut>(self, run: F) -> Result<Automation, AutomateError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Report, Failure>> + Send + 'static,
    {
        let run: Run = Arc::new(move |event, _, cx| match event.into_typed::<P>() {
            Ok(event) => Box::pin(run(event, cx)),
            Err(event) => wrong_point(&event),
        });
        self.register(run)
    }

    /// As [`run`](Self::run), for a closure with errors of its own, each of which is a failure.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Report, jobs::WhichState};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("count").try_run(async |_idle, _cx| {
    ///     let files: u32 = "many".parse()?;
    ///     Ok::<_, std::num::ParseIntError>(Report::success(format!("{files} files")))
    /// })?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let automations = Automations::of(&bus)?;
    /// automations.all_settled().await?;
    /// assert_eq!(automations.jobs().count(WhichState::Dead), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn try_run<F, Fut, E>(self, run: F) -> Result<Automation, AutomateError>
    where
        F: Fn(Event<P>, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Report, E>> + Send + 'static,
        E: std::fmt::Display,
    {
        let run: Run = Arc::new(move |event, _, cx| match event.into_typed::<P>() {
            Ok(event) => {
                let report = run(event, cx);
                Box::pin(async move {
                    report.await.map_err(|error| Failure::new(FailureKind::Error, format!("{error:#}")))
                })
            }
            Err(event) => wrong_point(&event),
        });
        self.register(run)
    }

    #[track_caller]
    fn register(self, run: Run) -> Result<Automation, AutomateError> {
        let (at, name) = (Location::caller(), Arc::clone(&self.hook.name));
        self.install(run).map_err(|why| AutomateError { at, name, point: P::INFO.name, why })
    }

    fn install(self, run: Run) -> Result<Automation, WhyNotAutomate> {
        let Self { place, mut hook, matcher, cancels, control, .. } = self;
        if hook.name.trim().is_empty() {
            return Err(RegisterHookError::NoName.into());
        }
        let points: Vec<&PointInfo> = cancels.iter().map(|(point, _)| *point).collect();
        let rules = Arc::new(control.check(P::INFO, &points)?);
        if let Some(matcher) = matcher {
            hook.select = Some(Arc::new(matcher.compile()?));
        }
        (hook.timeout, hook.join) = (control.timeout, control.join);
        let id = place.id(P::INFO, &hook.name);
        let mut hooks = Vec::with_capacity(cancels.len());
        for (point, matcher) in cancels {
            let mut canceller = hook.clone();
            canceller.select = Some(Arc::new(matcher.compile()?));
            hooks.push((point, canceller));
        }
        let automations = Automations::of(&place.bus())?;
        let engine = &automations.engine;
        let (name, timeout) = (Arc::clone(&hook.name), control.timeout);
        let handler = Handler::new(name, timeout, Does::Run(run));
        let Some(registration) = engine.register(&id, handler, rules) else {
            return Err(WhyNotAutomate::Taken);
        };
        let mut automation = Automation {
            automations: automations.clone(),
            id: Arc::clone(&id),
            registration,
            hooks: Vec::new(),
        };
        let trigger = Trigger { engine: Arc::clone(engine), automation: Arc::clone(&id), registration };
        let mut attach = |point, hook, runs: Arc<dyn BackgroundRuns>| {
            let attached = place.attach(Installed::in_background(point, hook, runs));
            attached.map(|hook| automation.hooks.push(hook))
        };
        let mut attached = attach(P::INFO, hook, Arc::new(trigger));
        for (point, hook) in hooks {
            let canceller = Canceller { engine: Arc::clone(engine), automation: Arc::clone(&id) };
            attached = attached.and_then(|()| attach(point, hook, Arc::new(canceller)));
        }
        match attached {
            Ok(()) => Ok(automation),
            Err(error) => {
                automation.remove();
                Err(error.into())
            }
        }
    }
}

/// A registered automation. Dropping it changes nothing.
#[derive(Clone)]
pub struct Automation {
    automations: Automations,
    id: AutomationId,
    /// Which of all that have had its name.
    registration: u64,
    hooks: Vec<Registration>,
}

impl std::fmt::Debug for Automation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Automation").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Automation {
    /// Its name among all automations, the same after a restart.
    ///
    /// ```
    /// use lineside_automation::{Automate, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tidy = Bus::new().automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("tidy")))?;
    /// assert_eq!(tidy.id(), "on_idle/tidy");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All automations of its bus.
    #[must_use]
    pub fn automations(&self) -> &Automations {
        &self.automations
    }

    /// Removes it. What it has accepted comes to its end, as if it were there; one that is registered under its name
    /// before that takes over what has not begun. `false` when it was gone already; one that was registered under its
    /// name since then stays.
    ///
    /// ```
    /// use lineside_automation::{Automate, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let tidy = bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("tidy")))?;
    /// assert!(tidy.remove() && !tidy.remove());
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self) -> bool {
        let gone = self.hooks.iter().filter(|hook| hook.remove()).count();
        self.automations.engine.leaves(&self.id, self.registration);
        gone > 0
    }
}

/// What would be seen if the bus told of events of another point.
fn wrong_point(event: &AnyEvent) -> BoxFuture<Result<Report, Failure>> {
    let detail = format!("registered for another point than {}", event.point().name);
    Box::pin(std::future::ready(Err(Failure::not_started(FailureKind::Error, detail))))
}

/// An automation that cannot be registered: which, where in the sources that was tried, and why.
///
/// ```
/// use std::error::Error;
/// use std::time::Duration;
/// use lineside_automation::{Automate, Rate, Report, WhyNotAutomate};
/// use lineside_bus::Bus;
/// use lineside_points::OnIdle;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let none = Rate::new(0, Duration::from_secs(1));
/// let registered = Bus::new()
///     .automate::<OnIdle>("tidy")
///     .rate(none)
///     .run(async |_idle, _cx| Ok(Report::success("tidy")));
/// let error = registered.expect_err("no start is allowed at all");
/// assert!(matches!(error.why, WhyNotAutomate::Control(_)));
/// assert!(error.to_string().ends_with("automation `tidy` at on_idle could not be registered"));
/// assert!(error.source().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AutomateError {
    /// Where `run` was called.
    pub at: &'static Location<'static>,
    /// The name that it was to have.
    pub name: Arc<str>,
    /// The point.
    pub point: &'static str,
    /// What is wrong.
    pub why: WhyNotAutomate,
}

impl fmt::Display for AutomateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, name, point, why: _ } = self;
        write!(f, "{}:{}: automation `{name}` at {point} could not be registered", at.file(), at.line())
    }
}

impl std::error::Error for AutomateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// Why an automation cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WhyNotAutomate {
    /// An invalid setting.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A matcher that cannot be compiled.
    #[error(transparent)]
    Matcher(#[from] CompileMatcherError),
    /// There is one of this name at this point and place.
    #[error("there is one already; each needs a name of its own")]
    Taken,
    /// It cannot hear of events.
    #[error(transparent)]
    Hook(#[from] RegisterHookError),
    /// There is nothing to drive it.
    #[error(transparent)]
    Open(#[from] OpenError),
}
