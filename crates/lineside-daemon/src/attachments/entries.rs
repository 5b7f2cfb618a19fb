//! What programs register: read, compiled and weighed before anything of it is registered, so that this needs no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside::DeclaredHook;
use lineside::core::Reach;
use lineside::dialects::within;

use super::{Attachments, MOST_BYTES, not_attached};
use crate::aside::Load;
use crate::problem::Problem;
use crate::shares::{Share, Tree};

/// How long what a program declares of one hook may be, in bytes.
pub(super) const LONGEST_ENTRY: usize = 64 << 10;

/// What the patterns of all hooks of one request may compile to, before it is known whether they have room.
pub(super) const MOST_READ: usize = MOST_BYTES / 8;

/// What is to be registered.
pub(crate) struct Entry {
    /// The token of the program.
    pub(crate) owner: String,
    pub(crate) called: String,
    pub(crate) reach: Reach,
    pub(crate) name: String,
    /// As in a file, in JSON.
    pub(crate) text: String,
}

/// The same, with its patterns compiled.
pub(crate) struct ReadEntry {
    pub(super) entry: Entry,
    pub(super) hook: Result<Weighed, Problem>,
}

/// A hook with what it takes, which counts from then on.
pub(super) struct Weighed {
    pub(super) hook: DeclaredHook,
    pub(super) bytes: usize,
    pub(super) patterns: Patterns,
    pub(super) shares: Option<[Share; 2]>,
}

/// What the patterns of a hook have compiled to, for as long as it is there.
pub(super) struct Patterns {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Patterns {
    fn of(all: &Arc<AtomicUsize>, bytes: usize) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        Self { all: Arc::clone(all), bytes }
    }
}

impl Drop for Patterns {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        self.called.len() + self.text.len()
    }
}

/// Compiles what is in an entry.
pub(super) fn declared(entry: Entry) -> (Entry, Result<DeclaredHook, Problem>) {
    let bytes = entry.bytes();
    if bytes > LONGEST_ENTRY {
        let detail = format!("the entry of the hook has {bytes} bytes, at most {LONGEST_ENTRY} are possible");
        return (entry, Err(Problem::bad_request(detail)));
    }
    let hook = DeclaredHook::read(&entry.called, &entry.text).map_err(|error| not_attached(&error));
    (entry, hook)
}

impl Attachments {
    /// Reads what is to be registered by something of this tree of processes, beside the requests of others and without
    /// any lock. What it takes counts from then on. Cancel safe.
    pub(crate) async fn read(&self, entries: Vec<Entry>, tree: Option<Tree>) -> Vec<ReadEntry> {
        let read = async move {
            let all = || entries.into_iter().map(declared).collect::<Vec<_>>();
            within(MOST_READ, all).0
        };
        let read = self.reading.run(Load::large(tree), read).await;
        read.into_iter().map(|read| self.weighed(read, tree)).collect()
    }

    pub(super) fn weighed(
        &self,
        (entry, hook): (Entry, Result<DeclaredHook, Problem>),
        tree: Option<Tree>,
    ) -> ReadEntry {
        let hook = hook.and_then(|hook| {
            let bytes = entry.bytes() + hook.compiled();
            let patterns = Patterns::of(&self.patterns, hook.compiled());
            let shares = tree.map(|tree| self.shares(tree, bytes)).transpose()?;
            Ok(Weighed { hook, bytes, patterns, shares })
        });
        ReadEntry { entry, hook }
    }
}
