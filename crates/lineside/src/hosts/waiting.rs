//! The context that waits in the mailbox of a host's session, and what becomes of it with an answer (HO-23, HO-54).

use lineside_bus::{Delivery, Session};
use lineside_core::context::Bounds;
use lineside_core::hook::Part;
use lineside_core::{ContextMessage, EventId, MessageId};
use lineside_dialects::hosts::serve::{ContextFate, labelled};

use super::Host;

/// What is in the mailbox of a session when an event of it has been decided.
pub(super) struct Waiting {
    delivery: Delivery,
    /// The texts of the event itself, in plan order.
    pub(super) own: Vec<String>,
    /// Those of earlier ones.
    pub(super) earlier: Vec<String>,
    /// Those that are no texts of this answer: those that wait for a prompt, being what hooks have said that nothing waits
    /// for (HO-54), and those that are its reason.
    not_printed: Vec<MessageId>,
}

impl Waiting {
    /// What is `kept` for the agent until it was printed as a reason is not among the texts.
    pub(super) fn of(
        session: &Session,
        host: Host,
        own: &[EventId],
        is_prompt: bool,
        kept: &[MessageId],
    ) -> Self {
        let delivery = session.collect().at_most(Bounds::NONE).ready();
        let mut waiting = Self { delivery, own: Vec::new(), earlier: Vec::new(), not_printed: Vec::new() };
        // Most events find nothing of others.
        let mut unawaited = None;
        for message in waiting.delivery.messages() {
            if kept.contains(&message.id) {
                waiting.not_printed.push(message.id);
                continue;
            }
            let text = labelled(host, &message.hook, &message.text);
            if own.contains(&message.event) {
                waiting.own.push(text);
                continue;
            }
            let is_unawaited = !is_prompt
                && Host::named(&message.dialect).is_some()
                && unawaited.get_or_insert_with(|| session.hooks()).iter().any(|(_, hook)| {
                    hook.part == Part::PostDecision
                        && hook.name == message.hook
                        && *hook.dialect == *message.dialect
                });
            if is_unawaited {
                waiting.not_printed.push(message.id);
            } else {
                waiting.earlier.push(text);
            }
        }
        waiting
    }

    /// Takes out what is printed or discarded; the rest goes back.
    pub(super) fn end(self, fate: ContextFate, own: &[EventId]) {
        let Self { delivery, not_printed, .. } = self;
        let _taken = match fate {
            ContextFate::Waits => Vec::new(),
            ContextFate::Printed => delivery.accept_some(|message| !not_printed.contains(&message.id)),
            ContextFate::Discarded => delivery.accept_some(|message| own.contains(&message.event)),
        };
    }
}

/// Takes the messages that `which` picks out of the mailbox of a session: they are in an answer.
pub(super) fn accept(session: &Session, which: impl FnMut(&ContextMessage) -> bool) {
    let _taken = session.collect().at_most(Bounds::NONE).ready().accept_some(which);
}
