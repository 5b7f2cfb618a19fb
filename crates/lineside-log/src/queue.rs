//! What waits for the writer: bounded by count and bytes. A producer never waits; what has no room is counted.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::record::Record;

/// How many records are written in one transaction, about, and how long the first of them waits for others.
const BATCH: usize = 1_000;
const EVERY: Duration = Duration::from_millis(200);

/// How often it is noted meanwhile how many have come.
const NOTED: Duration = Duration::from_millis(20);

/// How a log stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// How many records wait to be written.
    pub waiting: usize,
    /// How many records were written since it was opened.
    pub written: u64,
    /// How many were lost since then: the queue was full, or they could not be written.
    pub lost: u64,
    /// Why the last of them could not be written; `None` once others are written again.
    pub trouble: Option<String>,
    /// What was found when it was opened or has happened to it since, such as a damaged file that was put aside.
    pub notes: Vec<String>,
}

/// The queue between those that know something and the writer.
pub(crate) struct Queue {
    most: (usize, usize),
    inner: Mutex<Inner>,
    /// Something came that the writer may wait for.
    wakes: Condvar,
    /// Something was written, or given up.
    done: Condvar,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<(Record, usize, u64)>,
    bytes: usize,
    /// The generation of hooks that is in force.
    generation: u64,
    /// What was lost since the writer last looked.
    lost: u64,
    /// How many have come to the store: what it has from before, and what has come since, also what had no room.
    came: u64,
    offered: u64,
    taken: u64,
    settled: u64,
    hurried: bool,
    ended: bool,
    /// The writer is.
    gone: bool,
    state: State,
}

/// What the writer takes at a time.
#[derive(Default)]
pub(crate) struct Batch {
    /// Each with the generation of hooks that was in force when it came.
    pub(crate) records: Vec<(Record, u64)>,
    /// How many were lost before them.
    pub(crate) lost: u64,
    /// Nothing comes after it.
    pub(crate) is_last: bool,
}

impl Queue {
    /// A queue of at most so many records, and so many bytes of them together.
    pub(crate) fn new(most: (usize, usize)) -> Self {
        Self { most, inner: Mutex::default(), wakes: Condvar::new(), done: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record, or counts it as lost.
    pub(crate) fn offer(&self, record: Record) {
        let weight = record.weight();
        let mut inner = self.lock();
        inner.came += 1;
        let is_full = inner.waiting.len() >= self.most.0 || inner.bytes + weight > self.most.1;
        if inner.ended || is_full && !inner.waiting.is_empty() {
            inner.lost += 1;
            inner.state.lost += 1;
            return;
        }
        let generation = inner.generation;
        inner.bytes += weight;
        inner.offered += 1;
        inner.waiting.push_back((record, weight, generation));
        // The writer is woken for the first, and once more when there is enough for a transaction.
        let wakes = matches!(inner.waiting.len(), 1 | BATCH);
        drop(inner);
        if wakes {
            self.wakes.notify_one();
        }
    }

    pub(crate) fn set_generation(&self, generation: u64) {
        self.lock().generation = generation;
    }

    /// There are so many in the store, or are said to be lost there.
    pub(crate) fn begin_at(&self, settled: u64) {
        self.lock().came += settled;
    }

    /// Waits until there is something, and a little longer for what belongs to the same transaction. How many have come is
    /// noted again and again meanwhile.
    pub(crate) fn take(&self, mut note: impl FnMut(u64)) -> Batch {
        let inner = self.lock();
        // A loss alone wakes nothing: what cannot be written now is not tried again for itself.
        let idle = |inner: &mut Inner| inner.waiting.is_empty() && !inner.ended;
        let inner = self.wakes.wait_while(inner, idle).unwrap_or_else(PoisonError::into_inner);
        let few = |inner: &mut Inner| inner.waiting.len() < BATCH && !inner.hurried && !inner.ended;
        let mut inner = inner;
        for _ in 0..EVERY.as_millis() / NOTED.as_millis() {
            if !few(&mut inner) {
                break;
            }
            let came = inner.came;
            drop(inner);
            note(came);
            let waited = self.wakes.wait_timeout_while(self.lock(), NOTED, few);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inner.hurried = false;
        let count = inner.waiting.len().min(BATCH);
        let mut batch = Batch { records: Vec::with_capacity(count), ..Batch::default() };
        for _ in 0..count {
            let Some((record, weight, generation)) = inner.waiting.pop_front() else { break };
            inner.bytes -= weight;
            batch.records.push((record, generation));
        }
        inner.taken += count as u64;
        batch.lost = std::mem::take(&mut inner.lost);
        batch.is_last = inner.ended && inner.waiting.is_empty();
        let came = inner.came;
        drop(inner);
        note(came);
        batch
    }

    /// Of the last batch so many were written, and the others were not, for this reason.
    pub(crate) fn settle(&self, written: u64, lost: u64, trouble: Option<String>) {
        let mut inner = self.lock();
        inner.settled = inner.taken;
        inner.state.written += written;
        inner.state.lost += lost;
        inner.lost += lost;
        if lost > 0 || written > 0 {
            inner.state.trouble = trouble;
        }
        drop(inner);
        self.done.notify_all();
    }

    /// What was lost is to be said again: the row that says it could not be written.
    pub(crate) fn still_lost(&self, lost: u64) {
        self.lock().lost += lost;
    }

    /// The store could not be opened; nothing was lost by that yet.
    pub(crate) fn trouble(&self, trouble: String) {
        self.lock().state.trouble = Some(trouble);
    }

    /// Notes what a person should know; the latest of a few.
    pub(crate) fn note(&self, note: String) {
        const MOST: usize = 8;
        let mut inner = self.lock();
        if inner.state.notes.len() == MOST {
            inner.state.notes.remove(0);
        }
        inner.state.notes.push(note);
    }

    /// Waits until everything that was offered so far is written or lost; no longer than for a batch where nothing can be
    /// written.
    pub(crate) fn flush(&self) {
        let mut inner = self.lock();
        let (wanted, begun) = (inner.offered, inner.settled);
        inner.hurried = true;
        self.wakes.notify_one();
        let is_vain = |inner: &Inner| inner.settled > begun && inner.state.trouble.is_some();
        while inner.settled < wanted && !inner.gone && !is_vain(&inner) {
            inner.hurried = true;
            let waited = self.done.wait_timeout(inner, EVERY).unwrap_or_else(PoisonError::into_inner);
            inner = waited.0;
            self.wakes.notify_one();
        }
    }

    /// How many have come.
    pub(crate) fn came(&self) -> u64 {
        self.lock().came
    }

    /// No record is taken any more.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.wakes.notify_one();
    }

    /// Whether no record is taken any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// The writer has ended.
    pub(crate) fn gone(&self) {
        let mut inner = self.lock();
        (inner.ended, inner.gone) = (true, true);
        drop(inner);
        self.done.notify_all();
    }

    pub(crate) fn state(&self) -> State {
        let inner = self.lock();
        State { waiting: inner.waiting.len(), ..inner.state.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_and_the_last_is_taken_however_long_it_is() {
        let queue = Queue::new((2, 1_000));
        for _ in 0..5 {
            queue.offer(Record::Lost(1));
        }
        assert_eq!(queue.state().lost, 3);
        queue.flush_soon();
        let batch = queue.take(|_| {});
        assert_eq!((batch.records.len(), batch.lost), (2, 3));
        let small = Queue::new((9, 1));
        small.offer(Record::Lost(1));
        small.offer(Record::Lost(1));
        assert_eq!(small.state().lost, 1);
    }

    impl Queue {
        fn flush_soon(&self) {
            self.lock().hurried = true;
        }
    }
}
