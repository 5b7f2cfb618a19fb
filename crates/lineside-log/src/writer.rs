//! The thread that writes, which makes this file the task owner of the crate: it takes what waits, writes it in one
//! transaction, and goes on whatever becomes of the store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::lock::Lock;
use crate::queue::{Batch, Queue, State};
use crate::record::Record;
use crate::retention::Retention;
use crate::store::{Store, StoreError, beside};

/// How a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What is kept.
    pub retention: Retention,
    /// How many records may wait to be written; 65,536. Further ones are lost, which is counted.
    pub waiting: usize,
    /// How many bytes those that wait keep alive, about; 64 MiB.
    pub waiting_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { retention: Retention::default(), waiting: 65_536, waiting_bytes: 64 << 20 }
    }
}

impl Options {
    /// Keeps this much.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// At most so many records wait, and so many bytes of them.
    #[must_use]
    pub fn waiting(mut self, records: usize, bytes: usize) -> Self {
        (self.waiting, self.waiting_bytes) = (records, bytes);
        self
    }
}

/// The thread cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("failed to start the thread that writes the log")]
pub struct OpenLogError(#[from] std::io::Error);

/// A log that is written. What is wrong with its store is no error but its [`state`](Self::state).
///
/// Dropping it writes what waits, and waits for that.
///
/// ```
/// use lineside_core::Timestamp;
/// use lineside_log::{Happened, Log, Look, Options, Query, Record};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("log.sqlite");
/// let log = Log::open(&file, Options::default())?;
/// log.offer(Record::Happened(Box::new(Happened::new(Timestamp::UNIX_EPOCH, "session_opened"))));
/// log.flush();
/// assert_eq!(log.state().written, 1);
/// let look = Look::open(&file)?;
/// assert!(look.decisions(&Query::default(), 50)?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Log {
    queue: Arc<Queue>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("state", &self.state()).finish_non_exhaustive()
    }
}

impl Log {
    /// Opens the log at a path, which is made with mode 0600 where it is not there. The store is opened by the thread that
    /// writes; one that is damaged is put aside, with `.damaged` added to its name, and a new one begun.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenLogError> {
        let queue = Arc::new(Queue::new((options.waiting, options.waiting_bytes)));
        let writer = Writer {
            queue: Arc::clone(&queue),
            path: path.to_owned(),
            options,
            lock: None,
            settled: None,
            store: None,
        };
        let thread =
            std::thread::Builder::new().name("lineside-log".to_owned()).spawn(move || writer.run())?;
        Ok(Self { queue, path: path.to_owned(), thread: Some(thread) })
    }

    /// Hands over a record. Never waits: what has no room is lost, and counted.
    pub fn offer(&self, record: Record) {
        self.queue.offer(record);
    }

    /// The decisions that are offered from now on were made by this generation of hooks.
    pub fn set_generation(&self, generation: u64) {
        self.queue.set_generation(generation);
    }

    /// Waits until everything that was offered so far is committed, or lost; where nothing can be written, no longer than for
    /// the next thousand of it. Blocks the thread.
    pub fn flush(&self) {
        self.queue.flush();
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.queue.state()
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.queue.end();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to write.
            thread.join().ok();
        }
    }
}

struct Writer {
    queue: Arc<Queue>,
    path: PathBuf,
    options: Options,
    lock: Option<Lock>,
    /// How many records are in the store or said to be lost there, of all processes; not known before it was opened.
    settled: Option<u64>,
    store: Option<Store>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.gone();
    }
}

/// Notes how many have come. What cannot be noted is not known to the next process, and costs nothing else.
fn note(lock: &mut Option<Lock>, came: u64) {
    lock.as_mut().map(|lock| lock.note(came).ok());
}

impl Writer {
    fn run(mut self) {
        // Opened at once, so that what is wrong with it is known before the first event.
        if let Err(error) = self.open() {
            self.queue.trouble(self.told(&error));
        }
        loop {
            let batch = self.queue.take(|came| note(&mut self.lock, came));
            let is_last = batch.is_last;
            let records = batch.records.len() as u64;
            if records > 0 || batch.lost > 0 {
                match self.write(&batch) {
                    Ok(()) => {
                        note(&mut self.lock, self.queue.came());
                        let pruned = self.open().and_then(Store::prune);
                        self.queue.settle(records, 0, pruned.err().map(|error| self.told(&error)));
                    }
                    Err(error) => {
                        self.queue.still_lost(batch.lost);
                        self.queue.settle(0, records, Some(self.told(&error)));
                        if self.queue.has_ended() {
                            // The others would wait for the store as long, each batch of them.
                            return;
                        }
                    }
                }
            }
            if is_last {
                return;
            }
        }
    }

    fn told(&self, error: &StoreError) -> String {
        format!("the decision log {} is not written: {error}", self.path.display())
    }

    fn open(&mut self) -> Result<&mut Store, StoreError> {
        Ok(self.opened()?.0)
    }

    /// The store, and what notes how many have come.
    fn opened(&mut self) -> Result<(&mut Store, &mut Option<Lock>, &Queue), StoreError> {
        if self.store.as_ref().is_some_and(|store| !store.is_at(&self.path)) {
            // Closed first: that takes its other files away.
            self.store = None;
            let path = self.path.display();
            self.queue.note(format!("the decision log {path} was taken away; a new one has begun"));
        }
        let store = match self.store.take() {
            Some(store) => store,
            None => self.begin()?,
        };
        Ok((self.store.insert(store), &mut self.lock, &self.queue))
    }

    /// Appends a batch; how many have come is noted again and again meanwhile, as a kill may come then too.
    fn append(&mut self, batch: &Batch, settled: u64) -> Result<(), StoreError> {
        let (store, lock, queue) = self.opened()?;
        store.append(batch, settled, &mut || note(lock, queue.came()))
    }

    /// Opens the store, and says in it how many records a process before had not written when it was killed.
    fn begin(&mut self) -> Result<Store, StoreError> {
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => Lock::take(&beside(&self.path, ".lock"))?,
        };
        let noted = self.lock.insert(lock).noted();
        let mut store = match Store::open(&self.path, self.options.retention) {
            Err(error) if error.is_damage() => {
                self.put_aside(&error)?;
                Store::open(&self.path, self.options.retention)?
            }
            opened => opened?,
        };
        if self.settled.is_none() {
            let settled = store.settled()?.unwrap_or(noted);
            let lost = noted.saturating_sub(settled);
            if lost > 0 {
                store.append(&Batch { lost, ..Batch::default() }, settled + lost, &mut || ())?;
                self.queue.note(format!(
                    "the last {lost} records of the run before, or a few more, are not in the decision log: it was killed \
                     before they were written"
                ));
            }
            self.settled = Some(settled + lost);
            self.queue.begin_at(settled + lost);
        }
        Ok(store)
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.open()?;
        let settled = self.settled.unwrap_or_default() + batch.records.len() as u64 + batch.lost;
        let written = match self.append(batch, settled) {
            Err(error) if error.is_damage() => {
                self.put_aside(&error)?;
                self.append(batch, settled)
            }
            Err(error) => {
                // What is wrong may be of the connection, as after a change of the file system below it.
                self.store = None;
                Err(error)
            }
            done => done,
        };
        written.inspect(|()| self.settled = Some(settled))
    }

    /// Keeps the damaged file under another name, in the place of one that was damaged earlier.
    fn put_aside(&mut self, error: &StoreError) -> Result<(), StoreError> {
        self.store = None;
        let aside = beside(&self.path, ".damaged");
        fs::rename(&self.path, &aside)?;
        for end in ["-wal", "-shm"] {
            match fs::remove_file(beside(&self.path, end)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let (path, aside) = (self.path.display(), aside.display());
        self.queue.note(format!(
            "the decision log {path} was damaged ({error}); it is {aside} now, and a new one has begun"
        ));
        Ok(())
    }
}
