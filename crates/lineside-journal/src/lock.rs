//! One process has the journal. The lock is the kernel's, so it ends with the process, however that ends.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use lineside_files::open_own;

use crate::storage::Folder;

/// The name of the file that is locked.
pub(crate) const NAME: &str = "lock";

/// The journal is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// The folder is locked too, where its file system can do that: a lock file that a person removes, because it looks
    /// like one that was left behind, lets no second process in.
    folder: Option<File>,
}

/// Why there is no lock.
#[derive(Debug)]
pub(crate) enum TakeLockError {
    /// Another process has it; its number is known once it is written.
    Taken(Option<u32>),
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of a folder.
    pub(crate) fn take(folder: &Path) -> Result<Self, TakeLockError> {
        let options = &mut Folder::options();
        // Through a link it would be another file that the process is noted in.
        let opened = open_own(&folder.join(NAME), options.create(true).truncate(false));
        let mut file = opened.map_err(|error| TakeLockError::Io(error.into()))?;
        match patiently(&file, &file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(TakeLockError::Taken(noted(&file))),
            Err(TryLockError::Error(error)) => return Err(TakeLockError::Io(error)),
        }
        let folder = File::open(folder).map_err(TakeLockError::Io)?;
        let folder = match patiently(&folder, &file) {
            Ok(()) => Some(folder),
            Err(TryLockError::WouldBlock) => return Err(TakeLockError::Taken(None)),
            Err(TryLockError::Error(_)) => None,
        };
        // Who it is helps a person and decides nothing.
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(TakeLockError::Io)?;
        Ok(Self { file, folder })
    }
}

impl Drop for Lock {
    /// Given back also where a process that is being started has inherited it.
    fn drop(&mut self) {
        // One that is not given back here is with the last that has it.
        Some(&self.file).into_iter().chain(&self.folder).for_each(|file| drop(file.unlock()));
    }
}

/// Takes a lock that another process may have for a moment: one that asks who has it, or one that is being started and has
/// inherited it until then. Where the process of the note is gone, only such a heir can have it, and is waited for longer:
/// on a loaded machine it may have no turn for a while.
fn patiently(file: &File, note: &File) -> Result<(), TryLockError> {
    let mut tries = 0;
    loop {
        tries += 1;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if tries < TRIES || tries < TRIES_OF_AN_HEIR && is_gone(note) => {
                thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Whether the process that is noted has ended, as far as the system shows processes as files.
fn is_gone(note: &File) -> bool {
    let of = |process: &str| Path::new("/proc").join(process).exists();
    noted(note).is_some_and(|process| of("self") && !of(&process.to_string()))
}

/// Who has a journal open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The process, when it had the time to say so.
    pub process: Option<u32>,
}

/// The holder of a folder's lock; `None` when it was never taken.
pub(crate) fn holder(folder: &Path) -> io::Result<Option<Holder>> {
    let file = match open_own(&folder.join(NAME), File::options().read(true)) {
        Ok(file) => file,
        Err(error) if error.is_absence() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match file.try_lock_shared() {
        // Given back at once.
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(Holder { process: noted(&file) })),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// How often it is tried.
const TRIES: u32 = 5;

/// How often it is tried where its process is gone: for five seconds.
const TRIES_OF_AN_HEIR: u32 = 2500;

const PAUSE: Duration = Duration::from_millis(2);

/// The process that is noted in the file.
fn noted(file: &File) -> Option<u32> {
    let mut text = [0; 16];
    let length = file.read_at(&mut text, 0).ok()?;
    str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
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

    #[test]
    fn an_heir_of_a_process_that_was_killed_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = std::process::Command::new("true").spawn().unwrap();
        process.wait().unwrap();
        // Its process is gone, and what it had started has the lock until it runs a program of its own.
        let heir = File::create(folder.path().join(NAME)).unwrap();
        writeln!(&heir, "{}", process.id()).unwrap();
        heir.try_lock().unwrap();
        let (tried, tries) = std::sync::mpsc::sync_channel(1);
        let taking = thread::scope(|scope| {
            let taking = scope.spawn(|| {
                tried.send(()).unwrap();
                Lock::take(folder.path())
            });
            tries.recv().unwrap();
            // Longer than a lock is waited for whose process lives.
            thread::sleep(PAUSE * TRIES * 4);
            drop(heir);
            taking.join().unwrap()
        });
        taking.unwrap();
    }

    #[test]
    fn a_lock_is_given_back_also_where_what_is_being_started_has_inherited_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        // As a process has them between its fork and its program.
        let _heirs = (first.file.try_clone().unwrap(), first.folder.as_ref().unwrap().try_clone().unwrap());
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn w06_a_lock_file_that_a_person_has_removed_lets_no_second_one_in() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        std::fs::remove_file(folder.path().join(NAME)).unwrap();
        assert!(matches!(Lock::take(folder.path()), Err(TakeLockError::Taken(None))));
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn what_is_planted_as_the_lock_is_neither_written_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, target) = (folder.path().join(NAME), folder.path().join("target"));
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &lock).unwrap();
        let refused = |expected: &str| {
            let Err(TakeLockError::Io(error)) = Lock::take(folder.path()) else { panic!("it is taken") };
            assert!(error.to_string().starts_with(expected), "{error}");
            let error = holder(folder.path()).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        };
        refused("it is a symbolic link; ");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        std::fs::remove_file(&lock).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        refused("it is a named pipe; ");
    }

    #[test]
    fn asking_who_has_it_takes_it_from_nobody() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(holder(folder.path()).unwrap(), None);
        assert!(!folder.path().join(NAME).exists());
        let first = Lock::take(folder.path()).unwrap();
        assert_eq!(holder(folder.path()).unwrap(), Some(Holder { process: Some(std::process::id()) }));
        drop(first);
        assert_eq!(holder(folder.path()).unwrap(), None);
        Lock::take(folder.path()).unwrap();
    }
}
