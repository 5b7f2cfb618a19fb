//! Which hooks are registered where, and which of them are in force at a point: maps and values, without a runtime.
//!
//! What runs a hook is a type parameter here. Sessions, and the order in which they stand, are the affair of the
//! [tree](crate::hook::tree).

pub(crate) mod registered;
pub(crate) mod table;
pub(crate) mod own;
