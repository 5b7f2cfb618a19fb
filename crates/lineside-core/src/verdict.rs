//! What an interceptor says, and how several of them are joined: the greater one wins, and of equals the first in
//! plan order gives the reason.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// How strong a verdict is. Joining verdicts takes the greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// No objection.
    #[default]
    Continue,
    /// Approved: the user need not be asked.
    Allow,
    /// The user must be asked.
    Ask,
    /// It does not happen, or its result is withheld.
    Block,
    /// It does not happen, and the agent's run ends.
    Stop,
}

impl Strength {
    /// The word for it, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
            Self::Stop => "stop",
        }
    }

    /// Whether it ends the chain.
    #[must_use]
    pub fn is_final(self) -> bool {
        self >= Self::Block
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why, for people and models to read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Reason {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one interceptor says about one event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verdict {
    /// No objection.
    #[default]
    Continue,
    /// Approved.
    Allow,
    /// The user must be asked, for this reason.
    Ask(Reason),
    /// Refused, for this reason.
    Block(Reason),
    /// Refused, and the agent's run ends, for this reason.
    Stop(Reason),
}

impl Verdict {
    /// A refusal. A blank reason is replaced by one that names the hook.
    pub fn block(reason: impl Into<Reason>) -> Self {
        Self::Block(reason.into())
    }

    /// A question to the user.
    pub fn ask(reason: impl Into<Reason>) -> Self {
        Self::Ask(reason.into())
    }

    /// The end of the agent's run.
    pub fn stop(reason: impl Into<Reason>) -> Self {
        Self::Stop(reason.into())
    }

    /// How strong it is.
    #[must_use]
    pub fn strength(&self) -> Strength {
        match self {
            Self::Continue => Strength::Continue,
            Self::Allow => Strength::Allow,
            Self::Ask(_) => Strength::Ask,
            Self::Block(_) => Strength::Block,
            Self::Stop(_) => Strength::Stop,
        }
    }

    /// Why; absent where there is nothing to justify.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Continue | Self::Allow => None,
            Self::Ask(reason) | Self::Block(reason) | Self::Stop(reason) => Some(reason),
        }
    }

    /// The verdict with a reason that can be read: a blank one becomes a sentence that names the hook.
    #[must_use]
    pub fn with_readable_reason(self, hook: &str) -> Self {
        match self {
            Self::Ask(reason) if reason.is_blank() => Self::ask(format!("hook \"{hook}\" asks")),
            Self::Block(reason) if reason.is_blank() => Self::block(format!("blocked by hook \"{hook}\"")),
            Self::Stop(reason) if reason.is_blank() => Self::stop(format!("stopped by hook \"{hook}\"")),
            other => other,
        }
    }
}

/// The verdict that stands among several: a strength, and the place in plan order of the first that had it.
///
/// `join` is commutative, associative and idempotent, so that neither order, grouping nor repetition of the answers
/// changes the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// The strength.
    pub strength: Strength,
    /// The place in plan order of who said it; absent while nobody said more than `continue`.
    pub author: Option<u16>,
}

impl Standing {
    /// What one hook says.
    #[must_use]
    pub fn of(strength: Strength, author: u16) -> Self {
        Self { strength, author: (strength > Strength::Continue).then_some(author) }
    }

    /// The greater of the two; of equals, the one whose author comes first.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match self.strength.cmp(&other.strength) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal if other.author < self.author => other,
            std::cmp::Ordering::Equal => self,
        }
    }
}
