//! The log that is being written: one file after another, each of which begins when the one before is on the disk.
//!
//! It is not known here who waits for what, nor how a log is read.

use std::io;
use std::sync::Arc;

use crate::frame::{self, Frame};
use crate::header::{self, Header, Holds};
use crate::storage::{Storage, Stored, write_whole};

/// So much of a file is written before it is needed: the disk then has only contents to write and not the length of
/// the file as well. More at once makes a single append wait for it, less comes too often.
const AHEAD: u64 = 1 << 20;

/// The name of the segment whose first record is this one.
pub(crate) fn name(first: u64) -> String {
    format!("{first:020}{SUFFIX}")
}

/// The first record of the segment of this name; nothing when it is not the name of one.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    name.strip_suffix(SUFFIX)?.parse().ok()
}

const SUFFIX: &str = ".log";

/// The last segment, and what is known of it.
pub(crate) struct Log {
    storage: Arc<dyn Storage>,
    file: Box<dyn Stored>,
    salt: u32,
    /// How long a segment may become. A group that is longer gets one for itself.
    capacity: u64,
    zeros: Vec<u8>,
    at: u64,
    /// Up to here the file has been written.
    ahead: u64,
    first: u64,
    written: u64,
    synced: u64,
    /// The header says that records have been on the disk.
    is_noted: bool,
}

impl Log {
    /// A log that goes on with the record `first`; everything before it is on the disk.
    pub(crate) fn start(storage: Arc<dyn Storage>, salt: u32, first: u64, capacity: u64) -> io::Result<Self> {
        let file = begin(&*storage, salt, first)?;
        let (at, before) = (header::LENGTH as u64, first.saturating_sub(1));
        let (zeros, ahead) = (Vec::new(), at);
        let (written, synced, is_noted) = (before, before, false);
        Ok(Self { storage, file, salt, capacity, zeros, at, ahead, first, written, synced, is_noted })
    }

    /// Writes frames that begin with room for a mark; the last record among them is `last`.
    ///
    /// After an error the log must not be used any more.
    pub(crate) fn write(&mut self, frames: &mut [u8], last: u64) -> io::Result<()> {
        let length = frames.len() as u64;
        if self.at + length > self.capacity && self.at > header::LENGTH as u64 {
            self.rotate()?;
        }
        let mark = Frame::mark(self.synced).encode(self.salt);
        frames[..frame::LENGTH].copy_from_slice(&mark);
        self.file.write_at(self.at, frames)?;
        self.at += length;
        self.written = last;
        if self.at > self.ahead {
            self.write_ahead();
        }
        Ok(())
    }

    fn write_ahead(&mut self) {
        let wanted = (self.at + AHEAD).min(self.capacity).saturating_sub(self.at);
        let length = usize::try_from(wanted).unwrap_or(0);
        if self.zeros.len() < length {
            self.zeros.resize(length, 0);
        }
        // A disk that has room for the group and not for more is no reason to refuse the group.
        let done = self.file.write_at(self.at, &self.zeros[..length]);
        self.ahead = if done.is_ok() { self.at + wanted } else { self.at };
    }

    /// Whether something is written that may not be on the disk yet.
    pub(crate) fn is_dirty(&self) -> bool {
        self.synced < self.written
    }

    /// Has everything on the disk when it returns.
    ///
    /// After an error it is unknown what is on the disk, and a second attempt would not find out: the log must not be
    /// used any more.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.is_dirty() {
            self.file.sync()?;
            self.synced = self.written;
            if !self.is_noted {
                self.note()?;
            }
        }
        Ok(())
    }

    /// Notes in the header that there have been records, so that a file that is cut off behind it is not taken for a new
    /// one. The note is made when they are on the disk, and so is never there without them; it needs no synchronisation
    /// of its own, and a loss of power before the next one can cost it.
    fn note(&mut self) -> io::Result<()> {
        let header = Header { salt: self.salt, holds: Holds::Log { first: self.first, held: true } };
        self.file.write_at(0, &header.encode())?;
        self.is_noted = true;
        Ok(())
    }

    /// Begins the next segment, unless this one is empty.
    pub(crate) fn rotate(&mut self) -> io::Result<()> {
        self.sync()?;
        if self.written < self.first {
            return Ok(());
        }
        let first = self.written + 1;
        self.file = begin(&*self.storage, self.salt, first)?;
        (self.first, self.at, self.ahead) = (first, header::LENGTH as u64, header::LENGTH as u64);
        self.is_noted = false;
        Ok(())
    }

    /// Has everything on the disk and notes that it is.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.sync()?;
        let mark = Frame::mark(self.synced).encode(self.salt);
        self.file.write_at(self.at, &mark)
    }
}

fn begin(storage: &dyn Storage, salt: u32, first: u64) -> io::Result<Box<dyn Stored>> {
    let header = Header { salt, holds: Holds::Log { first, held: false } };
    write_whole(storage, &name(first), &[&header.encode()])
}
