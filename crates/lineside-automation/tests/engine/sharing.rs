//! What is shared with other machines: turns while a key of the cluster is waited for, and jobs that another one may run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_automation::control::{Assignment, Control, Place, Rate, Retry, Scope};
use lineside_automation::engine::Borrowed;
use lineside_automation::jobs::Which;
use lineside_automation::machine::{Bounds, Ended};
use lineside_automation::{
    Automate, Automations, Declaration, LostKeyError, Report, RunUnderKey, SharedKeys,
};
use lineside_bus::Bus;
use lineside_bus::interceptor::BoxFuture;
use lineside_core::flow::Debounce;
use lineside_core::hook::Hook;
use lineside_core::payload::Point as _;
use lineside_core::{FailureKind, Part};
use lineside_points::OnIdle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::lives::Disk;
use crate::millis;

/// What the hook is called everywhere.
const HOOK: &str = "content.hook";

fn bounds(running: usize) -> Bounds {
    Bounds { running, ..Bounds::default() }
}

fn open(disk: &Disk, running: usize) -> (Bus, Automations) {
    let bus = Bus::new();
    let (automations, recovered) =
        Automations::open(&bus, bounds(running), Arc::new(disk.clone()), disk.entries()).unwrap();
    assert!(recovered.findings.is_empty(), "{recovered:?}");
    (bus, automations)
}

/// An automation of a file that counts its runs, each of which ends when there is a permit.
fn declare(
    (bus, automations): &(Bus, Automations),
    control: &Control,
    everywhere: Option<&str>,
    ends: &Arc<Semaphore>,
) -> Arc<AtomicUsize> {
    let ran = Arc::new(AtomicUsize::new(0));
    let (begun, ends) = (Arc::clone(&ran), Arc::clone(ends));
    let declaration = Declaration {
        id: "lineside:/p/hooks.yaml/on_idle/a".into(),
        hook: Hook::native("a", Part::PostDecision),
        point: OnIdle::INFO,
        rules: Arc::new(control.check(OnIdle::INFO, &[]).unwrap()),
        cancelled_by: Vec::new(),
        everywhere: everywhere.map(Into::into),
        run: Arc::new(move |_, assignment, _, turn| {
            let (begun, ends) = (Arc::clone(&begun), Arc::clone(&ends));
            Box::pin(async move {
                turn.begins().await;
                begun.fetch_add(1, Ordering::SeqCst);
                ends.acquire().await.unwrap().forget();
                Ok(Report::success(format!("job {} attempt {}", assignment.job, assignment.attempt)))
            })
        }),
    };
    bus.install("file", automations.declare(declaration)).unwrap();
    ran
}

fn anywhere() -> Control {
    Control { place: Place::Anywhere, retry: Retry::constant(2, millis(10)), ..Control::default() }
}

async fn publish(bus: &Bus, times: usize) {
    let session = match bus.find("s1") {
        Some(session) => session,
        None => bus.session("s1").open().await.unwrap(),
    };
    for _ in 0..times {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
}

/// Lets everything happen that can.
async fn settle() {
    tokio::time::sleep(millis(5)).await;
}

fn standings(automations: &Automations) -> Vec<String> {
    automations.jobs().list(&Which::default()).iter().map(|job| job.standing.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_finds_no_turn_is_spare_is_lent_once_and_ends_as_the_other_machine_says() {
    let (disk, none) = (Disk::default(), Arc::new(Semaphore::new(0)));
    let here = open(&disk, 1);
    let ran = declare(&here, &anywhere(), Some(HOOK), &none);
    let (bus, automations) = &here;
    automations.share_jobs(true);
    publish(bus, 3).await;
    let mut spare = automations.spare_jobs(1).await;
    spare.extend(automations.spare_jobs(9).await);
    assert_eq!(spare.iter().map(|spare| spare.job).collect::<Vec<_>>(), [2, 3]);
    assert!(spare.iter().all(|spare| &*spare.hook == HOOK && spare.key.is_none() && spare.attempts == 0));
    assert!(automations.lend(1, HOOK).await.is_none(), "it runs here");
    assert!(automations.lend(2, "content.other").await.is_none(), "it is of another hook");
    let records = disk.entries().len();
    assert!(automations.lend_within(2, HOOK, 9).await.is_none(), "it does not fit");
    assert_eq!(disk.entries().len(), records, "no attempt of it is made");
    let lent = automations.lend_within(2, HOOK, 9_000).await.unwrap();
    assert!(disk.entries().len() > records, "its attempt is on record before it begins");
    assert!(automations.lend(2, HOOK).await.is_none(), "it has begun");
    assert_eq!((lent.attempt, lent.events), (1, 1));
    // The other machine has the hook, and a turn.
    let other = open(&Disk::default(), 1);
    let (one, cancel) = (Arc::new(Semaphore::new(1)), CancellationToken::new());
    let ran_there = declare(&other, &anywhere(), Some(HOOK), &one);
    assert_eq!(other.1.everywhere(), [Arc::from(HOOK)]);
    let turn = other.1.take_turn().unwrap();
    assert!(other.1.take_turn().is_none(), "there is one");
    let assignment = Assignment { job: 2, attempt: lent.attempt, events: lent.events, fence: None };
    let borrowed = Borrowed { hook: HOOK, event: &lent.event, assignment };
    let ended = other.1.borrow(borrowed, &cancel).await.unwrap();
    assert_eq!(ended, Ended::With(Ok(Report::success("job 2 attempt 1"))));
    drop(turn);
    assert!(other.1.take_turn().is_some());
    settle().await;
    assert_eq!((ran.load(Ordering::SeqCst), ran_there.load(Ordering::SeqCst)), (1, 1));
    assert!(other.1.jobs().list(&Which::default()).is_empty(), "nothing of it is on record there");
    lent.ended(ended).await.unwrap();
    assert_eq!(standings(automations)[1], "done");
    // The turn of the first is still the only one, and goes to the third.
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    none.add_permits(2);
    automations.all_settled().await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    assert!(automations.lend(3, HOOK).await.is_none(), "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_run_elsewhere_that_is_given_up_has_failed_and_its_job_is_spare_again() {
    let (disk, none) = (Disk::default(), Arc::new(Semaphore::new(0)));
    let here = open(&disk, 1);
    declare(&here, &anywhere(), Some(HOOK), &none);
    let (bus, automations) = &here;
    automations.share_jobs(true);
    publish(bus, 2).await;
    for attempt in 1..=2 {
        let spare = automations.spare_jobs(9).await;
        assert_eq!(
            spare.iter().map(|spare| (spare.job, spare.attempts)).collect::<Vec<_>>(),
            [(2, attempt - 1)]
        );
        drop(automations.lend(2, HOOK).await.unwrap());
        settle().await;
        tokio::time::sleep(millis(20)).await;
    }
    let standing = standings(automations)[1].clone();
    assert_eq!(
        standing,
        "dead: it failed 2 times, at last (closed): its run on another machine was given up"
    );
    // A person takes it up again; and drops it while it runs elsewhere.
    assert!(automations.jobs().retry(lineside_automation::JobId(2)));
    assert_eq!(automations.spare_jobs(9).await.len(), 1);
    let lent = automations.lend(2, HOOK).await.unwrap();
    assert!(automations.jobs().drop(lineside_automation::JobId(2)));
    lent.cancelled().await;
    lent.ended(Ended::Cancelled).await.unwrap();
    assert_eq!(standings(automations)[1], "cancelled: a person dropped it");
}

#[tokio::test(start_paused = true)]
async fn a_life_that_ends_while_a_job_runs_elsewhere_counts_the_attempt_and_names_it_again() {
    let (disk, none) = (Disk::default(), Arc::new(Semaphore::new(0)));
    let here = open(&disk, 1);
    declare(&here, &anywhere(), Some(HOOK), &none);
    here.1.share_jobs(true);
    publish(&here.0, 2).await;
    here.1.spare_jobs(9).await;
    let lent = here.1.lend(2, HOOK).await.unwrap();
    let disk = Disk::of(disk.entries());
    let next = open(&disk, 1);
    next.1.share_jobs(true);
    declare(&next, &anywhere(), Some(HOOK), &none);
    // Both are tried again: the first has the turn, and the second is spare with the attempt that it has made.
    tokio::time::sleep(millis(20)).await;
    let spare = next.1.spare_jobs(9).await;
    assert_eq!(spare.iter().map(|spare| (spare.job, spare.attempts)).collect::<Vec<_>>(), [(2, 1)]);
    let again = next.1.lend(2, HOOK).await.unwrap();
    assert!(again.attempt == 2 && again.fence() > lent.fence());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lent_that_does_not_say_so_or_that_no_other_machine_can_have() {
    let none = Arc::new(Semaphore::new(0));
    for (control, everywhere) in [(Control::default(), Some(HOOK)), (anywhere(), None)] {
        let here = open(&Disk::default(), 1);
        declare(&here, &control, everywhere, &none);
        let (bus, automations) = &here;
        automations.share_jobs(true);
        publish(bus, 2).await;
        assert!(tokio::time::timeout(millis(50), automations.spare_jobs(9)).await.is_err());
        assert!(automations.lend(2, HOOK).await.is_none());
        let named = automations.places_without_effect();
        assert_eq!(named.len(), usize::from(everywhere.is_none()));
        assert!(automations.everywhere().is_empty());
    }
    let bus = Bus::new();
    let idle = bus.automate::<OnIdle>("of a program").place(Place::Anywhere);
    idle.run(async |_event, _cx| Ok(Report::success("here"))).unwrap();
    let automations = Automations::of(&bus).unwrap();
    assert_eq!(automations.places_without_effect(), [Arc::from("of a program")]);
    publish(&bus, 1).await;
    automations.all_settled().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_to_hold_on_all_machines_and_holds_on_this_one_is_named() {
    let bus = Bus::new();
    let quiet = || Debounce::quiet(millis(10));
    let run = async |_event, _cx| Ok(Report::success("here"));
    bus.automate::<OnIdle>("alone").debounce(quiet()).run(run).unwrap();
    bus.automate::<OnIdle>("held").debounce(quiet()).hold_scope(Scope::Cluster).run(run).unwrap();
    bus.automate::<OnIdle>("key").concurrency("k").scope(Scope::Cluster).run(run).unwrap();
    let rate = Rate::new(1, millis(10)).across_cluster();
    bus.automate::<OnIdle>("rate").rate(rate).run(run).unwrap();
    let automations = Automations::of(&bus).unwrap();
    let names: Vec<_> = automations.keys_not_shared().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["held", "key", "rate"]);
    publish(&bus, 1).await;
    automations.all_settled().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_here_ends_and_its_turn_is_free() {
    let here = open(&Disk::default(), 1);
    declare(&here, &anywhere(), Some(HOOK), &Arc::new(Semaphore::new(0)));
    here.1.share_jobs(true);
    publish(&here.0, 2).await;
    here.1.spare_jobs(9).await;
    let lent = here.1.lend(2, HOOK).await.unwrap();
    let (other, cancel) = (open(&Disk::default(), 1), CancellationToken::new());
    declare(&other, &anywhere(), Some(HOOK), &Arc::new(Semaphore::new(0)));
    let assignment = Assignment { job: 2, attempt: 1, events: 1, fence: None };
    let borrow = |event| other.1.borrow(Borrowed { hook: HOOK, event, assignment }, &cancel);
    let unreadable = borrow("{}").await.unwrap();
    assert!(matches!(unreadable, Ended::With(Err((FailureKind::Error, _)))), "{unreadable:?}");
    let (ended, ()) = tokio::join!(borrow(&lent.event), async {
        settle().await;
        cancel.cancel();
    });
    assert_eq!(ended, Some(Ended::Cancelled));
}

/// A key of the cluster for each text, which runs have when there is a permit.
struct Keys(Arc<Semaphore>);

impl SharedKeys for Keys {
    fn under(&self, _key: &str, run: RunUnderKey) -> BoxFuture<Result<(), LostKeyError>> {
        let keys = Arc::clone(&self.0);
        Box::pin(async move {
            keys.acquire().await.unwrap().forget();
            run(7).await;
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_key_of_the_cluster_has_no_turn_and_needs_one_when_it_has_the_key() {
    let here = open(&Disk::default(), 2);
    let (bus, automations) = &here;
    let keys = Arc::new(Semaphore::new(0));
    automations.share_keys(Arc::new(Keys(Arc::clone(&keys))));
    let ends = Arc::new(Semaphore::new(0));
    // Each session is a key of its own.
    let keyed =
        Control { scope: Scope::Cluster, concurrency: Some("{session}".to_owned()), ..Control::default() };
    let ran = declare(&here, &keyed, None, &ends);
    for number in 0..5 {
        let session = bus.session(format!("k{number}")).open().await.unwrap();
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    settle().await;
    let attempts =
        || automations.jobs().list(&Which::default()).iter().map(|job| job.attempts.len()).sum::<usize>();
    assert_eq!((ran.load(Ordering::SeqCst), attempts()), (0, 0), "none has its key");
    // Others have both turns meanwhile.
    let turns = (automations.take_turn().unwrap(), automations.take_turn().unwrap());
    assert!(automations.take_turn().is_none());
    keys.add_permits(5);
    settle().await;
    assert_eq!((ran.load(Ordering::SeqCst), attempts()), (0, 0), "all have their keys, and none a turn");
    assert!(tokio::time::timeout(millis(1), automations.spare_turn()).await.is_err(), "those are first");
    drop(turns.0);
    settle().await;
    assert_eq!((ran.load(Ordering::SeqCst), attempts()), (1, 1));
    drop(turns.1);
    settle().await;
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    // One that waits for its turn with its key may be dropped.
    let waits =
        automations.jobs().list(&Which::default()).iter().find(|job| job.attempts.is_empty()).unwrap().job;
    assert!(automations.jobs().drop(waits));
    settle().await;
    ends.add_permits(5);
    automations.all_settled().await.unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), attempts()), (4, 4));
    assert!(automations.take_turn().is_some() && automations.take_turn().is_some());
}
