//! Automations whose records are kept: what one life of the process accepted, the next one runs.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_automation::machine::Bounds;
use lineside_automation::record::Entry;
use lineside_automation::{Automate, Automations, Durability, JobId, Journal, Report, Retry, Unavailable};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, JobNews, Session};
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_core::journal::{AppendAck, Sequence};
use lineside_points::AfterToolBatch;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::{changed, millis, news, rest};

/// Keeps entries, as a journal on a disk would; it can break.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    entries: Arc<Mutex<Vec<(Sequence, Entry)>>>,
    pub(crate) broken: Arc<std::sync::atomic::AtomicBool>,
}

impl Disk {
    /// What a killed life has left.
    pub(crate) fn of(entries: Vec<(Sequence, Entry)>) -> Self {
        Self { entries: Arc::new(Mutex::new(entries)), ..Self::default() }
    }

    pub(crate) fn entries(&self) -> Vec<(Sequence, Entry)> {
        self.entries.lock().unwrap().clone()
    }

    fn last(&self) -> Sequence {
        self.entries.lock().unwrap().last().map_or(Sequence(0), |(last, _)| *last)
    }
}

impl Journal for Disk {
    fn append(&self, records: Vec<Entry>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        let disk = self.clone();
        Box::pin(async move {
            tokio::time::sleep(millis(1)).await;
            if disk.broken.load(Ordering::SeqCst) {
                return Err(Unavailable::because("no space"));
            }
            let mut last = disk.last();
            for record in records {
                last = last.next();
                disk.entries.lock().unwrap().push((last, record));
            }
            Ok(AppendAck { last, durability: Durability::Disk })
        })
    }

    fn durability(&self) -> Durability {
        Durability::Disk
    }

    fn checkpoint(&self, snapshot: Vec<Entry>, up_to: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        let disk = self.clone();
        Box::pin(async move {
            tokio::time::sleep(millis(5)).await;
            let mut entries = disk.entries.lock().unwrap();
            let later = entries.iter().filter(|(at, _)| *at > up_to).cloned().collect::<Vec<_>>();
            *entries = snapshot.into_iter().map(|record| (up_to, record)).chain(later).collect();
            Ok(())
        })
    }
}

/// A life of the process: a bus with an automation that never ends in the first one.
async fn life(disk: &Disk, ends: bool) -> (Bus, Session, Automations) {
    let bus = Bus::new();
    let earlier = disk.entries();
    let (automations, recovered) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), earlier).unwrap();
    assert!(recovered.findings.is_empty(), "{recovered:?}");
    let session = bus.session("s1").project_root("/p").open().await.unwrap();
    session
        .automate::<AfterToolBatch>("lint")
        .debounce(Debounce::quiet(millis(20)))
        .retry(Retry::constant(3, millis(5)))
        .run(move |batch, _cx| async move {
            if !ends {
                std::future::pending::<()>().await;
            }
            let paths: Vec<_> = batch.changed_files.iter().map(|file| file.path.clone()).collect();
            Ok(Report::failure(format!("{} of turn {:?}", paths.join(" "), batch.envelope().turn)))
        })
        .unwrap();
    (bus, session, automations)
}

#[tokio::test(start_paused = true)]
async fn law_09_what_was_accepted_in_one_life_runs_in_the_next() {
    let disk = Disk::default();
    {
        let (_bus, session, automations) = life(&disk, false).await;
        drop(session.publish(changed("a")).await.unwrap());
        drop(session.event(changed("b")).turn(7).publish().await.unwrap());
        assert_eq!(automations.kept().await, Ok(Durability::Disk));
        tokio::time::sleep(millis(100)).await;
        assert_eq!(automations.jobs().why(JobId(1)).unwrap().to_string(), "runs, attempt 1");
        // One more is held when the process is killed.
        drop(session.publish(changed("c")).await.unwrap());
        automations.kept().await.unwrap();
    }
    let (_bus, session, automations) = life(&disk, true).await;
    rest(&automations).await;
    let delivery = session.collect().ready();
    let texts: Vec<_> = delivery.messages().iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["a b of turn Some(7)", "c of turn None"]);
    let shown = automations.jobs().show(JobId(1)).unwrap();
    assert_eq!(shown.attempts.len(), 2, "the run that was killed counts");
    assert_eq!(shown.attempts[0].ended, None);
}

#[tokio::test(start_paused = true)]
async fn w04_when_records_are_not_kept_nothing_is_accepted_and_nothing_starts() {
    let disk = Disk::default();
    let (bus, session, automations) = life(&disk, true).await;
    automations.kept().await.unwrap();
    disk.broken.store(true, Ordering::SeqCst);
    let mut signals = bus.signals();
    drop(session.publish(changed("a")).await.unwrap());
    assert!(automations.kept().await.unwrap_err().to_string().contains("no space"));
    drop(session.publish(changed("b")).await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let news = news(&mut signals);
    assert!(matches!(&news[..], [JobNews::Refused(why)] if why.contains("no space")), "{news:?}");
    assert_eq!(automations.jobs().refused_so_far(), 1);
    session.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_join_waits_for_a_run_that_goes_on_though_its_records_are_not_kept_any_more() {
    let disk = Disk::default();
    let bus = Bus::new();
    let (automations, _) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), Vec::new()).unwrap();
    let session = bus.session("s1").open().await.unwrap();
    let (begun, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let run = |name: &'static str| {
        let (begun, gate) = (Arc::clone(&begun), Arc::clone(&gate));
        let any = session.automate::<AfterToolBatch>(name).join(Join::BeforeNextModel);
        any.concurrency("one").run(move |_batch, _cx| {
            let (begun, gate) = (Arc::clone(&begun), Arc::clone(&gate));
            async move {
                begun.add_permits(1);
                gate.acquire().await.unwrap().forget();
                Ok(Report::failure("found"))
            }
        })
    };
    // One runs, and the other waits for its key.
    run("runs").unwrap();
    run("waits").unwrap();
    drop(session.publish(changed("a")).await.unwrap());
    begun.acquire().await.unwrap().forget();
    automations.kept().await.unwrap();
    let mut collecting = Box::pin(session.collect().before_next_model());
    assert!(timeout(millis(1), &mut collecting).await.is_err(), "it waits");
    disk.broken.store(true, Ordering::SeqCst);
    drop(session.publish(changed("b")).await.unwrap());
    automations.kept().await.unwrap_err();
    assert!(timeout(millis(1), &mut collecting).await.is_err(), "one is under way");
    gate.add_permits(1);
    // The other one does not start any more, and is not waited for.
    drop(collecting.await);
}
