//! The one place of the crate that reads the wall clock and makes event ids.

use std::cell::Cell;
use std::time::{Duration, Instant};

use lineside_core::{EventId, Timestamp};

/// How long a reading of the wall clock is carried on by the monotonic one, which is read anyway. A step of the wall
/// clock is seen that much later at most.
const CARRIED_ON: Duration = Duration::from_millis(200);

thread_local! {
    static READING: Cell<Option<Reading>> = const { Cell::new(None) };
}

/// A reading of the wall clock, and what was made of it last.
#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    millis: i64,
    last: (i64, Timestamp),
    /// From when to when it is that: most events are less than a millisecond after another one.
    during: (Instant, Instant),
}

/// A new event's id and time. The id is a UUID of version 7 of that time.
#[inline]
pub(crate) fn stamp(now: Instant) -> (EventId, Timestamp) {
    let (millis, time) = time_at(now);
    let millis = u64::try_from(millis).unwrap_or_default();
    let mut random = [0; 10];
    random[..2].copy_from_slice(&fastrand::u16(..).to_ne_bytes());
    random[2..].copy_from_slice(&fastrand::u64(..).to_ne_bytes());
    (EventId::at(millis, random), time)
}

/// The wall clock at a moment of the monotonic one that is just past, in whole milliseconds.
#[inline]
fn time_at(now: Instant) -> (i64, Timestamp) {
    match READING.get() {
        Some(Reading { during: (from, until), last, .. }) if from <= now && now < until => last,
        reading => next_millisecond(reading, now),
    }
}

/// The same in another millisecond than that of the last reading.
fn next_millisecond(reading: Option<Reading>, now: Instant) -> (i64, Timestamp) {
    let carried_on = reading.and_then(|Reading { at, millis, .. }| {
        let since = now.checked_duration_since(at).filter(|since| *since < CARRIED_ON)?;
        Some((at, millis, since))
    });
    let (at, first, since) = match carried_on {
        Some(known) => known,
        None => (now, jiff::Timestamp::now().as_millisecond(), Duration::ZERO),
    };
    let since = since.subsec_millis();
    let from = at + Duration::from_millis(since.into());
    let millis = first + i64::from(since);
    let last = (millis, Timestamp::from_millisecond(millis).unwrap_or_default());
    let during = (from, from + Duration::from_millis(1));
    READING.set(Some(Reading { at, millis: first, last, during }));
    last
}
