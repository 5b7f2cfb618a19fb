//! What a hook costs beyond the process that it is.
//!
//! `cargo bench -p lineside-exec` ends with lines `RATIO name value target`, of medians of interleaved samples: what a
//! noisy machine does to one kind of run it does to the others as well.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use criterion::Criterion;
use lineside_core::invocation::{Environment, Exit, Invocation, Limits, Program};
use lineside_exec::{Containment, Runner};
use tokio::runtime::{Builder, Runtime};

const PROGRAM: &str = "/bin/true";
const ROUNDS: usize = 600;
const ROUNDS_OF_A_TURN: usize = 50;
const TURNS: usize = 8;
const RESIDENT: usize = 2 << 30;

/// What a hook may cost above a bare start and wait.
const MEDIAN: f64 = 1.05;
const P99: f64 = 1.10;
/// What it may cost more in a large parent than in a small one.
const LARGE_PARENT: f64 = 1.20;

fn main() {
    let mut criterion = Criterion::default().sample_size(30).configure_from_args();
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();

    let mut group = criterion.benchmark_group("command");
    group.bench_function("bare_std", |b| b.iter(bare_std));
    group.bench_function("bare_spawn", |b| b.to_async(&single).iter(bare_spawn));
    let (runner, empty, event) = (Runner::new(), invocation(0), invocation(800));
    group.bench_function("command_hook", |b| b.to_async(&single).iter(|| hook(&runner, &empty)));
    group.bench_function("command_hook_800_bytes", |b| b.to_async(&single).iter(|| hook(&runner, &event)));
    group.finish();
    criterion.final_summary();

    compare("current_thread", &single);
    compare("multi_thread", &multi);
    compare_parents(&single);
}

fn invocation(input: usize) -> Invocation {
    Invocation {
        program: Program::argv([PROGRAM]),
        stdin: vec![b'x'; input],
        environment: Environment::default(),
        files: Vec::new(),
        working_directory: None,
        limits: Limits::default(),
    }
}

async fn hook(runner: &Runner, invocation: &Invocation) {
    assert_eq!(runner.run(invocation).await.exit, Exit::Code(0));
}

/// The usual code with tokio; the outputs are not even read.
async fn bare_spawn() {
    let mut command = tokio::process::Command::new(PROGRAM);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    assert!(child.wait().await.unwrap().success());
}

/// The least there is: no pipes, no runtime, a blocking wait.
fn bare_std() {
    assert!(std::process::Command::new(PROGRAM).status().unwrap().success());
}

fn compare(kind: &str, runtime: &Runtime) {
    let (runner, empty, event) = (Runner::new(), invocation(0), invocation(800));
    let contained = Runner::contained(Containment::strongest());
    let mut samples: [Vec<Duration>; 5] = Default::default();
    for round in 0..ROUNDS {
        // Each takes each place in turn, so that none always follows the same other.
        for place in 0..samples.len() {
            let which = (round + place) % samples.len();
            let began = Instant::now();
            match which {
                0 => bare_std(),
                1 => runtime.block_on(bare_spawn()),
                2 => runtime.block_on(hook(&runner, &empty)),
                3 => runtime.block_on(hook(&runner, &event)),
                _ => runtime.block_on(hook(&contained, &empty)),
            }
            samples[which].push(began.elapsed());
        }
    }
    let [std, spawn, empty, event, cgroup] = samples.map(Spread::of);
    println!(
        "{kind}: bare_std {std:?}, bare_spawn {spawn:?}, command_hook {empty:?}, with 800 bytes {event:?}"
    );
    let name = |name: &str| format!("{kind}/{name}");
    ratio(&name("command_hook/bare_spawn"), empty.median, spawn.median, Some(MEDIAN));
    ratio(&name("command_hook/bare_spawn/p99"), empty.p99, spawn.p99, Some(P99));
    ratio(&name("command_hook_800_bytes/bare_spawn"), event.median, spawn.median, Some(MEDIAN));
    ratio(&name("command_hook_800_bytes/bare_spawn/p99"), event.p99, spawn.p99, Some(P99));
    ratio(&name("command_hook/bare_std"), empty.median, std.median, None);
    if contained.containment().has_cgroup() {
        ratio(&name("command_hook_in_cgroup/bare_spawn"), cgroup.median, spawn.median, None);
        ratio(&name("command_hook_in_cgroup/bare_spawn/p99"), cgroup.p99, spawn.p99, None);
    }
}

/// The same hook from a small parent and from one with much memory, in turns.
fn compare_parents(runtime: &Runtime) {
    let (runner, event) = (Runner::new(), invocation(800));
    let measure = |samples: &mut Vec<Duration>| {
        for _ in 0..ROUNDS_OF_A_TURN {
            let began = Instant::now();
            runtime.block_on(hook(&runner, &event));
            samples.push(began.elapsed());
        }
    };
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        measure(&mut small);
        let resident = vec![1_u8; RESIDENT];
        measure(&mut large);
        drop(std::hint::black_box(resident));
    }
    let [small, large] = [small, large].map(Spread::of);
    println!("parents: small {small:?}, with 2 GiB resident {large:?}");
    ratio("command_hook/large_parent", large.median, small.median, Some(LARGE_PARENT));
}

fn ratio(name: &str, time: Duration, base: Duration, target: Option<f64>) {
    let target = target.map_or("-".to_owned(), |target| format!("{target:.2}"));
    println!("RATIO {name} {:.3} {target}", time.as_secs_f64() / base.as_secs_f64());
}

/// What is said of many samples.
#[derive(Debug, Clone, Copy)]
struct Spread {
    median: Duration,
    p99: Duration,
}

impl Spread {
    fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        Self { median: samples[samples.len() / 2], p99: samples[samples.len() * 99 / 100] }
    }
}
