//! The end of a bus, in virtual time: every job that was accepted is settled, is left to the next life, or is counted
//! as lost; and no job takes the time of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_automation::machine::job::{Settled, Why};
use lineside_automation::machine::{Bounds, JobStatus};
use lineside_automation::{AtEnd, Automate, Automations, JobId, Report, Retry};
use lineside_bus::{Bus, DrainReport, JobNews, Session};
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_core::matcher::path;
use lineside_core::{Failure, FailureKind};
use lineside_points::AfterToolBatch;
use proptest::prelude::*;
use tokio::time::{Instant, sleep};

use crate::lives::Disk;
use crate::{changed, millis, news};

const STUCK: &str = "stuck";

fn open(disk: Option<&Disk>) -> (Bus, Automations) {
    let bus = Bus::new();
    let automations = match disk {
        Some(disk) => {
            let kept = Arc::new(disk.clone());
            Automations::open(&bus, Bounds::default(), kept, disk.entries()).unwrap().0
        }
        None => Automations::of(&bus).unwrap(),
    };
    (bus, automations)
}

/// An automation whose runs take so many milliseconds as the changed file says, or never end.
fn work(bus: &Bus, attempts: u32, at_end: AtEnd) {
    bus.automate::<AfterToolBatch>("work")
        .retry(Retry::constant(attempts, millis(5)))
        .timeout(Duration::from_secs(24 * 3600))
        .at_end(at_end)
        .run(async |batch, _cx| {
            match batch.changed_files[0].path.parse() {
                Ok(takes) => sleep(millis(takes)).await,
                Err(_) => std::future::pending().await,
            }
            Ok(Report::success("ok"))
        })
        .unwrap();
}

async fn sessions(bus: &Bus, takes: impl IntoIterator<Item = String>) -> Vec<Session> {
    let mut sessions = Vec::new();
    for (number, takes) in takes.into_iter().enumerate() {
        let session = bus.session(format!("s{number}")).open().await.unwrap();
        drop(session.publish(changed(&takes)).await.unwrap());
        sessions.push(session);
    }
    sessions
}

/// One that never ends and many that take no time worth speaking of, more than may run at once.
fn one_stuck() -> impl Iterator<Item = String> {
    std::iter::once(STUCK.to_owned()).chain((0..180).map(|_| "10".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn a_stuck_session_costs_the_others_nothing_when_the_bus_ends() {
    let (bus, automations) = open(None);
    work(&bus, 1, AtEnd::default());
    let _sessions = sessions(&bus, one_stuck()).await;
    let mut signals = bus.signals();
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!((report.jobs.finished, report.jobs.kept, report.jobs.lost), (180, 0, 1));
    assert!(!report.is_clean());
    let cut: Vec<_> =
        news(&mut signals).into_iter().filter(|news| matches!(news, JobNews::Cancelled(_))).collect();
    assert_eq!(cut, [JobNews::Cancelled(Why::BusEnded.to_string())]);
    let shown = automations.jobs().show(JobId(1));
    let settled = shown.map(|shown| shown.standing);
    assert!(
        matches!(settled, Some(JobStatus::Settled { settled: Settled::Cancelled(Why::BusEnded), .. })),
        "{settled:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn law_09_what_a_journal_keeps_goes_on_in_the_next_life() {
    let disk = Disk::default();
    {
        let (bus, _automations) = open(Some(&disk));
        work(&bus, 2, AtEnd::default());
        let _sessions = sessions(&bus, one_stuck()).await;
        let report = bus.drain(Duration::from_secs(1)).await;
        assert_eq!((report.jobs.finished, report.jobs.kept, report.jobs.lost), (180, 1, 0));
        assert!(report.is_clean());
    }
    let (bus, automations) = open(Some(&disk));
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    bus.automate::<AfterToolBatch>("work")
        .retry(Retry::constant(2, millis(5)))
        .run(move |batch, _cx| {
            assert_eq!(batch.changed_files[0].path, STUCK);
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(Report::success("ok")) }
        })
        .unwrap();
    automations.all_settled().await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn patience_does_not_add_up() {
    for disk in [None, Some(Disk::default())] {
        let (bus, _automations) = open(disk.as_ref());
        work(&bus, 2, AtEnd::Drain(Duration::from_secs(10)));
        let _sessions = sessions(&bus, (0..20).map(|_| STUCK.to_owned())).await;
        let began = Instant::now();
        let report = bus.drain(Duration::from_secs(3600)).await;
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(10) && took < Duration::from_secs(11), "{took:?}");
        let kept = if disk.is_some() { 20 } else { 0 };
        assert_eq!((report.jobs.finished, report.jobs.kept, report.jobs.lost), (0, kept, 20 - kept));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_accepted_in_the_last_moment_is_on_record() {
    let disk = Disk::default();
    let (bus, _automations) = open(Some(&disk));
    work(&bus, 1, AtEnd::default());
    let _sessions = sessions(&bus, (0..5).map(|_| "10".to_owned())).await;
    let report = bus.drain(Duration::ZERO).await;
    assert_eq!((report.jobs.kept, report.jobs.lost), (5, 0));
    let (_bus, automations) = open(Some(&disk));
    assert_eq!(automations.jobs().list(&lineside_automation::jobs::Which::default()).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_an_automation_leaves_running_has_the_time_of_the_bus() {
    let (bus, _automations) = open(None);
    work(&bus, 1, AtEnd::LeaveRunning);
    let _sessions = sessions(&bus, ["500".to_owned(), STUCK.to_owned()]).await;
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!((report.jobs.finished, report.jobs.lost), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_was_given_up_is_taken_up_again() {
    let (bus, _automations) = open(None);
    work(&bus, 1, AtEnd::default());
    let _sessions = sessions(&bus, ["500".to_owned(), STUCK.to_owned()]).await;
    let given_up = tokio::time::timeout(millis(100), bus.drain(Duration::from_secs(1))).await;
    assert!(given_up.is_err());
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!((report.sessions, report.jobs.finished, report.jobs.lost), (2, 1, 1));
}

/// Counts how often something is polled.
struct Polled<F>(std::pin::Pin<Box<F>>, Arc<AtomicUsize>);

impl<F: Future> Future for Polled<F> {
    type Output = F::Output;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<F::Output> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.as_mut().poll(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_job_is_not_woken_by_the_jobs_of_others() {
    const SESSIONS: usize = 300;
    let bus = Bus::new();
    bus.automate::<AfterToolBatch>("work")
        .join(Join::BeforeNextModel)
        .run(async |batch, _cx| {
            sleep(millis(batch.changed_files[0].path.parse().unwrap())).await;
            Ok(Report::success("ok"))
        })
        .unwrap();
    let sessions = sessions(&bus, (1..=SESSIONS).map(|takes| takes.to_string())).await;
    let polls = Arc::new(AtomicUsize::new(0));
    let mut waiting = tokio::task::JoinSet::new();
    for session in sessions {
        let polls = Arc::clone(&polls);
        waiting.spawn(async move {
            let waits = async { session.collect().before_next_model().await.accept() };
            Polled(Box::pin(waits), polls).await
        });
    }
    while let Some(waited) = waiting.join_next().await {
        waited.unwrap();
    }
    let polls = polls.load(Ordering::SeqCst);
    assert!(polls <= 3 * SESSIONS, "{polls} polls of {SESSIONS} that wait");
}

/// A job: how long it takes, and whether it is held.
type Case = (u64, bool);

async fn ends(cases: &[Case], patience: u64, limit: u64, disk: Option<&Disk>) -> (DrainReport, usize) {
    let (bus, automations) = open(disk);
    let runs = Arc::new(AtomicUsize::new(0));
    let run = move |batch: lineside_core::Event<AfterToolBatch>| {
        let fails = runs.fetch_add(1, Ordering::SeqCst).is_multiple_of(3);
        async move {
            let (_, takes) = batch.changed_files[0].path.split_once('-').unwrap();
            sleep(millis(takes.parse().unwrap())).await;
            if fails {
                return Err(Failure::new(FailureKind::Error, "no"));
            }
            Ok(Report::success("ok"))
        }
    };
    for (name, held) in [("now", false), ("later", true)] {
        let run = run.clone();
        let automation = bus
            .automate::<AfterToolBatch>(name)
            .concurrency(name)
            .limit(2)
            .retry(Retry::constant(2, millis(30)))
            .at_end(AtEnd::Drain(millis(patience)))
            .matching(path(format!("{name}-*")));
        let automation = if held { automation.debounce(Debounce::quiet(millis(50))) } else { automation };
        automation.run(move |batch, _cx| run(batch)).unwrap();
    }
    let mut open = Vec::new();
    for (number, (takes, held)) in cases.iter().enumerate() {
        let name = if *held { "later" } else { "now" };
        let session = bus.session(format!("s{number}")).open().await.unwrap();
        drop(session.publish(changed(&format!("{name}-{takes}"))).await.unwrap());
        open.push(session);
        sleep(millis(3)).await;
    }
    let report = bus.drain(millis(limit)).await;
    let live = automations.jobs().list(&lineside_automation::jobs::Which {
        state: lineside_automation::jobs::WhichState::Live,
        ..Default::default()
    });
    (report, live.len())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// Law 9 at the end of a bus: exactly one of done or dead, left to the next life, lost.
    #[test]
    fn every_job_is_done_or_dead_or_left_or_lost(
        cases in prop::collection::vec((0u64..200, any::<bool>()), 1..24),
        patience in 1u64..300,
        limit in 0u64..300,
        durable in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let disk = Disk::default();
            let (report, live) = ends(&cases, patience, limit, durable.then_some(&disk)).await;
            let jobs = report.jobs;
            let finished = usize::try_from(jobs.finished).unwrap();
            prop_assert_eq!(finished + jobs.kept + jobs.lost, cases.len(), "{:?}", &report);
            prop_assert_eq!(report.is_clean(), jobs.lost == 0);
            if durable {
                prop_assert_eq!(jobs.lost, 0);
                prop_assert_eq!(live, jobs.kept);
                let bus = Bus::new();
                let (_, recovered) =
                    Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
                prop_assert_eq!(recovered.live, jobs.kept, "what is left is there in the next life");
            } else {
                prop_assert_eq!(live, 0, "nothing goes on");
            }
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn the_context_of_a_run_has_the_number_of_its_attempt() {
    let (bus, automations) = open(None);
    let (sent, seen) = std::sync::mpsc::sync_channel(8);
    bus.automate::<AfterToolBatch>("work")
        .retry(Retry::constant(3, millis(5)))
        .run(move |_, cx| {
            sent.send(cx.attempt()).unwrap();
            let last = cx.attempt() == 3;
            async move {
                if last { Ok(Report::success("ok")) } else { Err(Failure::new(FailureKind::Error, "again")) }
            }
        })
        .unwrap();
    let _sessions = sessions(&bus, ["1".to_owned()]).await;
    automations.all_settled().await.unwrap();
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
}
