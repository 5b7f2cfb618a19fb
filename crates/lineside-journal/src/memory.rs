//! The journal that survives nothing, but does everything else.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};

/// A journal in memory. A clone is the same journal, so a test can stop its user and start again with what was
/// kept.
///
/// ```
/// use lineside_core::journal::{Journal as _, Record};
/// use lineside_journal::MemoryJournal;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lineside_core::journal::Unavailable> {
/// let journal = MemoryJournal::new();
/// journal.append(vec![Record::new(1, b"a job".to_vec())]).await?;
/// assert_eq!(journal.recovered().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    records: Vec<(Sequence, Record)>,
    last: Sequence,
    up_to: Sequence,
    unavailable: Option<Unavailable>,
}

impl MemoryJournal {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds now, in order: those of the last snapshot, each with the sequence up to which it went, then those
    /// after it.
    #[must_use]
    pub fn recovered(&self) -> Vec<(Sequence, Record)> {
        self.lock().records.clone()
    }

    /// From now on it accepts nothing; without a reason it accepts again.
    pub fn set_unavailable(&self, why: Option<Unavailable>) {
        self.lock().unavailable = why;
    }

    fn keep(&self, records: Vec<Record>) -> Result<AppendAck, Unavailable> {
        let mut kept = self.lock();
        if let Some(why) = &kept.unavailable {
            return Err(why.clone());
        }
        for record in records {
            kept.last = kept.last.next();
            let last = kept.last;
            kept.records.push((last, record));
        }
        Ok(AppendAck { last: kept.last, durability: Durability::Memory })
    }

    fn replace(&self, snapshot: Vec<Record>, up_to: Sequence) -> Result<(), Unavailable> {
        let mut kept = self.lock();
        if let Some(why) = &kept.unavailable {
            return Err(why.clone());
        }
        if up_to > kept.last || up_to < kept.up_to {
            let (from, to) = (kept.up_to, kept.last);
            return Err(Unavailable::because(format!(
                "a checkpoint up to {up_to} is not between {from} and {to}"
            )));
        }
        let covered = kept.records.partition_point(|(sequence, _)| *sequence <= up_to);
        let later = kept.records.split_off(covered);
        kept.records = snapshot.into_iter().map(|record| (up_to, record)).chain(later).collect();
        kept.up_to = up_to;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn append(&self, records: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        Box::pin(ready(self.keep(records)))
    }

    fn checkpoint(&self, snapshot: Vec<Record>, up_to: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        Box::pin(ready(self.replace(snapshot, up_to)))
    }
}
