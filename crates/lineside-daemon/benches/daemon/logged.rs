//! What publishers pay for the decision log of the daemon that they ask.

use std::time::{Duration, Instant};

use lineside::Client;
use tokio::runtime::Runtime;

use super::{Party, publish};

/// How many turns of how many events, with a log and without one.
const TURNS: usize = 20;
const EVENTS: usize = 1_000;

/// A publisher that asks a daemon with a log and one without, in turns.
pub(super) fn logged(runtime: &Runtime) {
    let room = tempfile::tempdir().unwrap();
    let [with, without] = ["daemon", "unlogged"].map(|role| room.path().join(role));
    let _parties = [Party::start("daemon", &with), Party::start("unlogged", &without)];
    let [mut logged, mut unlogged] = [Vec::new(), Vec::new()];
    runtime.block_on(async {
        let open = async |folder: &std::path::Path| {
            Client::new(folder.join("run/lineside.sock")).session("logged").open().await.unwrap()
        };
        let sessions = [open(&with).await, open(&without).await];
        for _ in 0..TURNS {
            for (session, turns) in sessions.iter().zip([&mut logged, &mut unlogged]) {
                let mut times = Vec::with_capacity(EVENTS);
                for _ in 0..EVENTS {
                    let begun = Instant::now();
                    publish(session).await;
                    times.push(begun.elapsed());
                }
                times.sort_unstable();
                turns.push([times[EVENTS / 2], times[EVENTS * 99 / 100]]);
            }
        }
    });
    for (name, part, target) in [("p50", 0, "<=1.03"), ("p99", 1, "<=1.05")] {
        // The middle of the turns: what else the machine does is in both.
        let [with, without] = [&logged, &unlogged].map(|turns| {
            let mut turns: Vec<Duration> = turns.iter().map(|turn| turn[part]).collect();
            turns.sort_unstable();
            turns[TURNS / 2].as_secs_f64()
        });
        println!("FIGURE daemon/publish_without_a_log/{name} {:.1} us -", without * 1e6);
        println!("RATIO daemon/publish_with_a_log/without/{name} {:.3} {target}", with / without);
    }
}
