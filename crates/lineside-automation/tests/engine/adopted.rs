//! Hooks of others as automations, in virtual time: their rules are their own, and what they run is on record.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_automation::jobs::Which;
use lineside_automation::machine::{Bounds, JobStatus};
use lineside_automation::{Automations, HookId, HookJobRegistry, HookJobSpec, HookJobs, Recording};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor};
use lineside_core::flow::{Debounce, Retries};
use lineside_core::hook::{Hook, Join, Lane, Standby};
use lineside_core::payload::Point as _;
use lineside_core::{
    Answer, AnyEvent, Append, Failure, FailureKind, Outcome, Part, PointInfo, Response, SkipReason,
};
use lineside_points::{OnIdle, OnNotification};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::lives::Disk;
use crate::millis;

/// What the hooks have done, each with the time since the beginning.
#[derive(Clone)]
struct Log(Arc<Mutex<Vec<(String, u64)>>>, Instant);

impl Log {
    fn new() -> Self {
        Self(Arc::default(), Instant::now())
    }

    fn push(&self, what: impl Into<String>) {
        let now = u64::try_from(self.1.elapsed().as_millis()).unwrap();
        self.0.lock().unwrap().push((what.into(), now));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(|(what, _)| what).collect()
    }
}

/// A hook that takes a while, fails so often, and tries again once.
struct Slow {
    name: &'static str,
    takes: Duration,
    fails: u32,
    /// What it waits for before it begins.
    turns: Option<Arc<Semaphore>>,
    log: Log,
    adopted: Option<Arc<HookJobs>>,
}

impl Interceptor for Slow {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let (name, takes, fails, log) = (self.name, self.takes, self.fails, self.log.clone());
        let turns = self.turns.clone();
        Box::pin(async move {
            let Some(recorder) = cx.recorder() else {
                log.push(format!("{name} {} without a record", event.envelope().seq));
                return Ok(Answer::default().into());
            };
            let mut earlier = recorder.earlier();
            loop {
                if let Some(turns) = &turns {
                    turns.acquire().await.unwrap().forget();
                }
                let begun = cx.recorder().unwrap().begins().await;
                log.push(format!("{name} {}", event.envelope().seq));
                drop(begun);
                sleep(takes).await;
                log.push(format!("{name} {} ends", event.envelope().seq));
                if earlier.len() >= fails as usize {
                    let context = vec![Append::system(name)];
                    return Ok(Answer { context, ..Answer::default() }.into());
                }
                let failure = Failure::new(FailureKind::Exit, "exit status 1");
                if !earlier.is_empty() {
                    return Err(Failure { earlier, ..failure });
                }
                cx.recorder().unwrap().failed(&failure, millis(50));
                earlier.push(failure);
                sleep(millis(50)).await;
            }
        })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        self.adopted.clone().map(|adopted| adopted as _)
    }
}

struct Declared {
    hook: Slow,
    lane: Lane,
    debounce: Option<Debounce>,
}

fn declared(name: &'static str, takes: u64, log: &Log) -> Declared {
    let hook = Slow { name, takes: millis(takes), fails: 0, turns: None, log: log.clone(), adopted: None };
    Declared { hook, lane: Lane::Own, debounce: None }
}

fn open(disk: &Disk) -> (Bus, Automations) {
    let bus = Bus::new();
    let (automations, recovered) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
    assert!(recovered.findings.is_empty(), "{recovered:?}");
    (bus, automations)
}

/// Puts hooks in the place of those that were there.
fn install(bus: &Bus, part: Part, hooks: Vec<Declared>) {
    install_at(OnIdle::INFO, bus, part, hooks);
}

fn install_at(point: &'static PointInfo, bus: &Bus, part: Part, hooks: Vec<Declared>) {
    let adoptions: HookJobRegistry = Automations::of(bus).unwrap().hook_jobs();
    let (mut installed, mut current) = (Vec::new(), Vec::new());
    for (line, Declared { mut hook, lane, debounce }) in (1..).zip(hooks) {
        let adopted = adoptions.adopt(HookJobSpec {
            id: HookId {
                dialect: "test".to_owned(),
                content: "0".to_owned(),
                line,
                file: "/hooks".to_owned(),
                trigger: "idle".to_owned(),
                name: hook.name.to_owned(),
            },
            recording: Recording::Journal,
            debounce,
            retry: Retries { again: 1, delay: millis(50), ..Retries::default() },
            key: None,
            join: Join::BeforeNextModel,
            lane,
            last: Box::new(|_| None),
            standby: Standby::Ready,
        });
        current.push(Arc::clone(&adopted));
        hook.adopted = Some(adopted);
        let join = Join::BeforeNextModel;
        let known = Hook::native(hook.name, part).dialect("test").lane(lane).join(join);
        installed.push(Installed { point, hook: known, run: Arc::new(hook) });
    }
    bus.install("test", installed).unwrap();
    adoptions.replaced(bus, "test", &current);
}

fn standings(automations: &Automations) -> Vec<JobStatus> {
    automations.jobs().list(&Which::default()).into_iter().map(|job| job.standing).collect()
}

#[tokio::test(start_paused = true)]
async fn hooks_of_a_lane_go_one_after_another_for_each_event_and_the_receipt_says_what_it_always_said() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, _automations) = open(&disk);
    let in_lane = |name| Declared { lane: Lane::Shared, ..declared(name, 10, &log) };
    install(&bus, Part::PostDecision, vec![in_lane("a"), in_lane("b")]);
    let session = bus.session("s1").open().await.unwrap();
    for _ in 0..2 {
        let decision = session.publish(OnIdle::new()).await.unwrap();
        let outcomes = decision.receipt().unwrap().runs.iter().map(|run| run.outcome.clone());
        assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Detached, Outcome::Detached]);
    }
    let texts: Vec<_> = session.collect().before_next_model().await.accept();
    let texts: Vec<_> = texts.iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["a", "b", "a", "b"]);
    let took = log.take();
    let of = |seq: &str| -> Vec<String> { took.iter().filter(|what| what.contains(seq)).cloned().collect() };
    assert_eq!(of(" 1"), ["a 1", "a 1 ends", "b 1", "b 1 ends"]);
    assert_eq!(of(" 2"), ["a 2", "a 2 ends", "b 2", "b 2 ends"]);
    assert_eq!(took[..2], ["a 1", "a 2"], "events do not wait for one another");
}

#[tokio::test(start_paused = true)]
async fn they_take_nobodys_turn() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, automations) = open(&disk);
    install(&bus, Part::Detached, vec![declared("a", 1000, &log)]);
    let session = bus.session("s1").open().await.unwrap();
    let many = Bounds::default().running * 2;
    for _ in 0..many {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    sleep(millis(500)).await;
    let running = |standing: &&JobStatus| matches!(standing, JobStatus::Running { .. });
    assert_eq!(standings(&automations).iter().filter(running).count(), many);
    session.close().await;
    assert_eq!(log.take().len(), 2 * many);
}

#[tokio::test(start_paused = true)]
async fn a_person_may_drop_one_that_runs() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, automations) = open(&disk);
    install(&bus, Part::Detached, vec![declared("a", 1000, &log)]);
    let session = bus.session("s1").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    sleep(millis(100)).await;
    let job = automations.jobs().list(&Which::default())[0].job;
    assert!(automations.jobs().drop(job));
    session.close().await;
    assert_eq!(log.take(), ["a 1"]);
    assert_eq!(standings(&automations)[0].to_string(), "cancelled: a person dropped it");
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_released_by_the_end_of_its_session_and_an_event_that_comes_twice_counts_twice() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, automations) = open(&disk);
    let debounce = Some(Debounce::quiet(Duration::from_secs(60)));
    install(&bus, Part::PostDecision, vec![Declared { debounce, ..declared("a", 1, &log) }]);
    let session = bus.session("s1").open().await.unwrap();
    let first = session.publish(OnIdle::new()).await.unwrap();
    let receipt = first.receipt().unwrap();
    assert_eq!(receipt.runs[0].outcome, Outcome::Skipped(SkipReason::Debounced));
    drop(session.event(OnIdle::new()).id(receipt.event.envelope().id).publish().await.unwrap());
    session.close().await;
    assert_eq!(log.take(), ["a 2", "a 2 ends"]);
    assert_eq!(automations.jobs().list(&Which::default())[0].events.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_holds_runs_after_a_reload_that_takes_the_hook_away() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, automations) = open(&disk);
    let debounce = Some(Debounce::quiet(millis(100)));
    install(&bus, Part::PostDecision, vec![Declared { debounce, ..declared("a", 1, &log) }]);
    let session = bus.session("s1").open().await.unwrap();
    for _ in 0..2 {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    install(&bus, Part::PostDecision, vec![declared("b", 1, &log)]);
    assert!(matches!(standings(&automations)[..], [JobStatus::Held { .. }]), "{:?}", standings(&automations));
    sleep(millis(200)).await;
    assert_eq!(log.take(), ["a 2", "a 2 ends"]);
    let jobs = automations.jobs().list(&Which::default());
    assert_eq!((jobs[0].standing.to_string().as_str(), jobs[0].events.len()), ("done", 2));
    // In another life nothing is left that could run what it held.
    install(&bus, Part::PostDecision, vec![Declared { debounce, ..declared("a", 1, &log) }]);
    drop(session.publish(OnIdle::new()).await.unwrap());
    automations.kept().await.unwrap();
    let (next, automations) = open(&Disk::of(disk.entries()));
    install(&next, Part::PostDecision, vec![declared("b", 1, &Log::new())]);
    let _session = next.session("s1").open().await.unwrap();
    assert_eq!(standings(&automations)[1].to_string(), "dead: its hook was removed, or is not what it was");
}

#[tokio::test(start_paused = true)]
async fn when_nothing_is_kept_any_more_they_run_as_if_nobody_kept_anything() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, automations) = open(&disk);
    install(&bus, Part::Detached, vec![declared("a", 10, &log)]);
    let session = bus.session("s1").open().await.unwrap();
    disk.broken.store(true, Ordering::SeqCst);
    drop(session.publish(OnIdle::new()).await.unwrap());
    automations.kept().await.unwrap_err();
    session.close().await;
    assert_eq!(log.take(), ["a 1", "a 1 ends"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_kill_has_cut_goes_on() {
    let (disk, log) = (Disk::default(), Log::new());
    {
        let (bus, automations) = open(&disk);
        let mut fails = declared("a", 1, &log);
        fails.hook.fails = 2;
        install(&bus, Part::PostDecision, vec![fails]);
        let session = bus.session("s1").open().await.unwrap();
        drop(session.publish(OnIdle::new()).await.unwrap());
        sleep(millis(20)).await;
        automations.kept().await.unwrap();
        assert_eq!(log.take(), ["a 1", "a 1 ends"]);
    }
    // The first life goes on beside it, as no killed process would; its log is its own.
    let log = Log::new();
    let (bus, automations) = open(&Disk::of(disk.entries()));
    let mut fails = declared("a", 1, &log);
    fails.hook.fails = 2;
    install(&bus, Part::PostDecision, vec![fails]);
    assert_eq!(standings(&automations), [JobStatus::Parked]);
    let session = bus.session("s1").open().await.unwrap();
    assert!(matches!(standings(&automations)[..], [JobStatus::Delayed { attempt: 2, .. }]));
    session.collect().before_next_model().await.accept();
    assert_eq!(log.take(), ["a 1", "a 1 ends"]);
    assert_eq!(
        standings(&automations)[0].to_string(),
        "dead: it failed 2 times, at last (exit): exit status 1"
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_never_had_its_turn_does_not_count() {
    let mut disk = Disk::default();
    // Each of these lives is killed while the hook waits for its turn.
    for life in 0..5 {
        let log = Log::new();
        let (bus, automations) = open(&disk);
        let mut waits = declared("a", 1, &log);
        waits.hook.turns = Some(Arc::new(Semaphore::new(0)));
        install(&bus, Part::PostDecision, vec![waits]);
        let session = bus.session("s1").open().await.unwrap();
        if life == 0 {
            drop(session.publish(OnIdle::new()).await.unwrap());
        }
        sleep(millis(100)).await;
        automations.kept().await.unwrap();
        assert_eq!(standings(&automations), [JobStatus::Turn { ahead: 0 }], "life {life}");
        assert!(automations.jobs().list(&Which::default())[0].attempts.is_empty());
        disk = Disk::of(disk.entries());
    }
    let log = Log::new();
    let (bus, automations) = open(&disk);
    install(&bus, Part::PostDecision, vec![declared("a", 1, &log)]);
    let session = bus.session("s1").open().await.unwrap();
    session.close().await;
    assert_eq!(log.take(), ["a 1", "a 1 ends"]);
    assert_eq!(standings(&automations)[0].to_string(), "done");
    assert_eq!(automations.jobs().list(&Which::default())[0].attempts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_ends_without_having_begun_comes_to_rest() {
    let (disk, log) = (Disk::default(), Log::new());
    let (bus, automations) = open(&disk);
    let mut waits = declared("a", 1, &log);
    // The dispenser of places is gone, so that it panics.
    let turns = Arc::new(Semaphore::new(0));
    turns.close();
    waits.hook.turns = Some(turns);
    install(&bus, Part::PostDecision, vec![waits]);
    let session = bus.session("s1").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    session.close().await;
    let standing = standings(&automations)[0].to_string();
    assert!(standing.starts_with("dead: it never started (panic)"), "{standing}");
    let (_, recovered) =
        Automations::open(&Bus::new(), Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
    assert!(recovered.findings.is_empty() && recovered.dead == 1, "{recovered:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_for_which_there_is_no_room_starts_without_a_record() {
    for bounds in [Bounds { jobs: 1, ..Bounds::default() }, Bounds { bytes: 0, ..Bounds::default() }] {
        let (log, bus) = (Log::new(), Bus::new());
        let (automations, _) =
            Automations::open(&bus, bounds, Arc::new(Disk::default()), Vec::new()).unwrap();
        install(&bus, Part::Detached, vec![declared("a", 10, &log)]);
        let session = bus.session("s1").open().await.unwrap();
        for _ in 0..2 {
            drop(session.publish(OnIdle::new()).await.unwrap());
        }
        session.close().await;
        let mut log = log.take();
        log.sort();
        assert_eq!(log, ["a 1", "a 1 ends", "a 2 without a record"], "{bounds:?}");
        assert_eq!(standings(&automations).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn every_run_that_is_promised_runs_whatever_its_event_weighs() {
    // Two of these events are more than there may be, one is not.
    let bounds = Bounds { bytes: 4 << 10, ..Bounds::default() };
    let (log, bus) = (Log::new(), Bus::new());
    let (automations, _) = Automations::open(&bus, bounds, Arc::new(Disk::default()), Vec::new()).unwrap();
    install_at(OnNotification::INFO, &bus, Part::Detached, vec![declared("a", 10, &log)]);
    let session = bus.session("s1").open().await.unwrap();
    for _ in 0..5 {
        let decision = session.publish(OnNotification::new("x".repeat(3 << 10))).await.unwrap();
        let outcome = &decision.receipt().unwrap().runs[0].outcome;
        assert!(matches!(outcome, Outcome::Detached), "{outcome:?}");
    }
    session.close().await;
    let ran = log.take().iter().filter(|line| !line.ends_with("ends")).count();
    assert_eq!(ran, 5, "each of them, with a record or without one");
    assert_eq!(standings(&automations).len(), 1, "of one there is a record");
}
