//! A file system for tests: what was not synchronised can be lost or torn, and any operation can be made to fail.
//!
//! It keeps two states of every file: what processes see, and what is on the disk for certain, with the changes in
//! between. A kill leaves the first; a loss of power leaves the second, with as much of the changes as the test says.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Storage, Stored};

/// A clone is the same file system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<Disk>>);

#[derive(Debug, Clone, Default)]
struct Disk {
    names: BTreeMap<String, usize>,
    certain_names: BTreeMap<String, usize>,
    files: Vec<Contents>,
    fails: Option<(Operation, u64)>,
    failed: Option<Operation>,
    syncs_after_failure: u64,
}

#[derive(Debug, Default, Clone)]
struct Contents {
    seen: Vec<u8>,
    certain: Vec<u8>,
    since: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

/// What can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Write,
    Sync,
    Create,
}

const SECTOR: usize = 512;

impl Fake {
    /// From now on, the `nth` of these operations fails, counted from 0, and all of them after it.
    pub(crate) fn fail(&self, operation: Operation, nth: u64) {
        self.lock().fails = Some((operation, nth));
    }

    /// How often a synchronisation was asked for after one had failed.
    pub(crate) fn syncs_after_failure(&self) -> u64 {
        self.lock().syncs_after_failure
    }

    /// The same files as a process finds them that starts after this one was killed.
    pub(crate) fn after_kill(&self) -> Self {
        let disk = self.lock().clone();
        Self(Arc::new(Mutex::new(Disk { fails: None, failed: None, syncs_after_failure: 0, ..disk })))
    }

    /// The same files after a loss of power. Of each sector that was changed and not synchronised, `survives` says
    /// whether it came to the disk.
    pub(crate) fn after_power_loss(&self, mut survives: impl FnMut() -> bool) -> Self {
        let mut disk = self.lock().clone();
        for file in &mut disk.files {
            for change in std::mem::take(&mut file.since) {
                apply(&mut file.certain, &change, &mut survives);
            }
            file.seen.clone_from(&file.certain);
        }
        disk.names.clone_from(&disk.certain_names);
        Self(Arc::new(Mutex::new(Disk { fails: None, failed: None, syncs_after_failure: 0, ..disk })))
    }

    /// Changes what a file holds, on the disk as well.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut disk = self.lock();
        let file = disk.names[name];
        let contents = &mut disk.files[file];
        edit(&mut contents.seen);
        contents.certain.clone_from(&contents.seen);
        contents.since.clear();
    }

    /// Puts a file there.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let mut file = self.create(name).unwrap();
        file.write_at(0, bytes).unwrap();
        file.sync().unwrap();
        self.sync_names().unwrap();
    }

    /// The names that end so.
    pub(crate) fn named(&self, suffix: &str) -> Vec<String> {
        self.lock().names.keys().filter(|name| name.ends_with(suffix)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }
}

fn apply(file: &mut Vec<u8>, change: &Change, survives: &mut impl FnMut() -> bool) {
    match change {
        Change::Cut(length) => {
            if survives() {
                file.resize(*length, 0);
            }
        }
        Change::Write(at, bytes) => {
            let mut from = 0;
            while from < bytes.len() {
                let to = bytes.len().min(from + SECTOR - (at + from) % SECTOR);
                if survives() {
                    write(file, at + from, &bytes[from..to]);
                }
                from = to;
            }
        }
    }
}

fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if file.len() < at + bytes.len() {
        file.resize(at + bytes.len(), 0);
    }
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

impl Disk {
    fn perform(&mut self, operation: Operation) -> io::Result<()> {
        if self.failed == Some(Operation::Sync) && operation == Operation::Sync {
            self.syncs_after_failure += 1;
        }
        if self.failed == Some(operation) {
            return Err(error(operation));
        }
        match &mut self.fails {
            Some((failing, 0)) if *failing == operation => {
                (self.failed, self.fails) = (Some(operation), None);
                Err(error(operation))
            }
            Some((failing, left)) if *failing == operation => {
                *left -= 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn file(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn error(operation: Operation) -> io::Error {
    match operation {
        Operation::Write | Operation::Create => io::ErrorKind::StorageFull.into(),
        Operation::Sync => io::Error::other("the disk did not answer"),
    }
}

impl Storage for Fake {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().names.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let disk = self.lock();
        Ok(disk.files[disk.file(name)?].seen.clone())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Stored>> {
        let mut disk = self.lock();
        disk.perform(Operation::Create)?;
        let file = disk.files.len();
        disk.files.push(Contents::default());
        disk.names.insert(name.to_owned(), file);
        Ok(Box::new(FakeFile { disk: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Stored>> {
        let file = self.lock().file(name)?;
        Ok(Box::new(FakeFile { disk: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.lock();
        let file = disk.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        disk.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.lock().names.remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut disk = self.lock();
        disk.perform(Operation::Sync)?;
        disk.certain_names = disk.names.clone();
        Ok(())
    }
}

struct FakeFile {
    disk: Fake,
    file: usize,
}

impl Stored for FakeFile {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let at = usize::try_from(at).unwrap();
        let done = disk.perform(Operation::Write);
        // Before a disk is full, a part goes in.
        let bytes = if done.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        let contents = &mut disk.files[self.file];
        write(&mut contents.seen, at, bytes);
        contents.since.push(Change::Write(at, bytes.to_vec()));
        done
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let done = disk.perform(Operation::Sync);
        let contents = &mut disk.files[self.file];
        // After a failure, Linux takes what was not written for written: no later call will write it.
        let since = std::mem::take(&mut contents.since);
        if done.is_ok() {
            since.iter().for_each(|change| apply(&mut contents.certain, change, &mut || true));
        }
        done
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let length = usize::try_from(length).unwrap();
        let contents = &mut disk.files[self.file];
        contents.seen.resize(length, 0);
        contents.since.push(Change::Cut(length));
        Ok(())
    }
}
