//! What became of the question of a hook that no agent program could put to a person: who has answered, when, and for how
//! much.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::answer::millis;
use crate::timestamp::Timestamp;
use crate::verdict::Verdict;

/// For how much an answer counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalScope {
    /// For this question alone.
    #[default]
    Once,
    /// For the same call, asked about by the same hook, as long as the session is open.
    Session,
    /// For calls of the tool that fit a pattern, asked about by the same hook, until it is taken back.
    Pattern,
}

impl ApprovalScope {
    /// The word for it, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Pattern => "pattern",
        }
    }
}

/// An answer to the question of a hook.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::{Approval, ApprovalScope, Timestamp, Verdict};
///
/// let approval = Approval {
///     id: "k3v9".into(),
///     verdict: Verdict::allow(),
///     by: "a person (lineside, process 7)".into(),
///     at: Timestamp::UNIX_EPOCH,
///     scope: ApprovalScope::Once,
///     waited: Duration::from_secs(3),
/// };
/// assert_eq!(approval.to_string(), "k3v9: allow once, by a person (lineside, process 7), after 3 s");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// The name of the question.
    pub id: Arc<str>,
    /// What takes the place of `ask`; none that is weaker than `allow`.
    #[serde(serialize_with = "as_word")]
    pub verdict: Verdict,
    /// Who answered, for people: a person and the process, an earlier answer, or that none came.
    pub by: Arc<str>,
    /// When.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// For how much the answer counts.
    pub scope: ApprovalScope,
    /// How long the event has waited for it.
    #[serde(rename = "waited_ms", serialize_with = "as_milliseconds")]
    pub waited: Duration,
}

impl Approval {
    /// How many bytes its texts take.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.id.len() + self.by.len() + self.verdict.weight()
    }
}

impl std::fmt::Display for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, verdict, by, scope, waited, .. } = self;
        write!(f, "{id}: {} {}, by {by}, after {} s", verdict.strength(), scope.as_str(), waited.as_secs())
    }
}

fn as_word<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    verdict.strength().serialize(serializer)
}

fn as_text<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.3}"))
}

fn as_milliseconds<S: Serializer>(waited: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(millis(*waited))
}
