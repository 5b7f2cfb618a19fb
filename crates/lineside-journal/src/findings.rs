//! What was found when a journal was opened, besides its records.

use std::fmt;

use lineside_core::journal::Sequence;

/// Something that a person may want to know. The journal is in order again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Records were damaged after they were on the disk. What is left of them is in a file of its own.
    Damaged {
        /// The file in which they were.
        file: String,
        /// The first that is lost.
        first: Sequence,
        /// The last; less than the first when only what stands between records was damaged.
        last: Sequence,
        /// Where the damaged bytes are now.
        kept_in: String,
    },
    /// Records should be there, and no file has them.
    Missing {
        /// The first of them.
        first: Sequence,
        /// The last of them.
        last: Sequence,
    },
    /// The beginning of a file is damaged so that nothing in it can be read.
    Unreadable {
        /// Its name.
        file: String,
        /// Its name now.
        kept_in: String,
    },
    /// The last group was not written to its end when the process or the machine stopped. Its records had not been
    /// acknowledged as on the disk.
    TornTail {
        /// The file that ended so.
        file: String,
        /// How many bytes were cut off.
        bytes: u64,
        /// Where they are now.
        kept_in: String,
    },
    /// The file was of an earlier version of the format and is of the present one now.
    Migrated {
        /// Its name.
        file: String,
        /// Which version it was.
        from: u32,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { file, first, last, kept_in } if first > last => {
                write!(f, "{file}: damaged between records; the bytes are kept in {kept_in}")
            }
            Self::Damaged { file, first, last, kept_in } => {
                write!(f, "{file}: records {first} to {last} are damaged; the bytes are kept in {kept_in}")
            }
            Self::Missing { first, last } => write!(f, "records {first} to {last} are in no file"),
            Self::Unreadable { file, kept_in } => {
                write!(f, "{file}: its beginning is damaged; it is kept as {kept_in}")
            }
            Self::TornTail { file, bytes, kept_in } => {
                write!(
                    f,
                    "{file}: ended in the middle of a group; the last {bytes} bytes are kept in {kept_in}"
                )
            }
            Self::Migrated { file, from } => write!(f, "{file}: brought up from version {from}"),
        }
    }
}
