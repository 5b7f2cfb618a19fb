//! Models of what must not be done by halves: the daemon's own source, run under many orders of its steps.
//!
//! The files that are included here take their locks from `crate::sync`, which is the standard library's in the daemon and
//! shuttle's in this program. Between any two steps on a lock or an atomic number, and at each `await`, shuttle has another
//! task go on; a failure prints the order in which it came about.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod sync {
    pub(crate) use shuttle::sync::{Mutex, MutexGuard, PoisonError, atomic};
}

#[allow(dead_code, reason = "the daemon alone needs all of it")]
#[path = "../../src/closed.rs"]
mod closed;
#[path = "../../src/in_force.rs"]
mod in_force;
#[path = "../../src/preparing.rs"]
mod preparing;

mod attach_and_reopen;
mod close_and_late_events;
mod load_and_watch;

/// How many orders are tried of each model.
const ORDERS: usize = 3_000;
/// How many changes of tasks an order of the second kind has at most: most faults need two or three.
const CHANGES: usize = 3;

/// Runs a model in many orders: at random, and with few changes of tasks at moments that matter.
fn explored(model: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(model, ORDERS);
    shuttle::check_pct(model, ORDERS, CHANGES);
}
