//! When the journal is compacted: when a snapshot is worth its while.

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
    pub(super) fn ended(&mut self, done: bool) {
        let before = self.under_way.take().unwrap_or_default();
        if !done {
            self.since += before;
            self.least = self.least.max(self.since.saturating_mul(2));
        }
    }
}
