//! Hooks that nobody waits for: started, held for later, and reported when they have ended.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use lineside_core::budget::Bound;
use lineside_core::envelope::Cause;
use lineside_core::hook::{Hook, Join, Lane};
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Outcome, Part, Said, SkipReason, Verdict};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::background::Terms;
use crate::cx::{ChainTime, Cx};
use crate::guard::{Guarded, Time};
use crate::interceptor::Interceptor;
use crate::mailbox::{Order, Source, post};
use crate::session::Session;
use crate::signal::Signal;

/// A hook that is to run on behalf of an event.
#[derive(Clone)]
pub(crate) struct Errand {
    pub(crate) session: Session,
    pub(crate) hook: Arc<Hook>,
    /// The hook's place in plan order.
    pub(crate) place: u16,
    pub(crate) run: Arc<dyn Interceptor>,
    pub(crate) cause: Cause,
    /// Until when hooks of its lane may be started, where its ensemble bounds that; set by the first of them.
    pub(crate) chain: Arc<OnceLock<ChainTime>>,
}

impl Errand {
    /// Starts it. It begins when the one before it in its lane is over, and in any case after those that were started
    /// before it for the same event.
    pub(crate) fn start(self, event: AnyEvent, turn: Beginning) -> Started {
        let Beginning { after, behind } = turn;
        let (done, begun) = (CancellationToken::new(), CancellationToken::new());
        let background = Arc::clone(self.session.node().background());
        let join = if self.hook.part == Part::Told { self.hook.join } else { Join::Background };
        let drain = self.hook.drain;
        let cut = Report { errand: self.clone(), event: event.clone() };
        // What can start at once is called at once, so that hooks that queue for something do so in their order.
        let called = after.is_none().then(|| self.call(&event));
        let started = Started { done: done.clone(), begun: begun.clone() };
        let begun = begun.drop_guard();
        let work = async move {
            let (mut call, began) = match (called, after) {
                (Some(called), _) => {
                    if let Some(behind) = behind {
                        behind.cancelled().await;
                    }
                    called
                }
                (None, Some(after)) => {
                    after.cancelled().await;
                    self.call(&event)
                }
                (None, None) => return,
            };
            let at_once = poll_fn(|cx| Poll::Ready(Pin::new(&mut call).poll(cx))).await;
            drop(begun);
            let result = match at_once {
                Poll::Ready(result) => result,
                Poll::Pending => call.await,
            };
            Report { errand: self, event }.send(result, began.elapsed());
        };
        let terms = Terms { join, drain };
        background.spawn(terms, done, work, move || cut.cut_short());
        started
    }

    fn call(&self, event: &AnyEvent) -> (Guarded, Instant) {
        let began = Instant::now();
        let granted = self.hook.timeout;
        let time = Time { granted, bound: Bound::Hook, deadline: began + granted };
        let bound = self.hook.ensemble.as_ref().and_then(|ensemble| ensemble.time());
        let chain = bound.map(|whole| *self.chain.get_or_init(|| ChainTime { ends: began + whole, whole }));
        let cx = Cx::new(self.session.clone(), self.cause, time.deadline).within(chain);
        (Guarded::start(&*self.run, event, cx, time), began)
    }
}

/// What a hook waits for before it begins.
#[derive(Default)]
pub(crate) struct Beginning {
    /// The end of the one before it in its lane.
    after: Option<CancellationToken>,
    /// The beginning of the one that was started before it for the same event.
    behind: Option<CancellationToken>,
}

/// A hook that was started: what tells when it is over, and when it has begun.
pub(crate) struct Started {
    done: CancellationToken,
    begun: CancellationToken,
}

/// The hooks of one event that nobody waits for: they begin in order, and those of a lane run one after another.
#[derive(Default)]
pub(crate) struct Lanes {
    /// The last hook of each dialect whose hooks run one after another.
    last: Vec<(&'static str, CancellationToken, Arc<OnceLock<ChainTime>>)>,
    begun: Option<CancellationToken>,
}

impl Lanes {
    /// Starts a hook behind those that were started before it.
    pub(crate) fn start(&mut self, mut errand: Errand, event: AnyEvent) {
        let dialect = errand.hook.dialect;
        let behind = self.begun.take();
        if errand.hook.lane == Lane::Own {
            let started = errand.start(event, Beginning { after: None, behind });
            self.begun = Some(started.begun);
            return;
        }
        let lane = self.last.iter().position(|(other, ..)| *other == dialect);
        let before = lane.and_then(|lane| self.last.get(lane));
        let after = before.map(|(_, last, _)| last.clone());
        if let Some((.., chain)) = before {
            errand.chain = Arc::clone(chain);
        }
        let chain = Arc::clone(&errand.chain);
        let waits = after.is_some();
        let started = errand.start(event, Beginning { after, behind: behind.clone() });
        // One that waits for its lane holds nobody up.
        self.begun = if waits { behind } else { Some(started.begun) };
        match lane.and_then(|lane| self.last.get_mut(lane)) {
            Some((_, last, _)) => *last = started.done,
            None => self.last.push((dialect, started.done, chain)),
        }
    }
}

/// The right to run once for events that are held. Dropping it runs nothing.
pub struct Ticket {
    errand: Errand,
}

impl Ticket {
    pub(crate) fn new(errand: Errand) -> Self {
        Self { errand }
    }

    /// The session whose event is held.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.errand.session
    }

    /// The hook.
    #[must_use]
    pub fn hook(&self) -> &Hook {
        &self.errand.hook
    }

    /// Runs for this event now, without being waited for.
    pub fn start(self, event: AnyEvent) {
        let Self { mut errand } = self;
        errand.cause = Cause { event: event.envelope().id, ..errand.cause };
        let signals = &errand.session.shared().signals;
        signals.emit(|| Signal::Released {
            event: event.envelope().id,
            session: errand.session.id().clone(),
            hook: Arc::clone(&errand.hook),
            skipped: None,
        });
        errand.start(event, Beginning::default());
    }

    /// Does not run for this event after all.
    pub fn skip(self, event: &AnyEvent, why: SkipReason) {
        let Self { errand } = self;
        errand.session.shared().signals.emit(|| Signal::Released {
            event: event.envelope().id,
            session: errand.session.id().clone(),
            hook: Arc::clone(&errand.hook),
            skipped: Some(why),
        });
    }
}

/// How an errand ended: counted, delivered and signalled.
struct Report {
    errand: Errand,
    event: AnyEvent,
}

impl Report {
    /// It came to its own end.
    fn send(self, result: Result<Said, Failure>, took: Duration) {
        let session = &self.errand.session;
        session.node().background().count_finished();
        match result {
            Ok(said) => {
                let answer = Answer::from(said);
                let earlier = answer.earlier.clone();
                if self.errand.hook.part == Part::Told {
                    self.deliver(answer);
                }
                self.signal(Outcome::Answered(Verdict::Continue), earlier, took);
            }
            Err(mut failure) => {
                session.shared().count_failure();
                let earlier = std::mem::take(&mut failure.earlier);
                if self.errand.hook.part == Part::Told
                    && let Some(answer) = failure.taken_as.take()
                {
                    self.deliver(*answer);
                }
                self.signal(failed(failure), earlier, took);
            }
        }
    }

    /// The session ended first.
    fn cut_short(self) {
        self.errand.session.node().background().count_cut_short();
        let failure = Failure::new(FailureKind::Closed, "still running when the session closed");
        self.signal(failed(failure), Vec::new(), Duration::ZERO);
    }

    fn deliver(&self, answer: Answer) {
        let Errand { session, hook, place, .. } = &self.errand;
        let event = self.event.envelope().id;
        for append in answer.context {
            let source = Source {
                hook: Arc::clone(&hook.name),
                dialect: hook.dialect,
                point: self.event.point().name.into(),
                event,
                session: session.id().clone(),
            };
            let order = Order::of(self.event.envelope().seq, u32::from(*place));
            post(session.shared(), session.node(), order, source.message(None, append));
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

    fn signal(self, outcome: Outcome, earlier: Vec<Failure>, took: Duration) {
        self.errand.session.shared().signals.emit(|| Signal::DetachedFinished {
            event: self.event.envelope().id,
            session: self.event.envelope().source.session.clone(),
            hook: self.errand.hook,
            outcome,
            earlier,
            took,
        });
    }
}

/// A hook that nobody waits for has no authority, so its failure refuses nothing.
fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { failure: Box::new(failure), verdict: Verdict::Continue }
}
