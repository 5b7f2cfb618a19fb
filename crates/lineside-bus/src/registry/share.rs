//! What part of all sessions a tree of them has, or several trees together, or what is below one session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_core::Source;

/// What sessions take together: those that are open, that come to their end, or that something open below them is under.
/// It counts in what it is within as well. Changed under the lock of the tree.
pub(crate) struct Share {
    sessions: AtomicUsize,
    bytes: AtomicUsize,
    /// What part of everything it is at most, and how far below the root.
    part: usize,
    level: usize,
    within: Option<Arc<Self>>,
}

/// What part a tree of sessions has at most.
pub(super) const PART: usize = 8;
/// What part of that each session keeps for itself of what it has from above, so that nothing below it takes all.
const KEPT: usize = 64;

/// How many sessions there are at most, and how long their texts are together, in bytes. Each tree of sessions has a part of
/// that, and what is below a session in it a part of its own: it leaves room for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) sessions: usize,
    pub(crate) bytes: usize,
}

/// How long the texts of a session are, in bytes.
pub(super) fn weight(source: &Source) -> usize {
    source.session.as_str().len() + source.agent.id.len() + source.weight()
}

impl Share {
    /// A part of another one, or of everything.
    pub(crate) fn of(part: usize, within: Option<Arc<Self>>) -> Arc<Self> {
        let [sessions, bytes] = [0, 0].map(AtomicUsize::new);
        Arc::new(Self { sessions, bytes, part: part.max(1), level: 0, within })
    }

    /// That of a session below one with this share.
    pub(super) fn below(self: &Arc<Self>) -> Arc<Self> {
        let [sessions, bytes] = [0, 0].map(AtomicUsize::new);
        let level = self.level.saturating_add(1).min(KEPT);
        Arc::new(Self { sessions, bytes, part: self.part, level, within: Some(Arc::clone(self)) })
    }

    /// It and those that it is within.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |share| share.within.as_deref())
    }

    /// Whether it has room for a session with texts of this length.
    pub(super) fn has_room(&self, bytes: usize, most: Most) -> bool {
        self.all().all(|share| {
            let [sessions, taken] =
                [&share.sessions, &share.bytes].map(|count| count.load(Ordering::Relaxed));
            let part = |all: usize| all / share.part - all / share.part / KEPT * share.level;
            sessions < part(most.sessions) && taken.saturating_add(bytes) <= part(most.bytes)
        })
    }

    pub(super) fn take(&self, bytes: usize) {
        for share in self.all() {
            share.sessions.fetch_add(1, Ordering::Relaxed);
            share.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn give_back(&self, bytes: usize) {
        for share in self.all() {
            share.sessions.fetch_sub(1, Ordering::Relaxed);
            share.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}
