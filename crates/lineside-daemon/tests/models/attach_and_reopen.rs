//! A session that a program opens together with its hooks decides no event without them, in whichever order the requests
//! of the program, its publishers and others that attach come.

use std::sync::Arc;

use lineside::Bus;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{future, thread};

use crate::explored;
use crate::preparing::Preparing;

/// How many hooks the session is opened with.
const HOOKS: usize = 2;

/// Opens the session with its hooks, as the daemon does; leaves as soon as they stand.
fn opener(bus: &Bus, preparing: &Preparing, hooks: &AtomicUsize) {
    let prepared = preparing.begin("s");
    let _session = bus.session("s").open_now().unwrap();
    for _ in 0..HOOKS {
        hooks.fetch_add(1, Ordering::SeqCst);
    }
    drop(prepared);
}

#[test]
fn no_event_is_decided_before_the_hooks_stand_that_its_session_was_opened_with() {
    explored(|| {
        let bus = Bus::new();
        let (preparing, hooks) = (Arc::new(Preparing::default()), Arc::new(AtomicUsize::new(0)));
        let publishers: Vec<_> = (0..2)
            .map(|_| {
                let (bus, preparing, hooks) = (bus.clone(), Arc::clone(&preparing), Arc::clone(&hooks));
                thread::spawn(move || {
                    // An event whose session is not open is refused.
                    let Some(session) = bus.find("s") else { return };
                    future::block_on(preparing.stand(&bus, &session));
                    assert_eq!(hooks.load(Ordering::SeqCst), HOOKS, "decided without its hooks");
                })
            })
            .collect();
        // Another session whose hooks are registered at the same time keeps nothing of this one waiting for ever.
        let other = thread::spawn({
            let preparing = Arc::clone(&preparing);
            move || drop(preparing.begin("other"))
        });
        opener(&bus, &preparing, &hooks);
        for task in publishers.into_iter().chain([other]) {
            task.join().unwrap();
        }
    });
}

#[test]
fn events_wait_for_the_hooks_of_their_session_and_of_those_above_it() {
    shuttle::check_random(
        || {
            let (bus, preparing) = (Bus::new(), Preparing::default());
            let (first, second) = (preparing.begin("s"), preparing.begin("s"));
            let session = bus.session("s").open_now().unwrap();
            let middle = session.subagent("middle").open_now().unwrap();
            let below = middle.subagent("below").open_now().unwrap();
            let other = bus.session("other").open_now().unwrap();
            future::block_on(async {
                preparing.stand(&bus, &other).await;
                for waits in [&session, &below] {
                    assert!(futures_util::poll!(std::pin::pin!(preparing.stand(&bus, waits))).is_pending());
                }
                let mut stands = std::pin::pin!(preparing.stand(&bus, &below));
                drop(first);
                assert!(futures_util::poll!(&mut stands).is_pending(), "it is opened by another request too");
                drop(second);
                stands.await;
                preparing.stand(&bus, &session).await;
            });
        },
        1,
    );
}
