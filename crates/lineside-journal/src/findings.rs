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
    /// A file ends within its own beginning, which is written at once before anything else, or directly behind it and
    /// has held records. What it held is gone.
    Cut {
        /// The file.
        file: String,
        /// How long it is.
        bytes: u64,
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

impl Finding {
    /// What it is, without where the bytes are kept.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Damaged { file, first, last, .. } if first > last => {
                format!("{file}: damaged between records")
            }
            Self::Damaged { file, first, last, .. } => {
                format!("{file}: records {first} to {last} are damaged")
            }
            Self::Missing { first, last } => format!("records {first} to {last} are in no file"),
            Self::Unreadable { file, .. } => format!("{file}: its beginning is damaged"),
            Self::Cut { file, bytes } => {
                format!("{file}: cut off after {bytes} bytes, and the records that it held are gone")
            }
            Self::TornTail { file, bytes, .. } => {
                format!("{file}: ended in the middle of a group of which {bytes} bytes are there")
            }
            Self::Migrated { file, from } => format!("{file}: brought up from version {from}"),
        }
    }

    /// The file with the bytes that are no records any more.
    #[must_use]
    pub fn kept_in(&self) -> Option<&str> {
        match self {
            Self::Damaged { kept_in, .. }
            | Self::Unreadable { kept_in, .. }
            | Self::TornTail { kept_in, .. } => Some(kept_in),
            Self::Missing { .. } | Self::Cut { .. } | Self::Migrated { .. } => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        match self.kept_in() {
            Some(kept_in) => write!(f, "; the bytes are kept in {kept_in}"),
            None => Ok(()),
        }
    }
}
