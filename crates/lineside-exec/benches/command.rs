//! What a hook costs beyond the process that it is.
//!
//! `cargo bench -p lineside-exec` ends with lines `RATIO name value target`, of medians of interleaved samples: what a
//! noisy machine does to one kind of run it does to the others as well.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use criterion::Criterion;
use lineside_core::invocation::{Environment, Exit, Invocation, Limits, Program};
use lineside_exec::Runner;
use tokio::runtime::{Builder, Runtime};

const PROGRAM: &str = "/bin/true";
const ROUNDS: usize = 400;
const TARGET: f64 = 1.10;

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

/// What anybody would write with tokio; the outputs are not even read.
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
    let mut samples: [Vec<Duration>; 4] = Default::default();
    for round in 0..ROUNDS {
        // Each takes each place in turn, so that none always follows the same other.
        for place in 0..samples.len() {
            let which = (round + place) % samples.len();
            let began = Instant::now();
            match which {
                0 => bare_std(),
                1 => runtime.block_on(bare_spawn()),
                2 => runtime.block_on(hook(&runner, &empty)),
                _ => runtime.block_on(hook(&runner, &event)),
            }
            samples[which].push(began.elapsed());
        }
    }
    let [std, spawn, empty, event] = samples.map(median);
    println!(
        "{kind}: bare_std {std:?}, bare_spawn {spawn:?}, command_hook {empty:?}, with 800 bytes {event:?}"
    );
    let ratio = |name: &str, time: Duration, base: Duration, target: &str| {
        println!("RATIO {kind}/{name} {:.3} {target}", time.as_secs_f64() / base.as_secs_f64());
    };
    ratio("command_hook/bare_spawn", empty, spawn, &format!("{TARGET:.2}"));
    ratio("command_hook_800_bytes/bare_spawn", event, spawn, &format!("{TARGET:.2}"));
    ratio("command_hook/bare_std", empty, std, "-");
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}
