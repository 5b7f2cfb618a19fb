//! One process has the journal. The lock is the kernel's, so it ends with the process, however that ends.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::storage::Folder;

/// The name of the file that is locked.
pub(crate) const NAME: &str = "lock";

/// The journal is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Why there is no lock.
#[derive(Debug)]
pub(crate) enum TakeLockError {
    /// Somebody has it; the process is known when it had the time to say so.
    Taken(Option<u32>),
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of a folder.
    pub(crate) fn take(folder: &Path) -> Result<Self, TakeLockError> {
        let options = &mut Folder::options();
        let mut file =
            options.create(true).truncate(false).open(folder.join(NAME)).map_err(TakeLockError::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(TakeLockError::Taken(holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(TakeLockError::Io(error)),
        }
        // Who it is helps a person and decides nothing.
        let said = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        said.map_err(TakeLockError::Io)?;
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_has_it_and_the_next_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        match Lock::take(folder.path()) {
            Err(TakeLockError::Taken(Some(holder))) => assert_eq!(holder, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(first);
        Lock::take(folder.path()).unwrap();
    }
}
