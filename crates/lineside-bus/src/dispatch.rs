//! One event: its admission, the turns of its hooks, and what comes of them.

pub(crate) mod admission;
pub(crate) mod event;
pub(crate) mod turn;
pub(crate) mod advance;
mod rounds;
pub(crate) mod group;
pub(crate) mod together;
pub(crate) mod gathered;
pub(crate) mod settle;
pub(crate) mod detached;
mod on_record;
