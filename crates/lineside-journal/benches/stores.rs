//! What the stores that a journal could be built on make of groups of records, each committed as one entry.
//!
//! Every store gets the same groups, one after another, from one thread, and has to have them on the disk before it
//! gets the next. The raw file is the most that any of them can reach: preallocated, one write and one `fdatasync`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const RECORD: usize = 800;
const PREALLOCATED: u64 = 512 << 20;

/// Has a group on the disk when `commit` returns.
trait Store {
    fn commit(&mut self, sequence: u64, group: &[u8]);
}

struct Raw {
    file: File,
    at: u64,
}

impl Store for Raw {
    fn commit(&mut self, _: u64, group: &[u8]) {
        if self.at + group.len() as u64 > PREALLOCATED {
            self.at = 0;
        }
        self.file.write_all_at(group, self.at).unwrap();
        self.file.sync_data().unwrap();
        self.at += group.len() as u64;
    }
}

struct Fjall {
    database: fjall::Database,
    groups: fjall::Keyspace,
}

impl Store for Fjall {
    fn commit(&mut self, sequence: u64, group: &[u8]) {
        self.groups.insert(sequence.to_be_bytes(), group).unwrap();
        self.database.persist(fjall::PersistMode::SyncData).unwrap();
    }
}

const GROUPS: redb::TableDefinition<'_, u64, &[u8]> = redb::TableDefinition::new("groups");

struct Redb(redb::Database);

impl Store for Redb {
    fn commit(&mut self, sequence: u64, group: &[u8]) {
        let transaction = self.0.begin_write().unwrap();
        transaction.open_table(GROUPS).unwrap().insert(sequence, group).unwrap();
        transaction.commit().unwrap();
    }
}

struct Sqlite(rusqlite::Connection);

impl Store for Sqlite {
    fn commit(&mut self, sequence: u64, group: &[u8]) {
        let mut insert = self.0.prepare_cached("INSERT INTO groups VALUES (?1, ?2)").unwrap();
        insert.execute((sequence.cast_signed(), group)).unwrap();
    }
}

fn raw(folder: &Path) -> Box<dyn Store> {
    let file =
        File::options().create(true).truncate(true).write(true).read(true).open(folder.join("raw")).unwrap();
    let zeros = vec![0; 1 << 20];
    for at in (0..PREALLOCATED).step_by(zeros.len()) {
        file.write_all_at(&zeros, at).unwrap();
    }
    file.sync_all().unwrap();
    Box::new(Raw { file, at: 0 })
}

fn fjall(folder: &Path) -> Box<dyn Store> {
    let database = fjall::Database::builder(folder.join("fjall")).open().unwrap();
    let groups = database.keyspace("groups", fjall::KeyspaceCreateOptions::default).unwrap();
    Box::new(Fjall { database, groups })
}

fn redb(folder: &Path) -> Box<dyn Store> {
    Box::new(Redb(redb::Database::create(folder.join("redb")).unwrap()))
}

fn sqlite(folder: &Path) -> Box<dyn Store> {
    let connection = rusqlite::Connection::open(folder.join("sqlite")).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection.execute_batch("CREATE TABLE groups (sequence INTEGER PRIMARY KEY, records BLOB)").unwrap();
    Box::new(Sqlite(connection))
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, slice) = if quick { (3, 60) } else { (9, 300) };
    let slice = Duration::from_millis(slice);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut stores = [
        ("raw", raw(folder.path())),
        ("fjall", fjall(folder.path())),
        ("redb", redb(folder.path())),
        ("sqlite", sqlite(folder.path())),
    ];
    let mut sequence = 0;
    for size in [1, 16, 256] {
        let group: Vec<u8> = (0..size * RECORD).map(|at| (at * 31 % 251) as u8).collect();
        let mut rates = vec![Vec::new(); stores.len()];
        for round in 0..rounds {
            for place in 0..stores.len() {
                let which = (round + place) % stores.len();
                let began = Instant::now();
                let mut groups = 0;
                while began.elapsed() < slice {
                    sequence += 1;
                    stores[which].1.commit(sequence, &group);
                    groups += 1;
                }
                rates[which].push(f64::from(groups) * size as f64 / began.elapsed().as_secs_f64());
            }
        }
        let rates: Vec<f64> = rates.into_iter().map(median).collect();
        for ((name, _), rate) in stores.iter().zip(&rates) {
            println!("FIGURE store/{name}/{size} {rate:.0} records_per_second -");
        }
        for ((name, _), rate) in stores.iter().zip(&rates).skip(1) {
            println!("RATIO store/{name}/raw/{size} {:.2} -", rate / rates[0]);
        }
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
