//! The one place of the crate that reads the wall clock and makes event ids.

use jiff::Timestamp;
use lineside_core::EventId;
use uuid::{NoContext, Uuid};

/// A new event's id and time. The id is a UUID of version 7 of that time.
pub(crate) fn stamp() -> (EventId, Timestamp) {
    let time = Timestamp::now();
    let seconds = u64::try_from(time.as_second()).unwrap_or_default();
    let nanos = u32::try_from(time.subsec_nanosecond()).unwrap_or_default();
    let id = Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos));
    (EventId(id), time)
}
