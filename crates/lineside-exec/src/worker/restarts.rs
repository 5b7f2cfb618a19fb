//! When a worker that ended unasked is started again (OC-66): values and no clock.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How long an end is remembered.
const MEMORY: Duration = Duration::from_secs(60);
/// What the second restart within that time waits; each next one twice as long.
const SECOND: Duration = Duration::from_millis(100);
/// The longest wait for a restart.
const LONGEST: Duration = Duration::from_secs(5);
/// So many ends within that time, and no worker is started for a while.
const TOO_MANY: usize = 5;
/// That while.
const PAUSE: Duration = Duration::from_secs(30);

/// The ends that are remembered.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    ends: VecDeque<Instant>,
}

/// What comes after an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A start, after this time.
    Start(Duration),
    /// No start for this time, and calls fail; then one is tried.
    Pause(Duration),
}

impl Restarts {
    /// A worker ended unasked, or could not be started.
    pub(super) fn ended(&mut self, now: Instant) -> Next {
        while self.ends.front().is_some_and(|end| now.duration_since(*end) >= MEMORY) {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        if self.ends.len() > TOO_MANY {
            self.ends.pop_front();
        }
        match self.ends.len() {
            TOO_MANY.. => Next::Pause(PAUSE),
            0 | 1 => Next::Start(Duration::ZERO),
            restart => {
                let doublings = u32::try_from(restart - 2).unwrap_or(u32::MAX);
                let wait = 2_u32.checked_pow(doublings).and_then(|times| SECOND.checked_mul(times));
                Next::Start(wait.unwrap_or(LONGEST).min(LONGEST))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, pause};

    use super::*;

    fn start(millis: u64) -> Next {
        Next::Start(Duration::from_millis(millis))
    }

    /// OC-66.
    #[tokio::test]
    async fn each_restart_within_a_minute_waits_twice_as_long_and_after_the_fifth_end_there_is_a_pause() {
        pause();
        let mut restarts = Restarts::default();
        let mut next = Vec::new();
        for _ in 0..5 {
            next.push(restarts.ended(Instant::now()));
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(next, [start(0), start(100), start(200), start(400), Next::Pause(PAUSE)]);
    }

    /// OC-66: after the pause one start is tried.
    #[tokio::test]
    async fn an_end_soon_after_a_pause_is_a_pause_again_and_a_minute_later_all_is_forgotten() {
        pause();
        let mut restarts = Restarts::default();
        for _ in 0..5 {
            restarts.ended(Instant::now());
        }
        advance(PAUSE).await;
        assert_eq!(restarts.ended(Instant::now()), Next::Pause(PAUSE));
        advance(MEMORY).await;
        assert_eq!(restarts.ended(Instant::now()), start(0));
    }

    /// OC-66.
    #[tokio::test]
    async fn ends_that_are_a_minute_apart_are_never_too_many() {
        pause();
        let mut restarts = Restarts::default();
        for _ in 0..20 {
            assert_eq!(restarts.ended(Instant::now()), start(0));
            advance(MEMORY).await;
        }
    }
}
