//! Which hooks are registered where, and which of them are in force at a point: maps and values, without a runtime.
//!
//! What runs a hook, and what a session has beside hooks, are type parameters here.

pub(crate) mod registered;
pub(crate) mod table;
pub(crate) mod own;
pub(crate) mod share;
mod scopes;
pub(crate) mod tree;
