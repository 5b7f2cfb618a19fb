//! When a worker that ended unasked, or could not be had, is started again (OC-66): values and no clock.

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
/// So many are remembered at most.
const MOST: usize = 16;
/// That while.
const PAUSE: Duration = Duration::from_secs(30);

/// How patient one is with a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    longest: Duration,
    too_many: usize,
}

/// With a program that we start: each start costs something, and who keeps ending will end again.
pub(super) const STARTED: Patience = Patience { longest: LONGEST, too_many: TOO_MANY };
/// For another program: connecting costs next to nothing, and it restarts at any time.
pub(super) const ASKED_FOR: Patience = Patience { longest: Duration::from_secs(1), too_many: usize::MAX };

/// The ends that are remembered.
#[derive(Debug)]
pub(super) struct Restarts {
    ends: VecDeque<Instant>,
    patience: Patience,
    told: bool,
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
    pub(super) fn new(patience: Patience) -> Self {
        Self { ends: VecDeque::new(), patience, told: false }
    }

    /// There is a worker.
    pub(super) fn came(&mut self) {
        self.told = false;
    }

    /// Whether a pause is to be reported: once, until there is a worker again.
    pub(super) fn tells(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// A worker ended unasked, or could not be started.
    pub(super) fn ended(&mut self, now: Instant) -> Next {
        while self.ends.front().is_some_and(|end| now.duration_since(*end) >= MEMORY) {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        // More of them change nothing.
        if self.ends.len() > self.patience.too_many.min(MOST) {
            self.ends.pop_front();
        }
        match self.ends.len() {
            ends if ends >= self.patience.too_many => Next::Pause(PAUSE),
            0 | 1 => Next::Start(Duration::ZERO),
            restart => {
                let doublings = u32::try_from(restart - 2).unwrap_or(u32::MAX);
                let wait = 2_u32.checked_pow(doublings).and_then(|times| SECOND.checked_mul(times));
                Next::Start(wait.unwrap_or(LONGEST).min(self.patience.longest))
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

    // OC-66.
    #[tokio::test]
    async fn each_restart_within_a_minute_waits_twice_as_long_and_after_the_fifth_end_there_is_a_pause() {
        pause();
        let mut restarts = Restarts::new(STARTED);
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
        let mut restarts = Restarts::new(STARTED);
        for _ in 0..5 {
            restarts.ended(Instant::now());
        }
        advance(PAUSE).await;
        assert_eq!(restarts.ended(Instant::now()), Next::Pause(PAUSE));
        advance(MEMORY).await;
        assert_eq!(restarts.ended(Instant::now()), start(0));
    }

    // OC-66.
    #[tokio::test]
    async fn ends_that_are_a_minute_apart_are_never_too_many() {
        pause();
        let mut restarts = Restarts::new(STARTED);
        for _ in 0..20 {
            assert_eq!(restarts.ended(Instant::now()), start(0));
            advance(MEMORY).await;
        }
    }

    #[tokio::test]
    async fn somebody_elses_program_is_asked_for_every_second_however_long_it_is_away() {
        pause();
        let mut restarts = Restarts::new(ASKED_FOR);
        let mut next = Next::Start(Duration::ZERO);
        for _ in 0..100 {
            next = restarts.ended(Instant::now());
        }
        assert_eq!(next, start(1000));
        assert_eq!(restarts.ends.len(), MOST);
    }

    #[test]
    fn a_pause_is_told_once_until_there_is_a_worker_again() {
        let mut restarts = Restarts::new(STARTED);
        assert_eq!([restarts.tells(), restarts.tells()], [true, false]);
        restarts.came();
        assert!(restarts.tells());
    }
}
