//! Whether a worker is there, and whether it is needed: values and no clock.

use std::time::Duration;

use tokio::time::Instant;

use super::manner::Health;

/// What is known of one worker.
#[derive(Debug)]
pub(super) struct Pulse {
    health: Option<Health>,
    idle: Option<Duration>,
    heard: Instant,
    asked: Option<Instant>,
    busy: Instant,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beat {
    Nothing,
    /// Ask whether it is there.
    Ask,
    /// End it, for it did not answer that.
    Dead,
    /// End it, for nobody needs it.
    Idle,
}

impl Pulse {
    pub(super) fn new(health: Option<Health>, idle: Option<Duration>, now: Instant) -> Self {
        Self { health, idle, heard: now, asked: None, busy: now }
    }

    /// It has said something.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// It is needed.
    pub(super) fn busy(&mut self, now: Instant) {
        self.busy = now;
    }

    /// When there may be something to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        let health = self.health.map(|Health { silence, pong }| match self.asked {
            Some(asked) => asked + pong,
            None => self.heard + silence,
        });
        let idle = self.idle.map(|idle| self.busy + idle);
        [health, idle].into_iter().flatten().min()
    }

    /// What is to be done now.
    pub(super) fn look(&mut self, now: Instant) -> Beat {
        if let Some(Health { silence, pong }) = self.health {
            match self.asked {
                Some(asked) if now >= asked + pong => return Beat::Dead,
                None if now >= self.heard + silence => {
                    self.asked = Some(now);
                    return Beat::Ask;
                }
                _ => {}
            }
        }
        if self.idle.is_some_and(|idle| now >= self.busy + idle) { Beat::Idle } else { Beat::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn who_says_nothing_is_asked_and_is_dead_without_an_answer() {
        let start = Instant::now();
        let mut pulse = Pulse::new(Some(Health { silence: SECOND * 30, pong: SECOND * 10 }), None, start);
        assert_eq!(
            (pulse.look(start + SECOND * 29), pulse.due()),
            (Beat::Nothing, Some(start + SECOND * 30))
        );
        assert_eq!(pulse.look(start + SECOND * 30), Beat::Ask);
        assert_eq!(
            (pulse.look(start + SECOND * 39), pulse.due()),
            (Beat::Nothing, Some(start + SECOND * 40))
        );
        pulse.heard(start + SECOND * 39);
        assert_eq!(pulse.look(start + SECOND * 40), Beat::Nothing);
        assert_eq!(pulse.look(start + SECOND * 69), Beat::Ask);
        assert_eq!(pulse.look(start + SECOND * 79), Beat::Dead);
    }

    #[test]
    fn who_is_not_needed_for_long_enough_is_idle() {
        let start = Instant::now();
        let mut pulse = Pulse::new(None, Some(SECOND * 5), start);
        pulse.busy(start + SECOND * 3);
        assert_eq!((pulse.look(start + SECOND * 7), pulse.due()), (Beat::Nothing, Some(start + SECOND * 8)));
        assert_eq!(pulse.look(start + SECOND * 8), Beat::Idle);
        assert_eq!(Pulse::new(None, None, start).due(), None);
    }
}
