//! When the journal is compacted, and how: a snapshot of the machine in the place of the records that led to it.
//!
//! The snapshot is taken under the lock together with the effects that are still to be done, so it stands for exactly
//! the records up to the last of those. Publishers wait for no more than that: it is written down and put in
//! place beside everything else, and what is appended meanwhile stays.

use std::sync::Arc;

use lineside_bus::Signal;
use lineside_core::Notice;
use lineside_core::journal::{Journal, Sequence, Unavailable};

use super::Engine;
use crate::offered::Offered;
use crate::record::{Entry, Record};

/// So many times as many records as jobs make a compaction worth its while: it writes one for each job, and takes away
/// three at least.
const TIMES: u64 = 4;

/// How many records there have been since the last snapshot.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    since: u64,
    /// With fewer there is none.
    least: u64,
    /// How many there were when the one that is under way began.
    under_way: Option<u64>,
}

impl Compaction {
    pub(super) fn new(since: usize, least: usize) -> Self {
        Self { since: since as u64, least: least as u64, under_way: None }
    }

    pub(super) fn appended(&mut self, records: usize) {
        self.since += records as u64;
    }

    /// Whether one is to begin, with so many jobs that a snapshot would have.
    pub(super) fn is_due(&self, jobs: usize) -> bool {
        self.under_way.is_none() && self.since >= self.least.max(TIMES.saturating_mul(jobs as u64))
    }

    /// One begins. The records that it stands for and that are still to be appended count for the next one: they are
    /// few.
    pub(super) fn begin(&mut self) {
        self.under_way = Some(std::mem::take(&mut self.since));
    }

    /// One has ended; after one that failed there are to be as many records again before the next.
    fn ended(&mut self, done: bool) {
        let before = self.under_way.take().unwrap_or_default();
        if !done {
            self.since += before;
            self.least = self.least.max(self.since.saturating_mul(2));
        }
    }
}

/// Puts a snapshot in the place of all records up to one.
pub(super) async fn compact(
    engine: Arc<Engine>,
    journal: Arc<dyn Journal>,
    snapshot: Vec<Record<Offered>>,
    up_to: Sequence,
) {
    let unreadable = Arc::clone(&engine.unreadable);
    let written = engine.tasks.compute(move || write(&unreadable, &snapshot)).await;
    let done = match written {
        Ok(entries) => journal.checkpoint(entries, up_to).await,
        Err(why) => Err(why),
    };
    engine.core().compaction.ended(done.is_ok());
    if let (Err(why), Some(bus)) = (done, engine.bus.upgrade()) {
        let notice =
            Notice::warning(format!("the journal of jobs grows, because it cannot be compacted: {why}"));
        bus.signal(|| Signal::Announced { notice });
    }
}

/// The snapshot as it is kept, behind what cannot be read here and is kept for a version that can.
fn write(unreadable: &[Entry], snapshot: &[Record<Offered>]) -> Result<Vec<Entry>, Unavailable> {
    let written =
        snapshot.iter().map(|record| record.write().map_err(|error| Unavailable::because(error.to_string())));
    unreadable.iter().cloned().map(Ok).chain(written).collect()
}
