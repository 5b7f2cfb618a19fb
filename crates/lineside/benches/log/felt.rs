//! What publishers feel of the log: the same publishers with it and without it, in turns, on two threads that they share
//! with its writer, at the rate that it has to keep up with.

use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use lineside::log::{Follower, Log, Options};
use lineside::prelude::*;

use crate::receipts;

/// How many publishers there are, how many events each publishes a millisecond, and for how many of these.
const PUBLISHERS: u64 = 4;
const A_TICK: u64 = 6;
const TICKS: u64 = 1_500;

/// So many turns with the log and without it.
pub(crate) fn measure(folder: &Path, turns: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (mut with, mut without, mut rate, mut lost) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for turn in 0..turns {
        without.push(runtime.block_on(publish(None)));
        let log = Log::open(&folder.join(format!("felt-{turn}.sqlite")), Options::default()).unwrap();
        let mut felt = runtime.block_on(publish(Some(log)));
        if let Some(mut follower) = felt.follower.take() {
            follower.end();
            lost += follower.state().lost;
        }
        rate.push(felt.rate);
        with.push(felt);
    }
    rate.sort_by(f64::total_cmp);
    println!("FIGURE log/sustained {:.0} receipts_per_second >=20000", rate[rate.len() / 2]);
    println!("FIGURE log/sustained_lost {lost} receipts <=0");
    // The quietest turns: what else the machine does makes others worse and none better.
    let least = |felt: &[Felt], of: fn(&Felt) -> Duration| felt.iter().map(of).min().unwrap().as_secs_f64();
    let ratio = |of: fn(&Felt) -> Duration| least(&with, of) / least(&without, of);
    println!("FIGURE log/publish/p50 {:.2} us -", least(&without, |felt| felt.p50) * 1e6);
    println!("FIGURE log/publish/p99 {:.2} us -", least(&without, |felt| felt.p99) * 1e6);
    println!("RATIO log/publish_with/without/p50 {:.3} <=1.03", ratio(|felt| felt.p50));
    println!("RATIO log/publish_with/without/p99 {:.3} <=1.05", ratio(|felt| felt.p99));
}

struct Felt {
    p50: Duration,
    p99: Duration,
    rate: f64,
    follower: Option<Follower>,
}

async fn publish(log: Option<Log>) -> Felt {
    let bus = receipts::bus();
    let follower = log.map(|log| Follower::new(&bus, log));
    // Over when its sender is dropped.
    let (running, over) = tokio::sync::oneshot::channel::<()>();
    let following = follower.map(|follower| tokio::spawn(follow(follower, over)));
    let began = Instant::now();
    let publishers: Vec<_> =
        (0..PUBLISHERS).map(|number| tokio::spawn(publisher(bus.clone(), number))).collect();
    let mut times = Vec::new();
    for publisher in publishers {
        times.extend(publisher.await.unwrap());
    }
    let took = began.elapsed();
    drop(running);
    let follower = match following {
        Some(following) => Some(following.await.unwrap()),
        None => None,
    };
    times.sort_unstable();
    let count = times.len();
    let rate = f64::from(u32::try_from(count).unwrap()) / took.as_secs_f64();
    Felt { p50: times[count / 2], p99: times[count / 100 * 99], rate, follower }
}

async fn follow(mut follower: Follower, over: tokio::sync::oneshot::Receiver<()>) -> Follower {
    tokio::select! {
        () = follower.follow() => {}
        _ = over => {}
    }
    follower
}

async fn publisher(bus: Bus, number: u64) -> Vec<Duration> {
    let mut random = Rng::with_seed(number);
    let session = bus.session(format!("s-{number}")).host("claude").open().await.unwrap();
    let mut times = Vec::new();
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    for tick in 0..TICKS {
        ticks.tick().await;
        for event in 0..A_TICK {
            let call = receipts::call(&mut random, tick * A_TICK + event);
            let began = Instant::now();
            drop(session.publish(call).await.unwrap());
            times.push(began.elapsed());
        }
    }
    session.close().await;
    times
}
