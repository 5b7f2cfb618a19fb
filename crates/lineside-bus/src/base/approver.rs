//! Who answers what hooks ask, where the publisher has no person to ask: a store of questions, a list of earlier answers.
//!
//! What is asked, for how long an answer is waited for and who may give one is a matter of the approver; that a block is
//! final, and that an answer counts in the place of questions alone, is seen to by the dispatch.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::{AnyEvent, Approval, Hook, Reason, Receipt, Verdict};

/// The refusal that a decision comes to at a publisher who cannot do what it says otherwise.
pub type CarriedOut = Arc<dyn Fn(&Receipt) -> Option<Verdict> + Send + Sync>;

/// A question of one or several hooks about one event.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The event as it stands: what is approved is this, with everything that hooks have amended.
    pub event: AnyEvent,
    /// The hooks that ask, each with why; one at least.
    pub asks: Vec<(Arc<Hook>, Reason)>,
}

/// What becomes of a question.
pub enum Asked {
    /// It is left to the publisher, whose event is decided with `ask`.
    Left,
    /// It is answered already.
    Answered(Approval),
    /// An answer is waited for.
    Waits(Waiting),
}

/// A question that waits for its answer.
pub struct Waiting {
    /// Its name.
    pub id: Arc<str>,
    /// For how long an answer is waited for.
    pub within: Duration,
    /// Resolves with the answer, which may be that none came. Dropping it gives the question up.
    pub answer: Pin<Box<dyn Future<Output = Approval> + Send>>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => f.write_str("Left"),
            Self::Answered(approval) => f.debug_tuple("Answered").field(approval).finish(),
            Self::Waits(Waiting { id, within, .. }) => {
                f.debug_struct("Waits").field("id", id).field("within", within).finish_non_exhaustive()
            }
        }
    }
}

/// Answers questions of hooks.
pub trait Approver: Send + Sync {
    /// Takes a question. It is asked once for each event that would be decided with `ask`, and must neither block nor panic.
    fn ask(&self, question: Question) -> Asked;
}
