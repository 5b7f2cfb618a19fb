//! Hooks of one format whose answers count together, in place of each on its own.
//!
//! Most formats need none: there a block ends the chain, an amendment is there for the next hook, and that is all.
//! Some say that a hook's halt takes back what the ones before it gave, that their changes are merged field by field,
//! or that the last one may lift what the first one asked for. Such a format gives its hooks an ensemble.

use std::time::Duration;

use serde::Serialize;

use crate::answer::Answer;
use crate::event::AnyEvent;
use crate::outcome::FromHook;

/// The rule by which the answers of several hooks of one format count.
///
/// The members of an ensemble are the hooks of one plan that hold the same value. Their answers are kept until the
/// last of them has had its turn, or one of them has said block or stop, which ends the chain at once. Then they are
/// settled, and what that gives takes effect.
pub trait Ensemble: Send + Sync {
    /// Which payload a member is shown.
    fn sees(&self) -> Sees;

    /// For how long members may be started, from the start of the first; forever by default. A member that runs is
    /// not cut short by it.
    fn time(&self) -> Option<Duration> {
        None
    }

    /// How its members take their turns for this event, which is as it stands when the first of them is about to run;
    /// one after another by default.
    fn pace(&self, event: &AnyEvent) -> Pace {
        let _ = event;
        Pace::InTurn
    }

    /// Whether members are asked again when a hook of another format has amended after them.
    fn judges_again(&self) -> bool {
        true
    }

    /// What the answers come to, each in the name of one member. The order is that of the plan, in and out.
    ///
    /// Only members that gave an answer, or whose failure is taken as more than `continue`, are in `given`.
    /// `event` is as it stands without the amendments of the members. With [`Pace::InTurn`], a member that has blocked
    /// or stopped is the last one of `given`. A panic counts as a failure of each of them.
    fn finalize(&self, event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>>;
}

/// Which payload a member of an ensemble is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sees {
    /// As the members before it have amended it.
    Amended,
    /// As it was when the first member was about to run.
    First,
}

/// How the members of an ensemble take their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// One after another; a block or a stop ends the ensemble.
    InTurn,
    /// One after another, each of them, whatever the earlier ones said.
    InTurnThroughBlocks,
    /// All start together, and all are waited for.
    AtOnce,
}
