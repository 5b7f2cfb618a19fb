//! The end of an event: the verdict, what it means for an agent that wants to stop, and what goes to its context.

use std::sync::Arc;

use lineside_core::answer::Beyond;
use lineside_core::receipt::By;
use lineside_core::{Append, KeepWorking, Notice, Receipt, Strength, Verdict};

use crate::gathered::Gathered;
use crate::mailbox::ContextMessage;
use crate::signal::Signal;
use crate::stop_limit::{Ruling, STOPS_IN_A_ROW};
use crate::tree::Node;
use crate::turn::Turn;

impl Turn<'_> {
    /// The verdict and everything that goes with it.
    pub(crate) fn settle(mut self) -> Arc<Receipt> {
        let (mut verdict, mut author) = self.chain.decide();
        if let Some(agent) = self.agent_that_stops() {
            (verdict, author) = self.limit_stops(&agent, verdict, author);
        }
        self.append_context();
        let Self { event, chain, gathered, elapsed: took, .. } = self;
        let Gathered { changes, context, notices, remarks, extra, .. } = gathered;
        let (hooks, runs) = chain.into_parts();
        Arc::new(Receipt {
            event,
            hooks,
            runs,
            verdict,
            author,
            changes,
            context,
            notices,
            remarks,
            extra,
            took,
        })
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
            beyond: Beyond::Continue(Notice::warning(format!(
                "{} was blocked {} times in a row; it goes through now",
                self.event.point().name,
                STOPS_IN_A_ROW + 1
            ))),
        });
        match node.stops().blocked(agent, self.event.envelope().turn) {
            Ruling::Stands => {
                self.kept_working = Some(self.gathered.context.len());
                self.gathered.context.push(By { hook: by, what: texts.append });
                (verdict, author)
            }
            Ruling::Overridden => {
                self.gathered.remark(by, "overridden: blocked too often in a row");
                match texts.beyond {
                    Beyond::Continue(notice) => {
                        self.gathered.notice(by, notice);
                        (Verdict::Continue, None)
                    }
                    Beyond::Stop => (Verdict::Stop(reason.clone()), author),
                }
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
