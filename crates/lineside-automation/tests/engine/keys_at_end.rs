//! Keys at the end: what is no job goes on to its own end after everything was left to the next life, and a key is one
//! at a time until then.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_automation::{Automate, Automations, KeyClaim, Report, Retry};
use lineside_bus::Bus;
use lineside_core::{Failure, FailureKind};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::{AfterToolBatch, changed, millis};

/// How many have a key, the most that ever had it, and how many had it so far.
#[derive(Clone, Default)]
struct Inside(Arc<[AtomicUsize; 3]>);

impl Inside {
    async fn hold(self, claim: KeyClaim) {
        let _held = claim.await;
        let [now, most, all] = &*self.0;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        sleep(millis(5)).await;
        now.fetch_sub(1, Ordering::SeqCst);
        all.fetch_add(1, Ordering::SeqCst);
    }

    fn counted(&self) -> [usize; 3] {
        self.0.each_ref().map(|count| count.load(Ordering::SeqCst))
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_one_at_a_time_after_everything_was_left_to_the_next_life() {
    let bus = Bus::new();
    let automations = Automations::of(&bus).unwrap();
    let (inside, mut tasks) = (Inside::default(), JoinSet::new());
    let first = automations.claim(&"k".into()).await;
    for _ in 0..3 {
        tasks.spawn(inside.clone().hold(automations.claim(&"k".into())));
    }
    automations.leave();
    tasks.spawn(inside.clone().hold(automations.claim(&"k".into())));
    let given_up = automations.claim(&"k".into());
    tasks.spawn(inside.clone().hold(automations.claim(&"k".into())));
    sleep(millis(50)).await;
    assert_eq!(inside.counted(), [0, 0, 0], "the first one has it");
    drop(given_up);
    drop(first);
    tasks.join_all().await;
    assert_eq!(inside.counted(), [0, 1, 5]);
    drop(automations.claim(&"k".into()).await);
}

#[tokio::test(start_paused = true)]
async fn a_gate_has_the_key_of_jobs_that_were_left_to_the_next_life_when_none_of_them_runs() {
    for is_delayed in [false, true] {
        let bus = Bus::new();
        let automation = bus
            .automate::<AfterToolBatch>("work")
            .concurrency("k")
            .retry(Retry::constant(3, millis(60_000)))
            .run(move |_, _| async move {
                if is_delayed {
                    return Err(Failure::new(FailureKind::Error, "again"));
                }
                pending::<Result<Report, Failure>>().await
            })
            .unwrap();
        let automations = automation.automations();
        let session = bus.session("s").open().await.unwrap();
        drop(session.publish(changed("one")).await.unwrap());
        drop(session.publish(changed("two")).await.unwrap());
        let mut claim = Box::pin(automations.claim(&"k".into()));
        timeout(millis(10), &mut claim).await.unwrap_err();
        automations.leave();
        timeout(millis(10), &mut claim).await.unwrap();
    }
}
