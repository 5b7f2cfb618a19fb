//! Detached hooks: started, held for later, and reported when they have ended.

use std::borrow::Cow;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use lineside_core::budget::{Bound, after};
use lineside_core::envelope::Cause;
use lineside_core::hook::{Join, Lane};
use lineside_core::receipt::Given;
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Outcome, Part, Response, SkipReason, Verdict};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::base::background::{Cut, Terms};
use crate::base::caught::BoxFuture;
use crate::base::signal::Signal;
use crate::context::message::{Order, Source};
use crate::dispatch::would::{Would, failed};
use crate::hook::cx::{ChainTime, Cx};
use crate::hook::durable_run::Ending;
use crate::hook::guard::{Guarded, Time};
use crate::hook::interceptor::{DetachedRun, Ticket};

impl DetachedRun {
    /// Starts it. It begins when the one before it in its lane is over, and in any case after those that were started
    /// before it for the same event.
    pub(crate) fn start(self, event: AnyEvent, turn: Beginning) -> Started {
        let Beginning { after, behind, cancel } = turn;
        let (done, begun) = (CancellationToken::new(), CancellationToken::new());
        let background = Arc::clone(self.session.node().state.background());
        let _admitted = match background.admit_task() {
            Ok(admitted) => admitted,
            Err(why) => {
                Report { detached: self, event }.cut(why);
                done.cancel();
                begun.cancel();
                return Started { done, begun };
            }
        };
        let join = if self.hook.part == Part::PostDecision && !self.hook.is_shadow() {
            self.hook.join
        } else {
            Join::Background
        };
        let drain = self.hook.drain;
        let cut = Report { detached: self.clone(), event: event.clone() };
        // What can start at once is called at once, so that hooks that queue for something do so in their order.
        // A shadow has no place in that order, and delays no publisher.
        let at_once = after.is_none() && !self.hook.is_judging_shadow();
        let called = at_once.then(|| self.call(&event));
        let started = Started { done: done.clone(), begun: begun.clone() };
        let begun = begun.drop_guard();
        let has_time = Arc::clone(&background);
        let work = async move {
            for before in after.into_iter().chain(behind) {
                before.cancelled().await;
            }
            // What it has waited for may have been cut short, with everything else of the session.
            if has_time.admit().is_none() {
                return Report { detached: self, event }.cut(Cut::Unbegun);
            }
            let (mut call, began) = called.unwrap_or_else(|| self.call(&event));
            let at_once = poll_fn(|cx| Poll::Ready(Pin::new(&mut call).poll(cx))).await;
            drop(begun);
            let result = match at_once {
                Poll::Ready(result) => result,
                Poll::Pending => call.await,
            };
            Report { detached: self, event }.send(result, began.elapsed());
        };
        let terms = Terms { join, drain, cancel };
        background.spawn(terms, done, work, move |why| cut.cut(why));
        started
    }

    /// Tells that a hook that held events runs for what they came to, or why it does not.
    pub(crate) fn released(&self, event: &AnyEvent, skipped: Option<SkipReason>) {
        self.session.shared().signals.emit(|| Signal::Released {
            event: event.envelope().id,
            session: self.session.id().clone(),
            hook: Arc::clone(&self.hook),
            skipped,
        });
    }

    fn call(&self, event: &AnyEvent) -> (Guarded<'static>, Instant) {
        let began = Instant::now();
        let granted = self.hook.timeout;
        let time = Time { granted, bound: Bound::Hook, deadline: after(began, granted) };
        let bound = self.hook.ensemble.as_ref().and_then(|ensemble| ensemble.time());
        let chain =
            bound.map(|whole| *self.chain.get_or_init(|| ChainTime { ends: after(began, whole), whole }));
        let recorder = self.durable.clone();
        let cx = Cx::new(self.session.clone(), self.cause, time.deadline).within(chain);
        let cx = cx.holding(recorder.as_ref().and_then(|recorder| recorder.until_over())).durable(recorder);
        let failures = Cow::Owned(self.session.shared().failures.clone());
        (Guarded::start(&*self.run, event, cx, time, failures), began)
    }
}

/// What a hook waits for before it begins.
#[derive(Default)]
pub(crate) struct Beginning {
    /// The end of the one before it in its lane.
    pub(crate) after: Option<CancellationToken>,
    /// The beginning of the one that was started before it for the same event.
    pub(crate) behind: Option<CancellationToken>,
    /// What cancels it, beside the end of the session.
    pub(crate) cancel: Option<BoxFuture<()>>,
}

/// A hook that was started: what tells when it is over, and when it has begun.
pub(crate) struct Started {
    done: CancellationToken,
    pub(crate) begun: CancellationToken,
}

/// The detached hooks of one event: they begin in order, and those of a lane run one after another.
#[derive(Default)]
pub(crate) struct SerialQueues {
    /// The last hook of each dialect whose hooks run one after another.
    last: Vec<(&'static str, CancellationToken, Arc<OnceLock<ChainTime>>)>,
    begun: Option<CancellationToken>,
    /// The time limit of each dialect's hooks with a recorder, which runs them one after another.
    durable: Vec<(&'static str, Arc<OnceLock<ChainTime>>)>,
}

impl SerialQueues {
    /// Has a hook taken over.
    ///
    /// # Errors
    /// The hook, when nothing takes it over.
    pub(crate) fn hand_to_background(
        &mut self,
        mut detached: DetachedRun,
        event: &AnyEvent,
    ) -> Result<Outcome, DetachedRun> {
        let Some(runs) = detached.run.background() else { return Err(detached) };
        let background = Arc::clone(detached.session.node().state.background());
        // What is kept may run in another life, though the session has no more time.
        let admitted = background.admit();
        if admitted.is_none() && runs.kept_as().is_none() {
            return Err(detached);
        }
        if detached.hook.lane == Lane::Shared {
            let dialect = detached.hook.dialect;
            match self.durable.iter().find(|(other, _)| *other == dialect) {
                Some((_, chain)) => detached.chain = Arc::clone(chain),
                None => self.durable.push((dialect, Arc::clone(&detached.chain))),
            }
        }
        // Before it is taken over: from then on, it may be waited for.
        background.holds(&runs);
        runs.accept(event, Ticket::new(detached)).map_err(|ticket| ticket.detached)
    }

    /// Starts a hook behind those that were started before it.
    pub(crate) fn start(&mut self, mut detached: DetachedRun, event: AnyEvent) {
        let dialect = detached.hook.dialect;
        let behind = self.begun.take();
        if detached.hook.lane == Lane::Own {
            let started = detached.start(event, Beginning { behind, ..Beginning::default() });
            self.begun = Some(started.begun);
            return;
        }
        let lane = self.last.iter().position(|(other, ..)| *other == dialect);
        let before = lane.and_then(|lane| self.last.get(lane));
        let after = before.map(|(_, last, _)| last.clone());
        if let Some((.., chain)) = before {
            detached.chain = Arc::clone(chain);
        }
        let chain = Arc::clone(&detached.chain);
        let waits = after.is_some();
        let started = detached.start(event, Beginning { after, behind: behind.clone(), cancel: None });
        // A run that waits for its lane delays no other run.
        self.begun = if waits { behind } else { Some(started.begun) };
        match lane.and_then(|lane| self.last.get_mut(lane)) {
            Some((_, last, _)) => *last = started.done,
            None => self.last.push((dialect, started.done, chain)),
        }
    }
}

impl Ticket {
    /// Runs for this event now, without being waited for.
    pub fn start(self, event: AnyEvent) {
        let detached = self.into_detached(&event);
        detached.released(&event, None);
        detached.start(event, Beginning::default());
    }

    /// Does not run for this event after all.
    pub fn skip(self, event: &AnyEvent, why: SkipReason) {
        self.detached.released(event, Some(why));
    }

    /// Ends without having run: its session has no more time, or the run is not wanted any more.
    pub fn cut_short(self, event: AnyEvent) {
        Report { detached: self.into_detached(&event), event }.cut(Cut::Unbegun);
    }

    /// What is to run, on behalf of this event.
    pub(crate) fn into_detached(self, event: &AnyEvent) -> DetachedRun {
        let Self { mut detached } = self;
        detached.cause = Cause { event: event.envelope().id, ..detached.cause };
        detached
    }
}

/// How a detached run ended: counted, delivered and signalled.
struct Report {
    detached: DetachedRun,
    event: AnyEvent,
}

impl Report {
    /// It came to its own end.
    fn send(self, result: Result<Response, Failure>, took: Duration) {
        let session = &self.detached.session;
        session.node().state.background().count_finished();
        let recorder = self.detached.durable.clone();
        let ending = match &result {
            Ok(_) => Ending::Answered,
            Err(failure) => Ending::Failed(failure.clone()),
        };
        match result {
            result if self.detached.hook.is_shadow() => {
                if result.is_err() {
                    session.shared().failures.count();
                }
                let Would { outcome, given, earlier } =
                    Would::of(&self.detached.hook, self.detached.place, &self.event, result);
                self.signal(outcome, given, earlier, took);
            }
            Ok(said) => {
                let answer = Answer::from(said);
                let earlier = answer.earlier.clone();
                if self.detached.hook.part == Part::PostDecision {
                    self.deliver(answer);
                }
                self.signal(Outcome::Answered(Verdict::Continue), None, earlier, took);
            }
            Err(mut failure) => {
                session.shared().failures.count();
                let earlier = std::mem::take(&mut failure.earlier);
                if self.detached.hook.part == Part::PostDecision
                    && let Some(answer) = failure.taken_as.take()
                {
                    self.deliver(*answer);
                }
                self.signal(failed(failure), None, earlier, took);
            }
        }
        // Last, because its waiters read its result.
        if let Some(recorder) = recorder {
            recorder.ended(ending);
        }
    }

    /// Something else came before its end.
    fn cut(self, why: Cut) {
        let background = self.detached.session.node().state.background();
        let recorder = self.detached.durable.clone();
        let is_kept = recorder.as_ref().is_some_and(|recorder| recorder.is_kept());
        let ending = match (why, is_kept) {
            (Cut::Cancelled, true) => Ending::Cancelled,
            // It is not over: it runs again when the session does.
            (Cut::Deadline | Cut::Unbegun | Cut::NoRuntime, true) => Ending::Left,
            (_, false) | (Cut::Patience, _) => {
                background.count_cut_short();
                let failure = match why {
                    Cut::Unbegun => {
                        Failure::not_started(FailureKind::Closed, "the session had closed before it began")
                    }
                    Cut::NoRuntime => Failure::not_started(
                        FailureKind::Closed,
                        "there is no tokio runtime for it to run in",
                    ),
                    Cut::Cancelled => Failure::new(FailureKind::Closed, "it was cancelled"),
                    Cut::Deadline | Cut::Patience => {
                        Failure::new(FailureKind::Closed, "still running when the session closed")
                    }
                };
                self.signal(failed(failure.clone()), None, Vec::new(), Duration::ZERO);
                Ending::Failed(failure)
            }
        };
        if let Some(recorder) = recorder {
            recorder.ended(ending);
        }
    }

    fn deliver(&self, answer: Answer) {
        let DetachedRun { session, hook, place, .. } = &self.detached;
        let event = self.event.envelope().id;
        for append in answer.context {
            let source = Source {
                hook: Arc::clone(&hook.name),
                dialect: hook.dialect,
                point: self.event.point().name.into(),
                event,
                session: session.id().clone(),
            };
            let order = Order::of(self.event.envelope().seq, *place);
            session.post(order, source.message(None, append));
        }
        for notice in answer.notices {
            session.shared().signals.emit(|| Signal::Notified {
                event,
                session: session.id().clone(),
                hook: Arc::clone(&hook.name),
                notice,
            });
        }
    }

    fn signal(&self, outcome: Outcome, given: Option<Box<Given>>, earlier: Vec<Failure>, took: Duration) {
        self.detached.session.shared().signals.emit(|| Signal::DetachedFinished {
            event: self.event.envelope().id,
            session: self.event.envelope().source.session.clone(),
            hook: Arc::clone(&self.detached.hook),
            outcome,
            given,
            earlier,
            took,
        });
    }
}
