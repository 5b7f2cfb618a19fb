//! The lock of a store: one process writes it, and notes here how many records have come to it, so that the next one knows
//! how many a kill has cost.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::store::{StoreError, made};

/// Held for as long as the store is written.
pub(crate) struct Lock {
    file: File,
    noted: u64,
}

impl Lock {
    /// Takes the lock at a path.
    ///
    /// # Errors
    /// Another process has it, or its file cannot be made.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        let mut file = made(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Taken,
            TryLockError::Error(error) => StoreError::Io(error),
        })?;
        let mut text = String::new();
        // What is no number was written by an earlier version, or by another program.
        (&mut file).take(32).read_to_string(&mut text).ok();
        Ok(Self { file, noted: text.trim().parse().unwrap_or_default() })
    }

    /// How many records had come to the store, of all processes, when that was noted last.
    pub(crate) fn noted(&self) -> u64 {
        self.noted
    }

    /// Notes how many have come. It is with the operating system when this returns, which survives a kill.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn note(&mut self, came: u64) -> io::Result<()> {
        if came != self.noted {
            self.file.write_all_at(format!("{came:020}\n").as_bytes(), 0)?;
            self.noted = came;
        }
        Ok(())
    }
}
