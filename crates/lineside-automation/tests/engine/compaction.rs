//! The journal is compacted while everything goes on: at no moment has it less to say than all records.

use std::sync::{Arc, Mutex};

use lineside_automation::machine::{Bounds, Machine};
use lineside_automation::offered::Offered;
use lineside_automation::record::{Entry, Record};
use lineside_automation::{Automate, Automations, Journal, OnBusy, Report, Retry, Unavailable};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Signal};
use lineside_core::flow::Debounce;
use lineside_core::journal::{AppendAck, Durability, Sequence};
use lineside_core::{Failure, FailureKind};
use proptest::prelude::*;

use crate::{changed, millis, rest};

type Entries = Vec<(Sequence, Entry)>;

/// A journal that remembers what a process would have found that had been killed at any moment.
#[derive(Clone, Default)]
struct Watchful(Arc<Mutex<Moments>>);

#[derive(Default)]
struct Moments {
    /// Every record there was.
    whole: Entries,
    /// What it holds.
    now: Entries,
    /// What it held at each moment.
    then: Vec<Entries>,
    checkpoints: usize,
    /// So many checkpoints fail.
    fail: usize,
}

impl Moments {
    fn last(&self) -> Sequence {
        self.whole.last().map_or(Sequence(0), |(last, _)| *last)
    }
}

impl Journal for Watchful {
    fn append(&self, records: Vec<Entry>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        let own = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::time::sleep(millis(1)).await;
            let mut own = own.lock().unwrap();
            for record in records {
                let at = own.last().next();
                own.whole.push((at, record.clone()));
                own.now.push((at, record));
            }
            let now = own.now.clone();
            own.then.push(now);
            Ok(AppendAck { last: own.last(), durability: Durability::Disk })
        })
    }

    fn checkpoint(&self, snapshot: Vec<Entry>, up_to: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        let own = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::time::sleep(millis(7)).await;
            let mut own = own.lock().unwrap();
            if own.fail > 0 {
                own.fail -= 1;
                return Err(Unavailable::because("no room for a snapshot"));
            }
            let later = own.now.iter().filter(|(at, _)| *at > up_to).cloned().collect::<Entries>();
            own.now = snapshot.into_iter().map(|record| (up_to, record)).chain(later).collect();
            own.checkpoints += 1;
            let now = own.now.clone();
            own.then.push(now);
            Ok(())
        })
    }
}

const BOUNDS: Bounds = Bounds {
    jobs: 1000,
    bytes: 1 << 30,
    running: 3,
    finished: 100,
    dead: 5,
    remembered: 50,
    rates: 1 << 20,
    records: 10,
};

/// All that would be recovered from these entries.
fn recovered(entries: &[(Sequence, Entry)]) -> Vec<String> {
    let records = entries.iter().map(|(_, entry)| Record::<Offered>::read(entry).unwrap());
    let (machine, troubles) = Machine::recover(BOUNDS, records);
    assert_eq!(troubles, []);
    let mut state: Vec<String> = machine
        .snapshot()
        .iter()
        .filter(|record| !matches!(record, Record::Numbers { .. }))
        .map(|record| String::from_utf8(record.write().unwrap().bytes).unwrap())
        .collect();
    state.sort();
    state
}

/// Publishes so many events, some time apart, for automations that fail as often as not.
async fn live(journal: &Watchful, gaps: &[u64], bus: &Bus) {
    let (automations, _) = Automations::open(bus, BOUNDS, Arc::new(journal.clone()), []).unwrap();
    let session = bus.session("s1").project_root("/p").open().await.unwrap();
    for (name, on_busy, quiet) in [("one", OnBusy::Queue, None), ("other", OnBusy::Coalesce, Some(3))] {
        let mut automation = session
            .automate::<lineside_points::AfterToolBatch>(name)
            .concurrency("{project_root}")
            .on_busy(on_busy);
        if let Some(quiet) = quiet {
            automation = automation.debounce(Debounce::quiet(millis(quiet)));
        }
        let counter = std::sync::atomic::AtomicU64::new(0);
        automation
            .retry(Retry::constant(2, millis(4)))
            .run(move |_batch, _cx| {
                let number = counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                async move {
                    tokio::time::sleep(millis(number % 5)).await;
                    match number % 2 {
                        0 => Err(Failure::new(FailureKind::Error, "no luck")),
                        _ => Ok(Report::failure("something")),
                    }
                }
            })
            .unwrap();
    }
    for (number, gap) in gaps.iter().enumerate() {
        tokio::time::sleep(millis(*gap)).await;
        drop(session.publish(changed(&number.to_string())).await.unwrap());
    }
    rest(&automations).await;
    tokio::time::sleep(millis(50)).await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]

    /// Killed between two appends, between a snapshot and its checkpoint, or after it: what is recovered is what all
    /// records say.
    #[test]
    fn a_kill_at_any_moment_of_a_compaction_loses_nothing(gaps in prop::collection::vec(0u64..9, 15..25)) {
        let journal = Watchful::default();
        runtime().block_on(live(&journal, &gaps, &Bus::new()));
        let moments = journal.0.lock().unwrap();
        prop_assert!(moments.checkpoints > 2, "{} checkpoints", moments.checkpoints);
        for then in &moments.then {
            let last = then.last().map_or(Sequence(0), |(last, _)| *last);
            let whole: Entries = moments.whole.iter().filter(|(at, _)| *at <= last).cloned().collect();
            prop_assert_eq!(recovered(then), recovered(&whole));
        }
        // It does not grow without end: what it holds is a few records for each job, and the rest is gone.
        let most = moments.then.iter().map(Vec::len).max().unwrap_or_default();
        prop_assert!(most < moments.whole.len() / 2 + 40, "{most} of {}", moments.whole.len());
    }
}

#[test]
fn a_checkpoint_that_fails_is_told_and_tried_again_later() {
    let journal = Watchful::default();
    journal.0.lock().unwrap().fail = 1;
    let bus = Bus::new();
    let mut signals = bus.signals();
    runtime().block_on(live(&journal, &[5; 60], &bus));
    let mut told = Vec::new();
    while let Some(watched) = signals.try_next() {
        if let Watched::Signal(Signal::Announced { notice }) = watched {
            told.push(notice.text);
        }
    }
    let expected = "the journal of jobs grows, because it cannot be compacted: \
                    the journal is unavailable: no room for a snapshot";
    assert_eq!(told, [expected]);
    assert!(journal.0.lock().unwrap().checkpoints > 0, "and tried again");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_told_and_stays_through_a_compaction() {
    let newer = Entry::new(2, br#"{"v":99,"record":{"accepted":"in another way"}}"#.to_vec());
    let journal = Watchful::default();
    journal.0.lock().unwrap().now.push((Sequence(1), newer.clone()));
    journal.0.lock().unwrap().whole.push((Sequence(1), newer.clone()));
    let bus = Bus::new();
    let earlier = journal.0.lock().unwrap().now.clone();
    let (automations, recovered) =
        Automations::open(&bus, Bounds { records: 3, ..BOUNDS }, Arc::new(journal.clone()), earlier).unwrap();
    let findings: Vec<String> = recovered.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        ["record 1 cannot be used: entry 2 is of version 99, and this programme reads up to 3"]
    );
    let session = bus.session("s1").open().await.unwrap();
    session
        .automate::<lineside_points::AfterToolBatch>("lint")
        .run(async |_batch, _cx| Ok(Report::success("ok")))
        .unwrap();
    for path in ["a", "b", "c"] {
        drop(session.publish(changed(path)).await.unwrap());
        rest(&automations).await;
    }
    tokio::time::sleep(millis(50)).await;
    let moments = journal.0.lock().unwrap();
    assert!(moments.checkpoints > 0);
    assert_eq!(moments.now[0].1, newer);
    let jobs = automations.jobs().list(&lineside_automation::jobs::Which::default());
    assert_eq!(jobs[0].job.0, 2, "the number of a job that it may be about is not given again");
}
