//! Ids of events and messages: UUIDs whose representation stays within this crate.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

/// The id of an event: a UUID of version 7, so that ids sort by time.
///
/// ```
/// use lineside_core::EventId;
///
/// let id: EventId = "01890a5d-ac96-774b-bcce-b302099a8057".parse()?;
/// assert_eq!(id, EventId::from_u128(id.as_u128()));
/// # Ok::<_, lineside_core::id::ParseIdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(Uuid);

/// The id of a message: a message whose id was accepted before is not delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Uuid);

impl EventId {
    /// Returns the UUID of version 7 of a time in milliseconds since 1970 and of random bytes. Only the lower 48 bits of
    /// the time count, and six of the random bits are replaced.
    #[inline]
    #[must_use]
    pub fn at(millis: u64, random: [u8; 10]) -> Self {
        const VERSION: u64 = 7 << 12;
        const VARIANT: u64 = 2 << 62;
        let [a, b, rest @ ..] = random;
        let high = millis << 16 | VERSION | u64::from(u16::from_be_bytes([a, b]) & 0x0fff);
        let low = VARIANT | u64::from_be_bytes(rest) & (u64::MAX >> 2);
        Self::from_u128(u128::from(high) << 64 | u128::from(low))
    }
}

impl MessageId {
    /// Returns the UUID of version 8 that is made of these bytes.
    pub(crate) fn of_bytes(bytes: [u8; 16]) -> Self {
        Self(Builder::from_custom_bytes(bytes).into_uuid())
    }
}

impl From<EventId> for MessageId {
    fn from(id: EventId) -> Self {
        Self(id.0)
    }
}

/// The text is no UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID")]
pub struct ParseIdError(());

macro_rules! of_uuid {
    ($id:ident) => {
        impl $id {
            /// Returns the id with this number, in the byte order of the text.
            #[must_use]
            pub const fn from_u128(number: u128) -> Self {
                Self(Uuid::from_u128(number))
            }

            /// Returns the number of the id.
            #[must_use]
            pub const fn as_u128(self) -> u128 {
                self.0.as_u128()
            }
        }

        /// The text with hyphens, in lower case.
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $id {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.parse().map(Self).map_err(|_| ParseIdError(()))
            }
        }
    };
}

of_uuid!(EventId);
of_uuid!(MessageId);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_event_id_is_the_uuid_of_version_7(millis in any::<u64>(), random in any::<[u8; 10]>()) {
            let theirs = Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
            prop_assert_eq!(EventId::at(millis, random).as_u128(), theirs.as_u128());
        }
    }

    #[test]
    fn an_id_is_the_same_as_text_as_number_and_as_json() {
        let text = "01890a5d-ac96-774b-bcce-b302099a8057";
        let id: EventId = text.parse().unwrap();
        assert_eq!((id.to_string().as_str(), id), (text, EventId::from_u128(id.as_u128())));
        assert_eq!(crate::json::to_string(&id).unwrap(), format!("\"{text}\""));
        assert_eq!(MessageId::from(id).to_string(), text);
        assert_eq!("x".parse::<MessageId>(), Err(ParseIdError(())));
    }

    #[test]
    fn ids_sort_by_time() {
        let (early, late) = (EventId::at(1, [255; 10]), EventId::at(2, [0; 10]));
        assert!(early < late);
        assert_eq!(early.to_string().get(14..15), Some("7"), "the version");
    }
}
