//! An agent that wants to stop: what the next model call would have waited for is waited for here, and what is not in order
//! keeps the agent working.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::context::{Bounds, labelled};
use lineside_core::hook::Hook;
use lineside_core::outcome::{FromHook, Round};
use lineside_core::point::PointRole;
use lineside_core::{ContextMessage, Outcome, Part, PointInfo, Verdict};

use crate::base::background::Release;
use crate::base::caught::BoxFuture;
use crate::dispatch::dispatcher::Dispatcher;
use crate::hook::cx::is_part_of;
use crate::hook::state::{Node, Session};

/// The name under which the receipt states that the time was over before everything had ended.
const JOIN: &str = "join";

impl Session {
    /// Whether there may be results for the agent that an event of this point is to stop.
    #[inline]
    pub(crate) fn may_have_results(&self, point: &PointInfo) -> bool {
        let state = &self.node().state;
        match point.role {
            PointRole::Stop => state.background_so_far().is_some() || state.mailbox_so_far().is_some(),
            // They are those of the subagent, which the payload names.
            PointRole::SubagentStop => self.shared().job_store().is_some(),
            _ => false,
        }
    }
}

impl Dispatcher<'_> {
    /// The session of the agent that stops by this event, if there may be results for it. A hook does not wait for the
    /// event that it is a part of.
    #[inline]
    pub(crate) fn stopping(&self) -> Option<Arc<Node>> {
        if !self.session.may_have_results(self.event.point()) {
            return None;
        }
        let stopping = match self.event.point().role {
            PointRole::SubagentStop => self.child()?,
            _ => Arc::clone(self.session.node()),
        };
        (!is_part_of(&stopping)).then_some(stopping)
    }

    /// The turn of the results, behind that of all hooks: if none of those keeps the agent working, what joins runs at
    /// once and is waited for, for as long as the event has time.
    pub(crate) async fn hear_results(&mut self, stopping: &Arc<Node>) {
        if self.chain.has_ended() {
            return;
        }
        let left = self.budget.event().map(|time| time.saturating_sub(self.time.elapsed()));
        let is_over = self.joined(stopping, left).await;
        let took = self.time.waited();
        let mailbox = stopping.state.mailbox_so_far();
        let results = mailbox.map(|mailbox| mailbox.keeping_working(Bounds::default())).unwrap_or_default();
        if !results.is_empty() {
            self.keep_working_with(stopping, &results, took);
        } else if !is_over {
            let place = self.chain.add(last(Hook::native(JOIN, Part::Gate)));
            self.chain.record(place, Round::First, took, Outcome::Answered(Verdict::Continue));
            let why = "the time was over before everything had ended that the agent was to hear of; it hears of the rest later";
            self.side_effects.notice(place, lineside_core::Notice::warning(format!("lineside: {why}")));
            self.side_effects.remark(place, why);
        }
    }

    /// Waits for what the next model call would wait for; gives whether all of it is over.
    async fn joined(&self, stopping: &Arc<Node>, left: Option<Duration>) -> bool {
        if stopping.state.background_so_far().is_none() {
            return true;
        }
        let (node, failures) = (Arc::clone(stopping), self.session.shared().failures.clone());
        let joined = || -> BoxFuture<bool> {
            Box::pin(async move {
                let Some(background) = node.state.background_so_far() else { return true };
                let session = &node.source.session;
                background.release(session, Release::Joining, &failures);
                let joined = background.joined(session, &failures);
                match left {
                    Some(left) => tokio::time::timeout(left, joined).await.is_ok(),
                    None => {
                        joined.await;
                        true
                    }
                }
            })
        };
        // In a runtime without time nothing can be waited for.
        self.failures().caught_later(joined).await.unwrap_or(false)
    }

    /// Blocks the stop in the name of the hook of the first result.
    fn keep_working_with(&mut self, stopping: &Arc<Node>, results: &[ContextMessage], took: Duration) {
        let Some(first) = results.first() else { return };
        let known = self.session.shared().tree.hooks(stopping);
        let known = known.into_iter().find(|(point, hook)| *point == first.point && hook.name == first.hook);
        let hook = match known {
            Some((_, hook)) => Hook::clone(&hook),
            None => Hook::native(Arc::clone(&first.hook), Part::Gate),
        };
        let texts: Vec<String> = results.iter().map(|result| labelled(&result.hook, &result.text)).collect();
        let place = self.chain.add(last(hook));
        let block = Verdict::block(texts.join("\n\n"));
        self.chain.record(place, Round::First, took, Outcome::Answered(block));
        let about = format!("what its run for event {} has found keeps the agent working", first.event);
        self.side_effects.remark(place, about);
        let messages = results.iter().map(|result| result.id).collect();
        self.side_effects.results = Some(FromHook { hook: place, what: messages });
    }
}

/// As the last hook of an event, behind all of the plan.
fn last(mut hook: Hook) -> Arc<Hook> {
    (hook.part, hook.priority, hook.registration) = (Part::Gate, i32::MIN, u64::MAX);
    Arc::new(hook)
}
