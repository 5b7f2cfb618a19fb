//! What everything above stands on: signals, the wall clock, events under way, and how often an agent may be made to
//! try again. It knows no hook and no session but by its id.

pub(crate) mod clock;
pub(crate) mod gauge;
pub mod signal;
pub(crate) mod stop_limit;
