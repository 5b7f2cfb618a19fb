//! One event: its admission, the turns of its hooks, and what comes of them.

pub(crate) mod admission;
pub(crate) mod event;
pub(crate) mod dispatcher;
mod border;
pub(crate) mod advance;
mod rounds;
mod questions;
pub(crate) mod results;
pub(crate) mod group;
pub(crate) mod ensemble_run;
pub(crate) mod side_effects;
pub(crate) mod finalize;
pub(crate) mod detached;
mod shadow;
mod would;
mod durable;
