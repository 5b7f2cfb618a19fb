//! The messages for an agent's context: kept in mailboxes until they are delivered, and in a journal where there is one.
//! It knows sessions by their ids, and no hook but by its name.

pub(crate) mod message;
pub(crate) mod mailbox;
pub(crate) mod delivery;
pub(crate) mod missing;
pub(crate) mod full_texts;
pub(crate) mod log;
pub(crate) mod posted;
mod record;
mod mailbox_index;

pub use delivery::{Delivery, NotKept};
pub use full_texts::{FullTexts, Keeping, TextsInMemory};
pub use lineside_core::ContextMessage;
pub use log::ContextRecovered;
pub use missing::{Missing, WhyMissing};
pub use posted::Posted;
