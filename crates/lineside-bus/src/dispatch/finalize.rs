//! The end of an event: the verdict, what it means for an agent that is to try again, and what goes to its context.

use std::sync::Arc;

use lineside_core::answer::Beyond;
use lineside_core::point::PointRole;
use lineside_core::{Append, CoverageMismatch, Notice, Receipt, Strength, Verdict};

use crate::base::stop_limit::{Ruling, STOPS_IN_A_ROW};
use crate::context::mailbox;
use crate::context::message::{Order, Source};
use crate::dispatch::admission::{Details, StopBound};
use crate::dispatch::dispatcher::Dispatcher;
use crate::hook::state::{InForce, Node};

impl Dispatcher<'_> {
    /// The verdict, after everything that it means has been done.
    #[inline]
    pub(crate) fn conclude(&mut self, details: &Details) -> (Verdict, Option<u32>) {
        let (verdict, author) = match &details.decided {
            Some(verdict) => (verdict.clone(), None),
            None => self.chain.decide(),
        };
        let no_stops = self.session.node().state.stops_so_far().is_none();
        // Most events: nothing was said, given or counted.
        let is_quiet = verdict == Verdict::Continue && self.side_effects.is_nothing() && no_stops;
        if is_quiet || details.decided.is_some() {
            return (verdict, author);
        }
        let limited = self.limit_blocks(verdict, author, details.stops);
        self.append_context();
        limited
    }

    /// The receipt of the event, which has come to this verdict.
    #[inline(always)]
    pub(crate) fn into_receipt(
        self,
        (verdict, author): (Verdict, Option<u32>),
        in_force: &InForce<'_>,
        details: &Details,
        coverage: Option<Box<CoverageMismatch>>,
    ) -> Receipt {
        let Self { event, chain, side_effects, time, approval, .. } = self;
        let (hooks, runs) = chain.into_parts();
        let mut receipt = Receipt {
            event,
            hooks,
            named: if details.decided.is_some() { Vec::new() } else { in_force.named() },
            runs,
            verdict,
            author,
            given: side_effects.into_given(),
            took: time.total(),
            coverage,
            approval,
        };
        if let Some(refused) = details.carried.as_ref().and_then(|carried| carried(&receipt)) {
            let changed = receipt.changes.last().map(|change| change.hook);
            receipt.author =
                changed.filter(|_| receipt.verdict.strength() < Strength::Ask).or(receipt.author);
            receipt.verdict = refused;
        }
        receipt
    }

    /// Whose stop this event is about.
    fn agent_that_stops(&self) -> Option<Arc<str>> {
        match self.event.point().role {
            PointRole::Stop => Some(Arc::clone(&self.event.envelope().source.agent.id)),
            PointRole::SubagentStop => self.event.payload().text("child_session").map(Arc::from),
            _ => None,
        }
    }

    /// A block that has the agent try again tells it why, unless it is one too many in a row.
    fn limit_blocks(
        &mut self,
        verdict: Verdict,
        author: Option<u32>,
        limits: StopBound,
    ) -> (Verdict, Option<u32>) {
        let stops = self.agent_that_stops();
        let point = self.event.point().name;
        let agent = |stops: &Option<Arc<str>>, turn: &Self| {
            stops.clone().unwrap_or_else(|| Arc::clone(&turn.event.envelope().source.agent.id))
        };
        let refused = match (verdict.strength(), author, verdict.reason()) {
            (Strength::Block, Some(by), Some(reason)) => Some((by, reason)),
            _ => None,
        };
        let beyond =
            refused.and_then(|(by, _)| self.side_effects.beyond.iter().find(|given| given.hook == by));
        if limits == StopBound::Publisher && beyond.is_none() && refused.is_some() {
            self.side_effects.keep_working(|_| false);
            return (verdict, author);
        }
        let Some((by, reason)) = refused.filter(|_| stops.is_some() || beyond.is_some()) else {
            if let Some(counts) = self.session.node().state.stops_so_far() {
                counts.passed(&agent(&stops, self), point);
            }
            self.side_effects.keep_working(|_| false);
            return (verdict, author);
        };
        let (beyond, at_most) = match beyond {
            Some(given) => given.what.clone(),
            None => {
                // A result waits in the mailbox already.
                if self.side_effects.results.as_ref().is_none_or(|results| results.hook != by) {
                    self.side_effects.append(by, Append::system(reason.as_str()), true);
                }
                let blocks = STOPS_IN_A_ROW + 1;
                let notice = format!("{point} was blocked {blocks} times in a row; it goes through now");
                (Beyond::Continue(Notice::warning(notice)), None)
            }
        };
        let at_most = at_most.unwrap_or(STOPS_IN_A_ROW);
        let turn = self.event.envelope().turn;
        match self.session.node().state.stops().blocked(&agent(&stops, self), point, turn, at_most) {
            Ruling::Stands if limits == StopBound::Publisher => {
                self.side_effects.keep_working(|_| false);
                (verdict, author)
            }
            Ruling::Stands => {
                let hooks = Arc::clone(self.chain.hooks());
                let at = |hook: u32| hooks.get(usize::try_from(hook).ok()?);
                let with_author = |hook: u32| {
                    hook == by || at(hook).zip(at(by)).is_some_and(|(hook, by)| hook.counts_with(by))
                };
                self.side_effects.keep_working(with_author);
                (verdict, author)
            }
            Ruling::Overridden => {
                self.side_effects.results = None;
                self.side_effects.keep_working(|_| false);
                match beyond {
                    Beyond::Continue(notice) => {
                        self.side_effects.remark(by, "overridden: blocked too often in a row");
                        self.side_effects.notice(by, notice);
                        (Verdict::Continue, None)
                    }
                    Beyond::Stop => (Verdict::Stop(reason.clone()), author),
                }
            }
        }
    }

    /// Puts the messages into the mailbox of the session's agent; those that keep a subagent working into its own.
    fn append_context(&self) {
        for message in &self.side_effects.context {
            let (by, what) = (message.by.hook, &message.by.what);
            let Some(hook) = self.chain.hook(by) else { continue };
            let child = if message.keeps_working { self.child() } else { None };
            let source = Source {
                hook: Arc::clone(&hook.name),
                dialect: hook.dialect,
                point: self.event.point().name.into(),
                event: self.cause.event,
                session: self.session.id().clone(),
            };
            let offer = source.message(None, what.clone());
            match &child {
                Some(child) => {
                    let order = Order::arriving(child.state.in_flight.last());
                    let signals = &self.session.shared().signals;
                    mailbox::post(child.state.mailbox(), signals, &child.source.session, order, offer);
                }
                None => self.session.post(Order::of(self.event.envelope().seq, by), offer),
            }
        }
    }

    /// The session of the subagent that the event is about, if it is open and a child of the event's own: what the
    /// payload names may belong to another session.
    pub(crate) fn child(&self) -> Option<Arc<Node>> {
        if self.event.point().role != PointRole::SubagentStop {
            return None;
        }
        let child = self.session.shared().tree.find(self.event.payload().text("child_session")?)?;
        let is_own = child.parent.as_ref().is_some_and(|parent| Arc::ptr_eq(parent, self.session.node()));
        is_own.then_some(child)
    }
}
