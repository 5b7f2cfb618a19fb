//! Nested budgets: a hook has the smaller of its own time and what remains of the event's.
//!
//! Times are offsets from the moment the event was published, so nothing here reads a clock.

use std::ops::Add;
use std::time::Duration;

/// Longer than anything that is waited for: thirty years. Added to a moment, more could be beyond what a clock can say.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A moment after another, of whichever clock; thirty years later for a time that is longer.
pub fn after<T: Add<Duration, Output = T>>(moment: T, time: Duration) -> T {
    moment + time.min(FOREVER)
}

/// The time of one event for all its hooks together.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::budget::{Allowance, Bound, Budget};
///
/// let secs = Duration::from_secs;
/// let budget = Budget::of(secs(10));
/// assert_eq!(budget.allow(secs(30), secs(8)), Allowance::Granted { time: secs(2), bound: Bound::Event });
/// assert_eq!(budget.allow(secs(1), secs(8)), Allowance::Granted { time: secs(1), bound: Bound::Hook });
/// assert_eq!(budget.allow(secs(30), secs(10)), Allowance::Exhausted);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    event: Option<Duration>,
}

/// The time of one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// It may take this long from now.
    Granted {
        /// The time.
        time: Duration,
        /// Which of the two bounds it is.
        bound: Bound,
    },
    /// The event's time is used up; the hook is not started.
    Exhausted,
}

/// Which bound a hook's time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Its own timeout.
    Hook,
    /// The rest of the event's.
    Event,
}

impl Budget {
    /// No bound beside the hooks' own: every hook is bounded, so the chain is too.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self { event: None }
    }

    /// This much time for all hooks of the event.
    #[must_use]
    pub const fn of(event: Duration) -> Self {
        Self { event: Some(event) }
    }

    /// The smaller of the two.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_core::budget::Budget;
    ///
    /// let secs = Duration::from_secs;
    /// assert_eq!(Budget::of(secs(10)).within(Budget::of(secs(2))).event(), Some(secs(2)));
    /// assert_eq!(Budget::unbounded().within(Budget::of(secs(2))).event(), Some(secs(2)));
    /// ```
    #[inline]
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self {
            event: match (self.event, other.event) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }

    /// What a hook with a timeout of `own` gets when `elapsed` has passed since the event was published.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_core::budget::{Allowance, Bound, Budget};
    ///
    /// let secs = Duration::from_secs;
    /// let granted = Budget::unbounded().allow(secs(30), secs(100));
    /// assert_eq!(granted, Allowance::Granted { time: secs(30), bound: Bound::Hook });
    /// ```
    #[inline]
    #[must_use]
    pub fn allow(self, own: Duration, elapsed: Duration) -> Allowance {
        let Some(event) = self.event else {
            return Allowance::Granted { time: own, bound: Bound::Hook };
        };
        match event.checked_sub(elapsed) {
            None | Some(Duration::ZERO) => Allowance::Exhausted,
            Some(rest) if rest < own => Allowance::Granted { time: rest, bound: Bound::Event },
            Some(_) => Allowance::Granted { time: own, bound: Bound::Hook },
        }
    }

    /// The bound of the event, if there is one.
    #[must_use]
    pub fn event(self) -> Option<Duration> {
        self.event
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, Bound, Budget, after};
    use std::time::{Duration, Instant};

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_moment_can_be_added_to_without_end() {
        let now = Instant::now();
        assert_eq!(after(now, ms(30)), now + ms(30));
        assert!(after(now, Duration::MAX) > now + Duration::from_secs(1_000_000));
    }

    #[test]
    fn the_smaller_bound_counts() {
        let budget = Budget::of(ms(100));
        assert_eq!(budget.allow(ms(30), ms(0)), Allowance::Granted { time: ms(30), bound: Bound::Hook });
        assert_eq!(budget.allow(ms(30), ms(90)), Allowance::Granted { time: ms(10), bound: Bound::Event });
        assert_eq!(budget.allow(ms(30), ms(100)), Allowance::Exhausted);
        assert_eq!(budget.allow(ms(30), ms(500)), Allowance::Exhausted);
        assert_eq!(budget.within(Budget::of(ms(20))).event(), Some(ms(20)));
        assert_eq!(
            Budget::unbounded().allow(ms(30), Duration::MAX),
            Allowance::Granted { time: ms(30), bound: Bound::Hook }
        );
    }
    #[test]
    fn a_rest_as_long_as_the_hooks_own_time_is_the_hooks_own() {
        let budget = Budget::of(ms(100));
        assert_eq!(budget.allow(ms(40), ms(60)), Allowance::Granted { time: ms(40), bound: Bound::Hook });
        assert_eq!(budget.allow(ms(40), ms(61)), Allowance::Granted { time: ms(39), bound: Bound::Event });
    }

    #[test]
    fn a_budget_without_a_bound_leaves_the_other_as_it_is() {
        let (none, some) = (Budget::unbounded(), Budget::of(ms(20)));
        assert_eq!((none.within(some), some.within(none), none.within(none)), (some, some, none));
        assert_eq!((none.event(), some.event()), (None, Some(ms(20))));
    }
    #[test]
    fn a_time_without_an_end_is_thirty_years() {
        let thirty_years = Duration::from_secs(30 * 365 * 86_400);
        assert_eq!(after(ms(5), Duration::MAX), ms(5) + thirty_years);
        assert_eq!(after(ms(5), thirty_years), ms(5) + thirty_years);
        assert_eq!(after(ms(5), ms(7)), ms(12));
    }
}
