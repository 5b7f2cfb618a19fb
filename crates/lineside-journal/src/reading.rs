//! Reads a journal without opening it: its records and its faults, whether a process has it open or not.
//!
//! It takes no lock and changes no file. What recovery would put right is put right in memory.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use lineside_core::journal::{Record, Sequence};

use crate::embedded::{EmbeddedJournal, OpenJournalError};
use crate::findings::Finding;
use crate::lock::{self, Holder};
use crate::overlay::Overlay;
use crate::recovery::{Recovery, recover};
use crate::storage::{Folder, Storage};

/// What was there when a journal was looked at.
#[derive(Debug)]
pub struct Reading {
    /// The records in order: those of the last snapshot, each with the sequence up to which it went, then those after it.
    pub records: Vec<(Sequence, Record)>,
    /// What is wrong. Nothing was changed: the files that it names as kept are made by the next opening.
    pub findings: Vec<Finding>,
    /// Up to where a snapshot stands in the place of the records; 0 without one.
    pub up_to: Sequence,
    /// The last sequence that was given.
    pub last: Sequence,
    /// Who had it open meanwhile.
    pub holder: Option<Holder>,
}

/// A file that goes while it is read, and one that is read while it is written, is read again so often.
const TRIES: usize = 20;

/// How long a writer has for what it was doing.
const PAUSE: Duration = Duration::from_millis(2);

impl EmbeddedJournal {
    /// Reads the journal in a folder without opening it: nothing is created, repaired or locked, and the process that has it
    /// open goes on meanwhile. What that one appends during the reading may or may not be among the records; of one
    /// append there are all or none.
    ///
    /// Blocks the thread, for about a second for a gigabyte.
    ///
    /// # Errors
    /// There is no such folder, a newer programme wrote it, or its files cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Reading, OpenJournalError> {
        let path = path.as_ref();
        let folder = Folder::existing(path)?;
        read(&folder, || lock::holder(path))
    }
}

/// Reads until what was read hangs together.
fn read(
    storage: &dyn Storage,
    holder: impl Fn() -> io::Result<Option<Holder>>,
) -> Result<Reading, OpenJournalError> {
    let mut tries = 0..TRIES;
    loop {
        let last_try = tries.next().is_none();
        let before = holder()?;
        let read = recover(&Overlay::over(storage), 0);
        let held = before.or(holder()?);
        match read {
            Ok(recovery) if held.is_none() || last_try || !is_damaged(&recovery) => {
                return Ok(reading(recovery, held));
            }
            Err(OpenJournalError::Io(error)) if error.kind() == io::ErrorKind::NotFound && !last_try => {}
            Err(error) => return Err(error),
            // A page that was read before it was written looks the same as damage.
            Ok(_) => {}
        }
        thread::sleep(PAUSE);
    }
}

fn is_damaged(recovery: &Recovery) -> bool {
    recovery.findings.iter().any(|finding| !is_end(finding))
}

/// Whether it is only that the last group is not whole.
fn is_end(finding: &Finding) -> bool {
    matches!(finding, Finding::TornTail { .. })
}

fn reading(recovery: Recovery, holder: Option<Holder>) -> Reading {
    let Recovery { records, mut findings, up_to, next } = recovery;
    if holder.is_some() {
        // Its last group is being written.
        findings.retain(|finding| !is_end(finding));
    }
    let last = Sequence(next.saturating_sub(1));
    Reading { records, findings, up_to: Sequence(up_to), last, holder }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use lineside_core::journal::Journal;

    use super::*;
    use crate::Options;
    use crate::promise::block_on;
    use crate::segment;
    use crate::storage::fake::Fake;

    fn journal(disk: &Fake) -> EmbeddedJournal {
        let options = Options { segment: 4096, ..Options::default() };
        EmbeddedJournal::open_in(Arc::new(disk.clone()), None, &options).unwrap()
    }

    /// Appends these one after another, and gives the place of the last.
    fn append(journal: &EmbeddedJournal, texts: &[&str]) -> Sequence {
        let append = |text: &&str| block_on(journal.append(vec![Record::new(1, *text)])).unwrap().last;
        texts.iter().map(append).last().unwrap()
    }

    fn texts(reading: &Reading) -> Vec<(u64, String)> {
        let text = |record: &Record| String::from_utf8(record.bytes.clone()).unwrap();
        reading.records.iter().map(|(sequence, record)| (sequence.0, text(record))).collect()
    }

    fn one_two() -> Vec<(u64, String)> {
        vec![(1, "one".to_owned()), (2, "two".to_owned())]
    }

    fn files(disk: &Fake) -> Vec<(String, Vec<u8>)> {
        let mut names = disk.names().unwrap();
        names.sort();
        names.into_iter().map(|name| (name.clone(), disk.read(&name).unwrap())).collect()
    }

    fn unheld() -> io::Result<Option<Holder>> {
        Ok(None)
    }

    fn held() -> io::Result<Option<Holder>> {
        Ok(Some(Holder { process: Some(7) }))
    }

    #[test]
    fn it_finds_what_opening_finds_and_changes_nothing() {
        let disk = Fake::default();
        let open = journal(&disk);
        append(&open, &["one", "two", "three"]);
        let whole = disk.read(&segment::name(1)).unwrap().len();
        for at in (0..whole).step_by(7) {
            let disk = disk.after_kill();
            disk.edit(&segment::name(1), |file| file[at] ^= 0x20);
            let before = files(&disk);
            let looked = read(&disk, unheld).unwrap();
            assert_eq!(files(&disk), before, "byte {at}");
            let opened = journal(&disk);
            assert_eq!(looked.findings, opened.findings(), "byte {at}");
            assert_eq!(looked.records, opened.recovered().collect::<Vec<_>>(), "byte {at}");
            assert_eq!(looked.last, opened.last(), "byte {at}");
        }
    }

    #[test]
    fn the_group_that_somebody_is_writing_is_no_damage() {
        let disk = Fake::default();
        let open = journal(&disk);
        append(&open, &["one", "two", "three"]);
        let disk = disk.after_kill();
        disk.edit(&segment::name(1), |file| {
            let three = file.windows(5).position(|bytes| bytes == b"three").unwrap();
            file.truncate(three + 2);
        });
        let held = read(&disk, held).unwrap();
        assert_eq!((texts(&held), &held.findings[..]), (one_two(), &[][..]));
        let left = read(&disk, unheld).unwrap();
        assert_eq!(texts(&left), one_two());
        assert!(matches!(left.findings[..], [Finding::TornTail { .. }]), "{:?}", left.findings);
    }

    #[test]
    fn what_looks_damaged_while_somebody_writes_is_read_again() {
        let disk = Fake::default();
        let open = journal(&disk);
        append(&open, &["one", "two"]);
        let disk = disk.after_kill();
        let whole = disk.read(&segment::name(1)).unwrap();
        disk.edit(&segment::name(1), |file| {
            let one = file.windows(3).position(|bytes| bytes == b"one").unwrap();
            file[one] = 0;
        });
        // The page that was read too early is there at the fourth look.
        let looks = Cell::new(0);
        let reading = read(&disk, || {
            looks.set(looks.get() + 1);
            if looks.get() == 7 {
                disk.edit(&segment::name(1), |file| file.clone_from(&whole));
            }
            held()
        });
        let reading = reading.unwrap();
        assert_eq!((texts(&reading), &reading.findings[..]), (one_two(), &[][..]));
        assert_eq!(looks.get(), 8);
    }

    #[test]
    fn damage_that_stays_is_told_although_somebody_has_it() {
        let disk = Fake::default();
        let open = journal(&disk);
        append(&open, &["one", "two"]);
        let disk = disk.after_kill();
        disk.edit(&segment::name(1), |file| {
            let one = file.windows(3).position(|bytes| bytes == b"one").unwrap();
            file[one] = 0;
        });
        let reading = read(&disk, held).unwrap();
        assert_eq!(texts(&reading), one_two()[1..]);
        assert!(matches!(reading.findings[..], [Finding::Damaged { .. }]), "{:?}", reading.findings);
    }

    #[test]
    fn a_snapshot_says_up_to_where_it_goes() {
        let disk = Fake::default();
        let open = journal(&disk);
        let up_to = append(&open, &["one", "two"]);
        block_on(open.checkpoint(vec![Record::new(1, "both")], up_to)).unwrap();
        append(&open, &["three"]);
        let reading = read(&disk, unheld).unwrap();
        assert_eq!((reading.up_to, reading.last), (Sequence(2), Sequence(3)));
        assert_eq!(texts(&reading), [(2, "both".to_owned()), (3, "three".to_owned())]);
    }
}
