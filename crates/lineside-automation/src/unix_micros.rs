//! A moment of the wall clock, as the machine is given it. Where it comes from is the engine's.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since the beginning of 1970, UTC. Adding to it never goes past its end.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_automation::unix_micros::UnixMicros;
///
/// let accepted = UnixMicros::millis(1_500);
/// assert_eq!(accepted.to_string(), "1.500000");
/// let started = accepted + Duration::from_millis(20);
/// assert_eq!(started.since(accepted), Duration::from_millis(20));
/// assert_eq!(accepted.since(started), Duration::ZERO);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMicros(pub u64);

impl UnixMicros {
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// This many milliseconds since the beginning of 1970.
    #[must_use]
    pub const fn millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// How long ago an earlier one was; zero for a later one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for UnixMicros {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(later.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for UnixMicros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
