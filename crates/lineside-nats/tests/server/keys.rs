//! Keys of which one machine has each at a time, and whether what was done under them could have been: a history of every
//! run, over cuts of machines and deaths of the server.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use lineside_nats::{Cluster, LostKeyError, Token};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout};

use crate::members::{member, stands, suspended};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many times it is cut, unless it is said otherwise.
const CYCLES: usize = 20;

fn key(name: &str) -> Token {
    Token::new(name).unwrap()
}

/// A run under a key.
#[derive(Debug, Clone)]
struct Run {
    key: usize,
    fence: u64,
    began: Instant,
    ended: Instant,
    counts: bool,
}

#[derive(Clone, Default)]
struct History(Arc<Mutex<Vec<Run>>>);

/// Says that a run is over, also where it is given up.
struct Running(History, usize);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.lock().unwrap()[self.1].ended = Instant::now();
    }
}

impl History {
    async fn run(&self, cluster: &Cluster, number: usize, takes: Duration) {
        let mut place = None;
        let own = key(&format!("k{number}"));
        let ran = cluster.under(&own, |fence| {
            let now = Instant::now();
            let mut all = self.0.lock().unwrap();
            all.push(Run { key: number, fence, began: now, ended: now, counts: false });
            let running = Running(self.clone(), all.len() - 1);
            place = Some(running.1);
            async move {
                sleep(takes).await;
                drop(running);
            }
        });
        let counts = ran.await.is_ok();
        if let Some(place) = place {
            self.0.lock().unwrap()[place].counts = counts;
        }
    }

    /// At most one holder at a time, each with a greater fence than those before.
    fn check(&self) -> usize {
        let mut of_keys: HashMap<usize, Vec<Run>> = HashMap::new();
        for run in self.0.lock().unwrap().iter() {
            of_keys.entry(run.key).or_default().push(run.clone());
        }
        for runs in of_keys.values_mut() {
            runs.sort_by_key(|run| run.began);
            for pair in runs.windows(2) {
                assert!(pair[0].fence < pair[1].fence, "a fence is not greater: {pair:?}");
                assert!(pair[0].ended <= pair[1].began, "two have the key at once: {pair:?}");
            }
        }
        of_keys.values().flatten().filter(|run| run.counts).count()
    }
}

#[tokio::test]
async fn a_key_is_handed_on_when_it_is_given_back() {
    let nats = Nats::new().await;
    let ((a, _a), (b, _b)) = (member(&nats.url(), "a").await, member(&nats.url(), "b").await);
    let (end, ends) = oneshot::channel::<()>();
    let (began, begins) = oneshot::channel();
    let (lint, test) = (key("lint"), key("test"));
    let first = a.under(&lint, |fence| async move {
        began.send(fence).unwrap();
        ends.await.unwrap();
    });
    let second = async {
        let fence = begins.await.unwrap();
        // Another key is free all the while.
        b.under(&test, |_| std::future::ready(())).await.unwrap();
        let waits = b.under(&lint, std::future::ready);
        let mut waits = std::pin::pin!(waits);
        assert!(timeout(Duration::from_millis(300), &mut waits).await.is_err(), "it is another's");
        end.send(()).unwrap();
        assert!(timeout(LONG, waits).await.unwrap().unwrap() > fence);
    };
    let (first, ()) = tokio::join!(first, second);
    first.unwrap();
    // What is given up gives its key back.
    let (began, begins) = oneshot::channel();
    {
        let mut given_up = std::pin::pin!(a.under(&lint, |_| async move {
            began.send(()).unwrap();
            std::future::pending::<()>().await;
        }));
        tokio::select! {
            _ = &mut given_up => unreachable!("it does not end"),
            begun = begins => begun.unwrap(),
        }
    }
    let soon = Duration::from_secs(5);
    timeout(soon, b.under(&lint, |_| std::future::ready(()))).await.expect("it is free at once").unwrap();
}

#[tokio::test]
async fn a_machine_that_is_cut_off_gives_up_what_runs_before_another_one_has_its_key() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let ((a, _a), (b, _b)) = (member(&proxy.url(), "a").await, member(&nats.url(), "b").await);
    let history = History::default();
    let held = async {
        history.run(&a, 0, Duration::from_secs(3_600)).await;
        Instant::now()
    };
    let next = async {
        while history.0.lock().unwrap().is_empty() {
            yield_now().await;
        }
        proxy.cut();
        history.run(&b, 0, Duration::ZERO).await;
    };
    timeout(LONG, async { tokio::join!(held, next) }).await.expect("both end in time");
    let all = history.0.lock().unwrap().clone();
    assert_eq!(
        all.iter().map(|run| run.counts).collect::<Vec<_>>(),
        [false, true],
        "what was cut off does not count"
    );
    assert_eq!(history.check(), 1);
    // A result that comes when the server has given the key to another one is refused, and not only one that is late.
    proxy.heal();
    stands(&a, |health| health.link.is_together()).await;
    let ((began, begins), (stolen, is_stolen)) = (oneshot::channel(), oneshot::channel());
    let own = key("k1");
    let refused = a.under(&own, |_| async move {
        began.send(()).unwrap();
        is_stolen.await.unwrap();
    });
    let steal = async {
        begins.await.unwrap();
        let client = async_nats::connect(nats.url()).await.unwrap();
        let bucket = async_nats::jetstream::new(client).get_key_value("lineside_test_keys").await.unwrap();
        bucket.put("k1", "c 1 0".into()).await.unwrap();
        stolen.send(()).unwrap();
    };
    let (refused, ()) = tokio::join!(refused, steal);
    assert_eq!(refused, Err(LostKeyError::Taken));
}

#[tokio::test]
async fn what_comes_when_the_time_of_a_key_is_over_does_not_count() {
    let nats = Nats::new().await;
    let (a, _a) = member(&nats.url(), "a").await;
    // It keeps its thread, so that nothing is renewed meanwhile.
    let own = key("k");
    let late = a.under(&own, |_| async { std::thread::sleep(Duration::from_secs(10)) });
    assert_eq!(late.await, Err(LostKeyError::NotRenewed));
}

#[tokio::test]
async fn the_time_for_which_a_machine_is_suspended_is_time_of_its_keys() {
    let nats = Nats::new().await;
    let (a, _a, suspended) = suspended(&nats.url(), "a").await;
    let (late, ends, next) = (key("k1"), key("k2"), key("k3"));
    // It is over before the key is given back, and nothing of that was asked of the server.
    let late = a.under(&late, |_| async { suspended.fetch_add(10, Ordering::SeqCst) });
    assert_eq!(late.await, Err(LostKeyError::NotRenewed));
    // What runs on is given up.
    let ends = a.under(&ends, |_| {
        suspended.fetch_add(10, Ordering::SeqCst);
        std::future::pending::<()>()
    });
    assert_eq!(timeout(LONG, ends).await.expect("it is given up"), Err(LostKeyError::NotRenewed));
    a.under(&next, std::future::ready).await.expect("the next one has its time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_cuts_and_deaths_of_the_server_a_key_has_one_holder_at_a_time() {
    let cycles = std::env::var("LINESIDE_CYCLES").ok().and_then(|cycles| cycles.parse().ok());
    let cycles: usize = cycles.unwrap_or(CYCLES);
    let mut nats = Nats::new().await;
    let proxies = [Proxy::to(nats.port).await, Proxy::to(nats.port).await, Proxy::to(nats.port).await];
    let mut members = Vec::new();
    for (number, proxy) in proxies.iter().enumerate() {
        members.push(member(&proxy.url(), &format!("m{number}")).await);
    }
    let (history, mut dice) = (History::default(), 7_u64);
    let mut roll = |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    for cycle in 0..cycles {
        let mut runs = JoinSet::new();
        for (cluster, _) in &members {
            for number in 0..4 {
                let (history, cluster) = (history.clone(), cluster.clone());
                let takes = Duration::from_millis(roll(20));
                runs.spawn(async move { history.run(&cluster, number % 2, takes).await });
            }
        }
        for _ in 0..roll(12) {
            runs.join_next().await.unwrap().unwrap();
        }
        match usize::try_from(roll(4)).unwrap() {
            3 => {
                nats.kill();
                nats.start().await;
            }
            cut => {
                proxies[cut].cut();
                // Others go on, and some of its runs are given up in the middle.
                for _ in 0..roll(3) {
                    timeout(Duration::from_millis(200), runs.join_next()).await.ok();
                }
                if cycle % 3 == 0 {
                    runs.abort_all();
                }
                proxies[cut].heal();
            }
        }
        let all = async { while runs.join_next().await.is_some() {} };
        timeout(2 * LONG, all).await.expect("every run comes to its end");
    }
    let counted = history.check();
    assert!(counted > cycles * 3, "{counted} runs counted");
    join_all(members.iter().map(|(cluster, _)| cluster.leave(LONG))).await;
}
