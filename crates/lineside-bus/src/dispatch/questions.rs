//! What hooks ask about an event is put to its approver, and what comes of that counts in the place of their questions.

use std::sync::Arc;

use lineside_core::Reason;

use crate::base::approver::{Approver, Asked, Question, Waiting};
use crate::base::signal::Signal;
use crate::dispatch::dispatcher::Dispatcher;

impl Dispatcher<'_> {
    /// Puts the questions that stand, if there are any, and waits for the answer. No lock is held meanwhile, and no task is
    /// started.
    pub(crate) async fn put_questions(&mut self, approver: &dyn Approver) {
        let asks: Vec<_> =
            self.chain.asks().into_iter().map(|(hook, why)| (Arc::clone(hook), why.clone())).collect();
        let Some((hook, reason)) = asks.first().cloned() else { return };
        let signals = &self.session.shared().signals;
        let (session, event) = (self.session.id(), self.cause.event);
        let hook = Arc::clone(&hook.name);
        let approval = match approver.ask(Question { event: self.event.clone(), asks }) {
            Asked::Left => return,
            Asked::Answered(approval) => approval,
            Asked::Waits(Waiting { id, within, answer }) => {
                signals.emit(|| Signal::ApprovalAsked {
                    session: session.clone(),
                    event,
                    id,
                    hook: Arc::clone(&hook),
                    reason: Reason::as_str(&reason).into(),
                    within,
                });
                let approval = answer.await;
                self.time.waited();
                approval
            }
        };
        signals.emit(|| Signal::ApprovalAnswered {
            session: session.clone(),
            event,
            hook,
            approval: Box::new(approval.clone()),
        });
        self.chain.answer(approval.verdict.clone());
        self.approval = Some(Box::new(approval));
    }
}
