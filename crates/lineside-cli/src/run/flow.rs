//! From events to decisions, on a bus of this process.
//!
//! An event takes a place among those that are judged at the same time, is published, waits until what its decision
//! claims is kept, is written, and then what it hands over is accepted.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use lineside::claims::{Claim, Claims};
use lineside::core::{Point as _, Receipt};
use lineside::points::AfterSession;
use lineside::wire::{EventDraft, publication};
use lineside::{Bus, Session};
use tokio::sync::Semaphore;

use super::background::{self, Background};
use super::decision::Later;
use super::intake::{Decider, Intake};
use super::lanes::Pending;
use super::output::{Output, Written};
use super::waiting;
use crate::sessions::{HandOver, Sessions, hand_over};

/// Everything between the input and the output.
pub(super) struct Flow {
    pub(super) intake: Intake,
    pub(super) bus: Bus,
    pub(super) claims: Claims,
    pub(super) places: Semaphore,
    pub(super) output: Output,
    pub(super) sessions: RefCell<Sessions>,
    pub(super) background: Background,
    /// Sessions that have ended with their last event, until their background hooks have.
    pub(super) closing: RefCell<Vec<Session>>,
}

/// An event that is decided.
pub(super) struct Decided {
    session: Session,
    receipt: Arc<Receipt>,
    accepted: Vec<Claim>,
    handed_over: HandOver,
}

impl Decider for Flow {
    type Kept = ();
    type Decided = Decided;

    fn keep(&self, _text: &[u8], _line: &EventDraft) -> Result<()> {
        Ok(())
    }

    /// Publishes an event, and waits until what its decision claims is kept.
    async fn publish(&self, line: EventDraft, (): ()) -> Result<Decided> {
        let session = self.sessions.borrow_mut().of(&line)?;
        let publication = publication(&session, line);
        let receipt = {
            let Ok(_place) = self.places.acquire().await else { bail!("the run is over") };
            publication.publish_any().await?
        };
        let accepted = self.claims.of(&receipt, Duration::MAX).await;
        let handed_over = hand_over(&self.bus, &session, &receipt).await;
        self.intake.tally.borrow_mut().failed(self.bus.failures());
        self.intake.decided(receipt.verdict.strength(), accepted.iter().map(|claim| &claim.accepted));
        self.background.started(&receipt, &accepted);
        Ok(Decided { session, receipt, accepted, handed_over })
    }

    async fn print(&self, decided: Decided, printed: Pending) -> Result<()> {
        let Decided { session, receipt, accepted, handed_over } = decided;
        let delivered: Vec<_> = handed_over.beside_the_decision().collect();
        let later = Later {
            delivered: delivered.iter().map(|message| background::delivered(message)).collect(),
            background: self.background.take(),
        };
        self.intake.progress.borrow_mut().clear();
        let ends = receipt.event.point() == AfterSession::INFO;
        self.output.write(Written { receipt: &receipt, accepted: &accepted, later, delivered }).await?;
        self.intake.tally.borrow_mut().printed();
        // Not before: what a reader has not seen yet is not accepted.
        if let Err(error) = handed_over.accept().await {
            self.intake.warn(&format!("{error:#}"));
        }
        drop(printed);
        if ends {
            self.close(&session).await;
        }
        Ok(())
    }

    fn waits(&self, open: usize) -> String {
        let closing: Vec<String> =
            self.closing.borrow().iter().map(|session| session.id().to_string()).collect();
        waiting::for_events(open, &closing, &self.background)
    }
}

impl Flow {
    /// Ends the session whose last event was printed; waits for its background hooks, each within its own timeout.
    async fn close(&self, session: &Session) {
        self.sessions.borrow_mut().closed(session);
        self.closing.borrow_mut().push(session.clone());
        session.close().await;
        self.closing.borrow_mut().retain(|closing| closing.id() != session.id());
    }
}
