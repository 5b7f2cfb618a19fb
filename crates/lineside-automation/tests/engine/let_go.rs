//! A hook that was taken away is dropped with the last right to run it, and may ask about jobs then.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_automation::jobs::Which;
use lineside_automation::machine::Bounds;
use lineside_automation::{Automations, HookId, HookJobSpec, HookJobs, Recording};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor, Session};
use lineside_core::flow::Debounce;
use lineside_core::hook::{Hook, Lane};
use lineside_core::payload::Point as _;
use lineside_core::{AnyEvent, Failure, Part, Response, Verdict};
use lineside_points::OnIdle;
use tokio::time::sleep;

use crate::lives::Disk;
use crate::millis;

/// How many jobs the hooks that are gone have found.
type Found = Arc<Mutex<Vec<usize>>>;

/// A hook that takes as long as it may, and asks about jobs when it is dropped.
struct Asks {
    adopted: Arc<HookJobs>,
    automations: Automations,
    found: Found,
}

impl Interceptor for Asks {
    fn intercept(&self, _: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(async move {
            drop(cx.recorder().unwrap().begins().await);
            sleep(Duration::from_secs(9)).await;
            Ok(Verdict::Continue.into())
        })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.adopted) as _)
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        let jobs = self.automations.jobs().list(&Which::default()).len();
        self.found.lock().unwrap().push(jobs);
    }
}

struct Scene {
    bus: Bus,
    automations: Automations,
    session: Session,
    found: Found,
}

/// A session with two hooks for which one event has come, and both of which were taken away since.
async fn scene(recording: Recording, debounce: Option<Debounce>) -> Scene {
    let bus = Bus::new();
    let disk = Disk::default();
    let (automations, _) =
        Automations::open(&bus, Bounds::default(), Arc::new(disk.clone()), disk.entries()).unwrap();
    let adoptions = automations.hook_jobs();
    let (mut installed, mut current) = (Vec::new(), Vec::new());
    let found = Found::default();
    for name in ["a", "b"] {
        let hook = Hook::native(name, Part::PostDecision).dialect("test").lane(Lane::Shared);
        let id = HookId::in_memory("test", name);
        let adopted =
            adoptions.adopt(HookJobSpec { id, recording, debounce, ..HookJobSpec::in_memory(&hook) });
        current.push(Arc::clone(&adopted));
        let run = Asks { adopted, automations: automations.clone(), found: Arc::clone(&found) };
        installed.push(Installed { point: OnIdle::INFO, hook, run: Arc::new(run) });
    }
    bus.install("test", installed).unwrap();
    adoptions.replaced(&bus, "test", &current);
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    // One has begun, if they are not held; the other one is behind it.
    sleep(millis(10)).await;
    bus.install("test", Vec::new()).unwrap();
    adoptions.replaced(&bus, "test", []);
    assert!(found.lock().unwrap().is_empty(), "the right to run them holds them");
    Scene { bus, automations, session, found }
}

const HELD: Option<Debounce> = Some(Debounce::quiet(Duration::from_millis(100)));

#[tokio::test(start_paused = true)]
async fn a_person_may_drop_what_is_held_for_it() {
    let Scene { automations, found, .. } = scene(Recording::Journal, HELD).await;
    for job in automations.jobs().list(&Which::default()) {
        assert!(automations.jobs().drop(job.job));
    }
    sleep(millis(10)).await;
    assert_eq!(found.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_its_session_may_leave_it_for_later_or_cut_it_short() {
    for recording in [Recording::Journal, Recording::Memory] {
        for debounce in [None, HELD] {
            let Scene { bus, session, found, .. } = scene(recording, debounce).await;
            session.close_within(millis(50)).await;
            drop(session);
            assert_eq!(found.lock().unwrap().len(), 2, "{recording:?} {debounce:?}");
            drop(bus);
        }
    }
}
