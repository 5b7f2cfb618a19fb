//! Jobs in a folder, through compactions and from one life to the next.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use lineside::automation::engine::OpenError;
use lineside::automation::jobs::{Which, WhichState};
use lineside::automation::machine::Bounds;
use lineside::prelude::*;
use lineside::{Bus, Durable};

const BOUNDS: Bounds = Bounds {
    jobs: 1000,
    bytes: 1 << 30,
    running: 1,
    finished: 10,
    dead: 10,
    remembered: 100,
    rates: 1 << 20,
    records: 20,
};

/// A life of its own: a runtime, and with its end everything that it had.
fn life<T>(folder: &Path, live: impl AsyncFnOnce(Bus, lineside::automation::Automations) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bus = Bus::new();
        let durable = Durable::open(folder).unwrap();
        assert!(durable.findings().is_empty(), "{:?}", durable.findings());
        let (automations, recovered) = durable.automations(&bus, BOUNDS).unwrap();
        assert!(recovered.findings.is_empty(), "{recovered:?}");
        live(bus, automations).await
    })
}

fn changed(path: String) -> AfterToolBatch {
    AfterToolBatch::new(Vec::new(), vec![ChangedFile { path, ..ChangedFile::default() }])
}

#[test]
fn work_goes_on_from_life_to_life_while_the_journal_is_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let ran: Arc<Mutex<Vec<String>>> = Arc::default();
    for round in 0..3 {
        let ran = Arc::clone(&ran);
        life(folder.path(), async |bus, automations| {
            // Each life does twenty jobs, and leaves ten more to the next one.
            let (turns, mut all_done) = (tokio::sync::Semaphore::new(20), Vec::new());
            let turns = Arc::new(turns);
            let (own, told) = (Arc::clone(&turns), Arc::clone(&ran));
            bus.automate::<AfterToolBatch>("lint")
                .concurrency("one")
                .retry(Retry::constant(9, millis(0)))
                .run(move |batch, _cx| {
                    let (turns, told) = (Arc::clone(&own), Arc::clone(&told));
                    async move {
                        turns.acquire().await.unwrap().forget();
                        told.lock().unwrap().push(batch.changed_files[0].path.clone());
                        Ok(Report::success("ok"))
                    }
                })
                .unwrap();
            let session = bus.session("s").open().await.unwrap();
            for number in 0..30 {
                let path = format!("{round}/{number}");
                all_done.push(session.publish(changed(path)).await.unwrap());
                automations.kept().await.unwrap();
            }
            let live = Which { state: WhichState::Live, ..Which::default() };
            while turns.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
            while automations.jobs().list(&live).len() > 10 * (round + 1) {
                automations.kept().await.unwrap();
                tokio::task::yield_now().await;
            }
            automations.kept().await.unwrap();
        });
    }
    let expected: Vec<String> =
        (0..3).flat_map(|round| (0..30).map(move |number| format!("{round}/{number}"))).take(60).collect();
    assert_eq!(*ran.lock().unwrap(), expected, "every job once, in order");
    let names = std::fs::read_dir(folder.path().join(lineside::durable::JOBS)).unwrap();
    let snapshots = names.filter(|name| {
        name.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "snapshot")
    });
    assert_eq!(snapshots.count(), 1, "it was compacted");
}

#[test]
fn what_an_earlier_life_has_left_is_there_after_a_call_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    life(folder.path(), async |bus, automations| {
        let never = async |_batch, _cx| std::future::pending().await;
        bus.automate::<AfterToolBatch>("lint").run(never).unwrap();
        let session = bus.session("s").open().await.unwrap();
        drop(session.publish(changed("a".to_owned())).await.unwrap());
        automations.kept().await.unwrap();
    });
    let durable = Durable::open(folder.path()).unwrap();
    let bus = Bus::new();
    assert!(matches!(durable.automations(&bus, BOUNDS), Err(OpenError::NoRuntime)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        lineside::automation::Automations::of(&bus).unwrap();
        let error = durable.automations(&bus, BOUNDS).err().unwrap().to_string();
        assert!(error.ends_with("before hooks are loaded"), "{error}");
        let (_automations, recovered) = durable.automations(&Bus::new(), BOUNDS).unwrap();
        assert_eq!(recovered.live, 1, "{recovered:?}");
    });
}
