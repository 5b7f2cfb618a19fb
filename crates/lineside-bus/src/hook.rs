//! What a hook is to the bus: what runs it, what it knows of its call, how a call is bounded, and the state of the
//! sessions on which hooks are registered.

pub(crate) mod state;
pub mod interceptor;
pub mod cx;
pub mod durable_run;
pub(crate) mod closure;
#[cfg(feature = "actors")]
pub(crate) mod asked;
pub(crate) mod guard;
pub mod observer;
