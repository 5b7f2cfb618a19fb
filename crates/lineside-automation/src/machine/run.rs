//! A job runs: its attempt is counted before it starts or when it has its turn, and what its end means is decided when it has ended.

use std::sync::Arc;

use lineside_core::{EventId, FailureKind};

use super::job::{Attempt, AttemptEnd, Fence, JobId, Parked, Settled, Stage, State, Why};
use super::timers::Timer;
use super::{Announcement, Effect, Machine, News, Occurrence, StartedRun, UnfinishedJobs};
use crate::control::Rules;
use crate::record::Record;
use crate::report::{Found, Report, ResultWhen};

/// What a run came to.
pub type Outcome = Result<Report, (FailureKind, String)>;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    With(Outcome),
    /// It was cancelled.
    Cancelled,
    /// Its session had no more time for it. Only the work of a session ends so.
    Left,
}

impl<E: Occurrence> Machine<E> {
    pub(super) fn start(&mut self, id: JobId) {
        self.close_to_others(id);
        let now = self.now;
        let fence = Fence(self.last_fence + 1);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        self.last_fence = fence.0;
        job.fold();
        job.state = State::Running(fence, None);
        let (place, event) = (job.automation, job.event.clone());
        self.take_seat(id, place);
        // One that has its turn elsewhere counts when it has.
        let counts = self.attempt_starts_with_run(place);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let attempt = job.made() + 1;
        let rate = job.rate.clone().filter(|_| counts && std::mem::take(&mut job.admitted));
        if counts {
            job.attempts.push(Attempt::begun(fence, now));
            self.persist(Record::Started { job: id, fence, at: now });
            self.tell(id, News::Started(attempt));
        }
        let automation = self.automation_id(place);
        self.effects.push(Effect::Start(StartedRun { job: id, automation, attempt, fence, event }));
        if let Some(rate) = rate {
            self.count_start(place, &rate);
        }
    }

    pub(super) fn ended(&mut self, id: JobId, fence: Fence, ended: Ended) {
        let now = self.now;
        let Some(job) = self.jobs.get_mut(&id) else { return self.stale(id) };
        let State::Running(own, cancelling) = &mut job.state else { return self.stale(id) };
        if *own != fence {
            return self.stale(id);
        }
        let cancelling = cancelling.take();
        let place = job.automation;
        self.leave_seat(id);
        // The work of a session that was not cancelled is left as well.
        let is_left = ended == Ended::Left || ended == Ended::Cancelled && !self.uses_slot(place);
        let bus_ends = cancelling == Some(Why::BusEnded) && self.remains == Some(UnfinishedJobs::OnRecord);
        let is_left = is_left && !self.is_in_memory(id);
        if is_left && cancelling.is_none() || bus_ends && ended == Ended::Cancelled {
            return self.left(id);
        }
        // One that has failed in this moment goes on in the next life.
        let cancelling = cancelling.filter(|_| !bus_ends);
        let begins_itself = self.uses_slot(place) && !self.attempt_starts_with_run(place);
        if begins_itself
            && cancelling.is_none()
            && matches!(ended, Ended::With(_))
            && !self.has_begun(id, fence)
        {
            // What fails before its turn has come is not tried for ever.
            self.count_attempt(id);
        }
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let end = match &ended {
            Ended::With(Ok(Report { summary, found: Found::Success, .. })) => {
                AttemptEnd::Succeeded(summary.clone())
            }
            Ended::With(Ok(Report { summary, found: Found::Failure, .. })) => {
                AttemptEnd::NotInOrder(summary.clone())
            }
            Ended::With(Err((kind, detail))) => AttemptEnd::Failed(*kind, detail.clone()),
            Ended::Cancelled | Ended::Left => AttemptEnd::Cancelled,
        };
        // A run that paces its attempts itself may end before the first, or between two of them.
        let counted = job.attempts.iter_mut().skip(job.spent as usize).last();
        let open =
            counted.filter(|attempt| attempt.ended.is_none() && attempt.fence >= fence).map(|attempt| {
                attempt.ended = Some((now, end.clone()));
                (attempt.fence, end)
            });
        let recorded = open.clone().filter(|_| job.recorded);
        let record = recorded.map(|(fence, end)| Record::Ended { job: id, fence, at: now, end, again: None });
        let made = job.made();
        // It was let in, and has not begun.
        let not_started = job.rate.clone().filter(|_| std::mem::take(&mut job.admitted));
        if let Some(rate) = not_started {
            self.give_back_start(place, &rate);
        }
        let rules = self.automations.get(place).and_then(|automation| automation.rules.clone());
        match (ended, cancelling) {
            (Ended::With(Ok(report)), _) => {
                record.into_iter().for_each(|record| self.persist(record));
                let hand_over = rules.and_then(|rules| rules.hand_over(&report));
                self.give_back_key(id);
                self.settle(id, Settled::Done, hand_over);
            }
            (_, Some(why)) => {
                record.into_iter().for_each(|record| self.persist(record));
                self.give_back_key(id);
                self.settle(id, Settled::Cancelled(why), None);
            }
            (Ended::With(Err((kind, detail))), None) => {
                self.failed(id, open, rules.as_deref(), kind, detail, made);
            }
            // It was not asked for; it is tried again like anything that was cut short.
            (Ended::Cancelled | Ended::Left, None) => {
                let detail = "it was cut short".to_owned();
                self.failed(id, open, rules.as_deref(), FailureKind::Closed, detail, made);
            }
        }
    }

    /// Whether a run has begun its attempt: the numbers of later ones are greater.
    fn has_begun(&self, id: JobId, run: Fence) -> bool {
        let last = self.jobs.get(&id).and_then(|job| job.attempts.last());
        last.is_some_and(|attempt| attempt.fence >= run)
    }

    /// An attempt has failed, unless the run ended without one.
    fn failed(
        &mut self,
        id: JobId,
        attempt: Option<(Fence, AttemptEnd)>,
        rules: Option<&Rules>,
        kind: FailureKind,
        detail: String,
        made: u32,
    ) {
        let at = self.now;
        let own = rules.filter(|rules| !rules.is_adopted());
        let pause = own.and_then(|rules| rules.retry.pause(made, kind, id.0 << 10 | u64::from(made)));
        let again = pause.map(|pause| at + pause);
        if let Some((fence, end)) = attempt {
            if let Some(attempt) = self.jobs.get_mut(&id).and_then(|job| job.attempts.last_mut()) {
                attempt.again = again;
            }
            if self.is_recorded(id) {
                self.persist(Record::Ended { job: id, fence, at, end, again });
            }
        }
        match again {
            Some(again) => {
                self.tell(id, News::Retried { failed: detail, again });
                self.delay(id, again);
                if self.has_ended {
                    self.leave_for_later(id);
                }
            }
            None => {
                self.give_back_key(id);
                let why = Why::Failed { attempts: made, kind, detail };
                self.die(id, why, own);
            }
        }
    }

    /// Has a job wait for its next attempt, with its key; without its automation it rests.
    pub(super) fn delay(&mut self, id: JobId, again: super::UnixMicros) {
        let Some(place) = self.jobs.get(&id).map(|job| job.automation) else { return };
        if self.rules(place).is_none() {
            self.give_back_key(id);
            return self.park(id, Parked::Delayed(again));
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.state = State::Delayed(again);
            self.timers.set(again, Timer::Retry(id));
        }
    }

    /// The pause of a job may be over.
    pub(super) fn retry_timer(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let State::Delayed(again) = job.state else { return };
        if again > self.now {
            return;
        }
        job.state = State::Waiting(Stage::Turn);
        let place = job.automation;
        if let Some(rules) = self.rules(place) {
            self.queue_for_turn(id, &rules);
        }
    }

    /// A job comes to a bad end.
    pub(super) fn die(&mut self, id: JobId, why: Why, rules: Option<&Rules>) {
        let hand_over = rules.filter(|rules| rules.result.when != ResultWhen::Ignore).and_then(|rules| {
            let report = Report::failure(why.to_string());
            rules.hand_over(&report)
        });
        self.settle(id, Settled::Dead(why), hand_over);
    }

    /// Something was said of a run that is over: another one has taken its place since.
    pub(super) fn stale(&mut self, id: JobId) {
        if self.jobs.contains_key(&id) {
            return self.tell(id, News::Stale);
        }
        self.effects.push(Effect::Announce(Announcement {
            automation: Arc::from(""),
            job: Some(id),
            event: EventId::from_u128(0),
            session: "".into(),
            news: News::Stale,
        }));
    }
}
