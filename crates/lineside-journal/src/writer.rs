//! The thread that writes: takes all that waits, writes it, has it synchronised, and says so.
//!
//! While the disk is busy with one group, the next gathers. Nothing is said before it is true, and after the first
//! error nothing is said any more but that.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_core::journal::{Durability, Unavailable};

use crate::notifier::Notifier;
use crate::queue::{Queue, Taken, Work};
use crate::segment::Log;

pub(crate) struct Writer {
    pub(crate) queue: Arc<Queue>,
    pub(crate) log: Log,
    pub(crate) notifier: Notifier,
    /// So long after it was written, everything is on the disk, also without a request.
    pub(crate) sync_within: Duration,
}

impl Writer {
    /// Writes until the queue is closed or something fails.
    pub(crate) fn run(mut self) -> Result<(), Unavailable> {
        let mut ended =
            Ended { queue: Arc::clone(&self.queue), why: Unavailable::because("its writer ended") };
        let outcome = self.write_all();
        ended.why = match &outcome {
            Ok(()) => Unavailable::because("it was closed"),
            Err(error) => broken(error),
        };
        outcome.map_err(|_| ended.why.clone())
    }

    fn write_all(&mut self) -> io::Result<()> {
        let mut spare = Vec::new();
        let mut dirty_since: Option<Instant> = None;
        loop {
            let patience = dirty_since.map(|since| self.sync_within.saturating_sub(since.elapsed()));
            match self.queue.take(std::mem::take(&mut spare), patience) {
                Work::Write(taken) => spare = self.write(taken)?,
                Work::Rotate(asked) => {
                    let done = self.log.rotate();
                    let answer = done.as_ref().copied().map_err(broken);
                    asked.into_iter().for_each(|asked| asked.keep(answer.clone()));
                    done?;
                }
                Work::Nothing => self.log.sync()?,
                Work::Close => return self.log.close(),
            }
            if dirty_since.is_some_and(|since| since.elapsed() >= self.sync_within) {
                self.log.sync()?;
            }
            dirty_since = self.log.is_dirty().then(|| dirty_since.unwrap_or_else(Instant::now));
        }
    }

    fn write(&mut self, mut taken: Taken) -> io::Result<Vec<u8>> {
        let done = self.write_group(&mut taken);
        if let Err(error) = &done {
            taken.group.failed(&broken(error));
        }
        done.map(|()| taken.frames)
    }

    fn write_group(&mut self, taken: &mut Taken) -> io::Result<()> {
        if taken.frames.len() > crate::frame::LENGTH {
            self.log.write(&mut taken.frames, taken.last)?;
        }
        if taken.wanted < Durability::Disk {
            self.notifier.tell(Arc::clone(&taken.group), taken.appends, Durability::Process);
            return Ok(());
        }
        self.log.sync()?;
        self.notifier.tell(Arc::clone(&taken.group), taken.appends, Durability::Disk);
        Ok(())
    }
}

fn broken(error: &io::Error) -> Unavailable {
    Unavailable::because(format!("{error}; it has to be opened again"))
}

/// Notifies all waiters when the writer has ended, however it did.
struct Ended {
    queue: Arc<Queue>,
    why: Unavailable,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.queue.fail(&self.why);
    }
}
