//! The time of one event: the runtime's clock, and between two readings of it a counter of the processor.
//!
//! Reading the clock takes longer than most gates do. It is read when the event begins and after each wait, so that
//! deadlines follow it, also where a test has paused it. How long hooks take that answer at once, and conditions of hooks,
//! is counted; the clock is read again when that comes to more than [`COARSE`]. Without the feature `counter` the clock of
//! the system is read.

use std::sync::OnceLock;
use std::time::{Duration, Instant as StdInstant};

#[cfg(feature = "counter")]
use quanta::Clock;
use tokio::time::Instant;

/// How far the clock may be behind when a deadline is set, in nanoseconds.
const COARSE: u64 = 100_000;

/// The counter, once its rate is known. Where the processor has none that keeps its rate, it reads the clock.
static COUNTER: OnceLock<Clock> = OnceLock::new();

/// Has the rate of the counter measured, once in a process and in a thread of its own: that takes 0.6 ms, and up to
/// 200 ms while the machine is busy. The clock is read until then, and for good if there can be no such thread.
pub(crate) fn calibrate() {
    #[cfg(feature = "counter")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let thread = std::thread::Builder::new().name("lineside-counter".to_owned());
            thread.spawn(|| COUNTER.get_or_init(Clock::new)).ok();
        });
    }
}

/// A counter that is never there.
#[cfg(not(feature = "counter"))]
#[derive(Debug)]
enum Clock {}

#[cfg(not(feature = "counter"))]
impl Clock {
    fn raw(&self) -> u64 {
        match *self {}
    }

    fn delta_as_nanos(&self, _: u64, _: u64) -> u64 {
        match *self {}
    }
}

/// A moment, by the counter or by the clock.
#[derive(Debug, Clone, Copy)]
enum Tick {
    Counted(&'static Clock, u64),
    Read(StdInstant),
}

impl Tick {
    #[inline]
    fn now() -> Self {
        match COUNTER.get() {
            Some(counter) => Self::Counted(counter, counter.raw()),
            None => Self::Read(StdInstant::now()),
        }
    }

    /// The nanoseconds from an earlier one.
    #[inline]
    fn since(self, earlier: Self) -> u64 {
        let time = match (earlier, self) {
            (Self::Counted(counter, earlier), Self::Counted(_, now)) => {
                return counter.delta_as_nanos(earlier, now);
            }
            // The rate became known meanwhile.
            (Self::Read(earlier), Self::Counted(..)) => earlier.elapsed(),
            (Self::Read(earlier), Self::Read(now)) => now.saturating_duration_since(earlier),
            (Self::Counted(..), Self::Read(_)) => Duration::ZERO,
        };
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How long an event has taken so far.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// The last reading of the clock.
    now: Instant,
    /// From the publication to that.
    elapsed: Duration,
    /// The last reading of the counter, if a hook has begun since.
    last: Option<Tick>,
    /// How many nanoseconds have been counted since the last reading of the clock.
    counted: u64,
}

impl Stopwatch {
    /// That of an event published now.
    #[inline]
    pub(crate) fn of(now: Instant) -> Self {
        Self { now, elapsed: Duration::ZERO, last: None, counted: 0 }
    }

    /// A moment that is just past.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// When the last hook had answered, or the last wait was over.
    pub(crate) fn last(&self) -> Instant {
        self.now + Duration::from_nanos(self.counted)
    }

    /// From the publication to [`now`](Self::now).
    #[inline]
    pub(crate) fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// From the publication to the last lap.
    #[inline]
    pub(crate) fn total(&self) -> Duration {
        self.elapsed + Duration::from_nanos(self.counted)
    }

    /// A hook begins that may answer at once, or the condition of one.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.last.get_or_insert_with(Tick::now);
    }

    /// What has begun is over: how long it took.
    #[inline]
    pub(crate) fn lap(&mut self) -> Duration {
        let tick = Tick::now();
        let took = self.last.map_or(0, |last| tick.since(last));
        self.last = Some(tick);
        self.counted = self.counted.saturating_add(took);
        if self.counted > COARSE {
            self.read();
        }
        Duration::from_nanos(took)
    }

    /// Something was waited for: how long, from the last lap on.
    pub(crate) fn waited(&mut self) -> Duration {
        let counted = Duration::from_nanos(self.counted);
        self.read().saturating_sub(counted)
    }

    /// Reads the clock.
    fn read(&mut self) -> Duration {
        let now = Instant::now();
        let since = now - self.now;
        *self = Self { now, elapsed: self.elapsed + since, last: None, counted: 0 };
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses up as much time of the processor.
    fn work(time: Duration) {
        let began = std::time::Instant::now();
        while began.elapsed() < time {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_is_not_moved_by_what_is_counted() {
        let began = Instant::now();
        let mut time = Stopwatch::of(began);
        for _ in 0..10 {
            time.begin();
            work(Duration::from_micros(50));
            assert!(time.lap() >= Duration::from_micros(45));
        }
        assert_eq!((time.now(), time.elapsed()), (began, Duration::ZERO));
        tokio::time::sleep(Duration::from_secs(7)).await;
        time.waited();
        assert_eq!((time.now(), time.elapsed()), (began + Duration::from_secs(7), Duration::from_secs(7)));
    }

    #[test]
    fn a_moment_of_before_the_rate_was_known_counts_as_well() {
        let before = Tick::Read(StdInstant::now());
        work(Duration::from_micros(200));
        COUNTER.get_or_init(Clock::new);
        let counted = Tick::now();
        assert!(matches!(counted, Tick::Counted(..)));
        assert!(counted.since(before) >= 200_000);
        assert!(Tick::Read(StdInstant::now()).since(before) >= 200_000);
        assert!(Tick::now().since(counted) > 0);
    }

    #[test]
    fn the_clock_is_read_again_before_it_is_far_behind() {
        let began = Instant::now();
        let mut time = Stopwatch::of(began);
        time.begin();
        work(Duration::from_millis(2));
        let took = time.lap();
        assert!(took >= Duration::from_micros(1_900), "{took:?}");
        assert!(time.now() - began >= Duration::from_millis(2) && time.elapsed() == time.now() - began);
        assert_eq!(time.total(), time.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_as_long_as_the_clock_says() {
        let mut time = Stopwatch::of(Instant::now());
        time.begin();
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(time.waited(), Duration::from_millis(30));
        assert_eq!(time.total(), Duration::from_millis(30));
    }
}
