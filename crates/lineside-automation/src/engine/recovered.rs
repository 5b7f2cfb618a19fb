//! From what a journal had to the machine, and what of it could not be used.

use std::fmt;

use lineside_core::journal::Sequence;

use crate::machine::{Bounds, Machine, ReplayError};
use crate::offered::Offered;
use crate::record::{Entry, Record, RecordError};

/// What was recovered of an earlier life.
#[derive(Debug, Default)]
pub struct Recovered {
    /// How many jobs are not settled.
    pub live: usize,
    /// How many rest in the dead letters.
    pub dead: usize,
    /// What could not be used. Everything else counts.
    pub findings: Vec<RecordFinding>,
}

/// Something in a journal that could not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordFinding {
    /// An entry that is no record, or of a newer version. It stays in the journal.
    Unreadable {
        /// Its place; several entries of a snapshot have the same.
        at: Sequence,
        /// Why it cannot be read.
        error: RecordError,
    },
    /// A record that does not fit to those before it. It is dropped.
    Misfit {
        /// Its place; several records of a snapshot have the same.
        at: Sequence,
        /// What does not fit.
        trouble: ReplayError,
    },
}

impl fmt::Display for RecordFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { at, error } => {
                write!(f, "record {at} cannot be used: {error}")?;
                match std::error::Error::source(error) {
                    Some(source) => write!(f, ": {source}"),
                    None => Ok(()),
                }
            }
            Self::Misfit { at, trouble } => write!(f, "record {at} is dropped: {trouble}"),
        }
    }
}

/// What the engine starts with.
pub(super) struct Earlier {
    pub(super) machine: Machine<Offered>,
    /// Up to where the journal goes.
    pub(super) last: Sequence,
    /// How many entries there were.
    pub(super) entries: usize,
    /// Those that cannot be read here. They are kept for a programme that can.
    pub(super) unreadable: Vec<Entry>,
}

impl Earlier {
    pub(super) fn nothing(bounds: Bounds) -> Self {
        Self { machine: Machine::new(bounds), last: Sequence::default(), entries: 0, unreadable: Vec::new() }
    }

    pub(super) fn read(
        bounds: Bounds,
        entries: &mut dyn Iterator<Item = (Sequence, Entry)>,
    ) -> (Self, Recovered) {
        let mut earlier = Self::nothing(bounds);
        let (mut places, mut findings) = (Vec::new(), Vec::new());
        let readable = entries.filter_map(|(at, entry)| {
            earlier.last = at;
            earlier.entries += 1;
            match Record::read(&entry) {
                Ok(record) => {
                    places.push(at);
                    Some(record)
                }
                Err(error) => {
                    findings.push(RecordFinding::Unreadable { at, error });
                    earlier.unreadable.push(entry);
                    None
                }
            }
        });
        let (mut machine, troubles) = Machine::recover(bounds, readable);
        // Each of them may be about a job and a run that nothing else is known of.
        machine.skip_numbers(earlier.unreadable.len() as u64);
        earlier.machine = machine;
        findings.extend(troubles.into_iter().map(|trouble| {
            let at = places.get(trouble.place()).copied().unwrap_or(earlier.last);
            RecordFinding::Misfit { at, trouble }
        }));
        let (live, dead) = (earlier.machine.live(), earlier.machine.dead_letters().count());
        (earlier, Recovered { live, dead, findings })
    }
}
