//! The journal in files: opening, the port, closing.

use std::future::{poll_fn, ready};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lineside_core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};

use crate::checkpoint::Checkpoints;
use crate::findings::Finding;
use crate::lock::{Lock, TakeLockError};
use crate::notifier::Notifier;
use crate::promise::promise;
use crate::queue::{Pushed, Queue};
use crate::recovery::recover;
use crate::segment::Log;
use crate::storage::{Folder, Storage};
use crate::told;
use crate::writer::Writer;

/// How a journal is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What [`Journal::append`] waits for. On the disk by default.
    pub durability: Durability,
    /// With less than the disk: so long after a record was written it is on the disk all the same. 100 ms by default.
    ///
    /// A loss of power can cost what was acknowledged within this time.
    pub sync_within: Duration,
    /// How long a file of the log becomes, in bytes. 64 MiB by default: few files, and a checkpoint frees whole ones.
    pub segment: u64,
    /// So many bytes may wait in memory for the disk; then appends wait for room. 16 MiB by default.
    pub waiting: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Disk,
            sync_within: Duration::from_millis(100),
            segment: 64 << 20,
            waiting: 16 << 20,
        }
    }
}

/// Why a journal was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenJournalError {
    /// Another process, or another part of this one, has it open.
    #[error("{} is in use by {}", path.display(), holder.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who has it, when that can be found out.
        holder: Option<u32>,
    },
    /// A newer programme wrote it. Nothing was changed in that file.
    #[error("{file} is of version {found} of the format, and {known} is the newest that is known here")]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version that can be read.
        known: u32,
    },
    /// The file system refused.
    #[error("the journal's files cannot be used")]
    Io(#[from] io::Error),
}

/// A journal in a folder of its own, which no other process can open meanwhile.
///
/// Dropping it waits until everything that was appended is on the disk, which blocks the thread; [`Self::close`] says
/// whether that went well.
///
/// ```
/// use lineside_core::journal::{Journal, Record};
/// use lineside_journal::{EmbeddedJournal, Options};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let folder = tempfile::tempdir()?;
/// let journal = EmbeddedJournal::open(folder.path(), Options::default())?;
/// let receipt = journal.append(vec![Record::new(1, "accepted")]).await?;
/// assert_eq!(receipt.last.0, 1);
/// journal.close()?;
///
/// let journal = EmbeddedJournal::open(folder.path(), Options::default())?;
/// let (sequence, record) = journal.recovered().next().ok_or("nothing recovered")?;
/// assert_eq!((sequence.0, record.kind, record.bytes.as_slice()), (1, 1, b"accepted".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EmbeddedJournal {
    queue: Arc<Queue>,
    checkpoints: Arc<Checkpoints>,
    durability: Durability,
    recovered: Mutex<Vec<(Sequence, Record)>>,
    findings: Vec<Finding>,
    writer: Mutex<Option<JoinHandle<Result<(), Unavailable>>>>,
    lock: Mutex<Option<Lock>>,
}

impl EmbeddedJournal {
    /// Opens the journal in a folder, which is created where it does not exist.
    ///
    /// Reads all of it and puts right what an interruption or damage has left: see [`Self::findings`]. Blocks the
    /// thread meanwhile, for about a second for a gigabyte.
    ///
    /// # Errors
    ///
    /// When another process has it open, when a newer programme wrote it, or when its files cannot be read and written.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenJournalError> {
        let path = path.as_ref();
        let storage = Arc::new(Folder::open(path)?);
        let lock = Lock::take(path).map_err(|error| match error {
            TakeLockError::Taken(holder) => OpenJournalError::Locked { path: path.to_path_buf(), holder },
            TakeLockError::Io(error) => OpenJournalError::Io(error),
        })?;
        Self::open_in(storage, Some(lock), &options)
    }

    pub(crate) fn open_in(
        storage: Arc<dyn Storage>,
        lock: Option<Lock>,
        options: &Options,
    ) -> Result<Self, OpenJournalError> {
        let salt = salt();
        let mut recovery = recover(&*storage, salt)?;
        recovery.findings = told::anew(&*storage, recovery.findings)?;
        let log = Log::start(Arc::clone(&storage), salt, recovery.next, options.segment)?;
        let queue = Arc::new(Queue::new(salt, recovery.next, options.waiting));
        let writer = Writer {
            queue: Arc::clone(&queue),
            log,
            notifier: Notifier::start()?,
            sync_within: options.sync_within,
        };
        let thread = thread::Builder::new().name("lineside-journal".to_owned());
        let writer = thread.spawn(move || writer.run())?;
        let up_to = Mutex::new(recovery.up_to);
        let checkpoints = Checkpoints { storage, queue: Arc::clone(&queue), salt, up_to };
        Ok(Self {
            queue,
            checkpoints: Arc::new(checkpoints),
            durability: options.durability,
            recovered: Mutex::new(recovery.records),
            findings: recovery.findings,
            writer: Mutex::new(Some(writer)),
            lock: Mutex::new(lock),
        })
    }

    /// The records that were there when it was opened, in order: those of the last snapshot, each with the sequence up
    /// to which it went, then those after it.
    ///
    /// They are given once; a second call gives none.
    pub fn recovered(&self) -> impl Iterator<Item = (Sequence, Record)> + use<> {
        std::mem::take(&mut *self.recovered.lock().unwrap_or_else(PoisonError::into_inner)).into_iter()
    }

    /// What else was found when it was opened, without what an earlier opening has reported.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The sequence of the last record that was appended, acknowledged or not.
    #[must_use]
    pub fn last(&self) -> Sequence {
        self.queue.last()
    }

    /// Like [`Journal::append`], with a durability of its own.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn append_with(
        &self,
        records: Vec<Record>,
        durability: Durability,
    ) -> BoxFuture<Result<AppendAck, Unavailable>> {
        match self.queue.push(&records, durability) {
            Pushed::Accepted(acknowledged) => Box::pin(acknowledged),
            Pushed::Refused(why) => Box::pin(ready(Err(why))),
            Pushed::Full => {
                let queue = Arc::clone(&self.queue);
                Box::pin(async move { poll_fn(|cx| queue.poll_push(&records, durability, cx)).await?.await })
            }
        }
    }

    /// Waits until everything that was appended is on the disk, and gives the journal back to others, also where it is still
    /// in use here: what is appended from then on is refused. A further call waits for the first. Blocks the thread.
    ///
    /// # Errors
    ///
    /// [`Unavailable`] when it was so before, or became so now: then not everything is on the disk.
    pub fn close(&self) -> Result<(), Unavailable> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ends) = writer.take() else { return Ok(()) };
        self.queue.close();
        let ended = ends.join().unwrap_or_else(|_| Err(Unavailable::because("its writer ended")));
        // One that is under way still writes, and the files are ours only until here.
        self.checkpoints.wait();
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        ended
    }
}

impl Journal for EmbeddedJournal {
    fn append(&self, records: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        self.append_with(records, self.durability)
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn checkpoint(&self, snapshot: Vec<Record>, up_to: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        let checkpoints = Arc::clone(&self.checkpoints);
        let (owed, promised) = promise();
        let thread = thread::Builder::new().name("lineside-checkpoint".to_owned());
        let spawned = thread.spawn(move || owed.keep(checkpoints.make(&snapshot, up_to)));
        match spawned {
            Ok(_) => Box::pin(promised),
            Err(error) => {
                Box::pin(ready(Err(Unavailable::because(format!("no checkpoint was made: {error}")))))
            }
        }
    }
}

impl Drop for EmbeddedJournal {
    fn drop(&mut self) {
        // `close` returns the error.
        drop(self.close());
    }
}

/// An unpredictable number.
fn salt() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;
