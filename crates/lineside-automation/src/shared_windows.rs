//! Windows and rates that hold on other machines as well: the port through which they are kept.

use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;

use crate::engine::SharedWindow;

/// Keeps windows of events, and the starts of rates, of all machines.
pub trait SharedWindows: Send + Sync {
    /// Takes part in a window until nothing is held here in it: its events are known to the other machines, and are run for
    /// here or there. `false` where this machine takes part no longer.
    fn take_part(&self, window: SharedWindow) -> BoxFuture<bool>;

    /// Waits until a rate has room for a start, and counts it; `false` where more than that is dropped and it has none. A start
    /// that is counted and does not happen stays counted.
    ///
    /// Dropping the future waits no longer; the start may be counted.
    fn let_in(&self, rate: SharedRate) -> BoxFuture<bool>;
}

/// A rate of which the starts on all machines count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRate {
    /// What it is called on every machine.
    pub name: String,
    /// How many.
    pub starts: u32,
    /// In how long a time.
    pub period: Duration,
    /// Whether more than that waits, and is not dropped.
    pub waits: bool,
}
