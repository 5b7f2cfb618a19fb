//! Sessions whose publishers believe in other hooks than they are under: the latest of them, for the status.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use lineside::core::{CoverageMismatch, Receipt};

/// How many are kept.
const MOST: usize = 32;

/// How many characters of a digest are shown.
const SHOWN: usize = 12;

/// The latest mismatches, one for each session, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Mismatches(Mutex<(u64, VecDeque<Mismatch>)>);

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Mismatch {
    session: String,
    coverage: CoverageMismatch,
}

impl Mismatches {
    /// Notes that of a receipt, if it has one.
    pub(crate) fn note(&self, receipt: &Receipt) {
        let Some(CoverageMismatch { believed, in_force }) = receipt.coverage.as_deref() else { return };
        // What the publisher has stated may be of any length.
        let short = |digest: &str| Arc::from(digest.chars().take(SHOWN).collect::<String>());
        let coverage = CoverageMismatch { believed: short(believed), in_force: short(in_force) };
        let session = receipt.event.envelope().source.session.to_string();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, latest) = &mut *kept;
        *count += 1;
        latest.retain(|other| other.session != session);
        if latest.len() >= MOST {
            latest.pop_front();
        }
        latest.push_back(Mismatch { session, coverage });
    }

    /// How many there were, and the latest of them for people.
    pub(crate) fn told(&self) -> (u64, Vec<String>) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.0, kept.1.iter().map(Mismatch::to_string).collect())
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { session, coverage: CoverageMismatch { believed, in_force } } = self;
        write!(
            f,
            "session `{session}` believes it is under the hooks {}, and is under {}; open it anew after hooks have \
             changed, or look at its parent",
            believed, in_force,
        )
    }
}
