//! Messages for the context: each accepted once at most, each mailbox in order, none lost.

use std::collections::{BTreeMap, BTreeSet};

use super::judgement::{Judgement, Violation};
use crate::contract;
use crate::log::{How, Label, Line};

/// Which event a message is about.
type Labels<'a> = BTreeMap<&'a str, &'a Label>;

/// A mailbox, as its collector saw it.
#[derive(Default)]
struct Mailbox<'a> {
    accepted: BTreeSet<&'a str>,
    handed_over: BTreeSet<&'a str>,
    /// The last message that was accepted.
    last: Option<&'a Label>,
}

pub(super) fn check(lines: &[Line], judgement: &mut Judgement) {
    let mut mailboxes: BTreeMap<&str, Mailbox<'_>> = BTreeMap::new();
    let mut labels = Labels::new();
    let mut running = BTreeMap::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for line in lines {
        match line {
            Line::Born { .. } => running.clear(),
            // One that dies of kills alone may never have come to say that it had started.
            Line::Acknowledged { events, .. } => {
                labels.extend(events.iter().map(|event| (&*event.id, &event.label)));
            }
            Line::Started(start) if contract::of(&start.automation).is_some_and(|one| one.tells) => {
                labels.insert(&start.event, &start.last);
                running.insert(start.run, &*start.event);
            }
            Line::Ended { run, how } => {
                told.extend(running.remove(run).filter(|_| *how == How::Well));
            }
            Line::Delivered { session, messages } => {
                let mailbox = mailboxes.entry(session).or_default();
                judgement.violations.extend(mailbox.delivered(session, messages, &labels));
            }
            Line::Accepted { session, messages } => {
                judgement.figures.accepted += messages.len() as u64;
                mailboxes.entry(session).or_default().accepted(messages, &labels);
            }
            _ => {}
        }
    }
    for message in told {
        let handed_over = mailboxes.values().any(|mailbox| mailbox.handed_over.contains(message));
        if let Some(label) = labels.get(message).filter(|_| !handed_over) {
            judgement.violations.push(Violation::Untold { label: (*label).clone() });
        }
    }
}

impl<'a> Mailbox<'a> {
    fn delivered(&mut self, session: &str, messages: &'a [String], labels: &Labels<'a>) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut before = self.last;
        let mut here = BTreeSet::new();
        for message in messages {
            let Some(label) = labels.get(&**message).filter(|label| label.publisher == session) else {
                let (session, message) = (session.to_owned(), message.clone());
                violations.push(Violation::Misdelivered { session, message });
                continue;
            };
            let label = *label;
            if self.accepted.contains(&**message) {
                violations.push(Violation::AcceptedBefore { label: label.clone() });
                continue;
            }
            if !here.insert(message) {
                violations.push(Violation::TwiceAtOnce { label: label.clone() });
                continue;
            }
            self.handed_over.insert(message);
            if let Some(after) = before.filter(|before| label < *before) {
                violations.push(Violation::Order { label: label.clone(), after: after.clone() });
            }
            before = Some(label);
        }
        violations
    }

    fn accepted(&mut self, messages: &'a [String], labels: &Labels<'a>) {
        self.accepted.extend(messages.iter().map(String::as_str));
        let last = messages.iter().rev().find_map(|message| labels.get(&**message).copied());
        self.last = last.or(self.last);
    }
}
