//! How cost grows with the number of sessions that have jobs: waiting for them before the next model call, and the end
//! of the bus.
//!
//! Each figure is of several sizes, so that its growth is seen; the target belongs to the greatest. Prints
//! `FIGURE name value unit target` lines.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::time::{Duration, Instant};

use lineside_automation::{Automate, Report};
use lineside_bus::{Bus, Session};
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_points::OnIdle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};

const ROUNDS: usize = 5;
/// A figure is the median of [`ROUNDS`] rounds, or of as many as fit into this.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    // `--quick` measures each once.
    let rounds = if std::env::args().any(|argument| argument == "--quick") { 1 } else { ROUNDS };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    for (sessions, target) in [(10, "-"), (1_000, "-"), (16_000, "<=100")] {
        let alone = median(rounds, &runtime, || jobs_end(sessions, Waiting::No));
        let time = median(rounds, &runtime, || jobs_end(sessions, Waiting::Yes));
        println!("FIGURE scale/jobs_of_{sessions}_sessions {:.2} ms -", millis(alone));
        println!("FIGURE scale/before_next_model_of_{sessions}_sessions {:.2} ms {target}", millis(time));
    }
    for (sessions, target) in [(10, "-"), (1_000, "-"), (100_000, "<=1000")] {
        let time = median(rounds, &runtime, || drain(sessions));
        println!("FIGURE scale/drain_{sessions}_sessions_with_a_held_job {:.2} ms {target}", millis(time));
    }
}

/// Whether the sessions wait for their jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Yes,
    No,
}

/// Every session has a job that the next model call waits for; from when all of them may end to when all calls have
/// what they waited for, or all jobs are settled.
async fn jobs_end(count: usize, waiting: Waiting) -> Duration {
    let bus = Bus::new();
    let (open, gate) = watch::channel(false);
    let automation = bus
        .automate::<OnIdle>("lint")
        .join(Join::BeforeNextModel)
        .run(move |_, _| {
            let mut gate = gate.clone();
            async move {
                gate.wait_for(|open| *open).await.unwrap();
                Ok(Report::success("ok"))
            }
        })
        .unwrap();
    let sessions = sessions_with_an_event(&bus, count).await;
    let mut calls = JoinSet::new();
    if waiting == Waiting::Yes {
        for session in sessions {
            calls.spawn(async move { session.collect().before_next_model().await.accept().len() });
        }
    }
    // All of them are polled once, and the first jobs wait at the gate. The runtime may come back here after each.
    for _ in 0..count.max(100) {
        yield_now().await;
    }
    let began = Instant::now();
    open.send(true).unwrap();
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    automation.automations().all_settled().await.unwrap();
    began.elapsed()
}

/// Every session has a job that is held for an hour, or until the bus ends.
async fn drain(count: usize) -> Duration {
    let bus = Bus::new();
    bus.automate::<OnIdle>("lint")
        .debounce(Debounce::quiet(Duration::from_secs(3_600)))
        .run(async |_, _| Ok(Report::success("ok")))
        .unwrap();
    let sessions = sessions_with_an_event(&bus, count).await;
    let began = Instant::now();
    let report = bus.drain(Duration::from_secs(600)).await;
    let took = began.elapsed();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.sessions, report.jobs.finished), (count, count as u64));
    drop(sessions);
    took
}

async fn sessions_with_an_event(bus: &Bus, count: usize) -> Vec<Session> {
    let mut sessions = Vec::with_capacity(count);
    for number in 0..count {
        let session = bus.session(format!("session {number}")).open().await.unwrap();
        drop(session.publish(OnIdle::new()).await.unwrap());
        sessions.push(session);
        // The engine keeps up.
        if number % 256 == 0 {
            yield_now().await;
        }
    }
    sessions
}

fn median<F: Future<Output = Duration>>(
    rounds: usize,
    runtime: &Runtime,
    mut measure: impl FnMut() -> F,
) -> Duration {
    let began = Instant::now();
    let mut times = vec![runtime.block_on(measure())];
    while times.len() < rounds && began.elapsed() < PATIENCE {
        times.push(runtime.block_on(measure()));
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
