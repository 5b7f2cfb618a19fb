//! The store and what may happen to it: nothing of that costs more than the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use lineside_core::Timestamp;
use lineside_log::{Happened, Log, Look, Options, Query, Record, Retention};
use rusqlite::Connection;

fn happened(detail: impl Into<String>) -> Record {
    let mut happened = Happened::new(Timestamp::UNIX_EPOCH, "step");
    happened.detail = detail.into();
    Record::Happened(Box::new(happened))
}

fn details(path: &Path) -> Vec<String> {
    let store = Connection::open(path).unwrap();
    let mut rows = store.prepare("SELECT detail FROM news WHERE what = 'step' ORDER BY row").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    (folder, path)
}

#[test]
fn all_files_of_the_store_are_the_users_alone() {
    let (folder, path) = place();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("one"));
    log.flush();
    let mut seen = 0;
    for file in fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        seen += 1;
    }
    assert!(seen >= 3, "the store, its log, its lock");
}

#[test]
fn dropping_a_log_writes_what_waits() {
    let (_folder, path) = place();
    let log = Log::open(&path, Options::default()).unwrap();
    for number in 0..2_500 {
        log.offer(happened(number.to_string()));
    }
    drop(log);
    assert_eq!(details(&path).len(), 2_500);
}

#[test]
fn what_has_no_room_is_counted_and_stands_in_the_log_as_a_gap() {
    let (_folder, path) = place();
    // The writer waits for the lock of another connection, so that nothing is taken meanwhile.
    drop(Log::open(&path, Options::default()).unwrap());
    let blocker = Connection::open(&path).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let log = Log::open(&path, Options::default().waiting(10, 1 << 20)).unwrap();
    for number in 0..100 {
        log.offer(happened(number.to_string()));
    }
    blocker.execute_batch("COMMIT").unwrap();
    log.flush();
    let lost = log.state().lost;
    assert!((1..100).contains(&lost), "{lost}");
    assert_eq!(Look::open(&path).unwrap().lost(&Query::default()).unwrap(), lost);
    assert_eq!(details(&path).len() as u64, 100 - lost);
}

#[test]
fn a_damaged_store_is_put_aside_loudly_and_a_new_one_begun() {
    let (_folder, path) = place();
    fs::write(&path, b"this is no database, and was never one. ".repeat(200)).unwrap();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("one"));
    log.flush();
    let state = log.state();
    assert_eq!((state.written, state.lost, state.trouble), (1, 0, None));
    assert!(
        state.notes[0].contains("was damaged") && state.notes[0].contains(".damaged"),
        "{:?}",
        state.notes
    );
    assert_eq!(details(&path), ["one"]);
    let aside = fs::read(path.with_file_name("log.sqlite.damaged")).unwrap();
    assert!(aside.starts_with(b"this is no database"));
}

#[test]
fn a_store_that_is_damaged_while_it_is_written_is_put_aside_too() {
    let (_folder, path) = place();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("one"));
    drop(log);
    let mut bytes = fs::read(&path).unwrap();
    // Everything but the header and the schema on the first page.
    bytes.iter_mut().skip(4_096).for_each(|byte| *byte = 0xa5);
    fs::write(&path, bytes).unwrap();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("two"));
    log.flush();
    assert_eq!(details(&path), ["two"]);
    assert_eq!(log.state().notes.len(), 1);
}

#[test]
fn a_store_that_cannot_be_written_costs_the_log_and_is_written_again_when_it_can_be() {
    let (_folder, path) = place();
    drop(Log::open(&path, Options::default()).unwrap());
    let other = Connection::open(&path).unwrap();
    // As when another program keeps it for itself.
    let log = Log::open(&path, Options::default()).unwrap();
    log.flush();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    log.offer(happened("one"));
    log.flush();
    let state = log.state();
    assert_eq!((state.written, state.lost), (0, 1));
    assert!(state.trouble.unwrap().contains("locked"));
    other.execute_batch("ROLLBACK").unwrap();
    log.offer(happened("two"));
    log.flush();
    assert_eq!(log.state().trouble, None);
    assert_eq!(details(&path), ["two"]);
    assert_eq!(Look::open(&path).unwrap().lost(&Query::default()).unwrap(), 1);
}

#[test]
fn what_a_reader_holds_back_has_a_bound_and_is_said() {
    let (_folder, path) = place();
    let mut options = Options::default();
    options.retention.bytes = 1 << 20;
    let log = Log::open(&path, options).unwrap();
    log.offer(happened("before"));
    log.flush();
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM news").unwrap();
    let waiting = || fs::metadata(path.with_extension("sqlite-wal")).unwrap().len();
    let long = "a b ".repeat(1_000);
    for _ in 0..8 {
        (0..1_000).for_each(|_| log.offer(happened(long.as_str())));
        log.flush();
    }
    assert!(waiting() < 24 << 20, "{}", waiting());
    let state = log.state();
    assert!(state.lost > 0 && state.trouble.as_ref().is_some_and(|why| why.contains("-wal")), "{state:?}");
    drop(reader);
    log.offer(happened("after"));
    log.flush();
    assert_eq!(details(&path).last().map(String::as_str), Some("after"));
    assert_eq!(log.state().trouble, None);
}

#[test]
fn a_store_that_is_taken_away_while_it_is_written_is_begun_anew() {
    let (folder, path) = place();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("one"));
    log.flush();
    fs::remove_file(&path).unwrap();
    log.offer(happened("two"));
    log.flush();
    assert_eq!(details(&path), ["two"]);
    assert!(log.state().notes[0].contains("was taken away"), "{:?}", log.state());
    // Also by another file in its place.
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    fs::write(&path, "").unwrap();
    log.offer(happened("three"));
    log.flush();
    assert_eq!(details(&path), ["three"]);
}

/// What this comes to, which must not take long.
fn soon<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (told, hears) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || told.send(what()));
    hears.recv_timeout(Duration::from_secs(20)).expect("it waits for ever")
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    for name in ["log.sqlite", "log.sqlite.lock"] {
        let (folder, path) = place();
        assert!(Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap().success());
        let at = path.clone();
        let state = soon(move || {
            let log = Log::open(&at, Options::default()).unwrap();
            log.offer(happened("one"));
            log.flush();
            log.state()
        });
        assert!(state.lost == 1 && state.trouble.unwrap().contains("no regular file"), "{name}");
        soon(move || Look::open(&path).map(drop)).unwrap_err();
    }
}

#[test]
fn what_waits_for_a_locked_store_is_given_up_at_the_end() {
    let (_folder, path) = place();
    drop(Log::open(&path, Options::default()).unwrap());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let log = Log::open(&path, Options::default()).unwrap();
    (0..20_000).for_each(|number| log.offer(happened(number.to_string())));
    soon(move || {
        log.flush();
        drop(log);
    });
}

#[test]
fn a_place_that_cannot_be_written_is_said_at_once() {
    let (folder, path) = place();
    fs::create_dir(&path).unwrap();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("one"));
    log.flush();
    let state = log.state();
    assert!(state.lost == 1 && state.trouble.is_some(), "{state:?}");
    drop(folder);
}

#[test]
fn a_second_writer_is_kept_out() {
    let (_folder, path) = place();
    let first = Log::open(&path, Options::default()).unwrap();
    first.offer(happened("one"));
    first.flush();
    let second = Log::open(&path, Options::default()).unwrap();
    second.offer(happened("two"));
    second.flush();
    assert!(second.state().trouble.unwrap().contains("another process writes it"));
    assert_eq!(details(&path), ["one"]);
}

#[test]
fn what_is_too_much_goes_and_its_pages_with_it_and_a_clock_that_jumps_takes_nothing() {
    let (_folder, path) = place();
    let day = |day: i64| Timestamp::from_millisecond(day * 86_400_000).unwrap();
    let old = |at, detail: &str| {
        let mut happened = Happened::new(at, "step");
        happened.detail = detail.to_owned();
        Record::Happened(Box::new(happened))
    };
    let month = Retention { age: Duration::from_hours(30 * 24), bytes: 1 << 30 };
    let log = Log::open(&path, Options::default().retention(month)).unwrap();
    for number in 1..=5 {
        log.offer(old(day(number), &number.to_string()));
        log.flush();
    }
    // A clock that jumps ahead by months, also while nothing runs, takes nothing with it.
    log.offer(old(day(400), "after the jump"));
    log.flush();
    drop(log);
    let log = Log::open(&path, Options::default().retention(month)).unwrap();
    log.offer(old(day(401), "later"));
    log.flush();
    drop(log);
    assert_eq!(details(&path), ["1", "2", "3", "4", "5", "after the jump", "later"]);
    let bytes = 512 << 10;
    let options = Options::default().retention(Retention { age: Duration::from_hours(48), bytes });
    let log = Log::open(&path, options).unwrap();
    let long = "x".repeat(4_000);
    for _ in 0..40 {
        for _ in 0..100 {
            log.offer(old(day(401), &long));
        }
        log.flush();
    }
    assert!(fs::metadata(&path).unwrap().len() < 2 * bytes, "{}", fs::metadata(&path).unwrap().len());
    assert!(!details(&path).is_empty());
}

#[test]
fn secrets_do_not_come_into_the_file() {
    let (_folder, path) = place();
    let log = Log::open(&path, Options::default()).unwrap();
    log.offer(happened("failed: curl -u me --token abcd1234efgh"));
    drop(log);
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"abcd1234efgh"));
    assert_eq!(details(&path), ["failed: curl -u me --token [redacted]"]);
}

/// How often the writer is killed: 10 times, or as often as a longer run asks for.
fn kills() -> usize {
    std::env::var("LINESIDE_LOG_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

#[test]
fn a_store_whose_writer_was_killed_opens_and_has_what_was_committed() {
    let (_folder, path) = place();
    let mut committed = 0;
    for kill in 0..kills() {
        let before = if kill == 0 { 0 } else { details(&path).len() as u64 };
        assert!(before >= committed, "kill {kill}: {before} rows, and {committed} were committed");
        let mut child = Command::new(env!("CARGO_BIN_EXE_lineside-log-writer"))
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut written = 0;
        for line in lines.take(3 + kill % 7) {
            written = line.unwrap().parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        committed = before + written;
        let sound: String = Connection::open(&path)
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sound, "ok");
    }
    assert!(details(&path).len() as u64 >= committed);
}
