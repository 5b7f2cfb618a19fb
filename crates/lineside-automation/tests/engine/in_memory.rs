//! Jobs without records, which hooks have on every bus: they are taken over in order, wait for the keys that everything
//! else waits for, end with their session, and are forgotten when they are over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_automation::jobs::{Which, WhichState};
use lineside_automation::machine::{Bounds, JobStatus};
use lineside_automation::{Automate, Automations, HookId, HookJobSpec, HookJobs, Recording, Report};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor, Session, Signal, Signals};
use lineside_core::flow::{Debounce, Retries};
use lineside_core::hook::{Hook, Join, Lane, Standby};
use lineside_core::payload::Point as _;
use lineside_core::{AnyEvent, Failure, Outcome, Part, Response, SkipReason, Verdict};
use lineside_points::OnIdle;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::lives::Disk;
use crate::millis;

/// What the runs of hooks have in common: who runs, and how many at the same time.
#[derive(Clone, Default)]
struct Scene {
    log: Arc<Mutex<Vec<String>>>,
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Scene {
    fn begin(&self, what: String) {
        self.most.fetch_max(self.inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.log.lock().unwrap().push(what);
    }

    fn end(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn ran(&self) -> usize {
        self.log.lock().unwrap().len()
    }
}

/// A hook that waits at its gate, or takes a millisecond where it has none.
struct Runs {
    name: &'static str,
    gate: Option<Arc<Semaphore>>,
    scene: Scene,
    adopted: Arc<HookJobs>,
}

impl Interceptor for Runs {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let (name, gate, scene) = (self.name, self.gate.clone(), self.scene.clone());
        Box::pin(async move {
            drop(cx.recorder().unwrap().begins().await);
            scene.begin(format!("{name} {}", event.envelope().seq));
            match gate {
                Some(gate) => gate.acquire().await.unwrap().forget(),
                None => sleep(millis(1)).await,
            }
            scene.end();
            Ok(Verdict::Continue.into())
        })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.adopted) as _)
    }
}

/// A hook as its file would declare it.
#[derive(Clone)]
struct Declared {
    name: &'static str,
    gate: Option<Arc<Semaphore>>,
    debounce: Option<Debounce>,
    lane: Lane,
    key: Option<&'static str>,
}

fn declared(name: &'static str) -> Declared {
    Declared { name, gate: None, debounce: None, lane: Lane::Own, key: None }
}

fn install(bus: &Bus, scene: &Scene, hooks: &[Declared]) {
    let adoptions = Automations::of(bus).unwrap().hook_jobs();
    let mut installed = Vec::new();
    let mut current = Vec::new();
    for Declared { name, gate, debounce, lane, key } in hooks.iter().cloned() {
        let join = Join::BeforeNextModel;
        let adopted = adoptions.adopt(HookJobSpec {
            id: HookId::in_memory("test", name),
            recording: Recording::Memory,
            debounce,
            retry: Retries::default(),
            key: key.map(Arc::from),
            join,
            lane,
            last: Box::new(|_| None),
            standby: Standby::Ready,
        });
        current.push(Arc::clone(&adopted));
        let hook = Hook::native(name, Part::PostDecision).dialect("test").lane(lane).join(join);
        let run = Arc::new(Runs { name, gate, scene: scene.clone(), adopted });
        installed.push(Installed { point: OnIdle::INFO, hook, run });
    }
    bus.install("test", installed).unwrap();
    adoptions.replaced(bus, "test", &current);
}

async fn scene(hooks: &[Declared]) -> (Bus, Session, Scene) {
    let (bus, scene) = (Bus::new(), Scene::default());
    install(&bus, &scene, hooks);
    let session = bus.session("s").open().await.unwrap();
    (bus, session, scene)
}

async fn publish(session: &Session) -> Vec<Outcome> {
    let decision = session.publish(OnIdle::new()).await.unwrap();
    decision.receipt().unwrap().runs.iter().map(|run| run.outcome.clone()).collect()
}

fn listed(bus: &Bus) -> Vec<JobStatus> {
    let jobs = Automations::of(bus).unwrap().jobs();
    jobs.list(&Which::default()).into_iter().map(|shown| shown.standing).collect()
}

/// The hooks that were cut short.
fn cut_short(signals: &mut Signals) -> usize {
    let mut count = 0;
    while let Some(watched) = signals.try_next() {
        let Watched::Signal(signal) = watched else { continue };
        assert!(!matches!(signal, Signal::Automation { .. }), "{signal:?}");
        if let Signal::DetachedFinished { outcome: Outcome::Failed { .. }, .. } = signal {
            count += 1;
        }
    }
    count
}

#[tokio::test]
async fn a_hundred_thousand_events_at_once_are_all_run_for_and_leave_nothing_behind() {
    let (bus, session, scene) = scene(&[declared("a")]).await;
    // Nothing else has a turn meanwhile.
    for _ in 0..100_000 {
        assert_eq!(publish(&session).await, [Outcome::Detached]);
    }
    let report = bus.drain(Duration::from_secs(60)).await;
    assert_eq!(scene.ran(), 100_000);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.detached_finished, report.jobs.finished, report.jobs.forgotten), (100_000, 0, 0));
    assert_eq!(listed(&bus), []);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_a_hundred_thousand_events_is_a_few_runs() {
    let debounce = Some(Debounce::quiet(millis(100)));
    let (bus, session, scene) = scene(&[Declared { debounce, ..declared("a") }]).await;
    for _ in 0..100_000 {
        assert_eq!(publish(&session).await, [Outcome::Skipped(SkipReason::Debounced)]);
    }
    assert_eq!(listed(&bus).len(), 25, "held, and started because there were 4,097 of them");
    assert!(bus.drain(Duration::from_secs(60)).await.is_clean());
    assert_eq!(scene.ran(), 25);
    assert_eq!(listed(&bus), []);
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_is_listed_and_what_is_over_is_not() {
    let gate = Arc::new(Semaphore::new(0));
    let slow = Declared { gate: Some(Arc::clone(&gate)), key: Some("k"), ..declared("slow") };
    let held = Declared { debounce: Some(Debounce::quiet(millis(100))), ..declared("held") };
    let (bus, session, scene) = scene(&[slow, held]).await;
    for _ in 0..2 {
        publish(&session).await;
    }
    sleep(millis(1)).await;
    let standings: Vec<String> = listed(&bus).iter().map(ToString::to_string).collect();
    assert_eq!(standings, ["runs, attempt 1", "2 events are held", "waits for the key `k`, 0 before it"]);
    gate.add_permits(2);
    sleep(millis(200)).await;
    assert_eq!(scene.log(), ["slow 1", "slow 2", "held 2"]);
    assert_eq!(listed(&bus), []);
    let dead = Which { state: WhichState::Dead, ..Which::default() };
    assert!(Automations::of(&bus).unwrap().jobs().list(&dead).is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_closed_session_has_no_time_for_is_cut_short_and_told_of() {
    let gate = Arc::new(Semaphore::new(0));
    let in_lane = |name| Declared { lane: Lane::Shared, gate: Some(Arc::clone(&gate)), ..declared(name) };
    let behind = Declared { key: Some("k"), gate: Some(Arc::clone(&gate)), ..declared("keyed") };
    let held = Declared { debounce: Some(Debounce::quiet(Duration::from_secs(9))), ..declared("held") };
    let (bus, session, scene) = scene(&[in_lane("a"), in_lane("b"), behind, held]).await;
    let mut signals = bus.signals();
    for _ in 0..2 {
        publish(&session).await;
    }
    session.close_within(millis(50)).await;
    // Two lanes, of which the second ones never began; two runs with a key; the burst, which was released and has ended.
    assert_eq!(cut_short(&mut signals), 6);
    let mut log = scene.log();
    log.sort();
    assert_eq!(log, ["a 1", "a 2", "held 2", "keyed 1"]);
    assert_eq!(listed(&bus), []);
    // The key is free again.
    let other = bus.session("t").open().await.unwrap();
    publish(&other).await;
    gate.add_permits(3);
    other.close().await;
    assert_eq!(scene.ran(), 8);
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!((report.jobs.lost, report.detached_cut_short), (0, 0), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_bus_counts_what_it_cuts_short_as_hooks_and_loses_no_job() {
    for disk in [None, Some(Disk::default())] {
        let (bus, scene) = (Bus::new(), Scene::default());
        if let Some(disk) = &disk {
            Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
        }
        let stuck = Declared { gate: Some(Arc::new(Semaphore::new(0))), key: Some("k"), ..declared("stuck") };
        let held = Declared { debounce: Some(Debounce::quiet(Duration::from_secs(9))), ..declared("held") };
        install(&bus, &scene, &[stuck, held]);
        let session = bus.session("s").open().await.unwrap();
        for _ in 0..3 {
            publish(&session).await;
        }
        let began = tokio::time::Instant::now();
        let report = bus.drain(millis(100)).await;
        assert!(began.elapsed() < millis(200), "{:?}", began.elapsed());
        let jobs = (report.jobs.finished, report.jobs.running, report.jobs.kept, report.jobs.lost);
        assert_eq!(jobs, (0, 0, 0, 0));
        assert_eq!((report.detached_finished, report.detached_cut_short), (1, 3));
        assert_eq!(scene.log(), ["stuck 1", "held 3"]);
        if let Some(disk) = disk {
            assert!(disk.entries().is_empty(), "there are no records of them beside a journal either");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_a_reload_has_taken_away_runs_for_what_it_holds() {
    let debounce = Some(Debounce::quiet(millis(100)));
    let (bus, session, scene) = scene(&[Declared { debounce, ..declared("a") }]).await;
    publish(&session).await;
    install(&bus, &scene, &[Declared { debounce, ..declared("b") }]);
    publish(&session).await;
    sleep(millis(200)).await;
    assert_eq!(scene.log(), ["a 1", "b 2"]);
}

#[tokio::test(start_paused = true)]
async fn keys_are_those_of_automations_and_of_what_is_no_job_and_go_in_order() {
    let keyed = |name| Declared { key: Some("k"), ..declared(name) };
    let held = Declared { debounce: Some(Debounce::quiet(millis(1))), ..keyed("held") };
    let (bus, session, scene) = scene(&[held, Declared { lane: Lane::Shared, ..keyed("a") }]).await;
    let own = scene.clone();
    let automation = bus
        .automate::<OnIdle>("automation")
        .concurrency("k")
        .run(move |event, _| {
            let scene = own.clone();
            async move {
                scene.begin(format!("automation {}", event.envelope().seq));
                sleep(millis(5)).await;
                scene.end();
                Ok(Report::success("ok"))
            }
        })
        .unwrap();
    let automations = automation.automations();
    let first = automations.claim(&"k".into()).await;
    publish(&session).await;
    let claims: Vec<_> = (0..3).map(|_| automations.claim(&"k".into())).collect();
    publish(&session).await;
    let mut waiting = Vec::new();
    for (number, claim) in claims.into_iter().enumerate() {
        if number == 1 {
            drop(claim);
            continue;
        }
        let scene = scene.clone();
        waiting.push(tokio::spawn(async move {
            let _held = claim.await;
            scene.begin(format!("claim {number}"));
            sleep(millis(5)).await;
            scene.end();
        }));
    }
    sleep(millis(10)).await;
    assert_eq!(scene.ran(), 0);
    drop(first);
    session.close().await;
    for one in waiting {
        one.await.unwrap();
    }
    automations.all_settled().await.unwrap();
    assert_eq!(scene.most.load(Ordering::SeqCst), 1);
    let expected = ["automation 1", "a 1", "claim 0", "claim 2", "automation 2", "a 2", "held 2"];
    assert_eq!(scene.log(), expected, "in the order in which each became due");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_was_handed_over_and_never_taken_goes_on() {
    let (bus, scene) = (Bus::new(), Scene::default());
    let automations = Automations::of(&bus).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200 {
        let (scene, claim) = (scene.clone(), automations.claim(&"k".into()));
        tasks.spawn(async move {
            if number % 3 == 0 {
                tokio::task::yield_now().await;
                return drop(claim);
            }
            let _held = claim.await;
            scene.begin(number.to_string());
            tokio::task::yield_now().await;
            scene.end();
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_eq!((scene.ran(), scene.most.load(Ordering::SeqCst)), (133, 1));
    drop(automations.claim(&"k".into()).await);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_kept_any_more_a_burst_is_one_run_still_and_a_gate_gets_its_key() {
    let (disk, scene) = (Disk::default(), Scene::default());
    let bus = Bus::new();
    let (automations, _) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
    let debounce = Some(Debounce::quiet(millis(100)));
    install(&bus, &scene, &[Declared { debounce, key: Some("k"), ..declared("a") }]);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    bus.automate::<OnIdle>("automation")
        .concurrency("k")
        .run(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(Report::success("ok")) }
        })
        .unwrap();
    let session = bus.session("s").open().await.unwrap();
    disk.broken.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        publish(&session).await;
    }
    automations.kept().await.unwrap_err();
    drop(automations.claim(&"k".into()).await);
    session.close().await;
    assert_eq!((scene.log(), runs.load(Ordering::SeqCst)), (vec!["a 3".to_owned()], 0));
}
