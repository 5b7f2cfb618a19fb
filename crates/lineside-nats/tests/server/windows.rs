//! Windows that several machines hold together, and rates of all of them: whether what was held could have been, over cuts of
//! machines and deaths of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use lineside_nats::{Clock, Cluster, HeldEvents, StartsIn, Token, WindowPart};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::members::{by_clock, member, suspended};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many times it is cut, unless it is said otherwise.
const CYCLES: usize = 20;
const QUIET: Duration = Duration::from_millis(200);

fn key(name: &str) -> Token {
    Token::new(name).unwrap()
}

/// The runs of all machines: the events of each, and which machine it was.
pub(crate) type Runs = Arc<Mutex<Vec<(usize, Vec<String>)>>>;

/// A machine that holds events.
#[derive(Clone)]
pub(crate) struct Holds(Arc<Inner>);

struct Inner {
    number: usize,
    held: Mutex<Vec<String>>,
    changed: Notify,
    runs: Runs,
}

impl Holds {
    pub(crate) fn new(number: usize, runs: &Runs) -> Self {
        let (held, changed, runs) = (Mutex::default(), Notify::new(), Arc::clone(runs));
        Self(Arc::new(Inner { number, held, changed, runs }))
    }

    pub(crate) fn push(&self, event: String) {
        self.0.held.lock().unwrap().push(event);
        self.0.changed.notify_one();
    }
}

impl WindowPart for Holds {
    fn held(&self) -> Option<HeldEvents> {
        let ids = self.0.held.lock().unwrap().clone();
        let at_most = Duration::from_secs(5);
        (!ids.is_empty()).then_some(HeldEvents { ids, quiet: QUIET, at_most, count: 100, closes: false })
    }

    fn texts(&self, ids: &[String]) -> Vec<(String, String)> {
        ids.iter().map(|id| (id.clone(), id.clone())).collect()
    }

    async fn changed(&self) {
        self.0.changed.notified().await;
    }

    async fn close(&self, mut all: Vec<String>) {
        let own = std::mem::take(&mut *self.0.held.lock().unwrap());
        all.extend(own.into_iter().filter(|id| !all.contains(id)).collect::<Vec<_>>());
        self.0.runs.lock().unwrap().push((self.0.number, all));
    }

    fn elsewhere(&self, ids: Vec<String>) {
        self.0.held.lock().unwrap().retain(|held| !ids.contains(held));
    }
}

/// Every event was run for, and by so few machines: gives those of which two ran.
fn check(runs: &Runs, events: &BTreeSet<String>) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for event in runs.lock().unwrap().iter().flat_map(|(_, events)| events) {
        *times.entry(event.clone()).or_default() += 1;
    }
    let lost: Vec<_> = events.iter().filter(|event| !times.contains_key(*event)).collect();
    assert!(lost.is_empty(), "none has run for {lost:?}");
    assert!(times.keys().all(|event| events.contains(event)), "events that were not held: {times:?}");
    times.into_iter().filter(|(_, times)| *times > 1).map(|(event, _)| event).collect()
}

#[tokio::test]
async fn a_window_is_the_last_machines_and_the_others_see_what_has_become_of_it() {
    let nats = Nats::new().await;
    let ((a, _a), (b, _b)) = (member(&nats.url(), "a").await, member(&nats.url(), "b").await);
    let runs = Runs::default();
    let (of_a, of_b) = (Holds::new(0, &runs), Holds::new(1, &runs));
    let window = key("w");
    for number in 0..3 {
        of_a.push(format!("a{number}"));
        let first = a.take_part(&window, &of_a);
        let second = async {
            // It comes when the first has it.
            while !window_has(&nats, &format!("a{number} ")).await {}
            of_b.push(format!("b{number}"));
            b.take_part(&window, &of_b).await;
        };
        timeout(LONG, async { tokio::join!(first, second) }).await.expect("it is over in time");
        let last = runs.lock().unwrap().last().cloned();
        assert_eq!(last, Some((1, vec![format!("a{number}"), format!("b{number}")])));
        assert_eq!(runs.lock().unwrap().len(), number + 1, "one run");
    }
}

/// One that can be held up before it has closed a window.
struct Watched {
    holds: Holds,
    /// How often it was looked at.
    looked: watch::Sender<usize>,
    /// It has the window.
    closing: Notify,
    /// And goes on.
    closes: Semaphore,
}

impl Watched {
    fn new(number: usize, runs: &Runs, closes: usize) -> Self {
        let holds = Holds::new(number, runs);
        Self { holds, looked: watch::channel(0).0, closing: Notify::new(), closes: Semaphore::new(closes) }
    }
}

impl WindowPart for Watched {
    fn held(&self) -> Option<HeldEvents> {
        self.looked.send_modify(|looked| *looked += 1);
        self.holds.held()
    }

    fn texts(&self, ids: &[String]) -> Vec<(String, String)> {
        self.holds.texts(ids)
    }

    async fn changed(&self) {
        self.holds.changed().await;
    }

    async fn close(&self, all: Vec<String>) {
        self.closing.notify_one();
        self.closes.acquire().await.unwrap().forget();
        self.holds.close(all).await;
    }

    fn elsewhere(&self, ids: Vec<String>) {
        self.holds.elsewhere(ids);
    }
}

#[tokio::test]
async fn two_projects_of_one_name_on_one_machine_are_two_parts_of_a_window() {
    let nats = Nats::new().await;
    let (a, _a) = member(&nats.url(), "a").await;
    let (runs, window) = (Runs::default(), key("w"));
    let (first, second) = (Watched::new(0, &runs, 0), Watched::new(1, &runs, 1));
    first.holds.push("e1".to_owned());
    second.holds.push("e2".to_owned());
    let begins = async {
        first.closing.notified().await;
        let mut looked = second.looked.subscribe();
        let looks = async {
            // It has seen that the first one has the window, and waits, or takes part no longer.
            looked.wait_for(|looked| *looked > 1).await.unwrap();
            first.closes.add_permits(1);
        };
        tokio::join!(a.take_part(&window, &second), looks);
    };
    let both = async { tokio::join!(a.take_part(&window, &first), begins) };
    timeout(LONG, both).await.expect("both are over in time");
    let runs = runs.lock().unwrap().clone();
    assert_eq!(runs, [(0, vec!["e1".to_owned()]), (1, vec!["e2".to_owned()])]);
}

#[tokio::test]
async fn a_machine_that_has_stood_still_since_it_took_a_window_looks_again_before_it_runs() {
    let nats = Nats::new().await;
    let (began, left) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    // So often it stands still for a lease between two looks at its clock.
    let stands_still = Arc::clone(&left);
    let stood = AtomicU64::new(0);
    let clock = Clock::new(move || {
        let still = stands_still.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        stood.fetch_add(u64::from(still.is_ok()), Ordering::SeqCst);
        began.elapsed() + Duration::from_secs(10 * stood.load(Ordering::SeqCst))
    });
    let (a, _a) = by_clock(&nats.url(), "a", clock).await;
    let (runs, window) = (Runs::default(), key("w"));
    let one = Watched::new(0, &runs, 1);
    one.holds.push("e1".to_owned());
    left.store(30, Ordering::SeqCst);
    let taking_part = a.take_part(&window, &one);
    let closing = async {
        one.closing.notified().await;
        assert_eq!(left.load(Ordering::SeqCst), 0, "it may be another machine's");
    };
    timeout(LONG, async { tokio::join!(taking_part, closing) }).await.expect("it is over in time");
    assert_eq!(runs.lock().unwrap().clone(), [(0, vec!["e1".to_owned()])]);
}

/// Whether the window is open, and has this event.
async fn window_has(nats: &Nats, event: &str) -> bool {
    let context = async_nats::jetstream::new(async_nats::connect(nats.url()).await.unwrap());
    let Ok(bucket) = context.get_key_value("lineside_test_windows").await else { return false };
    let entry = bucket.get("window.w").await.ok().flatten().unwrap_or_default();
    let entry = String::from_utf8_lossy(&entry);
    entry.starts_with("open") && entry.contains(event)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_cuts_and_deaths_of_the_server_no_event_of_a_window_is_lost() {
    let cycles = std::env::var("LINESIDE_CYCLES").ok().and_then(|cycles| cycles.parse().ok());
    let cycles: usize = cycles.unwrap_or(CYCLES);
    let mut nats = Nats::new().await;
    let proxies = [Proxy::to(nats.port).await, Proxy::to(nats.port).await, Proxy::to(nats.port).await];
    let (runs, mut members) = (Runs::default(), Vec::new());
    for (number, proxy) in proxies.iter().enumerate() {
        let (cluster, questions) = member(&proxy.url(), &format!("m{number}")).await;
        members.push((cluster, questions, Holds::new(number, &runs)));
    }
    let (mut dice, mut events) = (11_u64, BTreeSet::new());
    let mut roll = |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    for cycle in 0..cycles {
        let mut parts = JoinSet::new();
        for (number, (cluster, _, holds)) in members.iter().enumerate() {
            for event in 0..roll(3) {
                let event = format!("{cycle}-{number}-{event}");
                events.insert(event.clone());
                holds.push(event);
            }
            let (cluster, holds): (Cluster, Holds) = (cluster.clone(), holds.clone());
            parts.spawn(async move { cluster.take_part(&key("w"), &holds).await });
        }
        match usize::try_from(roll(5)).unwrap() {
            3 => {
                nats.kill();
                nats.start().await;
            }
            4 => {}
            cut => {
                timeout(Duration::from_millis(roll(400)), parts.join_next()).await.ok();
                proxies[cut].cut();
                timeout(Duration::from_millis(roll(1_500)), parts.join_next()).await.ok();
                proxies[cut].heal();
            }
        }
        let all = async { while parts.join_next().await.is_some() {} };
        timeout(3 * LONG, all).await.expect("nothing is held for ever");
    }
    let twice = check(&runs, &events);
    println!(
        "{} events, {} runs, {} events run for twice",
        events.len(),
        runs.lock().unwrap().len(),
        twice.len()
    );
    assert!(runs.lock().unwrap().len() < events.len(), "some are run for together");
    join_all(members.iter().map(|(cluster, ..)| cluster.leave(LONG))).await;
}

#[tokio::test]
async fn a_rate_has_so_many_starts_on_all_machines_in_a_period() {
    let nats = Nats::new().await;
    let ((a, _a), (b, _b)) = (member(&nats.url(), "a").await, member(&nats.url(), "b").await);
    let rate = StartsIn { starts: 2, period: Duration::from_secs(1) };
    let began = Instant::now();
    let own = key("r");
    let all = (0..6).map(|number| if number % 2 == 0 { &a } else { &b }.let_in(&own, rate, true));
    assert_eq!(timeout(LONG, join_all(all)).await.expect("each has its start"), [true; 6]);
    // Two begin at once, and two in each second after that; a machine knows the time of the server to within a question.
    let took = began.elapsed();
    assert!(took >= 2 * rate.period - Duration::from_millis(100), "{took:?}");
    // More than that is dropped where it is not waited for.
    let hour = StartsIn { period: Duration::from_secs(3_600), ..rate };
    let (other, mut in_time) = (key("s"), 0);
    for number in 0..5 {
        let member = if number % 2 == 0 { &a } else { &b };
        in_time += usize::from(timeout(LONG, member.let_in(&other, hour, false)).await.unwrap());
    }
    assert_eq!(in_time, 2);
}

#[tokio::test]
async fn the_time_for_which_a_machine_is_suspended_is_time_of_rates() {
    let nats = Nats::new().await;
    let (a, _a, suspended) = suspended(&nats.url(), "a").await;
    let (own, rate) = (key("r"), StartsIn { starts: 1, period: Duration::from_secs(20) });
    let starts = || async { timeout(LONG, a.let_in(&own, rate, false)).await.unwrap() };
    assert_eq!((starts().await, starts().await), (true, false));
    suspended.fetch_add(30, Ordering::SeqCst);
    assert!(starts().await, "the period is over");
    // What the server says counts after a minute.
    suspended.fetch_add(31, Ordering::SeqCst);
    assert!(!starts().await, "its clock has not gone on");
}
