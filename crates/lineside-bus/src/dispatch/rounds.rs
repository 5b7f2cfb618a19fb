//! The rounds of an event: every hook in its turn, once more those that have judged an earlier payload, and then those
//! that run after the decision.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_core::hook::{Hook, Selected};
use lineside_core::outcome::Round;
use lineside_core::{Acceptance, Failure, Outcome, Part, SkipReason};

use crate::base::approver::Approver;
use crate::dispatch::advance::Suspended;
use crate::dispatch::dispatcher::Dispatcher;
use crate::dispatch::event::Reached;
use crate::dispatch::group;
use crate::dispatch::would::failed;
use crate::hook::guard::Guarded;
use crate::hook::interceptor::{DetachedRun, Interceptor};
use crate::hook::state::Plan;

impl<'a> Dispatcher<'a> {
    /// Whether nothing is left to do once every hook has had its first turn.
    #[inline]
    pub(crate) fn is_done(&self, plan: &Plan<'_>) -> bool {
        self.chain.version() == 0 && !plan.tells()
    }

    /// Waits for the call that an event [has halted](Self::advance) at, if it is one of a hook that runs alone. It is
    /// awaited where it stands, so that the future of an event that waits is small.
    pub(crate) async fn resume(&mut self, halt: &mut Option<Suspended<'a>>) {
        let Some(Suspended::Alone(index, call)) = halt else { return };
        let (index, result) = (*index, Pin::new(call).await);
        *halt = None;
        let took = self.time.waited();
        self.fold(index, Round::First, took, result);
    }

    /// The rest of the first round, then once more the hooks that judged an earlier payload and have to judge this one,
    /// then the questions of hooks, then what an agent that stops is to hear of, then the post-decision hooks. Futures that are
    /// rarely awaited are boxed.
    pub(crate) async fn finish_async(
        &mut self,
        plan: &Plan<'_>,
        Reached { next, halt, stopping, .. }: &mut Reached<'a>,
        approver: Option<&Arc<dyn Approver>>,
    ) {
        loop {
            self.resume(halt).await;
            match halt.take() {
                Some(Suspended::Beside(index, call, group)) => {
                    Box::pin(group::run(self, plan, Some((index, call)), group, Round::First)).await;
                }
                Some(Suspended::Member(index)) => Box::pin(self.member(plan, index, Round::First)).await,
                Some(Suspended::Alone(..)) | None => {}
            }
            let advance = |task: &mut Context<'_>| {
                *halt = self.advance(plan, next, task);
                Poll::Ready(())
            };
            poll_fn(advance).await;
            if halt.is_none() {
                break;
            }
        }
        let stale = self.chain.stale();
        if !stale.is_empty() {
            Box::pin(self.judge_again(plan, &stale)).await;
        }
        if let Some(approver) = approver {
            self.put_questions(&**approver).await;
        }
        if let Some(stopping) = stopping {
            self.hear_results(stopping).await;
        }
        if plan.tells() {
            self.start_post_decision(plan);
        }
    }

    async fn judge_again(&mut self, plan: &Plan<'_>, stale: &[u32]) {
        self.begin_round();
        // As in the first round, only gates of equal priority run at the same time.
        let beside = |one: &u32, next: &u32| match (plan.entry(*one), plan.entry(*next)) {
            (Some((one, _)), Some((next, _))) => one.goes_beside(next),
            _ => false,
        };
        for gates in stale.chunk_by(beside) {
            self.group(plan, gates, Round::Rejudge).await;
        }
        self.end_round(Round::Rejudge);
    }

    async fn group(&mut self, plan: &Plan<'_>, indices: &[u32], round: Round) {
        if let [_, _, ..] = indices {
            return group::run(self, plan, None, indices.iter().copied(), round).await;
        }
        let Some(&index) = indices.first() else { return };
        let Some((hook, run)) = plan.entry(index) else { return };
        if hook.ensemble.is_some() {
            return self.member(plan, index, round).await;
        }
        let Some(time) = self.admit(index, hook, &**run, None, round) else { return };
        let result = Guarded::start(&**run, &self.event, self.cx(time), time, self.failures()).await;
        let took = self.time.waited();
        self.fold(index, round, took, result);
    }

    pub(crate) fn detach(&mut self, index: u32, hook: &Arc<Hook>, run: &Arc<dyn Interceptor>) {
        let outcome = match self.hand_to_background(index, hook, run) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(detached)) => self.start(detached),
            Err(failure) => failed(failure),
        };
        match &outcome {
            Outcome::Offered(Acceptance::Unavailable(_)) => self.session.shared().failures.count(),
            Outcome::Skipped(why) => self.tell_skipped(&**run, *why),
            _ => {}
        }
        self.chain.record(index, Round::First, Duration::ZERO, outcome);
    }

    /// Starts the post-decision hooks, unless the event was refused, and has those in shadow started.
    fn start_post_decision(&mut self, plan: &Plan<'_>) {
        self.take_up_shadows(plan);
        for index in 0.. {
            let Some((hook, run)) = plan.entry(index) else { return };
            if hook.part != Part::PostDecision {
                continue;
            }
            let refused = self.chain.refuses(index);
            let refused = refused.or_else(|| self.is_unheard(hook).then_some(SkipReason::Unproven));
            let why = match (refused, hook.select(&self.event)) {
                (Some(why), _) | (None, Selected::Skipped(why)) => Some(why),
                (None, Selected::Runs) => None,
                (None, Selected::InDoubt(doubt)) => {
                    self.side_effects.remark(index, doubt);
                    None
                }
            };
            if let Some(why) = why {
                self.remark_not_loaded(index, hook, Round::First);
                self.leave_out(index, &**run, Round::First, why);
                continue;
            }
            self.detach(index, hook, run);
        }
    }

    /// Has a detached hook taken over; returns it when nothing takes it over.
    fn hand_to_background(
        &mut self,
        place: u32,
        hook: &Arc<Hook>,
        run: &Arc<dyn Interceptor>,
    ) -> Result<Result<Outcome, DetachedRun>, Failure> {
        let detached = DetachedRun::new(self.session, hook, place, run, self.cause);
        let (failures, event) = (&self.session.shared().failures, self.event.clone());
        failures.caught(|| self.cold_state().queues.hand_to_background(detached, &event))
    }

    /// Starts a detached hook.
    fn start(&mut self, detached: DetachedRun) -> Outcome {
        let event = self.event.clone();
        self.cold_state().queues.start(detached, event);
        Outcome::Detached
    }
}
