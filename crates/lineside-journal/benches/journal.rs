//! What the journal makes of many publishers at once, and how long it takes to come back.
//!
//! The measure is a raw file in the same run: preallocated, one write and one `fdatasync` for each group of 256 records,
//! from one thread that does not wait. A journal cannot reach it, since each of its publishers waits for its own
//! record before it sends the next.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lineside_core::journal::{Durability, Journal, Record};
use lineside_journal::{EmbeddedJournal, Options};
use tokio::runtime::{Builder, Runtime};

const RECORD: usize = 800;
const PUBLISHERS: [usize; 3] = [1, 16, 256];
const PENDING: usize = 100_000;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, slice) = if quick { (5, 100) } else { (25, 200) };
    let slice = Duration::from_millis(slice);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let raw = Raw::new(&folder.path().join("raw"));

    // Of each round all take their turn, and ratios are of one round: a noisy moment does not hit only one of them.
    let mut samples: Vec<[f64; 4]> = Vec::new();
    for round in 0..rounds {
        let [one, sixteen, many] = PUBLISHERS.map(|publishers| {
            let path = folder.path().join(format!("{round}-{publishers}"));
            let rate = publish(&runtime, &path, publishers, slice);
            std::fs::remove_dir_all(path).unwrap();
            rate
        });
        samples.push([one, sixteen, many, raw.rate(slice)]);
    }
    let of = |value: fn(&[f64; 4]) -> f64| median(samples.iter().map(value).collect());
    println!("FIGURE raw/256 {:.0} records_per_second -", of(|[.., raw]| *raw));
    println!("FIGURE journal/disk/1 {:.0} records_per_second -", of(|[one, ..]| *one));
    println!("FIGURE journal/disk/16 {:.0} records_per_second -", of(|[_, sixteen, ..]| *sixteen));
    println!("FIGURE journal/disk/256 {:.0} records_per_second -", of(|[_, _, many, _]| *many));
    println!("RATIO journal/disk/256/1 {:.1} >=15", of(|[one, _, many, _]| many / one));
    println!("RATIO journal/disk/256/raw {:.2} >=0.30", of(|[_, _, many, raw]| many / raw));

    let pending = |round| folder.path().join(format!("pending-{round}"));
    let recovery = median((0..3).map(|round| recovery(&runtime, &pending(round))).collect());
    println!("FIGURE journal/recovery/100000 {:.0} ms <=1000", recovery * 1e3);
}

/// Each publisher waits for its record to be on the disk and sends the next.
fn publish(runtime: &Runtime, path: &Path, publishers: usize, slice: Duration) -> f64 {
    let journal = Arc::new(EmbeddedJournal::open(path, Options::default()).unwrap());
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let began = Instant::now();
    let tasks: Vec<_> = (0..publishers)
        .map(|_| {
            let (journal, stop, count) = (Arc::clone(&journal), Arc::clone(&stop), Arc::clone(&count));
            runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let receipt = journal.append(vec![Record::new(1, [7; RECORD])]).await.unwrap();
                    assert_eq!(receipt.durability, Durability::Disk);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    std::thread::sleep(slice);
    let (records, elapsed) = (count.load(Ordering::Relaxed), began.elapsed());
    stop.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    records as f64 / elapsed.as_secs_f64()
}

fn recovery(runtime: &Runtime, path: &Path) -> f64 {
    let journal = EmbeddedJournal::open(path, Options::default()).unwrap();
    for _ in 0..PENDING / 1000 {
        let records = (0..1000).map(|_| Record::new(1, [7; RECORD])).collect();
        runtime.block_on(journal.append(records)).unwrap();
    }
    drop(journal);
    let began = Instant::now();
    let journal = EmbeddedJournal::open(path, Options::default()).unwrap();
    assert_eq!(journal.recovered().count(), PENDING);
    let took = began.elapsed();
    drop(journal);
    std::fs::remove_dir_all(path).unwrap();
    took.as_secs_f64()
}

struct Raw(File);

impl Raw {
    const LENGTH: u64 = 64 << 20;

    fn new(path: &Path) -> Self {
        let file = File::options().create(true).truncate(true).write(true).open(path).unwrap();
        let zeros = vec![0; 1 << 20];
        (0..Self::LENGTH).step_by(zeros.len()).for_each(|at| file.write_all_at(&zeros, at).unwrap());
        file.sync_all().unwrap();
        Self(file)
    }

    fn rate(&self, slice: Duration) -> f64 {
        let group = vec![7; 256 * RECORD];
        let (began, mut at, mut groups) = (Instant::now(), 0, 0.0);
        while began.elapsed() < slice {
            self.0.write_all_at(&group, at).unwrap();
            self.0.sync_data().unwrap();
            at = (at + group.len() as u64) % (Self::LENGTH - group.len() as u64);
            groups += 256.0;
        }
        groups / began.elapsed().as_secs_f64()
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
