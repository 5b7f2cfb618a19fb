//! What a cluster costs, beside what NATS costs by itself: a hook on another machine, a key taken and given back, a registry that
//! is joined, events of a daemon that has joined and where nothing is elsewhere, and jobs that wait and are named to other
//! machines.
//!
//! `cargo xtask bench --only nats` starts a server on the loopback for it, and ends with lines `RATIO name value target` and
//! `FIGURE name value unit target`, of medians of interleaved samples.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use lineside::automation::Automations;
use lineside::client::Client;
use lineside::core::payload::Payload as _;
use lineside::core::propagation::GRANT;
use lineside::dialects::native::ClusterSettings;
use lineside::dialects::{Places, Trust};
use lineside::json::Map;
use lineside::prelude::*;
use lineside_daemon::{Server, Settings};
use lineside_nats::{Clock, Cluster, EntryName, JoinSettings, Sync, Token};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::task::yield_now;

use nats::Nats;

#[allow(dead_code, reason = "tests do more with it")]
#[path = "../../lineside-nats/tests/server/nats.rs"]
mod nats;

/// The server that a process of its own joins, and how many sessions its registry has.
const JOINS: &str = "LINESIDE_BENCH_JOINS";
const REGISTERED: u64 = 100_000;
/// How many rounds of how many of each kind, one after another in each round.
const ROUNDS: usize = 30;
const TIMES: usize = 100;
/// How many jobs are accepted in each round, and how many are named at once after that.
const JOBS: u64 = 1_000;
const NAMED: u64 = 50_000;
/// How many are accepted in a burst that takes longer than jobs are gathered before they are named, and the rest before each.
const LONG_BURST: u64 = 10_000;
const REST: Duration = Duration::from_millis(50);
/// The automation of these jobs: the first one has the only turn.
const HOOKS: &str =
    "hooks: [{name: waits, on: on_idle, command: [sleep, '3600'], automate: {where: anywhere}}]\n";

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(JOINS) {
        Ok(url) => runtime.block_on(joins(&url)),
        Err(_) => runtime.block_on(async {
            let nats = Nats::new().await;
            gate(&nats).await;
            key(&nats).await;
            jobs(&nats).await;
            registry(&nats).await;
        }),
    }
}

/// A daemon; of no cluster without a server.
async fn daemon(folder: &Path, of: Option<(&str, &str)>) -> Server {
    let home = folder.join("home").to_string_lossy().into_owned();
    let project = folder.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let environment = [("HOME".to_owned(), home)].into();
    let places =
        Places { environment, project_root: Some(project.clone()), cwd: project, trust: Trust::Granted };
    let mut settings = Settings::new(folder.join("run/lineside.sock"), folder.join("state"), places);
    settings.limits.running = 1;
    settings.cluster = of.map(|(url, machine)| ClusterSettings {
        servers: url.to_owned(),
        machine: Some(machine.to_owned()),
        ..ClusterSettings::default()
    });
    let server = Server::start(settings).await.unwrap();
    let client = Client::new(folder.join("run/lineside.sock"));
    while of.is_some() {
        let status: Map = client.get("/v1/status").await.unwrap();
        if status["cluster"]["together"] == json!(true) {
            break;
        }
        yield_now().await;
    }
    server
}

fn call() -> BeforeTool {
    BeforeTool::new("Shell", json!({"command": "cargo test --workspace --all-features"}))
}

async fn median<F: Future>(mut once: impl FnMut() -> F) -> Duration {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let began = Instant::now();
        let _came = once().await;
        times.push(began.elapsed());
    }
    of_all(times)
}

fn of_all(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Two kinds in turn: the median of each.
async fn in_turn<A: Future, B: Future>(
    mut one: impl FnMut() -> A,
    mut other: impl FnMut() -> B,
) -> (Duration, Duration) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ones.push(median(&mut one).await);
        others.push(median(&mut other).await);
    }
    (of_all(ones), of_all(others))
}

fn ratio(name: &str, (one, other): (Duration, Duration), target: &str) {
    println!("FIGURE {name} {:.1} us -", one.as_secs_f64() * 1e6);
    println!("RATIO {name}/bare {:.3} {target}", one.as_secs_f64() / other.as_secs_f64());
}

/// An event whose gate is on another machine, in the program that holds the daemon there or in one that is attached to it,
/// each beside a question and its answer over the same server; and an event of a session that nothing elsewhere is about, beside
/// one in a daemon that has not joined.
async fn gate(nats: &Nats) {
    let folders: Vec<TempDir> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let url = nats.url();
    let a = daemon(folders[0].path(), Some((&url, "a"))).await;
    let b = daemon(folders[1].path(), Some((&url, "b"))).await;
    let alone = daemon(folders[2].path(), None).await;
    let client = |number: usize| Client::new(folders[number].path().join("run/lineside.sock"));
    let parent = client(0).session("parent").open().await.unwrap();
    let gate = parent.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).await.unwrap();
    let below = client(1).granted(parent.environment().get(GRANT).unwrap());
    let _child = below.session("child").open().await.unwrap();
    let child = b.bus().find("child").unwrap();
    let embedded = a.bus().session("embedded").open().await.unwrap();
    embedded.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).unwrap();
    let below = client(1).granted(embedded.environment().get(GRANT).unwrap());
    let _nearer = below.session("nearer").open().await.unwrap();
    let nearer = b.bus().find("nearer").unwrap();
    let (asks, answers) =
        (async_nats::connect(&url).await.unwrap(), async_nats::connect(&url).await.unwrap());
    let mut asked = answers.subscribe("bare").await.unwrap();
    tokio::spawn(async move {
        while let Some(message) = asked.next().await {
            answers.publish(message.reply.unwrap(), message.payload).await.unwrap();
        }
    });
    let text = json!({"point": "before_tool", "session": "bare", "payload": call().to_json()}).to_string();
    // The subscription is there when it is answered.
    while asks.request("bare", text.clone().into()).await.is_err() {}
    let bare = || async { asks.request("bare", text.clone().into()).await.unwrap() };
    let of_daemon = || async {
        let decision = nearer.publish(call()).await.unwrap();
        assert!(!decision.is_refused(), "it is asked");
    };
    ratio("gate_on_another_daemon", in_turn(of_daemon, bare).await, "<=1.5");
    let of_program = || async {
        let decision = child.publish(call()).await.unwrap();
        assert!(!decision.is_refused(), "it is asked");
    };
    ratio("gate_in_a_program_of_another_daemon", in_turn(of_program, bare).await, "-");
    // What of that is the way from its own daemon to the program and back.
    let own = a.bus().find("parent").unwrap();
    let here = median(|| async { own.publish(call()).await.unwrap() }).await;
    println!("FIGURE gate_in_a_program_of_this_daemon {:.1} us -", here.as_secs_f64() * 1e6);
    drop(gate);
    let joined = b.bus().session("own").open().await.unwrap();
    let apart = alone.bus().session("own").open().await.unwrap();
    for session in [&joined, &apart] {
        session.intercept::<BeforeTool>("own").gate(async |_, _| Verdict::Continue).unwrap();
    }
    let one = || async { joined.publish(call()).await.unwrap() };
    let other = || async { apart.publish(call()).await.unwrap() };
    ratio("event_when_joined", in_turn(one, other).await, "<=1.02");
    for server in [a, b, alone] {
        server.end().await;
    }
}

async fn member(url: &str, machine: &str) -> Cluster {
    let token = |text: &str| Token::new(text).unwrap();
    let settings = JoinSettings {
        servers: url.to_owned(),
        credentials: None,
        roots: None,
        cluster: token("bench"),
        machine: token(machine),
        life: token("1"),
        sync: Sync::AsSet,
        clock: Clock::default(),
    };
    let (cluster, mut questions) = Cluster::join(settings).await.unwrap();
    tokio::spawn(async move { while questions.next().await.is_some() {} });
    cluster.health().wait_for(|health| health.link.is_together()).await.unwrap();
    cluster
}

/// A key that is taken and given back, beside an update of an entry.
async fn key(nats: &Nats) {
    let cluster = member(&nats.url(), "keys").await;
    let client = async_nats::connect(nats.url()).await.unwrap();
    let bare = async_nats::jetstream::kv::Config { bucket: "bare".to_owned(), ..Default::default() };
    let bare = async_nats::jetstream::new(client).create_key_value(bare).await.unwrap();
    let revision = std::cell::Cell::new(bare.put("k", "0".into()).await.unwrap());
    let token = Token::new("k").unwrap();
    let one = || async { cluster.under(&token, |_| std::future::ready(())).await.unwrap() };
    let other = || async { revision.set(bare.update("k", "1".into(), revision.get()).await.unwrap()) };
    ratio("key_taken_and_given_back", in_turn(one, other).await, "<=2.2");
    cluster.leave(Duration::from_secs(5)).await;
}

/// Jobs that wait for a turn: how many are named to other machines in a second, and how many accepted meanwhile, beside a daemon
/// that has not joined.
async fn jobs(nats: &Nats) {
    let folders: [TempDir; 2] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut daemons = Vec::new();
    for (folder, machine) in folders.iter().map(TempDir::path).zip([Some("jobs"), None]) {
        let own = folder.join("home/.config/lineside");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("hooks.yaml"), HOOKS).unwrap();
        let url = nats.url();
        let server = daemon(folder, machine.map(|machine| (&*url, machine))).await;
        let client = Client::new(folder.join("run/lineside.sock"));
        client.session("own").cwd(folder.to_string_lossy()).open().await.unwrap();
        let session = server.bus().find("own").unwrap();
        let automations = Automations::of(server.bus()).unwrap();
        daemons.push((server, client, session, automations));
    }
    let published = async |count: u64| {
        loop {
            let status: Map = daemons[0].1.get("/v1/status").await.unwrap();
            if status["cluster"]["jobs"]["published"].as_u64().unwrap() >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let accepts = async |place: usize, jobs: u64| {
        let (_, _, session, automations) = &daemons[place];
        let began = Instant::now();
        for _ in 0..jobs {
            let _heard = session.publish(OnIdle::new()).await.unwrap();
        }
        automations.kept().await.unwrap();
        began.elapsed()
    };
    // The first has the turn, and the second says that the naming has begun.
    accepts(0, 2).await;
    published(1).await;
    daemons[0].3.share_jobs(false);
    accepts(0, NAMED).await;
    // As many wait there.
    accepts(1, NAMED + 2).await;
    let began = Instant::now();
    daemons[0].3.share_jobs(true);
    // The second job is named once more.
    published(NAMED + 2).await;
    println!("FIGURE jobs_named {:.0} /s >=50000", (NAMED + 1) as f64 / began.elapsed().as_secs_f64());
    let mut all = NAMED + 2;
    for (name, rounds, jobs) in
        [("jobs_accepted_while_named", ROUNDS, JOBS), ("long_burst_of_jobs", 5, LONG_BURST)]
    {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            // Each comes first as often, and after as long a rest.
            for place in [round % 2, 1 - round % 2] {
                // What is named still takes nothing of the next one's time.
                published(all).await;
                tokio::time::sleep(REST).await;
                times[place].push(accepts(place, jobs).await);
                all += if place == 0 { jobs } else { 0 };
            }
        }
        let [joined, alone] = times.map(of_all);
        println!("FIGURE {name} {:.0} /s -", jobs as f64 / joined.as_secs_f64());
        let ratio = alone.as_secs_f64() / joined.as_secs_f64();
        println!("RATIO {name}/alone {ratio:.3} >=0.9");
    }
    for (server, ..) in daemons {
        server.end().await;
    }
}

/// A machine that joins where others have many sessions, in a process of its own.
async fn registry(nats: &Nats) {
    let cluster = member(&nats.url(), "many").await;
    let value = json!({"v": 1, "id": "s".repeat(36), "agent": {"kind": "subagent", "name": "worker"}, "above": "0".repeat(16), "verifier": "0".repeat(64)});
    for number in 0..REGISTERED {
        cluster.put(EntryName(number), value.to_string());
    }
    while cluster.own_entries().1 > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let joins = Command::new(std::env::current_exe().unwrap()).env(JOINS, nats.url()).status();
    assert!(joins.unwrap().success());
    cluster.leave(Duration::from_secs(30)).await;
}

async fn joins(url: &str) {
    let (before, began) = (resident(), Instant::now());
    let cluster = member(url, "late").await;
    let took = began.elapsed();
    assert_eq!(cluster.mirrored() as u64, REGISTERED);
    println!("FIGURE joining_100000_sessions {:.2} s <=3", took.as_secs_f64());
    println!("FIGURE memory_of_100000_sessions {:.1} MiB <=64", (resident() - before) as f64 / 1024.0);
}

/// The resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
