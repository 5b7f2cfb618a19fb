//! Time that goes on while the machine is suspended. That of the runtime does not: a lease would be thought to hold that the server
//! has let go, and its time to be what it was.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(any(target_os = "linux", target_os = "android"))]
use rustix::time::ClockId::Boottime as COUNTS_ALL;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use rustix::time::ClockId::Monotonic as COUNTS_ALL;

/// A clock that also counts the time for which the machine was suspended.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    /// One that gives the time since some moment, and is never put back.
    pub fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Duration {
        (self.0)()
    }
}

impl Default for Clock {
    /// That of the system.
    fn default() -> Self {
        Self::new(|| {
            let now = rustix::time::clock_gettime(COUNTS_ALL);
            Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
        })
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
