//! What a person has agreed to of a project.
//!
//! A project is a folder that has hooks. Nothing of it runs before a person has trusted its exact content: this crate
//! finds the folders that may be a project, reads the content of one, and has the store of what was trusted. Which files
//! belong to hooks is for the formats to say, and what becomes of a project that is not trusted is for the caller.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod find;
mod repository;
mod mark;
mod content;
mod record;
mod store;
mod copy;

pub use content::{Change, Content, Item, Kind, OfFolder, ReadContentError, Wanted};
pub use copy::{Copies, CopyFileError};
pub use find::{ancestors, candidates, command};
pub use mark::Marks;
pub use record::{Guard, ReadRecordError, Record};
pub use store::{Reach, Standing, Store, WriteTrustError};

/// The digest of bytes, in hexadecimal.
fn sha256(bytes: impl AsRef<[u8]>) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
