//! What an event costs over the socket beside a bare line that goes to a process and back, how many events pass, what idle
//! sessions weigh, and how long a daemon takes to start.
//!
//! `cargo bench -p lineside-daemon --bench daemon` ends with lines `RATIO name value target` and `FIGURE name value unit
//! target`, of medians of interleaved samples. Each party is a process of its own: this program in another role.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use lineside::Client;
use lineside::client::Session;
use lineside::core::payload::Payload as _;
use lineside::dialects::{Places, Trust};
use lineside::json::{Map, Value, json};
use lineside::prelude::*;
use lineside_daemon::{Server, Settings};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::runtime::{Builder, Runtime};

use bad_clients::bad_clients;
use baselines::{Bare, Line, bare_server, echo};

mod bad_clients;
mod baselines;
mod logged;
mod watched;

/// The variable that says which role this process has.
const ROLE: &str = "LINESIDE_BENCH_ROLE";

/// How many rounds of how many requests, one kind after another in each round.
const ROUNDS: usize = 30;
const REQUESTS: usize = 300;

/// How many connections publish at once, for how long, how often.
const CONNECTIONS: usize = 64;
const BURST: Duration = Duration::from_secs(2);
const BURSTS: usize = 3;

/// How many sessions publish for how long, unless `LINESIDE_BENCH_SECONDS` says otherwise.
const SESSIONS: usize = 1_000;
const SOAK: u64 = 10;

const IDLE: usize = 10_000;
const FOLDERS: usize = 500;
const STARTS: usize = 7;
const MANY_FOLDERS: usize = 20_000;
const FEW_STARTS: usize = 3;

fn main() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let folder = std::env::var("LINESIDE_BENCH_FOLDER").map(PathBuf::from).unwrap_or_default();
    let multi = || Builder::new_multi_thread().enable_all().build().unwrap();
    match &*role {
        "echo" => multi().block_on(echo(&folder.join("echo.sock"))),
        "hyper" => multi().block_on(bare_server(&folder.join("hyper.sock"))),
        "daemon" => multi().block_on(daemon(settings(&folder))),
        "unlogged" => {
            let mut settings = settings(&folder);
            settings.log = None;
            multi().block_on(daemon(settings));
        }
        "gate" => multi().block_on(gate(&folder)),
        _ => measure(),
    }
}

/// A daemon as `lineside serve` is one, with a gate in its own process on the session `gated`.
async fn daemon(settings: Settings) {
    let server = Server::start(settings).await.unwrap();
    let gated = server.bus().session("gated").open().await.unwrap();
    gated.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).unwrap();
    say_ready();
    until_over(std::future::pending()).await;
}

fn settings(folder: &Path) -> Settings {
    let project = folder.join("project");
    let path = std::env::var("PATH").unwrap_or_default();
    let home = folder.join("home").to_string_lossy().into_owned();
    let environment = [("HOME".to_owned(), home), ("PATH".to_owned(), path)].into();
    let places =
        Places { environment, project_root: Some(project.clone()), cwd: project, trust: Trust::Granted };
    Settings::new(folder.join("run/lineside.sock"), folder.join("state"), places)
}

/// A program with a gate on the session `attached`.
async fn gate(folder: &Path) {
    let client = Client::new(folder.join("run/lineside.sock"));
    let session = client.session("attached").open().await.unwrap();
    session.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).await.unwrap();
    say_ready();
    until_over(std::future::pending()).await;
}

fn say_ready() {
    println!("ready");
    std::io::stdout().flush().unwrap();
}

/// Serves until the process that has started this one is gone.
async fn until_over(serve: impl Future<Output = ()>) {
    let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        () = serve => {}
        _ = over => {}
    }
}

/// A process in a role, which ends with this.
struct Party(Child);

impl Party {
    /// Starts it, and waits until it is ready.
    fn start(role: &str, folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(ROLE, role).env("LINESIDE_BENCH_FOLDER", folder);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "{role}");
        Self(child)
    }

    /// Its resident memory in KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

fn call() -> BeforeTool {
    BeforeTool::new("Shell", json!({"command": "cargo test --workspace --all-features"}))
}

/// The event as a line.
fn line() -> Vec<u8> {
    let event =
        json!({"point": "before_tool", "session": "bare", "payload": Value::Object(call().to_json())});
    format!("{event}\n").into_bytes()
}

/// Publishes over a connection for events, as every program with our library does.
async fn publish(session: &Session) {
    assert!(!session.publish(call()).await.unwrap().is_refused());
}

/// Publishes as a program without our library does, with a request for each event.
async fn publish_over_http(client: &Client) {
    let mut event = Map::new();
    event.insert("point".to_owned(), json!("before_tool"));
    event.insert("session".to_owned(), json!("bare"));
    event.insert("payload".to_owned(), Value::Object(call().to_json()));
    let decision: Map = client.post("/v1/events", &event).await.unwrap();
    assert_eq!(decision["verdict"], json!("continue"));
}

fn measure() {
    let only = std::env::var("LINESIDE_BENCH_ONLY").unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only == name;
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if wanted("latency") {
        on_one_core(|| with_parties(|room| latency(&single, room, Cores::One)));
        with_parties(|room| latency(&single, room, Cores::All));
    }
    if wanted("throughput") || wanted("bad_clients") {
        with_parties(|room| {
            if wanted("throughput") {
                throughput(&multi, room);
            }
            if wanted("bad_clients") {
                bad_clients(&multi, room);
            }
        });
    }
    if wanted("soak") {
        soak(&multi);
    }
    if wanted("logged") {
        logged::logged(&single);
    }
    if wanted("dashboard") {
        watched::watched(&multi);
    }
    if wanted("idle") {
        idle(&single);
    }
    if wanted("start") {
        start();
    }
}

/// Has this beside an echo, a bare server, a daemon and a program with a gate, which are where this thread may be.
fn with_parties(measured: impl FnOnce(&Path)) {
    let room = tempfile::tempdir().unwrap();
    let _parties = ["echo", "hyper", "daemon", "gate"].map(|role| Party::start(role, room.path()));
    measured(room.path());
}

/// Keeps this thread, and the processes that it starts, on the first of its cores meanwhile.
fn on_one_core(measured: impl FnOnce()) {
    let all = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).unwrap());
    sched_setaffinity(None, &one).unwrap();
    measured();
    sched_setaffinity(None, &all).unwrap();
}

/// On which cores the parties of an exchange run.
///
/// The targets are for one core, where a process that is woken runs at once. On several, the system puts a process that
/// is woken where it likes, and waking a core that rests takes longer on a virtual machine than all the rest: whether that
/// is in a sample is luck, and the echo mostly has it.
#[derive(Clone, Copy, PartialEq)]
enum Cores {
    One,
    All,
}

fn latency(runtime: &Runtime, room: &Path, cores: Cores) {
    let line = line();
    let body = Bytes::from(line.clone());
    let (mut echo, mut hyper) = (vec![], vec![]);
    let (mut bare, mut gated, mut attached, mut requests) = (vec![], vec![], vec![], vec![]);
    runtime.block_on(async {
        let client = Client::new(room.join("run/lineside.sock"));
        let mut wire = Line::to(&room.join("echo.sock")).await;
        let mut http = Bare::to(&room.join("hyper.sock")).await;
        let nothing = client.session("bare").open().await.unwrap();
        let within = client.session("gated").resume().open().await.unwrap();
        let outside = client.session("attached").resume().open().await.unwrap();
        for _ in 0..ROUNDS {
            for _ in 0..REQUESTS {
                let begun = Instant::now();
                wire.ask(&line).await;
                echo.push(begun.elapsed());
            }
            for _ in 0..REQUESTS {
                let begun = Instant::now();
                http.ask(&body).await;
                hyper.push(begun.elapsed());
            }
            for _ in 0..REQUESTS {
                let begun = Instant::now();
                publish_over_http(&client).await;
                requests.push(begun.elapsed());
            }
            for (session, samples) in
                [(&nothing, &mut bare), (&within, &mut gated), (&outside, &mut attached)]
            {
                for _ in 0..REQUESTS {
                    let begun = Instant::now();
                    publish(session).await;
                    samples.push(begun.elapsed());
                }
            }
        }
    });
    let times = [echo, hyper, requests, bare, gated, attached].map(median);
    let [echo, hyper, requests, bare, gated, attached] = times;
    let on = if cores == Cores::One { "" } else { "_on_all_cores" };
    let names = ["echo", "hyper_alone", "publish_over_http", "publish", "one_gate", "attached_gate"];
    for (name, time) in names.into_iter().zip(times) {
        println!("FIGURE daemon/{name}{on} {:.1} us -", time * 1e6);
    }
    let ratio = |name: &str, value: f64, at_most: &str| {
        let target = if cores == Cores::One { at_most } else { "-" };
        println!("RATIO daemon/{name}{on} {value:.2} {target}");
    };
    ratio("hyper_alone/echo", hyper / echo, "-");
    ratio("publish_over_http/echo", requests / echo, "-");
    ratio("publish/echo", bare / echo, "<=3");
    ratio("one_gate/echo", gated / echo, "<=3.2");
    ratio("attached_gate_above_gate/echo", (attached - gated) / echo, "<=2");
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples[samples.len() / 2].as_secs_f64()
}

fn throughput(runtime: &Runtime, room: &Path) {
    let (mut echoed, mut bare, mut published) = (vec![], vec![], vec![]);
    for _ in 0..BURSTS {
        echoed.push(runtime.block_on(burst(async |_| {
            let (mut wire, line) = (Line::to(&room.join("echo.sock")).await, line());
            let until = Instant::now() + BURST;
            let mut count = 0;
            while Instant::now() < until {
                wire.ask(&line).await;
                count += 1;
            }
            count
        })));
        bare.push(runtime.block_on(burst(async |_| {
            let (mut http, line) = (Bare::to(&room.join("hyper.sock")).await, Bytes::from(line()));
            let until = Instant::now() + BURST;
            let mut count = 0;
            while Instant::now() < until {
                http.ask(&line).await;
                count += 1;
            }
            count
        })));
        published.push(runtime.block_on(burst(async |number| {
            let client = Client::new(room.join("run/lineside.sock"));
            let session = client.session(format!("burst-{number}")).resume().open().await.unwrap();
            let until = Instant::now() + BURST;
            let mut count = 0;
            while Instant::now() < until {
                publish(&session).await;
                count += 1;
            }
            count
        })));
    }
    let per_second = |mut counts: Vec<u64>| {
        counts.sort_unstable();
        counts[counts.len() / 2] as f64 / BURST.as_secs_f64()
    };
    let [echoed, bare, published] = [echoed, bare, published].map(per_second);
    println!("FIGURE daemon/echoes_of_64_connections {echoed:.0} per_second -");
    println!("FIGURE daemon/hyper_alone_of_64_connections {bare:.0} per_second -");
    println!("FIGURE daemon/events_of_64_connections {published:.0} per_second -");
    println!("RATIO daemon/events/echoes {:.2} >=0.4", published / echoed);
}

/// How much all connections have done.
async fn burst<F: Future<Output = u64>>(one: impl Fn(usize) -> F) -> u64 {
    let all = (0..CONNECTIONS).map(one);
    futures_util::future::join_all(all).await.into_iter().sum()
}

/// Sessions beside one another, whose numbers have no gap, and what the daemon weighs when all are open and at the end.
fn soak(runtime: &Runtime) {
    let seconds = std::env::var("LINESIDE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(SOAK));
    let room = tempfile::tempdir().unwrap();
    let daemon = Party::start("daemon", room.path());
    let socket = room.path().join("run/lineside.sock");
    let work = async |line: usize, until: Instant| {
        let client = Client::new(&socket);
        let mut sessions = Vec::new();
        for number in (line..SESSIONS).step_by(CONNECTIONS) {
            sessions.push((client.session(format!("soak-{number}")).resume().open().await.unwrap(), 0));
        }
        let mut count = 0;
        while Instant::now() < until {
            for (session, last) in &mut sessions {
                let seq = session.publish(call()).await.unwrap().seq().unwrap();
                assert!(*last == 0 || seq == *last + 1, "{seq} after {last}");
                *last = seq;
                count += 1;
            }
        }
        count
    };
    // Whatever remembers the last of something is full after a fifth of the time.
    let first = Instant::now() + time / 5;
    let warm = runtime.block_on(burst(|line| work(line, first)));
    let before = daemon.resident();
    let until = Instant::now() + time * 4 / 5;
    let events = warm + runtime.block_on(burst(|line| work(line, until)));
    let after = daemon.resident();
    println!("FIGURE daemon/soak_events {events} events -");
    println!("FIGURE daemon/soak_resident {:.1} MiB -", after as f64 / 1024.0);
    println!("FIGURE daemon/soak_growth {:.1} MiB <=4", (after as f64 - before as f64) / 1024.0);
}

fn idle(runtime: &Runtime) {
    let room = tempfile::tempdir().unwrap();
    let daemon = Party::start("daemon", room.path());
    let empty = daemon.resident();
    runtime.block_on(async {
        let client = Client::new(room.path().join("run/lineside.sock"));
        for number in 0..IDLE {
            client.session(format!("session-{number}")).open().await.unwrap();
        }
    });
    let full = daemon.resident();
    println!("FIGURE daemon/resident_empty {:.1} MiB -", empty as f64 / 1024.0);
    println!("FIGURE daemon/resident_10000_sessions {:.1} MiB <=48", full as f64 / 1024.0);
}

fn start() {
    let room = tempfile::tempdir().unwrap();
    folders(&room.path().join("project/.agents/hooks"), FOLDERS);
    println!("FIGURE daemon/start_with_500_hook_folders {:.0} ms <=150", started(room.path(), STARTS) * 1e3);
    let room = tempfile::tempdir().unwrap();
    folders(&room.path().join("home/.config/agents/hooks"), MANY_FOLDERS);
    let many = started(room.path(), FEW_STARTS);
    println!("FIGURE daemon/start_with_20000_hook_folders {:.0} ms <=5000", many * 1e3);
}

/// Makes so many hooks in a folder.
fn folders(hooks: &Path, count: usize) {
    for number in 0..count {
        let folder = hooks.join(format!("hook-{number}"));
        std::fs::create_dir_all(folder.join("scripts")).unwrap();
        let text = format!(
            "---\nname: hook-{number}\ndescription: One of many.\ntrigger: before_tool\nmatcher:\n  tool: Shell\n---\n"
        );
        std::fs::write(folder.join("HOOK.md"), text).unwrap();
        let script = folder.join("scripts/run.sh");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(script, mode).unwrap();
    }
}

/// How long a daemon takes to start there, in seconds.
fn started(room: &Path, starts: usize) -> f64 {
    let start = || {
        let begun = Instant::now();
        let daemon = Party::start("daemon", room);
        let taken = begun.elapsed();
        drop(daemon);
        taken
    };
    median((0..starts).map(|_| start()).collect())
}
