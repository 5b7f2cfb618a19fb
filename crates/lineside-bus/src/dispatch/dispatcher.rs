//! Runs the hooks of one event in their order.
//!
//! What may run and what counts is decided by the pure chain in the core; here it is only run and taken in.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::budget::{Allowance, Budget, after};
use lineside_core::chain::Chain;
use lineside_core::envelope::Cause;
use lineside_core::failure::seconds;
use lineside_core::hook::{Hook, Selected};
use lineside_core::outcome::{FromHook, Round};
use lineside_core::{
    Amendment, Answer, AnyEvent, Approval, Failure, FailureKind, KeepWorking, OnFailure, Outcome, Response,
    SkipReason, Strength, Verdict,
};
use tokio::time::Instant;

use crate::base::caught::Failures;
use crate::base::stopwatch::Stopwatch;
use crate::dispatch::detached::SerialQueues;
use crate::dispatch::ensemble_run::EnsembleRun;
use crate::dispatch::shadow::Shadows;
use crate::dispatch::side_effects::{SideEffects, extend};
use crate::dispatch::would::{may_amend, refused};
use crate::hook::cx::{Cx, Handled};
use crate::hook::guard::Time;
use crate::hook::interceptor::Interceptor;
use crate::hook::state::Session;

/// The dispatch of one event.
pub(crate) struct Dispatcher<'a> {
    pub(crate) session: &'a Session,
    pub(crate) event: AnyEvent,
    pub(crate) chain: Chain,
    pub(crate) side_effects: SideEffects,
    pub(crate) budget: Budget,
    pub(crate) cause: Cause,
    pub(crate) cold: Option<Box<ColdState>>,
    pub(crate) time: Stopwatch,
    /// Who has answered what its hooks ask.
    pub(crate) approval: Option<Box<Approval>>,
}

/// What the hooks of few events have; made when it is needed.
#[derive(Default)]
pub(crate) struct ColdState {
    /// Hooks whose answers count together.
    pub(crate) ensembles: Vec<EnsembleRun>,
    pub(crate) queues: SerialQueues,
    pub(crate) shadows: Shadows,
}

impl<'a> Dispatcher<'a> {
    #[inline]
    pub(crate) fn new(
        session: &'a Session,
        hooks: Arc<[Arc<Hook>]>,
        event: AnyEvent,
        budget: Budget,
        now: Instant,
    ) -> Self {
        Self {
            session,
            chain: Chain::new(hooks),
            cause: Cause {
                event: event.envelope().id,
                depth: event.envelope().cause.map_or(0, |cause| cause.depth),
            },
            event,
            side_effects: SideEffects::default(),
            budget,
            cold: None,
            time: Stopwatch::of(now),
            approval: None,
        }
    }

    /// Decides whether a hook may start now, by the event as it stands or as it is `shown` to it; what it is not is
    /// recorded.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        index: u32,
        hook: &Hook,
        run: &dyn Interceptor,
        shown: Option<&AnyEvent>,
        round: Round,
    ) -> Option<Time> {
        if self.selects(index, hook, run, shown, round) { self.grant(index, hook, round) } else { None }
    }

    /// Decides whether a hook is meant by the event; that it is not is recorded.
    #[inline]
    pub(crate) fn selects(
        &mut self,
        index: u32,
        hook: &Hook,
        run: &dyn Interceptor,
        shown: Option<&AnyEvent>,
        round: Round,
    ) -> bool {
        let selected = match self.chain.refuses(index) {
            Some(why) => Selected::Skipped(why),
            None if self.is_unheard(hook) => Selected::Skipped(SkipReason::Unproven),
            None if hook.select.is_none() => hook.select(&self.event),
            None => {
                // A condition may search all of a long text, which is time of the event and of no hook.
                self.time.begin();
                let selected = hook.select(shown.unwrap_or(&self.event));
                self.time.lap();
                selected
            }
        };
        match selected {
            Selected::Runs => {}
            Selected::InDoubt(why) => self.side_effects.remark(index, why),
            Selected::Skipped(why) => {
                self.remark_not_loaded(index, hook, round);
                self.leave_out(index, run, round, why);
                return false;
            }
        }
        true
    }

    /// Gives a hook its time; that there is none left is recorded.
    #[inline]
    fn grant(&mut self, index: u32, hook: &Hook, round: Round) -> Option<Time> {
        match self.budget.allow(hook.timeout, self.time.elapsed()) {
            Allowance::Granted { time: granted, bound } => {
                Some(Time { granted, bound, deadline: after(self.time.now(), granted) })
            }
            Allowance::Exhausted => {
                let failure = Failure::not_started(FailureKind::Timeout, self.spent());
                self.fold(index, round, Duration::ZERO, Err(failure));
                None
            }
        }
    }

    /// Remarks of a broken hook why it was not loaded, once for each event.
    pub(crate) fn remark_not_loaded(&mut self, index: u32, hook: &Hook, round: Round) {
        if let Some(why) = hook.not_loaded().filter(|_| round == Round::First) {
            self.side_effects.remark(index, why.to_owned());
        }
    }

    /// Records that a hook does not run. One that was left out before as well is not told of twice.
    pub(crate) fn leave_out(&mut self, index: u32, run: &dyn Interceptor, round: Round, why: SkipReason) {
        self.tell_skipped(run, why);
        if round == Round::Rejudge {
            self.side_effects.forget(index);
        }
        if round == Round::First || self.chain.has_judged(index) {
            self.chain.record(index, round, Duration::ZERO, Outcome::Skipped(why));
        }
    }

    /// Tells a hook that it does not run. A panic of it is counted and changes nothing else.
    pub(crate) fn tell_skipped(&self, run: &dyn Interceptor, why: SkipReason) {
        self.failures().caught(|| run.skipped(&self.event, why)).ok();
    }

    /// What the hooks of few events have.
    pub(crate) fn cold_state(&mut self) -> &mut ColdState {
        self.cold.get_or_insert_default()
    }

    /// Where failures are counted.
    #[inline]
    pub(crate) fn failures(&self) -> Cow<'a, Failures> {
        Cow::Borrowed(&self.session.shared().failures)
    }

    /// Says who used up the time of the event.
    fn spent(&self) -> Cow<'static, str> {
        let slowest = self.chain.runs().iter().max_by_key(|run| run.took);
        let name = slowest.and_then(|run| self.chain.hook(run.hook));
        let whole = seconds(self.budget.event().unwrap_or_default());
        match name {
            Some(hook) => {
                format!("the event's {whole} s were used up, most of them by hook \"{}\"", hook.name).into()
            }
            None => format!("the event's {whole} s were used up before it could start").into(),
        }
    }

    /// What its hooks handle.
    #[inline]
    pub(crate) fn handled(&self) -> Handled {
        Handled::of(self.session, self.cause)
    }

    #[inline]
    pub(crate) fn cx(&self, time: Time) -> Cx {
        Cx::new(self.session.clone(), self.cause, time.deadline)
    }

    /// Takes in what came of a hook.
    pub(crate) fn fold(
        &mut self,
        index: u32,
        round: Round,
        took: Duration,
        result: Result<Response, Failure>,
    ) {
        if round == Round::Rejudge {
            // The later judgement takes the place of the earlier, and so does what came with it.
            self.side_effects.forget(index);
        }
        let outcome = match result {
            Ok(Response::Verdict(Verdict::Continue)) => Outcome::Answered(Verdict::Continue),
            other => {
                let Some(hook) = self.chain.hook(index).map(Arc::clone) else { return };
                let other = if self.is_beyond(&hook) { self.confined(&hook, other) } else { other };
                match other.and_then(|said| self.accept(index, &hook, round, said)) {
                    Ok(verdict) => Outcome::Answered(verdict),
                    Err(failure) => self.failed(index, &hook, round, failure),
                }
            }
        };
        self.chain.record(index, round, took, outcome);
        let earlier = self.side_effects.take_earlier();
        if !earlier.is_empty() {
            self.chain.failed_before(index, earlier);
        }
    }

    fn failed(&mut self, index: u32, hook: &Hook, round: Round, mut failure: Failure) -> Outcome {
        self.tell_failure(hook, &failure);
        self.side_effects.keep_earlier(std::mem::take(&mut failure.earlier));
        let taken_as = failure.taken_as.take().map(Response::Answer);
        let verdict = match taken_as.map(|said| self.accept(index, hook, round, said)) {
            Some(Ok(verdict)) => verdict,
            Some(Err(_)) | None => hook.taken_for(&failure),
        };
        Outcome::Failed { failure: Box::new(failure), verdict }
    }

    pub(crate) fn tell_failure(&self, hook: &Hook, failure: &Failure) {
        self.session.shared().failures.count();
        tracing::warn!(
            hook = %hook.name, point = self.event.point().name, kind = %failure.kind, detail = %failure.detail,
            on_failure = ?hook.on_failure, "a hook failed",
        );
    }

    /// Applies an answer. One whose amendment is refused counts as a failure, and nothing of it takes effect.
    fn accept(&mut self, index: u32, hook: &Hook, round: Round, said: Response) -> Result<Verdict, Failure> {
        let answer = match said {
            Response::Verdict(verdict) => return Ok(verdict.with_readable_reason(&hook.name)),
            Response::Answer(answer) => *answer,
        };
        if !answer.amendment.is_empty() && !answer.verdict.strength().is_final() {
            may_amend(hook)?;
            self.amend(index, round, &answer.amendment)?;
        }
        Ok(self.take_in(index, hook, answer))
    }

    /// Takes in everything that an answer gives beside its amendment, and returns its verdict.
    pub(crate) fn take_in(&mut self, index: u32, hook: &Hook, answer: Answer) -> Verdict {
        let Answer { verdict, context, notices, remarks, keep_working, extra, earlier, .. } = answer;
        for append in context {
            self.side_effects.append(index, append, false);
        }
        if let Some(KeepWorking { append, beyond, at_most }) = keep_working.map(|given| *given) {
            self.side_effects.append(index, append, true);
            self.side_effects.beyond.push(FromHook { hook: index, what: (beyond, at_most) });
        }
        extend(&mut self.side_effects.notices, index, notices);
        extend(&mut self.side_effects.remarks, index, remarks);
        self.side_effects.extra.extend(extra);
        self.side_effects.keep_earlier(earlier);
        verdict.with_readable_reason(&hook.name)
    }

    /// Applies an amendment, of which the further round has none: whichever hook has judged in it would not have judged what it
    /// makes of the payload.
    pub(crate) fn amend(&mut self, index: u32, round: Round, amendment: &Amendment) -> Result<(), Failure> {
        if round == Round::Rejudge && changes(amendment, &self.event) {
            let other = self.chain.last_author().map_or("", |author| &author.name);
            return Err(refused(&format!("hook \"{other}\" amended after it, and it amends once more")));
        }
        self.apply(index, amendment)
    }

    /// Gives the payload a new version, if the amendment changes anything.
    fn apply(&mut self, index: u32, amendment: &Amendment) -> Result<(), Failure> {
        let amended = amendment.apply(self.event.payload()).map_err(|error| refused(&error.to_string()))?;
        if let Some(amended) = amended {
            extend(&mut self.side_effects.changes, index, amended.changes);
            self.event = self.event.amended(amended.payload);
            self.chain.amended(index);
        }
        Ok(())
    }
}

/// How much will count of what came of a gate, before [`Dispatcher::fold`] takes it in.
pub(crate) fn strength_of_gate(hook: &Hook, result: &Result<Response, Failure>) -> Strength {
    let on_failure = || match hook.on_failure {
        OnFailure::Block => Strength::Block,
        OnFailure::Continue => Strength::Continue,
    };
    let of_answer = |answer: &Answer| {
        let strength = answer.verdict.strength();
        // What a gate amends is refused, with everything else of its answer.
        if strength.is_final() || answer.amendment.is_empty() { strength } else { on_failure() }
    };
    match result {
        Ok(Response::Verdict(verdict)) => verdict.strength(),
        Ok(Response::Answer(answer)) => of_answer(answer),
        Err(failure) => match failure.taken_as.as_deref() {
            Some(answer) => of_answer(answer),
            None => hook.taken_for(failure).strength(),
        },
    }
}

pub(crate) fn changes(amendment: &Amendment, event: &AnyEvent) -> bool {
    matches!(amendment.apply(event.payload()), Ok(Some(_)))
}
