//! What a restart costs: jobs that were accepted and have not run, from the files to the machine.
//!
//! `cargo bench -p lineside --bench recovery` prints lines `FIGURE name value unit target`, of medians of rounds.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside::automation::control::{Control, Rules};
use lineside::automation::machine::{Bounds, Effect, Input, Machine};
use lineside::automation::offered::Offered;
use lineside::automation::unix_micros::UnixMicros;
use lineside::core::journal::{Durability, Journal as _, Record};
use lineside::core::payload::Point as _;
use lineside::core::{AnyEvent, Envelope, EventId, Source};
use lineside::journal::{EmbeddedJournal, Options};
use lineside::prelude::*;
use lineside::{Bus, Durable};

const JOBS: u64 = 100_000;
const FILES: u64 = 10_000;
const ROUNDS: usize = 5;

fn main() {
    // `--quick` measures once.
    let rounds = if std::env::args().any(|argument| argument == "--quick") { 1 } else { ROUNDS };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    runtime.block_on(accept(folder.path()));
    let (mut opened, mut recovered) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let took = runtime.block_on(async { recover(folder.path()) });
        opened.push(took.0);
        recovered.push(took.0 + took.1);
    }
    println!("FIGURE recovery/journal {} ms -", median(&mut opened).as_millis());
    println!("FIGURE recovery/journal_and_machine {} ms <=1000", median(&mut recovered).as_millis());
}

/// Has as many jobs accepted, of which none runs.
async fn accept(folder: &Path) {
    let control = Control { concurrency: Some("lint:{session}".to_owned()), ..Control::default() };
    let rules: Arc<Rules> = Arc::new(control.check(AfterToolBatch::INFO, &[]).unwrap());
    let (mut machine, id) =
        (Machine::new(Bounds { running: 0, ..Bounds::default() }), Arc::<str>::from("bench"));
    drop(machine.step(UnixMicros(0), Input::Registered(Arc::clone(&id), rules)));
    let options = Options { durability: Durability::Process, ..Options::default() };
    let journal = EmbeddedJournal::open(folder.join(lineside::durable::JOBS), options).unwrap();
    let source = Arc::new(Source::root("session 1"));
    let mut records: Vec<Record> = Vec::new();
    for number in 0..JOBS {
        let envelope = Envelope {
            id: EventId::from_u128(u128::from(number)),
            time: "2026-11-21T12:00:00Z".parse().unwrap(),
            seq: number,
            source: Arc::clone(&source),
            cause: None,
            turn: None,
            extra: None,
        };
        let path = format!("src/file {}.rs", number % FILES);
        let changed = ChangedFile { path, ..ChangedFile::default() };
        let event = AnyEvent::new(envelope, Arc::new(AfterToolBatch::new(vec![], vec![changed])));
        for effect in machine.step(UnixMicros(number), Input::Offered(Arc::clone(&id), Offered::from(event)))
        {
            if let Effect::Persist(record) = effect {
                records.push(record.write().unwrap());
            }
        }
        if records.len() >= 256 {
            journal.append(std::mem::take(&mut records)).await.unwrap();
        }
    }
    journal.append(records).await.unwrap();
    journal.close().unwrap();
}

/// How long the journal takes, and how long the machine.
fn recover(folder: &Path) -> (Duration, Duration) {
    let began = Instant::now();
    let durable = Durable::open_with(folder, Durability::Process).unwrap();
    let opened = began.elapsed();
    let bus = Bus::new();
    let began = Instant::now();
    let (_automations, recovered) = durable.automations(&bus, Bounds::default()).unwrap();
    let took = began.elapsed();
    assert_eq!((recovered.live as u64, recovered.findings.len()), (JOBS, 0));
    (opened, took)
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}
