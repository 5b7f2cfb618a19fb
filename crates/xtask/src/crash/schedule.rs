//! When each life is ended, from a seed: the same seed, the same schedule.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// When a life is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strike {
    /// So long after it was started.
    Starting(Duration),
    /// So long after it has begun to open its journal.
    Recovering(Duration),
    /// So long after everything was open.
    Working(Duration),
    /// So long after it was seen that a snapshot is being put in the place of records.
    Compacting(Duration),
}

/// The strikes of one cycle after another.
#[derive(Debug)]
pub(crate) struct Schedule {
    random: u64,
}

impl Schedule {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: seed }
    }

    fn number(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    pub(crate) fn micros(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_micros(from + self.number(to - from))
    }

    fn strike(&mut self) -> Strike {
        match self.number(100) {
            0..8 => Strike::Starting(self.micros(0, 25_000)),
            8..24 => Strike::Recovering(self.micros(0, 20_000)),
            24..78 => Strike::Working(self.micros(0, 120_000)),
            _ => Strike::Compacting(self.micros(0, 1_500)),
        }
    }
}

impl Iterator for Schedule {
    type Item = Vec<Strike>;

    /// One strike in most cycles; in some, the next life is ended before it has got far.
    fn next(&mut self) -> Option<Self::Item> {
        let mut strikes = vec![self.strike()];
        while strikes.len() < 4 && self.number(100) < 12 {
            strikes.push(Strike::Starting(self.micros(0, 15_000)));
        }
        Some(strikes)
    }
}

/// A random seed, short enough to be typed.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(seed: u64) -> Vec<Vec<Strike>> {
        Schedule::new(seed).take(400).collect()
    }

    #[test]
    fn a_seed_is_a_schedule() {
        assert_eq!(schedule(7), schedule(7));
        assert_ne!(schedule(7), schedule(8));
    }

    #[test]
    fn every_kind_of_strike_comes_often() {
        for seed in 0..50 {
            let cycles = schedule(seed);
            let count =
                |wanted: fn(&Strike) -> bool| cycles.iter().flatten().filter(|one| wanted(one)).count();
            assert!(count(|one| matches!(one, Strike::Starting(_))) > 30, "seed {seed}");
            assert!(count(|one| matches!(one, Strike::Recovering(_))) > 40, "seed {seed}");
            assert!(count(|one| matches!(one, Strike::Working(_))) > 150, "seed {seed}");
            assert!(count(|one| matches!(one, Strike::Compacting(_))) > 40, "seed {seed}");
            assert!(cycles.iter().filter(|strikes| strikes.len() > 1).count() > 20, "seed {seed}");
        }
    }
}
