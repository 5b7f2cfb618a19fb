//! Whether a worker responds, and whether it is needed: values and no clock.

use std::time::Duration;

use tokio::time::Instant;

use super::profile::Health;

/// When one worker last responded and was last used.
#[derive(Debug)]
pub(super) struct Heartbeat {
    health: Option<Health>,
    idle: Option<Duration>,
    heard: Instant,
    asked: Option<Instant>,
    busy: Instant,
}

/// What the supervisor has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthAction {
    Nothing,
    /// Send a ping.
    Ask,
    /// End it: it did not answer the ping in time.
    Dead,
    /// End it: it was not used for the idle time.
    Idle,
}

impl Heartbeat {
    pub(super) fn new(health: Option<Health>, idle: Option<Duration>, now: Instant) -> Self {
        Self { health, idle, heard: now, asked: None, busy: now }
    }

    /// Records that the worker has sent something.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// Records that the worker is in use.
    pub(super) fn busy(&mut self, now: Instant) {
        self.busy = now;
    }

    /// The time of the next check; `None` if there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        let health = self.health.map(|Health { silence, pong }| match self.asked {
            Some(asked) => asked + pong,
            None => self.heard + silence,
        });
        let idle = self.idle.map(|idle| self.busy + idle);
        [health, idle].into_iter().flatten().min()
    }

    /// The action that is due now.
    pub(super) fn look(&mut self, now: Instant) -> HealthAction {
        if let Some(Health { silence, pong }) = self.health {
            match self.asked {
                Some(asked) if now >= asked + pong => return HealthAction::Dead,
                None if now >= self.heard + silence => {
                    self.asked = Some(now);
                    return HealthAction::Ask;
                }
                _ => {}
            }
        }
        if self.idle.is_some_and(|idle| now >= self.busy + idle) {
            HealthAction::Idle
        } else {
            HealthAction::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn who_says_nothing_is_asked_and_is_dead_without_an_answer() {
        let start = Instant::now();
        let mut heartbeat =
            Heartbeat::new(Some(Health { silence: SECOND * 30, pong: SECOND * 10 }), None, start);
        assert_eq!(
            (heartbeat.look(start + SECOND * 29), heartbeat.due()),
            (HealthAction::Nothing, Some(start + SECOND * 30))
        );
        assert_eq!(heartbeat.look(start + SECOND * 30), HealthAction::Ask);
        assert_eq!(
            (heartbeat.look(start + SECOND * 39), heartbeat.due()),
            (HealthAction::Nothing, Some(start + SECOND * 40))
        );
        heartbeat.heard(start + SECOND * 39);
        assert_eq!(heartbeat.look(start + SECOND * 40), HealthAction::Nothing);
        assert_eq!(heartbeat.look(start + SECOND * 69), HealthAction::Ask);
        assert_eq!(heartbeat.look(start + SECOND * 79), HealthAction::Dead);
    }

    #[test]
    fn who_is_not_needed_for_long_enough_is_idle() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(None, Some(SECOND * 5), start);
        heartbeat.busy(start + SECOND * 3);
        assert_eq!(
            (heartbeat.look(start + SECOND * 7), heartbeat.due()),
            (HealthAction::Nothing, Some(start + SECOND * 8))
        );
        assert_eq!(heartbeat.look(start + SECOND * 8), HealthAction::Idle);
        assert_eq!(Heartbeat::new(None, None, start).due(), None);
    }
}
