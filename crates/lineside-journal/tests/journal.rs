//! The journal in files: order, atomic appends, the lock, checkpoints beside appends, and copies taken while it writes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lineside_core::journal::{Durability, Journal, Record, Sequence, Unavailable};
use lineside_journal::{EmbeddedJournal, MemoryJournal, OpenJournalError, Options};

/// Short segments, so that there are many.
fn options() -> Options {
    Options { segment: 8 << 10, ..Options::default() }
}

fn open(path: &Path) -> EmbeddedJournal {
    EmbeddedJournal::open(path, options()).unwrap()
}

fn record(text: &str) -> Record {
    Record::new(0, text)
}

fn texts(journal: &EmbeddedJournal) -> Vec<(u64, String)> {
    let text = |record: Record| String::from_utf8(record.bytes).unwrap();
    journal.recovered().map(|(sequence, record)| (sequence.0, text(record))).collect()
}

#[tokio::test]
async fn records_come_back_in_the_order_of_the_calls() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let appends: Vec<_> = (1..=100).map(|i| journal.append(vec![record(&format!("{i}"))])).collect();
    // Awaited from the last to the first: the call gave the place.
    for (append, place) in appends.into_iter().zip(1..=100_u64).collect::<Vec<_>>().into_iter().rev() {
        assert_eq!(append.await.unwrap().last, Sequence(place));
    }
    journal.close().unwrap();
    let expected: Vec<_> = (1..=100).map(|i| (i, i.to_string())).collect();
    assert_eq!(texts(&open(folder.path())), expected);
}

#[tokio::test]
async fn a_dropped_future_takes_nothing_back() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    drop(journal.append(vec![record("one")]));
    drop(journal.append(vec![record("two")]));
    drop(journal);
    assert_eq!(texts(&open(folder.path())).len(), 2);
}

#[tokio::test]
async fn what_is_written_to_a_file_that_was_removed_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = open(&path);
    assert_eq!(journal.append(vec![record("one")]).await.unwrap().durability, Durability::Disk);
    std::fs::remove_dir_all(&path).unwrap();
    let lost = journal.append(vec![record("two")]).await.unwrap_err();
    assert!(lost.to_string().contains("its file was removed"), "{lost}");
    assert!(journal.append(vec![record("three")]).await.is_err(), "nothing is kept from then on");
}

#[tokio::test]
async fn an_append_says_how_durable_it_is() {
    let folder = tempfile::tempdir().unwrap();
    // The disk comes by itself, and at once.
    let journal =
        EmbeddedJournal::open(folder.path(), Options { sync_within: Duration::ZERO, ..options() }).unwrap();
    for durability in [Durability::Memory, Durability::Process, Durability::Disk] {
        let receipt = journal.append_with(vec![record("text")], durability).await.unwrap();
        assert!(receipt.durability >= durability);
    }
    assert_eq!(journal.last(), Sequence(3));
}

#[test]
fn nobody_else_can_open_it() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let refused = EmbeddedJournal::open(folder.path(), options()).map(drop).unwrap_err();
    let OpenJournalError::Locked { holder, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(*holder, Some(std::process::id()));
    let text = format!("{} is in use by process {}", folder.path().display(), std::process::id());
    assert_eq!(refused.to_string(), text);
    journal.close().unwrap();
    open(folder.path());
}

#[test]
fn its_files_are_for_nobody_else() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let _journal = open(&path);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for entry in std::fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

/// The files as they are found after the process was killed in the middle of what it does.
fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match std::fs::copy(entry.path(), to.path().join(entry.file_name())) {
            Ok(_) => {}
            // A file that was not finished has its name by now.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{error}"),
        }
    }
    to
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    const APPENDERS: usize = 8;
    const EACH: u64 = 150;
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(open(folder.path()));
    let acknowledged: Arc<[AtomicU64; APPENDERS]> = Arc::default();
    let mut appenders = tokio::task::JoinSet::new();
    for who in 0..APPENDERS {
        let (journal, acknowledged) = (Arc::clone(&journal), Arc::clone(&acknowledged));
        appenders.spawn(async move {
            for i in 1..=EACH {
                let pair = ["first", "second"].map(|half| record(&format!("{who} {i} {half}")));
                journal.append(pair.to_vec()).await.unwrap();
                acknowledged[who].store(i, Ordering::SeqCst);
            }
        });
    }
    let all_done = || acknowledged.iter().all(|count| count.load(Ordering::SeqCst) == EACH);
    loop {
        let last_look = all_done();
        let before = acknowledged.each_ref().map(|count| count.load(Ordering::SeqCst));
        let copy = copy(folder.path());
        let mut halves: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (_, text) in texts(&open(copy.path())) {
            let (who, rest) = text.split_once(' ').unwrap();
            halves.entry(who.parse().unwrap()).or_default().push(rest.to_owned());
        }
        for (who, before) in before.into_iter().enumerate() {
            let there = halves.remove(&who).unwrap_or_default();
            let pairs = there.len() as u64 / 2;
            let expected = (1..=pairs).flat_map(|i| ["first", "second"].map(|half| format!("{i} {half}")));
            assert_eq!(there, expected.collect::<Vec<_>>(), "appender {who}");
            assert!(pairs >= before, "{pairs} of {before} of appender {who}");
        }
        if last_look {
            break;
        }
    }
    while let Some(ended) = appenders.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_beside_appends_loses_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(open(folder.path()));
    let mut appenders = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let journal = Arc::clone(&journal);
        appenders.spawn(async move {
            for _ in 0..200 {
                journal.append(vec![record("event")]).await.unwrap();
            }
        });
    }
    let mut up_to = Sequence(0);
    while journal.last() < Sequence(800) {
        up_to = journal.append(vec![]).await.unwrap().last;
        journal.checkpoint(vec![record(&format!("sum of {up_to}"))], up_to).await.unwrap();
    }
    while let Some(ended) = appenders.join_next().await {
        ended.unwrap();
    }
    drop(journal);
    let reopened = open(folder.path());
    assert!(reopened.findings().is_empty(), "{:?}", reopened.findings());
    let after = texts(&reopened);
    assert_eq!(after[0], (up_to.0, format!("sum of {up_to}")));
    let sequences: Vec<_> = after[1..].iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!(sequences, (up_to.0 + 1..=800).collect::<Vec<_>>());
}

#[tokio::test]
async fn nothing_is_left_of_what_a_checkpoint_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let receipt = journal.append(vec![record("sk-secret")]).await.unwrap();
    journal.checkpoint(vec![record("sum")], receipt.last).await.unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let content = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!content.windows(9).any(|bytes| bytes == b"sk-secret"));
    }
}

/// What a user of the port can rely on.
async fn keeps_records(journal: &dyn Journal) {
    let receipt = journal.append(vec![record("one"), record("two")]).await.unwrap();
    assert_eq!(receipt.last, Sequence(2));
    assert_eq!(journal.append(vec![]).await.unwrap().last, Sequence(2));
    journal.checkpoint(vec![record("both")], Sequence(2)).await.unwrap();
    assert_eq!(journal.append(vec![record("three")]).await.unwrap().last, Sequence(3));
    journal.checkpoint(vec![], Sequence(1)).await.unwrap_err();
    journal.checkpoint(vec![], Sequence(4)).await.unwrap_err();
}

#[tokio::test]
async fn in_memory_and_in_files_it_is_the_same() {
    let expected = vec![(Sequence(2), record("both")), (Sequence(3), record("three"))];
    let memory = MemoryJournal::new();
    keeps_records(&memory).await;
    assert_eq!(memory.recovered(), expected);
    let folder = tempfile::tempdir().unwrap();
    let embedded = open(folder.path());
    keeps_records(&embedded).await;
    embedded.close().unwrap();
    assert_eq!(open(folder.path()).recovered().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_journal_in_memory_can_be_unavailable() {
    let memory = MemoryJournal::new();
    let full = Unavailable::because("the disk is full");
    memory.set_unavailable(Some(full.clone()));
    assert_eq!(memory.append(vec![record("one")]).await, Err(full));
    memory.set_unavailable(None);
    memory.append(vec![record("one")]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_beside_a_writer_finds_what_was_acknowledged_and_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(open(folder.path()));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let (writer, kept) = (Arc::clone(&journal), Arc::clone(&acknowledged));
    let writing = tokio::spawn(async move {
        for number in 1..=1500_u64 {
            let receipt = writer.append(vec![record(&format!("{number}"))]).await.unwrap();
            kept.store(number, Ordering::SeqCst);
            if number % 100 == 0 {
                writer.checkpoint(vec![record(&format!("{number}"))], receipt.last).await.unwrap();
            }
        }
    });
    loop {
        let last_look = writing.is_finished();
        let before = acknowledged.load(Ordering::SeqCst);
        let reading = EmbeddedJournal::read(folder.path()).unwrap();
        assert_eq!(reading.findings, []);
        assert_eq!(reading.holder.and_then(|holder| holder.process), Some(std::process::id()));
        let mut expected = reading.up_to.0;
        for (sequence, record) in &reading.records {
            let text: u64 = std::str::from_utf8(&record.bytes).unwrap().parse().unwrap();
            if *sequence > reading.up_to {
                expected += 1;
            }
            assert_eq!((sequence.0, text), (expected, expected));
        }
        assert!(expected >= before && reading.last.0 == expected, "{expected} of {before}");
        if last_look {
            break;
        }
    }
    writing.await.unwrap();
    drop(journal);
    assert_eq!(EmbeddedJournal::read(folder.path()).unwrap().holder, None);
}

#[test]
fn looking_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let error = EmbeddedJournal::read(folder.path().join("none")).map(drop).unwrap_err();
    assert!(matches!(&error, OpenJournalError::Io(error) if error.kind() == std::io::ErrorKind::NotFound));
    let empty = EmbeddedJournal::read(folder.path()).unwrap();
    assert_eq!((empty.records.len(), empty.last, empty.holder), (0, Sequence(0), None));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
