//! What everything above stands on: signals, the wall clock, the time of an event, tasks, events under way, panics, and
//! how often an agent may be made to try again. It knows no hook, and sessions by their ids.

pub(crate) mod clock;
pub(crate) mod stopwatch;
pub mod approver;
pub mod signal;
pub(crate) mod caught;
pub(crate) mod gauge;
pub(crate) mod background;
pub(crate) mod extensions;
pub(crate) mod stop_limit;
