//! Serving: a host's call of `lineside hook HOST` to an event, and what was decided to the host's words.
//!
//! `call` reads the call, `incoming` the document, `spelling` how its texts are written, `sessions` keeps what earlier
//! calls of a session have left, `words` puts the outcome. Nothing here publishes or waits: [`Served`] says what is to
//! be published, and is given what came of it.

mod call;
mod calls;
mod coming;
mod holds;
mod incoming;
mod known;
mod outcome;
mod recent;
mod root;
mod roots;
mod sessions;
mod shared;
mod spelling;
mod words;

pub(super) use call::is_closed_gate;
pub use call::{HostAnswer, HostCall, HostEvent, Reading, read, silent, unreachable};
pub use coming::Coming;
pub use holds::Holds;
pub use incoming::Incoming;
pub use outcome::Outcome;
pub(super) use root::of_prompts;
pub use sessions::{CallId, Derived, NextStep, Publishing, Served, Settled};
pub use words::{ContextFate, labelled};
