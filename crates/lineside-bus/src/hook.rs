//! What a hook is to the bus: what runs it, what it knows of its call, how a call is bounded, and the sessions on which
//! hooks are registered.

pub mod interceptor;
pub mod cx;
pub(crate) mod asked;
pub(crate) mod guard;
pub mod observer;
pub mod ledger;
pub mod keeper;
pub(crate) mod background;
pub(crate) mod tree;
