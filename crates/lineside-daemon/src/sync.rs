//! Locks and atomic numbers of the files that `tests/models` runs in many orders: there they are shuttle's.

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, atomic};
