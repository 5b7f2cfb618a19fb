//! The sessions that were closed lately, so that an event that comes late does not open one of them again.

use std::collections::hash_map::RandomState;
use std::collections::{HashSet, VecDeque};
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
    order: VecDeque<u64>,
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
        while kept.order.len() > self.most {
            if let Some(oldest) = kept.order.pop_front() {
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
        if self.closed.remove(&hash) {
            self.order.retain(|closed| *closed != hash);
        }
    }
}
