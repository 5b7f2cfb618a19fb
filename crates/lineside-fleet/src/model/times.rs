//! How long something took, of many: in steps of a half doubling, so that a quantile is within a fifth of the true one.

use std::time::Duration;

/// How many steps there are: from 16 µs to more than a minute.
const STEPS: usize = 46;
/// The end of the first step, in microseconds.
const FIRST: f64 = 16.0;

/// Times that were added, by their step.
#[derive(Debug, Clone)]
pub struct Times([u32; STEPS]);

impl Default for Times {
    fn default() -> Self {
        Self([0; STEPS])
    }
}

impl Times {
    pub(super) fn add(&mut self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        // The whole doublings, and whether it is above the half of the next.
        let doublings = micros.ilog2();
        let is_upper = u128::from(micros) * u128::from(micros) >= 1 << (2 * doublings + 1);
        let step = (2 * doublings + u32::from(is_upper)).saturating_sub(7) as usize;
        if let Some(count) = self.0.get_mut(step.min(STEPS - 1)) {
            *count = count.saturating_add(1);
        }
    }

    /// The time that this share of them did not exceed, to within a fifth; `None` where there are none.
    ///
    /// ```
    /// assert_eq!(lineside_fleet::Times::default().quantile(0.99), None);
    /// ```
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.0.iter().copied().map(u64::from).sum();
        if all == 0 {
            return None;
        }
        let wanted = (all as f64 * share).ceil().max(1.0);
        let mut so_far = 0;
        let step = self.0.iter().position(|count| {
            so_far += u64::from(*count);
            so_far as f64 >= wanted
        })?;
        // The middle of the step.
        let exponent = i32::try_from(step).unwrap_or_default();
        Some(Duration::from_secs_f64(FIRST * 2_f64.powf((f64::from(exponent) - 0.5) / 2.0) / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_within_a_fifth() {
        for micros in [15_u64, 80, 1_000, 8_240, 95_000, 1_500_000, 30_000_000] {
            let mut times = Times::default();
            times.add(Duration::from_micros(micros));
            let found = times.quantile(0.5).unwrap().as_secs_f64() * 1e6;
            assert!((found / micros as f64 - 1.0).abs() < 0.2, "{micros}: {found}");
        }
        let mut times = Times::default();
        (0..99).for_each(|_| times.add(Duration::from_millis(1)));
        times.add(Duration::from_secs(2));
        assert!(times.quantile(0.99).unwrap() < Duration::from_millis(2));
        assert!(times.quantile(1.0).unwrap() > Duration::from_millis(1_500));
    }
}
