//! What automations leave behind in memory: nothing, when they are gone. In one thread, so that everything is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lineside_automation::machine::Bounds;
use lineside_automation::{AtEnd, Automate, Automations, Report};
use lineside_bus::Bus;
use lineside_core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};
use lineside_points::OnIdle;

/// How many sessions are enough to fill whatever remembers the last of something.
const ENOUGH: usize = 1_500;

/// Keeps nothing.
struct Nothing;

impl Journal for Nothing {
    fn append(&self, _: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        Box::pin(std::future::ready(Ok(AppendAck { last: Sequence(1), durability: Durability::Memory })))
    }

    fn checkpoint(&self, _: Vec<Record>, _: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn bus() -> Bus {
    let bus = Bus::new();
    Automations::open(&bus, Bounds::default(), std::sync::Arc::new(Nothing), []).unwrap();
    bus
}

/// Sessions with an automation of their own each, which has run and has gone in one way or the other.
async fn live(bus: &Bus, sessions: usize, removed: bool, at_end: AtEnd) {
    for _ in 0..sessions {
        // Each under another id.
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = format!("{:032}", IDS.fetch_add(1, Ordering::Relaxed));
        let session = bus.session(id).open().await.unwrap();
        let captured = session.clone();
        let automation = session
            .automate::<OnIdle>("lint")
            .at_end(at_end)
            .run(move |_, _| {
                let _captured = captured.clone();
                async { Ok(Report::success("ok")) }
            })
            .unwrap();
        drop(session.publish(OnIdle::new()).await.unwrap());
        if removed {
            automation.automations().all_settled().await.unwrap();
            assert!(automation.remove());
        }
        session.close().await;
        automation.automations().all_settled().await.unwrap();
        // What follows from the end of the last job.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Bytes for each session. What leaks does so in every round; a table that grows, because of where its hashes fell, does
/// not.
fn grown(removed: bool, at_end: AtEnd) -> i64 {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let bus = runtime.block_on(async { bus() });
    runtime.block_on(live(&bus, ENOUGH, removed, at_end));
    let round = || {
        let measured = allocation_counter::measure(|| {
            runtime.block_on(live(&bus, ENOUGH, removed, at_end));
        });
        measured.bytes_current / ENOUGH as i64
    };
    round().min(round())
}

#[test]
fn a_session_that_has_closed_leaves_nothing_of_its_automations() {
    for at_end in [AtEnd::default(), AtEnd::LeaveRunning] {
        let grown = grown(false, at_end);
        assert!(grown < 20, "{grown} bytes for each session that has closed");
    }
}

#[test]
fn an_automation_that_was_removed_leaves_nothing() {
    let grown = grown(true, AtEnd::default());
    assert!(grown < 20, "{grown} bytes for each automation that was removed");
}
