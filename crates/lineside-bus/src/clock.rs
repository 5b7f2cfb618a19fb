//! The one place of the crate that reads the wall clock and makes event ids.

use std::cell::Cell;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lineside_core::EventId;
use uuid::Builder;

/// How long a reading of the wall clock is carried on by the monotonic one, which is read anyway. A step of the wall
/// clock is seen that much later at most.
const CARRIED_ON: Duration = Duration::from_millis(200);

thread_local! {
    static READING: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
}

/// A new event's id and time. The id is a UUID of version 7 of that time.
pub(crate) fn stamp(now: Instant) -> (EventId, Timestamp) {
    let time = time_at(now);
    let millis = u64::try_from(time.as_millisecond()).unwrap_or_default();
    let mut random = [0; 10];
    random[..8].copy_from_slice(&fastrand::u64(..).to_ne_bytes());
    random[8..].copy_from_slice(&fastrand::u16(..).to_ne_bytes());
    (EventId(Builder::from_unix_timestamp_millis(millis, &random).into_uuid()), time)
}

/// The wall clock at a moment of the monotonic one that is just past.
fn time_at(now: Instant) -> Timestamp {
    if let Some((then, time)) = READING.get()
        && let Some(since) = now.checked_duration_since(then)
        && since < CARRIED_ON
    {
        let millis = i64::try_from(since.as_millis()).unwrap_or_default();
        return if millis == 0 { time } else { later(time, millis) };
    }
    let time = later(Timestamp::now(), 0);
    READING.set(Some((now, time)));
    time
}

/// So many milliseconds later, without what is smaller than a millisecond.
fn later(time: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond() + millis).unwrap_or(time)
}
