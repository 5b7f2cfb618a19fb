//! Automations that files declare: an attempt is on record when its turn has come, and before what it runs begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_automation::control::{Control, Retry};
use lineside_automation::jobs::Which;
use lineside_automation::machine::{Bounds, JobStatus};
use lineside_automation::{Automations, Declaration, Report};
use lineside_bus::Bus;
use lineside_core::hook::Hook;
use lineside_core::payload::Point as _;
use lineside_core::{Acceptance, Outcome, Part};
use lineside_points::OnIdle;
use tokio::sync::Semaphore;

use crate::lives::Disk;
use crate::millis;

/// A life with a declared automation of two attempts, which waits for its turn, counts that it begins, and never ends.
async fn life(disk: &Disk, turns: &Arc<Semaphore>) -> (Bus, Automations, Arc<AtomicUsize>) {
    let bus = Bus::new();
    let (automations, recovered) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
    assert!(recovered.findings.is_empty(), "{recovered:?}");
    let ran = Arc::new(AtomicUsize::new(0));
    let (begun, turns) = (Arc::clone(&ran), Arc::clone(turns));
    let control = Control { retry: Retry::constant(2, millis(1)), ..Control::default() };
    let declaration = Declaration {
        id: "file/on_idle/a".into(),
        hook: Hook::native("a", Part::PostDecision),
        point: OnIdle::INFO,
        rules: Arc::new(control.check(OnIdle::INFO, &[]).unwrap()),
        cancelled_by: Vec::new(),
        everywhere: None,
        run: Arc::new(move |_, _, _, turn| {
            let (turns, begun) = (Arc::clone(&turns), Arc::clone(&begun));
            Box::pin(async move {
                turns.acquire().await.unwrap().forget();
                turn.begins().await;
                begun.fetch_add(1, Ordering::SeqCst);
                std::future::pending::<()>().await;
                Ok(Report::success("never"))
            })
        }),
    };
    bus.install("file", automations.declare(declaration)).unwrap();
    (bus, automations, ran)
}

fn attempts(automations: &Automations) -> usize {
    automations.jobs().list(&Which::default())[0].attempts.len()
}

#[tokio::test(start_paused = true)]
async fn an_attempt_counts_when_its_turn_has_come() {
    let (mut disk, none) = (Disk::default(), Arc::new(Semaphore::new(0)));
    // Each of these lives is killed while the run waits for its turn.
    for life_number in 0..4 {
        let (bus, automations, ran) = life(&disk, &none).await;
        if life_number == 0 {
            let session = bus.session("s1").open().await.unwrap();
            let decision = session.publish(OnIdle::new()).await.unwrap();
            let run = &decision.receipt().unwrap().runs[0];
            assert!(matches!(run.outcome, Outcome::Offered(Acceptance::Started(_))), "{run:?}");
        }
        tokio::time::sleep(millis(100)).await;
        automations.kept().await.unwrap();
        let standing = automations.jobs().list(&Which::default())[0].standing.clone();
        assert_eq!((standing, attempts(&automations)), (JobStatus::Turn { ahead: 0 }, 0));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        disk = Disk::of(disk.entries());
    }
    // These are killed after that.
    for life_number in 1..=2 {
        let (_bus, automations, ran) = life(&disk, &Arc::new(Semaphore::new(1))).await;
        tokio::time::sleep(millis(100)).await;
        assert_eq!((attempts(&automations), ran.load(Ordering::SeqCst)), (life_number, 1));
        disk = Disk::of(disk.entries());
    }
    let (bus, automations, ran) = life(&disk, &Arc::new(Semaphore::new(1))).await;
    // What became of it is for the session.
    let _session = bus.session("s1").open().await.unwrap();
    tokio::time::sleep(millis(100)).await;
    let standing = automations.jobs().list(&Which::default())[0].standing.to_string();
    assert_eq!(standing, "dead: it was started 2 times, and its process did not live to end it");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_put_on_record_does_not_begin() {
    let (disk, turns) = (Disk::default(), Arc::new(Semaphore::new(0)));
    let (bus, automations, ran) = life(&disk, &turns).await;
    let session = bus.session("s1").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    automations.kept().await.unwrap();
    disk.broken.store(true, Ordering::SeqCst);
    turns.add_permits(1);
    tokio::time::sleep(millis(100)).await;
    assert!(automations.durability().is_err());
    assert_eq!((turns.available_permits(), ran.load(Ordering::SeqCst)), (0, 0));
    // The run was cancelled, so that nothing waits for it.
    assert_eq!(Arc::strong_count(&ran), 2, "the run has gone, and its automation has not");
}
