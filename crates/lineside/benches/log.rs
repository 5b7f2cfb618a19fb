//! What the decision log makes of many receipts: how fast it writes, what publishers feel of it, how fast it finds, how
//! large it is.
//!
//! `LINESIDE_RECEIPTS` says how many there are, a million without it, and `LINESIDE_LOG` where the store is put; one that is
//! there already is only read.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lineside::log::{Log, Look, Options, Query, Record, Retention};
use lineside::prelude::*;

#[path = "log/felt.rs"]
mod felt;
#[path = "log/receipts.rs"]
mod receipts;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let count = std::env::var("LINESIDE_RECEIPTS").ok().and_then(|text| text.parse().ok());
    let count = count.unwrap_or(if quick { 100_000 } else { 1_000_000 });
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    felt::measure(folder.path(), if quick { 2 } else { 8 });
    let path =
        std::env::var_os("LINESIDE_LOG").map_or_else(|| folder.path().join("log.sqlite"), PathBuf::from);
    if !path.exists() {
        write(&path, count);
    }
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!("FIGURE log/receipt {:.0} bytes <=400", as_f64(bytes) / as_f64(count));
    find(&path);
}

fn as_f64(number: u64) -> f64 {
    f64::from(u32::try_from(number / 1024).unwrap()) * 1024.0
        + f64::from(u32::try_from(number % 1024).unwrap())
}

/// Writes so many, as fast as it can; the making of them is not counted.
fn write(path: &Path, count: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let retention = Retention { bytes: u64::MAX, ..Retention::default() };
    let log = Log::open(path, Options::default().retention(retention).waiting(1 << 20, 4 << 30)).unwrap();
    let bus = receipts::bus();
    let mut writing = Duration::ZERO;
    for round in 0..count / receipts::ROUND {
        let receipts = runtime.block_on(receipts::round(&bus, round));
        let began = Instant::now();
        receipts.into_iter().for_each(|receipt| log.offer(Record::Decided(receipt)));
        log.flush();
        writing += began.elapsed();
    }
    println!("FIGURE log/write {:.0} receipts_per_second >=20000", as_f64(count) / writing.as_secs_f64());
    println!("FIGURE log/lost {} receipts <=0", log.state().lost);
}

/// The slowest and the middle of a few times, in milliseconds.
fn took(what: &dyn Fn()) -> f64 {
    let time = || {
        let began = Instant::now();
        what();
        began.elapsed()
    };
    let mut times: Vec<Duration> = (0..5).map(|_| time()).collect();
    times.sort();
    times[2].as_secs_f64() * 1e3
}

fn find(path: &Path) {
    let look = Look::open(path).unwrap();
    let now = Bus::new().wall_clock();
    for (name, query) in receipts::QUERIES {
        let query = Query::parse(query, now).unwrap();
        let found = look.decisions(&query, 50).unwrap().len();
        let took = took(&|| drop(look.decisions(&query, 50).unwrap()));
        println!("FIGURE log/last50/{name} {took:.2} ms_for_{found} <=100");
    }
    let why = |name, id: &str| {
        println!("FIGURE log/why/{name} {:.2} ms <=10", took(&|| assert!(!look.why(id).unwrap().is_empty())));
    };
    let last = look.decisions(&Query::default(), 1).unwrap().pop().unwrap().id.to_string();
    let first = look.decisions(&Query::parse("session:rare", now).unwrap(), 1).unwrap().pop().unwrap();
    let first = first.id.to_string();
    why("last", &last);
    why("first", &first);
    why("beginning", &last[..last.len() - 4]);
    why("end", &first[first.len() - 12..]);
}
