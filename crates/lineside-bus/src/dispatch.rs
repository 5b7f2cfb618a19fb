//! One event on its way through the hooks of its plan, from the payload to the receipt.
//!
//! What may run and what counts is decided by the pure chain in the core; here it is only run.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::budget::{Allowance, Budget};
use lineside_core::chain::Chain;
use lineside_core::envelope::Cause;
use lineside_core::hook::Hook;
use lineside_core::receipt::By;
use lineside_core::{
    Answer, AnyEvent, Append, Failure, FailureKind, KeepWorking, Notice, Outcome, Part, Payload, PointInfo,
    Receipt, Said, Source, Strength, Verdict,
};
use tokio::time::Instant;

use crate::cx::Cx;
use crate::drain::InFlight;
use crate::gathered::{Gathered, extend};
use crate::group;
use crate::guard::{Guarded, Time};
use crate::interceptor::Interceptor;
use crate::mailbox::ContextMessage;
use crate::publish::Details;
use crate::session::Session;
use crate::signal::Signal;
use crate::stop_limit::{Ruling, STOPS_IN_A_ROW};
use crate::table::PointPlan;
use crate::tree::{Node, Tables};

/// An event that was let in: it has a number and a plan.
pub(crate) struct Dispatch<'a> {
    pub(crate) session: &'a Session,
    /// The plans in force when it was let in. Kept as they are until the decision, without counting references.
    pub(crate) tables: arc_swap::Guard<Arc<Tables>>,
    pub(crate) point: &'static PointInfo,
    pub(crate) seq: u64,
    pub(crate) cause: Option<Cause>,
    pub(crate) details: &'a Details,
    /// Held until the decision, so that a drain waits for it.
    pub(crate) in_flight: InFlight<'a>,
}

impl Dispatch<'_> {
    /// Whether anybody would notice the event.
    pub(crate) fn is_heard(&self) -> bool {
        self.tables.own.plan(self.point).is_some() || self.session.shared().signals.is_watched()
    }

    /// Runs the hooks and settles the event.
    pub(crate) async fn run(self, payload: Arc<dyn Payload>) -> Arc<Receipt> {
        let Self { session, tables, point, seq, cause, details, in_flight } = self;
        let plan = tables.own.plan(point).map(|plan| &**plan);
        let now = Instant::now();
        let event = details.event(&session.node().source, seq, cause, now.into_std(), payload);
        let watch = Watch::over(session, &event);
        let mut turn = Turn::new(session, plan, event, details.budget(session.shared().budget), now);
        if let Some(plan) = plan {
            turn.walk(plan).await;
        }
        let receipt = turn.settle();
        watch.disarm();
        if let Some(plan) = plan {
            tell_observers(session, plan, &receipt);
        }
        session.shared().signals.emit(|| Signal::Decided(Arc::clone(&receipt)));
        drop(in_flight);
        receipt
    }
}

/// Tells of an event that its publisher gave up.
struct Watch<'a> {
    session: &'a Session,
    lost: Option<(u64, lineside_core::EventId)>,
}

impl<'a> Watch<'a> {
    fn over(session: &'a Session, event: &AnyEvent) -> Self {
        let envelope = event.envelope();
        Self { session, lost: Some((envelope.seq, envelope.id)) }
    }

    fn disarm(mut self) {
        self.lost = None;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some((seq, event)) = self.lost {
            let session = self.session.id().clone();
            self.session.shared().signals.emit(|| Signal::Abandoned { session, seq, event });
        }
    }
}

/// The state of one dispatch.
pub(crate) struct Turn<'a> {
    session: &'a Session,
    pub(crate) event: AnyEvent,
    pub(crate) chain: Chain,
    gathered: Gathered,
    budget: Budget,
    cause: Cause,
    /// Which message of the context keeps the agent working.
    kept_working: Option<usize>,
    /// From the publication to `now`.
    elapsed: Duration,
    /// When the last thing happened; spares the clock.
    pub(crate) now: Instant,
}

impl<'a> Turn<'a> {
    fn new(session: &'a Session, plan: Option<&PointPlan>, event: AnyEvent, budget: Budget, now: Instant) -> Self {
        let hooks = plan.map_or_else(|| Arc::from([]), |plan| Arc::clone(plan.interceptors.hooks()));
        Self {
            session,
            chain: Chain::new(hooks),
            cause: Cause {
                event: event.envelope().id,
                depth: event.envelope().cause.map_or(0, |cause| cause.depth),
            },
            event,
            gathered: Gathered::default(),
            budget,
            kept_working: None,
            elapsed: Duration::ZERO,
            now,
        }
    }

    /// Every hook in its turn, then once more the gates that judged an earlier payload.
    async fn walk(&mut self, plan: &PointPlan) {
        for group in plan.interceptors.groups() {
            self.group(plan, group.clone(), false).await;
        }
        let stale = self.chain.stale_gates();
        let hooks = Arc::clone(self.chain.hooks());
        let priority = |index: &u16| hooks.get(usize::from(*index)).map(|hook| hook.priority);
        for together in stale.chunk_by(|a, b| priority(a) == priority(b)) {
            self.group(plan, together.iter().copied(), true).await;
        }
    }

    async fn group(
        &mut self,
        plan: &PointPlan,
        mut indices: impl ExactSizeIterator<Item = u16>,
        again: bool,
    ) {
        if indices.len() > 1 {
            return Box::pin(group::run(self, plan, indices, again)).await;
        }
        let Some(index) = indices.next() else { return };
        let Some((hook, run)) = plan.interceptors.entry(index) else { return };
        let Some(time) = self.admit(index, hook, again) else { return };
        if hook.part == Part::Detached {
            self.detach(index, hook, Arc::clone(run), time);
            return;
        }
        let result = Guarded::start(&**run, &self.event, self.cx(time), time).await;
        let took = self.lap();
        self.fold(index, again, took, result);
    }

    /// Decides whether a hook may start now; what it is not is recorded.
    pub(crate) fn admit(&mut self, index: u16, hook: &Hook, again: bool) -> Option<Time> {
        if let Some(why) = self.chain.refuses(index).or_else(|| hook.skip(&self.event)) {
            self.chain.record(index, again, Duration::ZERO, Outcome::Skipped(why));
            return None;
        }
        match self.budget.allow(hook.timeout, self.elapsed) {
            Allowance::Granted { time: granted, bound } => {
                Some(Time { granted, bound, deadline: self.now + granted })
            }
            Allowance::Exhausted => {
                let failure = Failure::not_started(FailureKind::Timeout, self.spent());
                self.fold(index, again, Duration::ZERO, Err(failure));
                None
            }
        }
    }

    /// Says who used up the time of the event.
    fn spent(&self) -> Cow<'static, str> {
        let slowest = self.chain.runs().iter().max_by_key(|run| run.took);
        let name = slowest.and_then(|run| self.chain.hooks().get(usize::from(run.hook)));
        let whole = lineside_core::failure::seconds(self.budget.event().unwrap_or_default());
        match name {
            Some(hook) => {
                format!("the event's {whole} s were used up, most of them by hook \"{}\"", hook.name).into()
            }
            None => format!("the event's {whole} s were used up before it could start").into(),
        }
    }

    pub(crate) fn cx(&self, time: Time) -> Cx {
        Cx::new(self.session.clone(), self.cause, time.deadline)
    }

    /// The time since something last happened.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let took = now - self.now;
        self.now = now;
        self.elapsed += took;
        took
    }

    /// Takes in what came of a hook.
    pub(crate) fn fold(&mut self, index: u16, again: bool, took: Duration, result: Result<Said, Failure>) {
        let outcome = match result {
            Ok(Said::Verdict(Verdict::Continue)) => Outcome::Answered(Verdict::Continue),
            other => {
                let Some(hook) = self.chain.hooks().get(usize::from(index)).map(Arc::clone) else { return };
                match other.and_then(|said| self.accept(index, &hook, said)) {
                    Ok(verdict) => Outcome::Answered(verdict),
                    Err(failure) => self.failed(index, &hook, failure),
                }
            }
        };
        self.chain.record(index, again, took, outcome);
    }

    fn failed(&mut self, index: u16, hook: &Hook, mut failure: Failure) -> Outcome {
        self.session.shared().count_failure();
        let taken_as = failure.taken_as.take().map(Said::Answer);
        let verdict = match taken_as.map(|said| self.accept(index, hook, said)) {
            Some(Ok(verdict)) => verdict,
            Some(Err(_)) | None => hook.on_failure.verdict(&hook.name, &failure),
        };
        tracing::warn!(
            hook = %hook.name, point = self.event.point().name, kind = %failure.kind, detail = %failure.detail,
            taken_as = %verdict.strength(), "a hook failed",
        );
        Outcome::Failed { failure: Box::new(failure), verdict }
    }

    /// Applies an answer. One whose amendment is refused counts as a failure, and nothing of it takes effect.
    fn accept(&mut self, index: u16, hook: &Hook, said: Said) -> Result<Verdict, Failure> {
        let answer = match said {
            Said::Verdict(verdict) => return Ok(verdict.with_readable_reason(&hook.name)),
            Said::Answer(answer) => *answer,
        };
        let Answer { verdict, amendment, context, notices, remarks, keep_working } = answer;
        if !amendment.is_empty() && !verdict.strength().is_final() {
            self.amend(index, hook, &amendment)?;
        }
        extend(&mut self.gathered.context, index, context);
        extend(&mut self.gathered.notices, index, notices);
        extend(&mut self.gathered.remarks, index, remarks);
        self.gathered.keep_working.extend(keep_working.map(|what| By { hook: index, what }));
        Ok(verdict.with_readable_reason(&hook.name))
    }

    fn amend(
        &mut self,
        index: u16,
        hook: &Hook,
        amendment: &lineside_core::Amendment,
    ) -> Result<(), Failure> {
        let refused = |why: String| Failure::new(FailureKind::Output, format!("amendment refused: {why}"));
        if hook.part != Part::Amender {
            return Err(refused("a gate only judges".to_owned()));
        }
        let amended = amendment.apply(&**self.event.payload()).map_err(|error| refused(error.to_string()))?;
        if let Some(amended) = amended {
            extend(&mut self.gathered.changes, index, amended.changes);
            self.event = self.event.amended(amended.payload);
            self.chain.amended();
        }
        Ok(())
    }

    /// Starts a hook that nobody waits for.
    fn detach(&mut self, index: u16, hook: &Arc<Hook>, run: Arc<dyn Interceptor>, time: Time) {
        self.chain.record(index, false, Duration::ZERO, Outcome::Detached);
        let (session, hook, event, cx) =
            (self.session.clone(), Arc::clone(hook), self.event.clone(), self.cx(time));
        let report =
            Report { session: self.session.clone(), hook: Arc::clone(&hook), event: self.event.clone() };
        let cut = Report { session: self.session.clone(), hook, event: self.event.clone() };
        session.node().background().spawn(
            async move {
                let began = Instant::now();
                let result = Guarded::start(&*run, &event, cx, time).await;
                report.send(result, began.elapsed());
            },
            move || cut.cut_short(),
        );
    }

    /// The verdict and everything that goes with it.
    fn settle(mut self) -> Arc<Receipt> {
        let (mut verdict, mut author) = self.chain.decide();
        if let Some(agent) = self.agent_that_stops() {
            (verdict, author) = self.limit_stops(&agent, verdict, author);
        }
        self.append_context();
        let Self { event, chain, gathered, elapsed: took, .. } = self;
        let Gathered { changes, context, notices, remarks, .. } = gathered;
        let (hooks, runs) = chain.into_parts();
        Arc::new(Receipt { event, hooks, runs, verdict, author, changes, context, notices, remarks, took })
    }

    /// Whose stop this event is about.
    fn agent_that_stops(&self) -> Option<Arc<str>> {
        match self.event.point().name {
            "before_stop" => Some(Arc::clone(&self.event.envelope().source.agent.id)),
            "after_subagent" => self.event.payload().text("child_session").map(Arc::from),
            _ => None,
        }
    }

    /// A block keeps the agent working and tells it why, unless it is one too many in a row.
    fn limit_stops(
        &mut self,
        agent: &Arc<str>,
        verdict: Verdict,
        author: Option<u16>,
    ) -> (Verdict, Option<u16>) {
        let node = self.session.node();
        let (Strength::Block, Some(by), Some(reason)) = (verdict.strength(), author, verdict.reason()) else {
            if let Some(stops) = node.stops_so_far() {
                stops.reset(agent);
            }
            return (verdict, author);
        };
        let given =
            self.gathered.keep_working.iter().find(|given| given.hook == by).map(|given| &*given.what);
        let texts = given.cloned().unwrap_or_else(|| KeepWorking {
            append: Append::system(reason.as_str()),
            overridden: Notice::warning(format!(
                "{} was blocked {} times in a row; it goes through now",
                self.event.point().name,
                STOPS_IN_A_ROW + 1
            )),
        });
        match node.stops().blocked(agent, self.event.envelope().turn) {
            Ruling::Stands => {
                self.kept_working = Some(self.gathered.context.len());
                self.gathered.context.push(By { hook: by, what: texts.append });
                (verdict, author)
            }
            Ruling::Overridden => {
                self.gathered.remark(by, "overridden: blocked too often in a row");
                self.gathered.notice(by, texts.overridden);
                (Verdict::Continue, None)
            }
        }
    }

    /// Puts the messages into the mailbox of the session's agent; the one that keeps a subagent working into its own.
    fn append_context(&self) {
        for (index, By { hook, what }) in self.gathered.context.iter().enumerate() {
            let Some(hook) = self.chain.hooks().get(usize::from(*hook)) else { continue };
            let child = if self.kept_working == Some(index) { self.child() } else { None };
            let node = child.as_deref().unwrap_or_else(|| self.session.node());
            let message = ContextMessage {
                hook: Arc::clone(&hook.name),
                dialect: hook.dialect,
                event: self.cause.event,
                session: self.session.id().clone(),
                role: what.role,
                text: what.text.clone(),
            };
            if let Err(message) = node.mailbox().push(message) {
                let session = node.source.session.clone();
                self.session.shared().signals.emit(|| Signal::ContextDropped { session, hook: message.hook });
            }
        }
    }

    /// The session of the subagent that the event is about, if it is open.
    fn child(&self) -> Option<Arc<Node>> {
        self.session.shared().tree.find(self.event.payload().text("child_session")?)
    }
}

/// How a detached hook ended.
struct Report {
    session: Session,
    hook: Arc<Hook>,
    event: AnyEvent,
}

impl Report {
    fn send(self, result: Result<Said, Failure>, took: Duration) {
        let background = self.session.node().background();
        let outcome = match result {
            Ok(_) => Outcome::Answered(Verdict::Continue),
            Err(failure) => {
                self.session.shared().count_failure();
                Outcome::Failed { failure: Box::new(failure), verdict: Verdict::Continue }
            }
        };
        background.count_finished();
        self.session.shared().signals.emit(|| Signal::DetachedFinished {
            event: self.event.envelope().id,
            session: self.event.envelope().source.session.clone(),
            hook: self.hook,
            outcome,
            took,
        });
    }

    fn cut_short(self) {
        self.session.node().background().count_cut_short();
        let failure = Failure::new(FailureKind::Closed, "still running when the session closed");
        self.session.shared().signals.emit(|| Signal::DetachedFinished {
            event: self.event.envelope().id,
            session: self.event.envelope().source.session.clone(),
            hook: self.hook,
            outcome: Outcome::Failed { failure: Box::new(failure), verdict: Verdict::Continue },
            took: Duration::ZERO,
        });
    }
}

/// The agent has got something new to work on: its stops are counted anew.
pub(crate) fn forget_stops(node: &Node, point: &PointInfo, different: Option<&Source>) {
    let Some(stops) = node.stops_so_far() else { return };
    if matches!(point.name, "before_prompt" | "on_prompt" | "before_agent") {
        stops.reset(&different.unwrap_or(&node.source).agent.id);
    }
}

fn tell_observers(session: &Session, plan: &PointPlan, receipt: &Arc<Receipt>) {
    let observers = &plan.observers;
    for (index, hook) in (0..).zip(observers.hooks().iter()) {
        let Some((_, listener)) = observers.entry(index) else { continue };
        if hook.skip(&receipt.event).is_some() {
            continue;
        }
        if let Some(lost) = listener.push(receipt) {
            let hook = Arc::clone(&hook.name);
            session.shared().signals.emit(|| Signal::ObserverLagged { hook, lost });
        }
    }
}
