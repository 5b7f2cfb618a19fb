//! One file in the place of many records: the snapshot, and the removal of what it stands for.
//!
//! It is done on a thread of its own, so that appends go on meanwhile. The snapshot is on the disk under its name
//! before the first older file is removed; what an interruption leaves behind is removed at the next opening.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use lineside_core::journal::{Record, Sequence, Unavailable};

use crate::frame::{Append, Frame, Role, checksum};
use crate::header::{Header, Holds};
use crate::queue::Queue;
use crate::segment;
use crate::storage::{Storage, write_whole};

/// The name of the snapshot that stands for the records up to this one.
pub(crate) fn name(up_to: u64) -> String {
    format!("{up_to:020}{SUFFIX}")
}

/// For which records the snapshot of this name stands; nothing when it is not the name of one.
pub(crate) fn up_to_of(name: &str) -> Option<u64> {
    name.strip_suffix(SUFFIX)?.parse().ok()
}

const SUFFIX: &str = ".snapshot";

/// Makes checkpoints, one at a time.
pub(crate) struct Checkpoints {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) salt: u32,
    /// Up to where the last one went.
    pub(crate) up_to: Mutex<u64>,
}

impl Checkpoints {
    /// Puts the snapshot in the place of the records. Blocks until that is done.
    pub(crate) fn make(&self, snapshot: &[Record], up_to: Sequence) -> Result<(), Unavailable> {
        let mut reached = self.up_to.lock().unwrap_or_else(PoisonError::into_inner);
        if up_to.0 < *reached {
            let why = format!("a checkpoint up to {up_to} comes after one up to {}", *reached);
            return Err(Unavailable::because(why));
        }
        let last = self.queue.last();
        if up_to > last {
            return Err(Unavailable::because(format!(
                "a checkpoint up to {up_to} is asked for, and the last record is {last}"
            )));
        }
        // The present segment can be removed only when it is not the last any more.
        self.queue.rotate().wait()?;
        let failed = |error: io::Error| Unavailable::because(format!("no checkpoint was made: {error}"));
        self.write(snapshot, up_to).map_err(failed)?;
        *reached = up_to.0;
        self.remove_older(up_to).map_err(failed)
    }

    /// Waits until none is under way.
    pub(crate) fn wait(&self) {
        drop(self.up_to.lock());
    }

    fn write(&self, snapshot: &[Record], up_to: Sequence) -> io::Result<()> {
        let holds = Holds::Snapshot { up_to: up_to.0, count: snapshot.len() as u64 };
        let mut frames = Vec::new();
        for (sequence, record) in (1..).zip(snapshot) {
            let (role, kind, length) = (Role::Record, record.kind, record.bytes.len());
            let checksum = checksum(self.salt, &record.bytes);
            let frame = Frame { role, sequence, kind, append: Append::Ends, length, checksum };
            frames.extend_from_slice(&frame.encode(self.salt));
            frames.extend_from_slice(&record.bytes);
        }
        let header = Header { salt: self.salt, holds }.encode();
        write_whole(&*self.storage, &name(up_to.0), &[&header, &frames]).map(drop)
    }

    fn remove_older(&self, up_to: Sequence) -> io::Result<()> {
        let names = self.storage.names()?;
        for older in names.iter().filter(|name| up_to_of(name).is_some_and(|other| other < up_to.0)) {
            self.storage.remove(older)?;
        }
        let mut logs: Vec<u64> = names.iter().filter_map(|name| segment::first_of(name)).collect();
        logs.sort_unstable();
        for pair in logs.windows(2).filter(|pair| pair[1] <= up_to.0 + 1) {
            self.storage.remove(&segment::name(pair[0]))?;
        }
        self.storage.sync_names()
    }
}
