//! A model of offering and accepting: the engine's own outbox and its wait, run under many orders of their steps.
//!
//! Between any two steps on a lock, and at each `await`, shuttle has another task go on; a failure prints the order in which
//! it came about.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../../src/engine/outbox.rs"]
mod outbox;

use std::sync::Arc;

use outbox::{Outbox, until};
use shuttle::future;
use shuttle::sync::Mutex;
use tokio::sync::{Notify, watch};

/// How many orders are tried, in each of two ways: at random, and with few changes of tasks at moments that matter.
const ORDERS: usize = 3_000;
const CHANGES: usize = 3;
/// How many events may wait; one more is refused.
const ROOM: usize = 2;

struct World {
    outbox: Mutex<Outbox<u32>>,
    work: Notify,
    done: watch::Sender<u64>,
    journal: Mutex<Vec<u32>>,
}

impl World {
    /// Accepts an event where there is room, in the step that looks for it.
    fn offer(&self, event: u32) -> Option<u64> {
        let mut outbox = self.outbox.lock().unwrap();
        if outbox.len() >= ROOM {
            return None;
        }
        outbox.push(event);
        let wanted = outbox.wanted();
        drop(outbox);
        self.work.notify_one();
        Some(wanted)
    }

    async fn kept(&self, wanted: u64) {
        let look = || {
            let has_done = self.outbox.lock().unwrap().has_done(wanted);
            // Much may happen between a look and what follows from it.
            shuttle::thread::yield_now();
            has_done.then_some(())
        };
        until(&self.done, look).await.unwrap();
    }

    /// Keeps what was accepted, batch by batch, as the driver does.
    async fn drive(&self) {
        loop {
            let batch = self.outbox.lock().unwrap().take();
            if batch.is_empty() {
                self.work.notified().await;
                continue;
            }
            let count = batch.len();
            future::yield_now().await;
            self.journal.lock().unwrap().extend(batch);
            self.outbox.lock().unwrap().done(count);
            self.done.send_modify(|done| *done += 1);
        }
    }
}

fn offers_and_leaves() {
    let world = Arc::new(World {
        outbox: Mutex::new(Outbox::default()),
        work: Notify::new(),
        done: watch::Sender::new(0),
        journal: Mutex::new(Vec::new()),
    });
    let driver = future::spawn({
        let world = Arc::clone(&world);
        async move { world.drive().await }
    });
    let publishers: Vec<_> = (0..3)
        .map(|event| {
            let world = Arc::clone(&world);
            future::spawn(async move {
                let wanted = world.offer(event)?;
                // The first one leaves as soon as its event is accepted.
                if event > 0 {
                    world.kept(wanted).await;
                    assert!(world.journal.lock().unwrap().contains(&event), "claimed to be kept");
                }
                Some(event)
            })
        })
        .collect();
    future::block_on(async {
        let mut accepted = Vec::new();
        for publisher in publishers {
            accepted.extend(publisher.await.unwrap());
        }
        let wanted = world.outbox.lock().unwrap().wanted();
        assert_eq!(wanted, accepted.len() as u64, "what is refused is not done either");
        world.kept(wanted).await;
        let mut journal = world.journal.lock().unwrap().clone();
        journal.sort_unstable();
        assert_eq!(journal, accepted);
        driver.abort();
    });
}

#[test]
fn what_is_accepted_is_kept_once_and_claimed_to_be_kept_when_it_is() {
    shuttle::check_random(offers_and_leaves, ORDERS);
    shuttle::check_pct(offers_and_leaves, ORDERS, CHANGES);
}
