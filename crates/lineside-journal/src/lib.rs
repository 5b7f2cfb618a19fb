//! The embedded journal: records in sequence, on the disk before they are acknowledged, and given back after a crash.
//!
//! It knows nothing of what it keeps. A record is bytes with a kind; what they mean, which of them belong together and
//! when a snapshot may stand for them is left to who appends them, through the port
//! [`lineside_core::journal::Journal`]. This crate has two implementations of it: [`EmbeddedJournal`] in files, and
//! [`MemoryJournal`] for tests and for programs that keep nothing.
//!
//! The files are segments of a log and one snapshot, in a folder of their own. Appends that come while the disk is busy
//! are written and synchronised together, by one thread.
//!
//! The modules stand in the order in which a record meets them.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod frame;
mod header;
mod group;
mod queue;
mod notifier;
mod writer;
mod segment;
mod storage;
mod overlay;
mod lock;
mod scan;
mod version0;
mod recovery;
mod findings;
mod told;
mod promise;
mod checkpoint;
mod embedded;
mod reading;
mod memory;

pub use embedded::{EmbeddedJournal, OpenJournalError, Options};
pub use findings::Finding;
pub use lock::Holder;
pub use memory::MemoryJournal;
pub use reading::Reading;
