//! The sessions that were closed lately, so that an event that comes late does not open one of them again.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher as _;

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// How many are remembered.
const MOST: usize = 1 << 20;

/// The sessions that were closed last; the ones before are forgotten, the oldest first.
///
/// Of each its hash is kept: 8 bytes whatever its id, and with a key that is known to this process alone.
pub(crate) struct Closed {
    key: RandomState,
    kept: Mutex<Kept>,
    most: usize,
}

/// Who opens a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OpenedBy {
    /// A program that asks for it.
    #[default]
    Request,
    /// An event that may come late.
    Event,
}

#[derive(Default)]
struct Kept {
    closed: HashSet<u64>,
    /// As they were closed, with those that were opened again since.
    order: VecDeque<u64>,
    /// How often these stand there for what was opened again; that is before where they stand for being closed.
    reopened: HashMap<u64, usize>,
    /// How many of those there are.
    stale: usize,
}

impl Default for Closed {
    fn default() -> Self {
        Self::most(MOST)
    }
}

impl Closed {
    pub(crate) fn most(most: usize) -> Self {
        Self { key: RandomState::new(), kept: Mutex::default(), most }
    }

    /// This one is about to be closed, if it is the one that is open still and not one before it.
    pub(crate) fn note(&self, id: &str, is_open: impl FnOnce() -> bool) {
        let hash = self.key.hash_one(id);
        let mut kept = self.kept();
        if !is_open() || !kept.closed.insert(hash) {
            return;
        }
        kept.order.push_back(hash);
        while kept.closed.len() > self.most {
            if let Some(oldest) = kept.order.pop_front()
                && !kept.was_reopened(oldest)
            {
                kept.closed.remove(&oldest);
            }
        }
    }

    /// Opens a session; `None` where it was closed and an event does not open it again. It is one step: what closes the
    /// session does so before it, or closes the one that it has opened.
    pub(crate) fn opening<T, E>(
        &self,
        id: &str,
        by: OpenedBy,
        open: impl FnOnce() -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let hash = self.key.hash_one(id);
        let mut kept = self.kept();
        if by == OpenedBy::Event && kept.closed.contains(&hash) {
            return None;
        }
        let opened = open();
        if opened.is_ok() {
            kept.forget(hash);
        }
        Some(opened)
    }

    /// This one is about to be opened again, and is not open.
    pub(crate) fn forget(&self, id: &str) {
        let hash = self.key.hash_one(id);
        self.kept().forget(hash);
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.kept().closed.contains(&self.key.hash_one(id))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget(&mut self, hash: u64) {
        if !self.closed.remove(&hash) {
            return;
        }
        *self.reopened.entry(hash).or_default() += 1;
        self.stale += 1;
        // All of them at once, so that each costs little of a walk through very many.
        if self.stale > self.closed.len().max(1_024) {
            let order = std::mem::take(&mut self.order);
            self.order = order.into_iter().filter(|hash| !self.was_reopened(*hash)).collect();
        }
    }

    /// Whether this place in the order, the first of its kind, is that of something that was opened again.
    fn was_reopened(&mut self, hash: u64) -> bool {
        let Entry::Occupied(mut times) = self.reopened.entry(hash) else { return false };
        *times.get_mut() -= 1;
        if *times.get() == 0 {
            times.remove();
        }
        self.stale -= 1;
        true
    }
}
