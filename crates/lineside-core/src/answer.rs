//! What an interceptor gives back: a verdict, an amendment, messages for the context and for the user.
//!
//! A gate gives a [`Judgement`], which has no place for an amendment; an amender gives a [`Reply`], whose amendment is
//! that of its point. Both become an [`Answer`], which is what the chain folds.

use std::borrow::Cow;

use crate::amendment::Amendment;
use crate::context::{Append, Notice};
use crate::payload::Amend;
use crate::verdict::Verdict;

/// What an interceptor says of one event, its point forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// New values for fields of the payload.
    pub amendment: Amendment,
    /// Messages for the agent's context, in order.
    pub context: Vec<Append>,
    /// Messages for the user.
    pub notices: Vec<Notice>,
    /// Things that the receipt should tell, e.g. what the hook asked for and had no right to.
    pub remarks: Vec<Cow<'static, str>>,
    /// How a block of `before_stop` or `after_subagent` is put to the agent; the bus has a text of its own.
    pub keep_working: Option<Box<KeepWorking>>,
}

/// The texts of a block that keeps an agent working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepWorking {
    /// Appended to the agent's context while the block stands.
    pub append: Append,
    /// Told to the user once too many blocks in a row have been overridden.
    pub overridden: Notice,
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            ..Self::default()
        }
    }
}

/// What a gate says: everything but an amendment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement(Answer);

impl Judgement {
    /// Adds a message for the agent's context, beside the conversation.
    #[must_use]
    pub fn append(mut self, text: impl Into<String>) -> Self {
        self.0.context.push(Append::system(text));
        self
    }

    /// Adds a message for the user.
    #[must_use]
    pub fn notify(mut self, notice: Notice) -> Self {
        self.0.notices.push(notice);
        self
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        Self(verdict.into())
    }
}

impl From<Judgement> for Answer {
    fn from(judgement: Judgement) -> Self {
        judgement.0
    }
}

/// What an amender of the point `P` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<P> {
    answer: Answer,
    point: std::marker::PhantomData<fn() -> P>,
}

impl<P: Amend> Reply<P> {
    /// No objection and these changes.
    #[must_use]
    pub fn amend(amendment: P::Amendment) -> Self {
        Self::from(Answer {
            amendment: amendment.into(),
            ..Answer::default()
        })
    }
}

impl<P> Reply<P> {
    /// Adds a message for the agent's context, beside the conversation.
    #[must_use]
    pub fn append(mut self, text: impl Into<String>) -> Self {
        self.answer.context.push(Append::system(text));
        self
    }

    /// Adds a message for the user.
    #[must_use]
    pub fn notify(mut self, notice: Notice) -> Self {
        self.answer.notices.push(notice);
        self
    }

    fn from(answer: Answer) -> Self {
        Self {
            answer,
            point: std::marker::PhantomData,
        }
    }
}

impl<P> From<Verdict> for Reply<P> {
    fn from(verdict: Verdict) -> Self {
        Self::from(verdict.into())
    }
}

impl<P> From<Judgement> for Reply<P> {
    fn from(judgement: Judgement) -> Self {
        Self::from(judgement.into())
    }
}

impl<P> From<Reply<P>> for Answer {
    fn from(reply: Reply<P>) -> Self {
        reply.answer
    }
}
