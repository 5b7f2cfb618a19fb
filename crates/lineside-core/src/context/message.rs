//! A message on its way to an agent's context, with its origin.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Role;
use crate::envelope::SessionId;
use crate::id::EventId;
pub use crate::id::MessageId;

impl MessageId {
    /// The id of a message that may be offered more than once and is the same each time: it is made of what the message
    /// comes from, for example a job and its event, and of nothing else.
    #[must_use]
    pub fn stable(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            // With its length, so that the border between two parts counts.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
        Self::of_bytes(bytes)
    }
}

/// A message for an agent's context, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextMessage {
    /// Which message it is.
    pub id: MessageId,
    /// The hook that gave it.
    pub hook: Arc<str>,
    /// The format of that hook.
    pub dialect: Cow<'static, str>,
    /// The point of the event that it answers.
    pub point: Cow<'static, str>,
    /// The event that it answers.
    pub event: EventId,
    /// The session of that event.
    pub session: SessionId,
    /// The role that it has in the context.
    pub role: Role,
    /// What it is about, in the words of its hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// Its text, as the hook gave it, unless it was cut.
    pub text: String,
    /// Where all of it is, if the text was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<FullText>,
}

/// The text of a message that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullText {
    /// How long it is, in bytes.
    pub bytes: usize,
    /// How long it is, in tokens by the rule of [`tokens`](super::tokens).
    pub tokens: usize,
    /// The file in which it is; without one it can be asked for by the id of the message, for as long as it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_its_parts_and_their_borders() {
        assert_eq!(MessageId::stable(&[b"ab", b"c"]), MessageId::stable(&[b"ab", b"c"]));
        assert_ne!(MessageId::stable(&[b"ab", b"c"]), MessageId::stable(&[b"a", b"bc"]));
        assert_eq!(MessageId::stable(&[]).as_u128() >> 76 & 0xf, 8, "the version");
    }
}
