//! Hooks whose answers count together: kept while they have their turns, then settled by their ensemble.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use lineside_core::budget::after;
use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::hook::Hook;
use lineside_core::outcome::{FromHook, Round};
use lineside_core::{
    Answer, AnyEvent, Failure, FailureKind, Outcome, Response, SkipReason, Strength, Verdict,
};
use tokio::time::Instant;

use crate::dispatch::dispatcher::Dispatcher;
use crate::hook::cx::ChainTime;
use crate::hook::guard::Guarded;
use crate::hook::state::Plan;

/// The members of one ensemble that have had their turn.
pub(crate) struct EnsembleRun {
    ensemble: Arc<dyn Ensemble>,
    /// The event as it was for the first of them.
    first: AnyEvent,
    time: Option<ChainTime>,
    given: Vec<FromHook<Answer>>,
    pace: Pace,
    /// One of them has ended it.
    ended: bool,
    settled: bool,
}

/// A member under way beside others.
struct Running<'a> {
    index: u32,
    call: Guarded<'a>,
    ended: Option<(Result<Response, Failure>, Duration)>,
}

impl Dispatcher<'_> {
    /// The state of the ensemble that a hook belongs to; made for its first member.
    fn ensemble_run(&mut self, ensemble: &Arc<dyn Ensemble>) -> &mut EnsembleRun {
        let known =
            self.cold_state().ensembles.iter().position(|other| Arc::ptr_eq(&other.ensemble, ensemble));
        let place = known.unwrap_or_else(|| {
            let time = ensemble.time().map(|whole| ChainTime { ends: after(Instant::now(), whole), whole });
            let of_ensemble = EnsembleRun {
                ensemble: Arc::clone(ensemble),
                first: self.event.clone(),
                time,
                given: Vec::new(),
                pace: ensemble.pace(&self.event),
                ended: false,
                settled: false,
            };
            let ensembles = &mut self.cold_state().ensembles;
            ensembles.push(of_ensemble);
            ensembles.len() - 1
        });
        &mut self.cold_state().ensembles[place]
    }

    /// Begins a round of the walk: members that are asked again count together anew.
    pub(crate) fn begin_round(&mut self) {
        self.cold_state().ensembles.clear();
    }

    /// A member's turn.
    pub(crate) async fn member(&mut self, plan: &Plan<'_>, index: u32, round: Round) {
        let Some((hook, run)) = plan.entry(index) else { return };
        let Some(ensemble) = &hook.ensemble else { return };
        let (time_of_chain, ended) = {
            let ensemble_run = self.ensemble_run(ensemble);
            match (ensemble_run.pace, ensemble_run.settled) {
                (Pace::AtOnce, true) => return,
                (Pace::AtOnce, false) => return self.members_at_once(plan, index, ensemble, round).await,
                (Pace::InTurn | Pace::InTurnThroughBlocks, _) => {}
            }
            (ensemble_run.time, ensemble_run.ended)
        };
        let shown = self.shown(ensemble);
        let admitted = if ended {
            self.leave_out(index, &**run, round, SkipReason::Blocked);
            None
        } else {
            self.admit(index, hook, &**run, Some(&shown), round)
        };
        if let Some(time) = admitted {
            let cx = self.cx(time).within(time_of_chain);
            let result = Guarded::start(&**run, &shown, cx, time, self.failures()).await;
            let took = self.time.waited();
            self.keep(index, hook, round, took, &shown, result);
        }
        if is_last(plan, index, ensemble) {
            self.finalize_ensemble(ensemble, round);
        }
    }

    /// The turns of all members at the same time, from the first of them on: each is shown the event as it is now, and
    /// what they answer is kept in plan order.
    async fn members_at_once(
        &mut self,
        plan: &Plan<'_>,
        first: u32,
        ensemble: &Arc<dyn Ensemble>,
        round: Round,
    ) {
        let time_of_chain = self.ensemble_run(ensemble).time;
        let shown = self.event.clone();
        let start = self.time.last();
        let stale = if round == Round::Rejudge { self.chain.stale() } else { Vec::new() };
        let members = (first..).map_while(|index| Some((index, plan.entry(index)?)));
        let mut members = members.filter(|(_, (hook, _))| is_member(hook, ensemble));
        let mut running = Vec::new();
        poll_fn(|cx| {
            for (index, (hook, run)) in members.by_ref() {
                if round == Round::Rejudge && !stale.contains(&index) {
                    continue;
                }
                let Some(time) = self.admit(index, hook, &**run, Some(&shown), round) else { continue };
                let within = self.cx(time).within(time_of_chain);
                let mut call = Guarded::start(&**run, &shown, within, time, self.failures());
                let polled = Pin::new(&mut call).poll(cx);
                // What one of them computes is not of the time of the next.
                self.time.waited();
                let ended = match polled {
                    Poll::Ready(result) => Some((result, self.time.now() - start)),
                    Poll::Pending => None,
                };
                running.push(Running { index, call, ended });
            }
            Poll::Ready(())
        })
        .await;
        let mut first = 0;
        poll_fn(|cx| {
            let mut waiting = false;
            // Each round begins with another one, as that of gates does.
            let (before, from) = running.split_at_mut(first);
            for Running { call, ended, .. } in from.iter_mut().chain(before) {
                if ended.is_some() {
                    continue;
                }
                match Pin::new(call).poll(cx) {
                    Poll::Ready(result) => *ended = Some((result, Instant::now() - start)),
                    Poll::Pending => waiting = true,
                }
            }
            first = (first + 1) % running.len().max(1);
            if waiting { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        self.time.waited();
        for Running { index, ended, .. } in running {
            if let (Some((hook, _)), Some((result, took))) = (plan.entry(index), ended) {
                self.keep(index, hook, round, took, &shown, result);
            }
        }
        self.finalize_ensemble(ensemble, round);
    }

    /// Settles what no last member has settled, because not all of them were asked again.
    pub(crate) fn end_round(&mut self, round: Round) {
        let open: Vec<_> = self
            .cold_state()
            .ensembles
            .iter()
            .map(|ensemble_run| Arc::clone(&ensemble_run.ensemble))
            .collect();
        for ensemble in open {
            self.finalize_ensemble(&ensemble, round);
        }
    }

    /// The event as the next member sees it.
    fn shown(&mut self, ensemble: &Arc<dyn Ensemble>) -> AnyEvent {
        let event = self.event.clone();
        let ensemble_run = self.ensemble_run(ensemble);
        if ensemble.sees() == Sees::First {
            return ensemble_run.first.clone();
        }
        ensemble_run.given.iter().fold(event, |event, by| match by.what.amendment.apply(event.payload()) {
            Ok(Some(amended)) => event.amended(amended.payload),
            Ok(None) | Err(_) => event,
        })
    }

    /// Keeps a member's answer, or settles at once if it ends the chain.
    fn keep(
        &mut self,
        index: u32,
        hook: &Arc<Hook>,
        round: Round,
        took: Duration,
        shown: &AnyEvent,
        result: Result<Response, Failure>,
    ) {
        if round == Round::Rejudge {
            self.side_effects.forget(index);
        }
        let fits = |answer: &Answer| match answer.amendment.apply(shown.payload()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::new(FailureKind::Output, format!("amendment refused: {error}"))),
        };
        let result = if self.is_beyond(hook) { self.confined(hook, result) } else { result };
        let checked = result.map(Answer::from).and_then(|answer| fits(&answer).map(|()| answer));
        let (outcome, mut answer) = match checked {
            Ok(answer) => (Outcome::Answered(answer.verdict.clone()), answer),
            Err(mut failure) => {
                let earlier = std::mem::take(&mut failure.earlier);
                let mut answer = self.taken_as(hook, &mut failure);
                answer.earlier = earlier;
                let verdict = answer.verdict.clone();
                (Outcome::Failed { failure: Box::new(failure), verdict }, answer)
            }
        };
        let earlier = std::mem::take(&mut answer.earlier);
        let Some(ensemble) = &hook.ensemble else { return };
        let in_turn = self.ensemble_run(ensemble).pace == Pace::InTurn;
        let ends = in_turn && (answer.ends_chain || answer.verdict.strength().is_final());
        let outcome = if ends { outcome } else { undecided(outcome) };
        self.chain.record(index, round, took, outcome);
        if !earlier.is_empty() {
            self.chain.failed_before(index, earlier);
        }
        let ensemble_run = self.ensemble_run(ensemble);
        ensemble_run.given.push(FromHook { hook: index, what: answer });
        if ends {
            ensemble_run.ended = true;
            self.finalize_ensemble(ensemble, round);
        }
    }

    /// What a failure of a hook amounts to.
    fn taken_as(&mut self, hook: &Hook, failure: &mut Failure) -> Answer {
        self.tell_failure(hook, failure);
        match failure.taken_as.take() {
            Some(answer) => *answer,
            None => hook.taken_for(failure).into(),
        }
    }

    fn finalize_ensemble(&mut self, ensemble: &Arc<dyn Ensemble>, round: Round) {
        let event = self.event.clone();
        let ensemble_run = self.ensemble_run(ensemble);
        if std::mem::replace(&mut ensemble_run.settled, true) {
            return;
        }
        let given = std::mem::take(&mut ensemble_run.given);
        let members: Vec<u32> = given.iter().map(|by| by.hook).collect();
        let settled = self.failures().caught(|| ensemble.finalize(&event, given));
        let settled = settled.unwrap_or_else(|failure| self.unsettled(members, &failure));
        for FromHook { hook: index, mut what } in settled {
            let Some(hook) = self.chain.hook(index).map(Arc::clone) else { continue };
            if let Err(failure) = self.amend(index, round, &what.amendment) {
                what = self.unamended(index, &hook, what, failure);
            }
            let verdict = self.take_in(index, &hook, what);
            if verdict != Verdict::Continue {
                self.chain.decree(index, verdict);
            }
        }
    }
}

impl Dispatcher<'_> {
    /// What is left of an answer whose amendment is refused: that its hook failed, or a refusal or a question of its own if
    /// that is stronger. What it has approved of is what it wanted to make of this.
    fn unamended(&mut self, index: u32, hook: &Hook, said: Answer, failure: Failure) -> Answer {
        if said.verdict.strength().is_final() {
            self.side_effects.remark(index, failure.detail);
            return said;
        }
        self.tell_failure(hook, &failure);
        let on_failure = hook.on_failure.verdict(&hook.name, &failure);
        self.side_effects.remark(index, failure.detail);
        let asks = said.verdict.strength() == Strength::Ask && on_failure.strength() <= Strength::Ask;
        if asks { said.verdict.into() } else { on_failure.into() }
    }

    /// What the answers of members come to that their ensemble has failed to settle: each member counts as failed.
    fn unsettled(&mut self, members: Vec<u32>, failure: &Failure) -> Vec<FromHook<Answer>> {
        let mut settled = Vec::with_capacity(members.len());
        for index in members {
            let Some(hook) = self.chain.hook(index).map(Arc::clone) else { continue };
            self.side_effects.remark(index, format!("its ensemble {}", failure.detail));
            settled.push(FromHook { hook: index, what: hook.on_failure.verdict(&hook.name, failure).into() });
        }
        settled
    }
}

/// Whether a hook has its turn as a member of an ensemble: one in shadow and one that runs after the decision have none.
fn is_member(hook: &Hook, ensemble: &Arc<dyn Ensemble>) -> bool {
    !hook.runs_after_decision() && hook.ensemble.as_ref().is_some_and(|own| Arc::ptr_eq(own, ensemble))
}

/// Whether no further member has its turn.
fn is_last(plan: &Plan<'_>, index: u32, ensemble: &Arc<dyn Ensemble>) -> bool {
    !(index + 1..).map_while(|after| plan.entry(after)).any(|(other, _)| is_member(other, ensemble))
}

/// What is recorded of a member until its ensemble says what counts.
fn undecided(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Answered(_) => Outcome::Answered(Verdict::Continue),
        Outcome::Failed { failure, .. } => Outcome::Failed { failure, verdict: Verdict::Continue },
        other => other,
    }
}
