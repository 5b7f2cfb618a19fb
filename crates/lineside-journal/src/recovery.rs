//! What a journal does when it is opened: reads everything, puts right what can be, and says what it found.
//!
//! What was damaged is copied to a file of its own before anything is written over it. Each step may be interrupted
//! and is then done again at the next opening.

use std::io;

use lineside_core::journal::{Record, Sequence};

use crate::embedded::OpenJournalError;
use crate::findings::Finding;
use crate::frame::Frame;
use crate::header::{self, Beginning, Header, Holds};
use crate::scan::{Damage, Found, Scan, scan};
use crate::storage::{Storage, UNFINISHED, write_whole};
use crate::{checkpoint, segment, version0};

/// What was there.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) records: Vec<(Sequence, Record)>,
    pub(crate) findings: Vec<Finding>,
    /// Up to where the snapshot stands for the records.
    pub(crate) up_to: u64,
    /// The first sequence that is free.
    pub(crate) next: u64,
}

/// Reads a journal and puts it right. New files get this salt.
pub(crate) fn recover(storage: &dyn Storage, salt: u32) -> Result<Recovery, OpenJournalError> {
    let mut names = storage.names()?;
    for unfinished in names.iter().filter(|name| name.ends_with(UNFINISHED)) {
        storage.remove(unfinished)?;
    }
    // What is removed because another file stands for it is removed when that has its name for certain.
    storage.sync_names()?;
    names.sort_unstable();
    let mut recovery = Recovery::default();
    recovery.read_snapshot(storage, &names)?;
    recovery.next = recovery.up_to + 1;
    let mut logs: Vec<u64> = names.iter().filter_map(|name| segment::first_of(name)).collect();
    logs.sort_unstable();
    for (index, first) in logs.iter().enumerate() {
        let last = logs.get(index + 1).map(|next| next.saturating_sub(1));
        if last.is_some_and(|last| last <= recovery.up_to) {
            // The checkpoint was interrupted here.
            storage.remove(&segment::name(*first))?;
            continue;
        }
        recovery.read_log(storage, salt, *first, last)?;
    }
    Ok(recovery)
}

impl Recovery {
    fn read_snapshot(&mut self, storage: &dyn Storage, names: &[String]) -> Result<(), OpenJournalError> {
        let mut snapshots: Vec<u64> = names.iter().filter_map(|name| checkpoint::up_to_of(name)).collect();
        snapshots.sort_unstable();
        let mut found = false;
        for up_to in snapshots.into_iter().rev() {
            let name = checkpoint::name(up_to);
            if found {
                // The checkpoint was interrupted here.
                storage.remove(&name)?;
                continue;
            }
            let file = storage.read(&name)?;
            let Some(Header { salt, holds: Holds::Snapshot { count, .. } }) = known(&name, &file)? else {
                self.put_aside(storage, &name)?;
                continue;
            };
            found = true;
            let scan = scan(&file, salt, 1, Some(count));
            let in_snapshot = Sequence(up_to);
            let records = scan.records.iter().map(|found| (in_snapshot, record(&file, found)));
            self.records.extend(records);
            for (first, last) in &scan.missing {
                self.findings.push(Finding::Missing { first: Sequence(*first), last: Sequence(*last) });
            }
            self.quarantine(storage, &name, &file, salt, &scan.damages)?;
            self.up_to = up_to;
        }
        Ok(())
    }

    fn read_log(
        &mut self,
        storage: &dyn Storage,
        new_salt: u32,
        first: u64,
        last: Option<u64>,
    ) -> Result<(), OpenJournalError> {
        let name = segment::name(first);
        let mut file = storage.read(&name)?;
        if header::read(&file) == Beginning::Version0 {
            file = self.migrate(storage, &name, &file, new_salt, first)?;
        }
        let Some(Header { salt, holds: Holds::Log { held, .. } }) = known(&name, &file)? else {
            self.put_aside(storage, &name)?;
            return Ok(());
        };
        self.miss(self.next, first.saturating_sub(1));
        let mut scan = scan(&file, salt, first, last);
        if file.len() < header::LENGTH || held && scan.is_empty {
            let bytes = file.len().min(scan.end) as u64;
            self.findings.push(Finding::Cut { file: name.clone(), bytes });
            if last.is_some() {
                // Nothing is in it, and that its records are missing is found without it.
                storage.remove(&name)?;
            }
        }
        scan.records.retain(|found| found.sequence > self.up_to);
        let records = scan.records.iter().map(|found| (Sequence(found.sequence), record(&file, found)));
        self.records.extend(records);
        for (first, last) in &scan.missing {
            self.miss(*first, *last);
        }
        self.next = self.next.max(scan.next);
        self.quarantine(storage, &name, &file, salt, &scan.damages)?;
        if last.is_none() {
            self.finish(storage, &name, &file, &scan)?;
        }
        Ok(())
    }

    /// Has the last segment end where its last whole append does, all of it on the disk.
    fn finish(&mut self, storage: &dyn Storage, name: &str, file: &[u8], scan: &Scan) -> io::Result<()> {
        let mut stored = storage.open(name)?;
        let torn = &file[scan.torn.start.min(file.len())..scan.torn.end.min(file.len())];
        if !torn.is_empty() {
            let (kept_in, bytes) = (beside(name, scan.torn.start), torn.len() as u64);
            write_whole(storage, &kept_in, &[torn])?;
            self.findings.push(Finding::TornTail { file: name.to_owned(), bytes, kept_in });
        }
        stored.cut(scan.end as u64)?;
        // What was read may have come from the memory of the system after an attempt to bring it to the disk failed;
        // what is written once more is known to be there.
        if scan.synced < scan.end {
            stored.write_at(scan.synced as u64, &file[scan.synced..scan.end])?;
        }
        stored.sync()
    }

    fn migrate(
        &mut self,
        storage: &dyn Storage,
        name: &str,
        old: &[u8],
        salt: u32,
        first: u64,
    ) -> io::Result<Vec<u8>> {
        let migrated = version0::migrate(old, salt, first);
        let rest = &old[migrated.read..];
        if !rest.is_empty() {
            let (kept_in, bytes) = (beside(name, migrated.read), rest.len() as u64);
            write_whole(storage, &kept_in, &[rest])?;
            self.findings.push(Finding::TornTail { file: name.to_owned(), bytes, kept_in });
        }
        write_whole(storage, name, &[&migrated.file])?;
        self.findings.push(Finding::Migrated { file: name.to_owned(), from: 0 });
        Ok(migrated.file)
    }

    /// Moves damaged bytes away and lays a gap over their place.
    fn quarantine(
        &mut self,
        storage: &dyn Storage,
        name: &str,
        file: &[u8],
        salt: u32,
        damages: &[Damage],
    ) -> io::Result<()> {
        for damage in damages {
            let kept_in = beside(name, damage.bytes.start);
            write_whole(storage, &kept_in, &[&file[damage.bytes.clone()]])?;
            if let Some(gap) = Frame::gap(damage.first, damage.bytes.len()) {
                let mut stored = storage.open(name)?;
                let mut covered = vec![0; damage.bytes.len()];
                let gap = gap.encode(salt);
                covered[..gap.len()].copy_from_slice(&gap);
                stored.write_at(damage.bytes.start as u64, &covered)?;
                stored.sync()?;
            }
            let (first, last) = (Sequence(damage.first), Sequence(damage.last));
            self.findings.push(Finding::Damaged { file: name.to_owned(), first, last, kept_in });
        }
        Ok(())
    }

    fn put_aside(&mut self, storage: &dyn Storage, name: &str) -> io::Result<()> {
        let kept_in = format!("{name}{DAMAGED}");
        storage.rename(name, &kept_in)?;
        storage.sync_names()?;
        self.findings.push(Finding::Unreadable { file: name.to_owned(), kept_in });
        Ok(())
    }

    fn miss(&mut self, first: u64, last: u64) {
        let first = first.max(self.up_to + 1);
        if first <= last {
            self.findings.push(Finding::Missing { first: Sequence(first), last: Sequence(last) });
        }
    }
}

/// How the name of a file ends that holds what was damaged.
const DAMAGED: &str = ".damaged";

/// The name for what stood at a place of a file.
fn beside(name: &str, at: usize) -> String {
    format!("{name}.at-{at}{DAMAGED}")
}

/// The header, when it can be read.
fn known(name: &str, file: &[u8]) -> Result<Option<Header>, OpenJournalError> {
    match header::read(file) {
        Beginning::Known(header) => Ok(Some(header)),
        Beginning::Newer(found) => {
            let (file, known) = (name.to_owned(), header::VERSION);
            Err(OpenJournalError::Newer { file, found, known })
        }
        Beginning::Version0 | Beginning::Unreadable => Ok(None),
    }
}

fn record(file: &[u8], found: &Found) -> Record {
    Record::new(found.kind, &file[found.bytes.clone()])
}

#[cfg(test)]
mod tests {
    use lineside_core::journal::Sequence;

    use super::{Finding, Recovery, beside};

    #[test]
    fn what_a_snapshot_covers_is_not_missing() {
        let mut recovery = Recovery { up_to: 5, ..Recovery::default() };
        recovery.miss(3, 5);
        recovery.miss(3, 8);
        assert_eq!(recovery.findings, [Finding::Missing { first: Sequence(6), last: Sequence(8) }]);
    }

    #[test]
    fn what_stood_at_different_places_of_a_file_is_kept_in_files_of_its_own() {
        assert_eq!(beside("00000001.log", 128), "00000001.log.at-128.damaged");
        assert_ne!(beside("00000001.log", 128), beside("00000001.log", 256));
    }
}
