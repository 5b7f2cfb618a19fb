//! A time of the wall clock, whose representation stays within this crate.

use std::fmt;
use std::str::FromStr;

/// A time of the wall clock, to the nanosecond, from the year −9999 to the year 9999. Its text is that of RFC 3339 in UTC.
///
/// The crate reads no clock; the bus stamps events that bring no time.
///
/// ```
/// use lineside_core::Timestamp;
///
/// let time: Timestamp = "2026-03-02T09:14:00.5+01:00".parse()?;
/// assert_eq!(time.to_string(), "2026-03-02T08:14:00.5Z");
/// assert_eq!(Timestamp::from_millisecond(time.as_millisecond()), Some(time));
/// # Ok::<_, lineside_core::timestamp::ParseTimestampError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The beginning of 1970 in UTC; the default.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// Returns the time this many milliseconds after 1970; `None` beyond the range.
    ///
    /// ```
    /// use lineside_core::Timestamp;
    ///
    /// let time = Timestamp::from_millisecond(1_772_439_240_500);
    /// assert_eq!(time.map(|time| time.to_string()).as_deref(), Some("2026-03-02T08:14:00.5Z"));
    /// assert_eq!(Timestamp::from_millisecond(i64::MAX), None);
    /// ```
    #[must_use]
    pub fn from_millisecond(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Returns the time this many microseconds after 1970; `None` beyond the range.
    #[must_use]
    pub fn from_microsecond(micros: i64) -> Option<Self> {
        jiff::Timestamp::from_microsecond(micros).ok().map(Self)
    }

    /// Returns the milliseconds since 1970, rounded towards it.
    #[must_use]
    pub fn as_millisecond(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the microseconds since 1970, rounded towards it.
    #[must_use]
    pub fn as_microsecond(self) -> i64 {
        self.0.as_microsecond()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The text is no time of RFC 3339, or one beyond the range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time of RFC 3339: {0}")]
pub struct ParseTimestampError(String);

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        text.parse().map(Self).map_err(|error: jiff::Error| ParseTimestampError(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_same_as_text_and_as_number() {
        let time: Timestamp = "2026-03-02T08:14:00.000001Z".parse().unwrap();
        assert_eq!(Timestamp::from_microsecond(time.as_microsecond()), Some(time));
        assert_eq!(format!("{time:.3}"), "2026-03-02T08:14:00.000Z");
        assert_eq!(Timestamp::default(), Timestamp::UNIX_EPOCH);
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn a_number_is_rounded_towards_1970_and_bounded() {
        for (text, millis, micros) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("1970-01-01T00:00:01.0029999Z", 1_002, 1_002_999),
            ("1969-12-31T23:59:58.9970001Z", -1_002, -1_002_999),
        ] {
            let time: Timestamp = text.parse().unwrap();
            assert_eq!((time.as_millisecond(), time.as_microsecond()), (millis, micros), "{text}");
        }
        let second = "1970-01-01T00:00:01Z".parse().ok();
        assert_eq!(
            (Timestamp::from_millisecond(1_000), Timestamp::from_microsecond(1_000_000)),
            (second, second)
        );
        assert_eq!(
            (Timestamp::from_millisecond(i64::MAX), Timestamp::from_microsecond(i64::MIN)),
            (None, None)
        );
    }
}
