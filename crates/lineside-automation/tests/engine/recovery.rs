//! What an earlier life has left: it is joined, handed over and given up as if nothing had come between.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside_automation::jobs::{Which, WhichState};
use lineside_automation::machine::Bounds;
use lineside_automation::machine::job::Why;
use lineside_automation::{Automate, Automations, Durability, JobId, OnBusy, Report, Retry};
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, JobCounts, Signal};
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_core::json::json;
use lineside_core::matcher::MatcherDraft;
use lineside_core::{Acceptance, Outcome, Verdict};
use lineside_points::{AfterToolBatch, BeforeTool, OnPrompt};

use crate::lives::Disk;
use crate::{changed, millis};

fn open(disk: &Disk) -> (Bus, Automations) {
    let bus = Bus::new();
    let (automations, recovered) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
    assert!(recovered.findings.is_empty(), "{recovered:?}");
    (bus, automations)
}

/// An automation of the bus, for every session, that ends after a while or never.
fn lint(bus: &Bus, ends_after: Option<Duration>) {
    bus.automate::<AfterToolBatch>("lint")
        .join(Join::BeforeNextModel)
        .retry(Retry::constant(3, millis(1)))
        .run(move |batch, _cx| async move {
            match ends_after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
            Ok(Report::failure(batch.changed_files[0].path.clone()))
        })
        .unwrap();
}

/// A life in which a job of this session was accepted and started, and the process killed.
async fn killed_life(disk: &Disk, session: &str) {
    let (bus, automations) = open(disk);
    lint(&bus, None);
    let session = bus.session(session).open().await.unwrap();
    drop(session.publish(changed("a")).await.unwrap());
    automations.kept().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_next_model_call_of_a_session_that_is_opened_again_waits_for_its_recovered_job() {
    let disk = Disk::default();
    killed_life(&disk, "s1").await;
    let (bus, automations) = open(&disk);
    lint(&bus, Some(Duration::from_secs(10)));
    let session = bus.session("s1").open().await.unwrap();
    let other = bus.session("s2").open().await.unwrap();
    let began = tokio::time::Instant::now();
    assert!(other.collect().before_next_model().await.messages().is_empty());
    assert_eq!(began.elapsed(), Duration::ZERO, "another session waits for nothing");
    let delivery = session.collect().before_next_model().await;
    assert_eq!(delivery.messages()[0].text, "a");
    assert_eq!(began.elapsed().as_secs(), 10);
    automations.all_settled().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_recovered_job_has_for_a_session_waits_until_that_is_opened() {
    let disk = Disk::default();
    killed_life(&disk, "s1").await;
    for life in 2..=3 {
        let (bus, automations) = open(&disk);
        lint(&bus, Some(millis(5)));
        automations.all_settled().await.unwrap();
        let shown = automations.jobs().show(JobId(1)).unwrap();
        assert_eq!(shown.standing.to_string(), "what it found is being handed over", "life {life}");
        assert_eq!(shown.attempts.len(), 2, "it has run once and is not run again");
    }
    let (bus, automations) = open(&disk);
    lint(&bus, Some(millis(5)));
    let session = bus.session("s1").open().await.unwrap();
    automations.all_settled().await.unwrap();
    assert_eq!(session.collect().ready().accept()[0].text, "a");
    let (bus, automations) = open(&disk);
    let session = bus.session("s1").open().await.unwrap();
    assert!(session.collect().before_next_model().await.messages().is_empty(), "and only once");
    automations.all_settled().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_for_an_automation_that_does_not_come_goes_to_the_dead_letters() {
    let disk = Disk::default();
    {
        let (bus, automations) = open(&disk);
        lint(&bus, None);
        bus.automate::<AfterToolBatch>("held")
            .debounce(Debounce::quiet(Duration::from_secs(60)))
            .run(async |_batch, _cx| Ok(Report::success("ok")))
            .unwrap();
        let session = bus.session("s1").open().await.unwrap();
        drop(session.publish(changed("a")).await.unwrap());
        automations.kept().await.unwrap();
    }
    let (bus, automations) = open(&disk);
    lint(&bus, Some(millis(5)));
    // No longer than the run that is not killed here goes on.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let parked = Which { state: WhichState::Live, ..Which::default() };
    let standing = automations.jobs().list(&parked).pop().unwrap().standing.to_string();
    assert_eq!(
        standing, "its automation is not there",
        "it rests until somebody says that nothing more comes"
    );
    let mut signals = bus.signals();
    automations.all_registered();
    automations.all_settled().await.unwrap();
    let dead = Which { state: WhichState::Dead, ..Which::default() };
    let shown = automations.jobs().list(&dead);
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].standing.to_string(), format!("dead: {}", Why::Unregistered));
    let told = std::iter::from_fn(|| signals.try_next())
        .filter(|told| matches!(told, Watched::Signal(Signal::Automation { .. })));
    assert_eq!(told.count(), 1);

    // It is dead in the next life as well, and a person can have it run then.
    let (bus, automations) = open(&disk);
    bus.automate::<AfterToolBatch>("held").run(async |_batch, _cx| Ok(Report::success("ok"))).unwrap();
    assert!(automations.jobs().retry(shown[0].job));
    automations.kept().await.unwrap();
    tokio::time::sleep(millis(10)).await;
    let shown = automations.jobs().show(shown[0].job).unwrap();
    assert_eq!(shown.standing.to_string(), "done");
}

#[tokio::test(start_paused = true)]
async fn what_was_held_in_an_earlier_life_runs_at_once_when_no_further_event_will_come() {
    let disk = Disk::default();
    for life in 1..=2 {
        let (bus, automations) = open(&disk);
        bus.automate::<AfterToolBatch>("held")
            .debounce(Debounce::quiet(Duration::from_secs(3600)).at_most(Duration::from_secs(7200)))
            .run(async |_batch, _cx| Ok(Report::success("ok")))
            .unwrap();
        if life == 1 {
            let session = bus.session("s1").open().await.unwrap();
            drop(session.publish(changed("a")).await.unwrap());
            automations.kept().await.unwrap();
            continue;
        }
        let began = tokio::time::Instant::now();
        automations.release_all();
        automations.all_settled().await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(1));
        assert_eq!(automations.jobs().show(JobId(1)).unwrap().standing.to_string(), "done");
    }
}

#[tokio::test(start_paused = true)]
async fn the_receipt_says_what_has_become_of_an_event() {
    let disk = Disk::default();
    let (bus, automations) = open(&disk);
    let session = bus.session("s1").open().await.unwrap();
    let slow = async |_batch, _cx| {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(Report::success("ok"))
    };
    session.automate::<AfterToolBatch>("at-once").run(slow).unwrap();
    session.automate::<AfterToolBatch>("in-order").concurrency("one").run(slow).unwrap();
    session.automate::<AfterToolBatch>("dropped").concurrency("two").on_busy(OnBusy::Drop).run(slow).unwrap();
    session
        .automate::<AfterToolBatch>("held")
        .debounce(Debounce::quiet(Duration::from_secs(1)))
        .cancelled_by::<OnPrompt>(MatcherDraft::default())
        .run(slow)
        .unwrap();
    let outcomes = |receipt: &lineside_core::Receipt| -> Vec<Acceptance> {
        let acceptance = |outcome: &Outcome| match outcome {
            Outcome::Offered(taken) => taken.clone(),
            other => panic!("{other:?}"),
        };
        receipt.runs.iter().map(|run| acceptance(&run.outcome)).collect()
    };
    let disk = Durability::Disk;
    let first = session.publish(changed("a")).await.unwrap();
    assert_eq!(
        outcomes(first.receipt().unwrap()),
        [
            Acceptance::Started(disk),
            Acceptance::Started(disk),
            Acceptance::Started(disk),
            Acceptance::Held(disk)
        ]
    );
    let second = session.publish(changed("b")).await.unwrap();
    assert_eq!(
        outcomes(second.receipt().unwrap()),
        [
            Acceptance::Started(disk),
            Acceptance::Queued(disk),
            Acceptance::Refused("its key was taken".into()),
            Acceptance::Held(disk)
        ]
    );
    let prompt = session.publish(OnPrompt::new("go on")).await.unwrap();
    assert_eq!(outcomes(prompt.receipt().unwrap()), [Acceptance::Cancels(1)]);
    let written = second.receipt().unwrap().to_json();
    assert_eq!(written["hooks"][1], json!({"hook": "in-order", "queued": true, "durability": "disk"}));
    automations.all_settled().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn w04_on_a_full_disk_the_publisher_is_told_and_gates_go_on_deciding() {
    let disk = Disk::default();
    let (bus, automations) = open(&disk);
    lint(&bus, Some(millis(5)));
    let session = bus.session("s1").open().await.unwrap();
    session
        .intercept::<BeforeTool>("no-shell")
        .gate(async |_call, _cx| Verdict::block("no shell here"))
        .unwrap();
    assert_eq!(automations.durability(), Ok(Durability::Disk));
    let mut signals = bus.signals();
    disk.broken.store(true, Ordering::SeqCst);
    drop(session.publish(changed("a")).await.unwrap());
    assert!(automations.kept().await.is_err(), "what was said to be started is not acknowledged");

    let decision = session.publish(changed("b")).await.unwrap();
    let (hook, unavailable) = decision.receipt().unwrap().unavailable().next().unwrap();
    assert_eq!((&*hook.name, &*unavailable.why), ("lint", "no space"));
    assert_eq!(bus.failures(), 1);
    let blocked = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    assert!(blocked.is_refused());

    let told: Vec<String> = std::iter::from_fn(|| signals.try_next())
        .filter_map(|told| match told {
            Watched::Signal(Signal::Announced { notice }) => Some(notice.text),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["no more work of automations is accepted: the journal is unavailable: no space"]);
    assert_eq!(automations.durability().unwrap_err().why, "no space");
    assert!(automations.all_settled().await.is_err());
    assert!(session.collect().before_next_model().await.messages().is_empty(), "nothing is waited for");
    let report = bus.drain(Duration::from_secs(5)).await;
    assert_eq!(report.jobs, JobCounts { lost: 1, ..JobCounts::default() });
    assert!(!report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn the_report_of_a_drain_counts_jobs() {
    use lineside_automation::AtEnd;
    let disk = Disk::default();
    let (bus, automations) = open(&disk);
    bus.automate::<AfterToolBatch>("quick").run(async |_batch, _cx| Ok(Report::success("ok"))).unwrap();
    bus.automate::<AfterToolBatch>("slow")
        .at_end(AtEnd::LeaveRunning)
        .concurrency("one")
        .run(async |_batch, _cx| {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok(Report::success("ok"))
        })
        .unwrap();
    let session = bus.session("s1").open().await.unwrap();
    for path in ["a", "b"] {
        drop(session.publish(changed(path)).await.unwrap());
    }
    automations.kept().await.unwrap();
    let report = bus.drain(Duration::from_secs(5)).await;
    assert_eq!(report.jobs, JobCounts { finished: 2, running: 1, kept: 2, ..JobCounts::default() });
    assert!(report.is_clean(), "the next life goes on with them");
}

#[tokio::test(start_paused = true)]
async fn dead_letters_that_are_too_many_are_told_counted_and_no_trouble_for_the_next_life() {
    let disk = Disk::default();
    let bounds = Bounds { dead: 3, finished: 2, ..Bounds::default() };
    {
        let bus = Bus::new();
        let (automations, _) = Automations::open(&bus, bounds, Arc::new(disk.clone()), []).unwrap();
        bus.automate::<AfterToolBatch>("fails")
            .run(async |_, _| Err(lineside_core::Failure::new(lineside_core::FailureKind::Error, "no")))
            .unwrap();
        let session = bus.session("s1").open().await.unwrap();
        let mut signals = bus.signals();
        for _ in 0..8 {
            drop(session.publish(changed("a")).await.unwrap());
        }
        automations.all_settled().await.unwrap();
        assert_eq!(automations.jobs().forgotten_so_far(), 5);
        let mut warned = Vec::new();
        while let Some(watched) = signals.try_next() {
            if let Watched::Signal(Signal::Announced { notice }) = watched {
                warned.push(notice.text);
            }
        }
        assert_eq!(warned, ["there are 3 dead letters, and no more are kept: the oldest are thrown away"]);
        assert_eq!(bus.drain(Duration::from_secs(1)).await.jobs.forgotten, 5);
    }
    let (_, recovered) =
        Automations::open(&Bus::new(), bounds, Arc::new(disk.clone()), disk.entries()).unwrap();
    assert!(recovered.findings.is_empty(), "{:?}", recovered.findings);
    assert_eq!((recovered.live, recovered.dead), (0, 3));
}
