//! Runs a foreign hook as an interceptor: its dialect says what to run and reads what came of it; this runs it, as
//! often and in the order that the hook asks for.

use std::cell::Cell;
use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lineside_automation::engine::Last;
use lineside_automation::{Automations, HookId, HookJobRegistry, HookJobSpec, HookJobs, Recording};
use lineside_bus::interceptor::{BoxFuture, Interceptor, Latency};
use lineside_bus::{BackgroundRuns, Bus, ChainTime, Cx, Session};
use lineside_core::flow::Retries;
use lineside_core::propagation::TRACEPARENT;
use lineside_core::{
    Answer, AnyEvent, Failure, Hook, Layer, Part, Propagation, Response, SessionId, SkipReason, UntilOver,
};
use lineside_dialects::{Call, ForeignHook, Handler, LogStage};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::debug_log::DebugLog;
use crate::exported::{Assignments, Root, root_of};
use crate::handler_runtime::{HandlerRuntime, NOT_RUN};

/// A foreign hook with everything that it needs to run.
pub(crate) struct Foreign {
    attempts: Arc<Attempts>,
    key: Option<Arc<str>>,
    /// Has its runs that no publisher waits for, which are jobs.
    adopted: Option<Arc<HookJobs>>,
    /// Whether its calls are queued for the worker of its set in the moment in which they are due.
    queues: bool,
}

/// The attempts of one hook.
struct Attempts {
    handler: Arc<dyn Handler>,
    outside: HandlerRuntime,
    log: Option<Arc<DebugLog>>,
    retry: Retries,
    dialect: &'static str,
    layer: Layer,
}

impl Foreign {
    pub(crate) fn new(hook: &ForeignHook, outside: HandlerRuntime, log: Option<Arc<DebugLog>>) -> Self {
        let handler = Arc::clone(&hook.handler);
        let (dialect, layer) = (hook.hook.dialect, hook.hook.layer);
        let queues = runs_in_a_set(&hook.hook, &outside);
        let outside = outside.of(&hook.hook).pure(hook.is_pure);
        let attempts = Arc::new(Attempts { handler, outside, log, retry: hook.retry, dialect, layer });
        Self { attempts, key: hook.key.clone(), adopted: None, queues }
    }

    /// Has its runs that no publisher waits for be jobs.
    pub(crate) fn adopted(
        mut self,
        hook: &ForeignHook,
        adoptions: &HookJobRegistry,
        known: (HookId, Recording),
    ) -> Self {
        let (id, recording) = known;
        let adopted = adoptions.adopt(HookJobSpec {
            id,
            recording,
            debounce: hook.debounce,
            retry: hook.retry,
            key: hook.key.clone(),
            last: last_look(hook, self.attempts.log.clone()),
            ..HookJobSpec::in_memory(&hook.hook)
        });
        self.adopted = Some(adopted);
        self
    }

    /// Has its runs that no publisher waits for be jobs without records. Where there is no tokio runtime they start at
    /// once.
    pub(crate) fn in_memory(self, hook: &ForeignHook, bus: &Bus) -> Self {
        match Automations::of(bus) {
            Ok(automations) if is_background(&hook.hook) => {
                let id = HookId::in_memory(hook.hook.dialect, &hook.hook.name);
                self.adopted(hook, &automations.hook_jobs(), (id, Recording::Memory))
            }
            _ => self,
        }
    }

    /// Itself as a hook whose runs are jobs.
    pub(crate) fn as_adopted(&self) -> Option<&Arc<HookJobs>> {
        self.adopted.as_ref()
    }
}

/// Whether no publisher waits for a hook.
pub(crate) fn is_background(hook: &Hook) -> bool {
    matches!(hook.part, Part::Detached | Part::PostDecision)
}

/// Whether no publisher waits for a hook that is a function in the worker of a set of plugins. A record of its call would
/// be of no use, because what a plugin remembers ends with its process; and a plugin is called in the order in which
/// events have happened, so that what was published before a call is known to it.
pub(crate) fn runs_in_a_set(hook: &Hook, outside: &HandlerRuntime) -> bool {
    is_background(hook) && outside.worker.is_some()
}

/// Says why a hook does not run for what a burst came to.
fn last_look(hook: &ForeignHook, log: Option<Arc<DebugLog>>) -> Last {
    let handler = Arc::clone(&hook.handler);
    Box::new(move |event| {
        let why = handler.skips_burst(event)?;
        tell(&*handler, log.as_deref(), &LogStage::Skipped { why });
        Some(why)
    })
}

impl Interceptor for Foreign {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let attempts = Arc::clone(&self.attempts);
        // A job has its key when it starts. The place in the line is taken now, so that hooks go in the order in which
        // they became due.
        let key = self.key.as_ref().filter(|_| cx.recorder().is_none());
        let claim = key.and_then(|key| Some(Automations::of(&cx.session().bus()).ok()?.claim(key)));
        let run = Box::pin(async move {
            let cx = match claim {
                Some(claim) => cx.holding(Some(UntilOver::new(claim.await))),
                None => cx,
            };
            attempts.run(&event, &cx).await.map(Response::from)
        });
        if self.queues { polled_now(run) } else { run }
    }

    fn latency(&self) -> Latency {
        Latency::Long
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        self.adopted.clone().map(|adopted| adopted as _)
    }

    fn skipped(&self, _event: &AnyEvent, why: SkipReason) {
        self.attempts.tell(&LogStage::Skipped { why });
    }
}

/// Polls a run once, whose first step puts its call into the queue of its worker. The task that has it afterwards polls
/// it again and is woken then. Without a tokio runtime it is left as it is.
fn polled_now(mut run: BoxFuture<Result<Response, Failure>>) -> BoxFuture<Result<Response, Failure>> {
    if Handle::try_current().is_err() {
        return run;
    }
    match run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ended) => Box::pin(ready(ended)),
        Poll::Pending => run,
    }
}

impl Attempts {
    /// Attempts until one does not fail or there is none left.
    async fn run(&self, event: &AnyEvent, cx: &Cx) -> Result<Answer, Failure> {
        let recorder = cx.recorder();
        let mut earlier: Vec<Failure> = recorder.map(|recorder| recorder.earlier()).unwrap_or_default();
        loop {
            let over = cx.chain_time().filter(|chain| Instant::now() >= chain.ends);
            let (result, may_again) = match over {
                Some(ChainTime { whole, .. }) => (Err(self.handler.out_of_time(whole)), false),
                None => self.attempt(event, cx).await,
            };
            match result {
                Ok(answer) => return Ok(Answer { earlier, ..answer }),
                Err(failure) => {
                    let made = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
                    if may_again && self.retry.tries_again(made, failure.kind) {
                        if let Some(recorder) = recorder {
                            recorder.failed(&failure, self.retry.delay);
                        }
                        earlier.push(failure);
                        sleep(self.retry.delay).await;
                        continue;
                    }
                    let taken_as = self.handler.refuse(event, &failure).map(Box::new);
                    return Err(Failure { earlier, taken_as, ..failure });
                }
            }
        }
    }

    /// One attempt, and whether another one could end differently.
    async fn attempt(&self, event: &AnyEvent, cx: &Cx) -> (Result<Answer, Failure>, bool) {
        let began = Instant::now();
        let mut started = None;
        let shares = self.handler.shares_variables();
        let assignments = Cell::new(None);
        // What is handed on is set before it is looked at what is started.
        let prepare = |event: &AnyEvent| {
            let mut call = self.handler.prepare(event)?;
            if shares && !self.outside.withholds(&call) {
                assignments.set(self.with_variables(cx.session(), event, &mut call));
            }
            Ok(call)
        };
        let call = self.outside.prepare(event, prepare);
        let assignments = assignments.into_inner();
        let (returned, result) = match call {
            Ok(call) if self.outside.withholds(&call) => {
                return (Ok(Answer { remarks: vec![NOT_RUN.into()], ..Answer::default() }), false);
            }
            Ok(call) => {
                let starts_nothing = matches!(call, Call::Nothing);
                self.tell(&LogStage::Starting { call: &call });
                // Only a log has a use for it afterwards.
                started = self.log.is_some().then(|| call.clone());
                // It counts when it has its turn, and not while it waits for one.
                let begins = async {
                    match cx.recorder() {
                        Some(recorder) => Some(recorder.begins().await),
                        None => None,
                    }
                };
                let (propagated, until_over) = (propagated(event, cx), cx.until_over().cloned());
                let returned = self.outside.run(call, cx.deadline(), begins, propagated, until_over).await;
                let bus = cx.session().bus();
                let is_open = |session: &SessionId| bus.find(session.as_str()).is_some();
                if starts_nothing {
                    self.handler.forget(&is_open);
                }
                let mut result = self.handler.read(event, &returned);
                if shares {
                    let assigned = assignments.map(|file| file.read()).unwrap_or_default();
                    let handed = self.handler.handed_on(event, &returned, &assigned);
                    if let (Ok(answer), Some(notice)) = (&mut result, handed.notice) {
                        answer.notices.push(notice);
                    }
                    let is_it = |(id, number): &Root| {
                        bus.find(id.as_str()).is_some_and(|open| open.number() == *number)
                    };
                    let root = root_of(cx.session());
                    self.outside.exported.keep(&root, self.dialect, self.layer, handed.variables, is_it);
                }
                if let Ok(answer) = &mut result {
                    answer.remarks.extend(self.handler.answer_keys().remarks(&returned));
                }
                (Some(returned), result)
            }
            Err(failure) => (None, Err(failure)),
        };
        let took: Duration = began.elapsed();
        let call = started.as_ref();
        self.tell(&LogStage::Finished { call, returned: returned.as_ref(), result: &result, took });
        (result, returned.is_some())
    }

    /// Sets the variables that earlier hooks have handed on, and gives the file in which this one may leave some.
    fn with_variables(&self, session: &Session, event: &AnyEvent, call: &mut Call) -> Option<Assignments> {
        let Call::Command(invocation) = call else { return None };
        self.outside.exported.set(&root_of(session), self.dialect, self.layer, &mut invocation.environment);
        let variable = self.handler.assignments_variable(event)?;
        match Assignments::new(variable, &mut invocation.environment) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!(%error, "no file for the variables of a hook");
                None
            }
        }
    }

    fn tell(&self, stage: &LogStage<'_>) {
        tell(&*self.handler, self.log.as_deref(), stage);
    }
}

/// What a process inherits that is started for this event, which may have a trace of its own.
pub(crate) fn propagated(event: &AnyEvent, cx: &Cx) -> Option<Propagation> {
    let variables = cx.session().propagated()?;
    Some(match &event.envelope().source.traceparent {
        Some(traceparent) => variables.with(TRACEPARENT, &**traceparent),
        None => variables,
    })
}

fn tell(handler: &dyn Handler, log: Option<&DebugLog>, stage: &LogStage<'_>) {
    if let Some(log) = log {
        log.write(&handler.log(stage));
    }
}
