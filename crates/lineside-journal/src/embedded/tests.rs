//! The journal on a file system that fails, forgets and tears.

use std::sync::Arc;

use lineside_core::journal::{Journal, Record, Sequence, Unavailable};

use super::*;
use crate::promise::block_on;
use crate::storage::fake::{Fake, Operation};
use crate::{frame, header, segment};

mod cut;
mod missing;
mod model;

const LATE: Duration = Duration::from_secs(3600);

fn options() -> Options {
    Options { segment: 4096, sync_within: LATE, ..Options::default() }
}

fn open(disk: &Fake) -> EmbeddedJournal {
    EmbeddedJournal::open_in(Arc::new(disk.clone()), None, &options()).unwrap()
}

fn append(journal: &EmbeddedJournal, texts: &[&str]) -> Result<Sequence, Unavailable> {
    let records = texts.iter().map(|text| Record::new(1, *text)).collect();
    block_on(journal.append(records)).map(|receipt| receipt.last)
}

fn recovered(journal: &EmbeddedJournal) -> Vec<(u64, String)> {
    let text = |record: Record| String::from_utf8(record.bytes).unwrap();
    journal.recovered().map(|(sequence, record)| (sequence.0, text(record))).collect()
}

fn found(disk: &Fake) -> Vec<(u64, String)> {
    recovered(&open(&disk.after_kill()))
}

/// Sequences and texts of records that were appended one after another from `first` on.
fn numbered(first: u64, texts: &[&str]) -> Vec<(u64, String)> {
    (first..).zip(texts).map(|(sequence, text)| (sequence, (*text).to_owned())).collect()
}

fn written(disk: &Fake, name: &str) -> usize {
    disk.read(name).unwrap().iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

#[test]
fn wherever_the_last_group_is_cut_the_acknowledged_ones_are_there_and_it_is_whole_or_not_at_all() {
    let disk = Fake::default();
    let journal = open(&disk);
    append(&journal, &["one"]).unwrap();
    append(&journal, &["two", "three"]).unwrap();
    let acknowledged = written(&disk, &segment::name(1));
    append(&journal, &["four", "five", "six"]).unwrap();
    let end = written(&disk, &segment::name(1));
    for cut in acknowledged..=end {
        for how in
            [|file: &mut Vec<u8>, cut| file.truncate(cut), |file: &mut Vec<u8>, cut| file[cut..].fill(0)]
        {
            let disk = disk.after_kill();
            disk.edit(&segment::name(1), |file| how(file, cut));
            let reopened = open(&disk);
            let all = numbered(1, &["one", "two", "three", "four", "five", "six"]);
            let kept = if cut == end { 6 } else { 3 };
            assert_eq!(recovered(&reopened), all[..kept], "cut at {cut}");
            // A mark that is whole, and nothing behind it, is no torn end; its last byte is a zero.
            let mark = cut == acknowledged + frame::LENGTH || cut == acknowledged + frame::LENGTH - 1;
            let torn = cut > acknowledged && cut < end;
            let reported = matches!(reopened.findings(), [Finding::TornTail { .. }]);
            assert!(torn == reported || mark, "cut at {cut}: {:?}", reopened.findings());
            assert_eq!(append(&reopened, &["more"]).unwrap(), Sequence(kept as u64 + 1));
            assert_eq!(found(&disk).len(), kept + 1);
        }
    }
}

#[test]
fn a_flipped_bit_costs_one_record_at_most_and_is_reported_once() {
    let disk = Fake::default();
    let journal = open(&disk);
    let texts = ["one", "two", "three", "four", "five", "six"];
    append(&journal, &texts[..1]).unwrap();
    append(&journal, &texts[1..4]).unwrap();
    append(&journal, &texts[4..5]).unwrap();
    append(&journal, &texts[5..]).unwrap();
    journal.close().unwrap();
    let all = numbered(1, &texts);
    for at in 0..written(&disk, &segment::name(1)) {
        let disk = disk.after_kill();
        disk.edit(&segment::name(1), |file| file[at] ^= 1 << (at % 8));
        let reopened = open(&disk);
        let left = recovered(&reopened);
        assert!(left.iter().all(|record| all.contains(record)), "byte {at}: {left:?}");
        assert!(left.is_sorted() && left.len() >= 5, "byte {at}: {left:?}");
        if at < header::LENGTH {
            assert_eq!((left.len(), reopened.findings()), (6, [].as_slice()), "byte {at}");
            continue;
        }
        let [Finding::Damaged { kept_in, .. } | Finding::TornTail { kept_in, .. }] = reopened.findings()
        else {
            panic!("byte {at}: {:?}", reopened.findings());
        };
        assert!(!disk.read(kept_in).unwrap().is_empty());
        drop(reopened);
        let again = open(&disk);
        assert_eq!(again.findings(), [], "byte {at}");
        assert_eq!(recovered(&again), left, "byte {at}");
        assert_eq!(append(&again, &["more"]).unwrap(), Sequence(7), "byte {at}");
    }
}

#[test]
fn a_damaged_record_is_named_and_kept_aside() {
    let disk = Fake::default();
    let journal = open(&disk);
    append(&journal, &["one", "two", "three"]).unwrap();
    append(&journal, &["four"]).unwrap();
    disk.edit(&segment::name(1), |file| {
        let two = file.windows(3).position(|bytes| bytes == b"two").unwrap();
        file[two] = b'T';
    });
    let disk = disk.after_kill();
    let reopened = open(&disk);
    let left: Vec<_> = recovered(&reopened).into_iter().map(|(sequence, _)| sequence).collect();
    assert_eq!(left, [1, 3, 4]);
    let [Finding::Damaged { first: Sequence(2), last: Sequence(2), kept_in, .. }] = reopened.findings()
    else {
        panic!("{:?}", reopened.findings());
    };
    assert!(disk.read(kept_in).unwrap().ends_with(b"Two"));
}

#[test]
fn bytes_that_look_like_records_are_not_taken_for_some() {
    let disk = Fake::default();
    let journal = open(&disk);
    append(&journal, &["inner"]).unwrap();
    let file = disk.read(&segment::name(1)).unwrap();
    block_on(journal.append(vec![Record::new(2, &file[header::LENGTH..][..100])])).unwrap();
    append(&journal, &["after"]).unwrap();
    // The header of the outer record is lost, so the reader looks for the next one.
    disk.edit(&segment::name(1), |file| {
        // Before it stand the first mark, the first record and the second mark.
        let frames = file.windows(4).enumerate().filter(|(_, bytes)| *bytes == b"\xA7lsr");
        let outer = frames.map(|(at, _)| at).nth(3).unwrap();
        file[outer + 9] ^= 1;
    });
    assert_eq!(found(&disk), [(1, "inner".to_owned()), (3, "after".to_owned())]);
}

#[test]
fn after_a_failed_synchronisation_nothing_is_acknowledged_and_none_is_tried_again() {
    let disk = Fake::default();
    let journal = open(&disk);
    append(&journal, &["one"]).unwrap();
    disk.fail(Operation::Sync, 0);
    let why = append(&journal, &["two"]).unwrap_err();
    assert_eq!(
        why.to_string(),
        "the journal is unavailable: the disk did not answer; it has to be opened again"
    );
    assert_eq!(append(&journal, &["three"]), Err(why.clone()));
    assert_eq!(block_on(journal.checkpoint(vec![], Sequence(1))), Err(why.clone()));
    assert_eq!(journal.close(), Err(why));
    assert_eq!(disk.syncs_after_failure(), 0);
    assert_eq!(found(&disk.after_power_loss(|| false)), numbered(1, &["one"]));
}

#[test]
fn what_is_found_after_a_failed_synchronisation_is_brought_to_the_disk() {
    let disk = Fake::default();
    let journal = open(&disk);
    append(&journal, &["one"]).unwrap();
    disk.fail(Operation::Sync, 0);
    append(&journal, &["two"]).unwrap_err();
    // The system still shows it, and holds it for written.
    let disk = disk.after_kill();
    let reopened = open(&disk);
    assert_eq!(recovered(&reopened), numbered(1, &["one", "two"]));
    assert_eq!(found(&disk.after_power_loss(|| false)), numbered(1, &["one", "two"]));
}

#[test]
fn a_full_disk_makes_it_unavailable_to_everybody_who_waits() {
    for operation in [Operation::Write, Operation::Create] {
        let disk = Fake::default();
        let journal = open(&disk);
        append(&journal, &["one"]).unwrap();
        disk.fail(operation, 0);
        let long = "x".repeat(3000);
        let waiting: Vec<_> = (0..5).map(|_| journal.append(vec![Record::new(1, long.as_str())])).collect();
        let answers: Vec<_> = waiting.into_iter().map(block_on).collect();
        let acknowledged = answers.iter().take_while(|answer| answer.is_ok()).count();
        assert!(answers[acknowledged..].iter().all(Result::is_err) && acknowledged < 5, "{answers:?}");
        append(&journal, &["later"]).unwrap_err();
        assert!(found(&disk).len() > acknowledged);
        assert_eq!(found(&disk.after_power_loss(|| false)).len(), 1 + acknowledged);
    }
}

#[test]
fn a_checkpoint_takes_the_place_of_what_came_before() {
    let disk = Fake::default();
    let journal = open(&disk);
    append(&journal, &["one", "two", "three"]).unwrap();
    append(&journal, &["four"]).unwrap();
    block_on(journal.checkpoint(vec![Record::new(1, "sum"), Record::new(1, "rest")], Sequence(3))).unwrap();
    let expected = [(3, "sum".to_owned()), (3, "rest".to_owned()), (4, "four".to_owned())];
    assert_eq!(found(&disk), expected);
    append(&journal, &["five"]).unwrap();
    block_on(journal.checkpoint(vec![Record::new(1, "all")], Sequence(5))).unwrap();
    assert_eq!(found(&disk), [(5, "all".to_owned())]);
    assert_eq!((disk.named(".snapshot").len(), disk.named(".log").len()), (1, 1));
    assert_eq!(append(&journal, &["six"]).unwrap(), Sequence(6));
    let backwards = block_on(journal.checkpoint(vec![], Sequence(4))).unwrap_err();
    assert_eq!(backwards.why, "a checkpoint up to 4 comes after one up to 5");
    let ahead = block_on(journal.checkpoint(vec![], Sequence(9))).unwrap_err();
    assert_eq!(ahead.why, "a checkpoint up to 9 is asked for, and the last record is 6");
}

#[test]
fn a_checkpoint_that_fails_or_is_interrupted_anywhere_loses_nothing() {
    let after = [(2, "sum".to_owned()), (3, "three".to_owned())];
    for (operation, nth) in
        (0..6).flat_map(|nth| [(Operation::Sync, nth), (Operation::Create, nth), (Operation::Write, nth)])
    {
        for survives in [false, true] {
            let disk = Fake::default();
            let journal = open(&disk);
            append(&journal, &["one", "two", "three"]).unwrap();
            disk.fail(operation, nth);
            let made = block_on(journal.checkpoint(vec![Record::new(1, "sum")], Sequence(2)));
            for found in [found(&disk), found(&disk.after_power_loss(|| survives))] {
                let before = numbered(1, &["one", "two", "three"]);
                assert!(found == after || made.is_err() && found == before, "{operation:?} {nth}: {found:?}");
            }
        }
    }
}

#[test]
fn a_version_0_log_is_brought_up() {
    let disk = Fake::default();
    let mut old = [header::MAGIC.as_slice(), &[0; 8]].concat();
    for (sequence, ends, text) in [(1_u64, 1, "one"), (2, 0, "two"), (3, 1, "three"), (4, 0, "unfinished")] {
        let rest = [sequence.to_le_bytes().as_slice(), &[7, ends], text.as_bytes()].concat();
        let length = u32::try_from(text.len()).unwrap();
        let sum = crc32fast::hash(&rest);
        old.extend([length.to_le_bytes().as_slice(), &sum.to_le_bytes(), &rest].concat());
    }
    disk.put(&segment::name(1), &old);
    let journal = open(&disk);
    assert!(
        matches!(journal.findings(), [Finding::TornTail { .. }, Finding::Migrated { from: 0, .. }]),
        "{:?}",
        journal.findings()
    );
    let records: Vec<_> = journal.recovered().collect();
    assert!(records.iter().all(|(_, record)| record.kind == 7));
    assert_eq!(append(&journal, &["four"]).unwrap(), Sequence(4));
    let reopened = open(&disk.after_power_loss(|| false));
    assert_eq!(recovered(&reopened), numbered(1, &["one", "two", "three", "four"]));
    assert_eq!(reopened.findings(), []);
}

#[test]
fn a_newer_version_is_refused_and_left_as_it_is() {
    let disk = Fake::default();
    drop(open(&disk));
    disk.edit(&segment::name(1), |file| {
        file[8] = 9;
        let sum = crc32fast::hash(&file[..60]);
        file[60..64].copy_from_slice(&sum.to_le_bytes());
    });
    let before = disk.read(&segment::name(1)).unwrap();
    let refused = EmbeddedJournal::open_in(Arc::new(disk.clone()), None, &options());
    let Err(OpenJournalError::Newer { found: 9, known: 1, .. }) = refused.map(drop) else { panic!() };
    assert_eq!(disk.read(&segment::name(1)).unwrap(), before);
}

#[test]
fn a_segment_that_is_gone_or_unreadable_is_reported() {
    let disk = Fake::default();
    let journal = open(&disk);
    let long = "x".repeat(3000);
    for _ in 0..4 {
        append(&journal, &[&long]).unwrap();
    }
    assert_eq!(disk.named(".log").len(), 4);
    disk.remove(&segment::name(2)).unwrap();
    disk.edit(&segment::name(3), |file| file[..header::LENGTH].fill(1));
    let reopened = open(&disk.after_kill());
    let left: Vec<_> = recovered(&reopened).into_iter().map(|(sequence, _)| sequence).collect();
    assert_eq!(left, [1, 4]);
    let [
        Finding::Missing { first: Sequence(2), last: Sequence(2) },
        Finding::Unreadable { .. },
        Finding::Missing { first: Sequence(3), last: Sequence(3) },
    ] = reopened.findings()
    else {
        panic!("{:?}", reopened.findings())
    };
}

#[test]
fn a_full_queue_makes_appends_wait_and_loses_none() {
    let disk = Fake::default();
    let narrow = Options { waiting: 100, ..options() };
    let journal = EmbeddedJournal::open_in(Arc::new(disk.clone()), None, &narrow).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    append(&journal, &["a record", "another"]).unwrap();
                }
            });
        }
    });
    assert_eq!(found(&disk).len(), 800);
}
