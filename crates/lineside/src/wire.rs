//! Events, decisions and jobs as JSON: one form for files, pipes, sockets and HTTP.
//!
//! What reads or writes such text has it from here; how the text travels is left to others.

mod vocabulary;
mod event;
mod publication;
mod decision;
mod context;
mod job;
mod hook;
mod signal;

pub use context::message;
pub use decision::{decision, decision_text, receipt};
pub use event::{EventDraft, FIELDS, ReadEventDraftError, UnknownKey, kind_of};
pub use hook::hook;
pub use job::{JobState, attempt, job, job_state, stamp};
pub use publication::publication;
pub use signal::{SignalAbout, signal};
pub use vocabulary::{FindPointError, Vocabulary};
