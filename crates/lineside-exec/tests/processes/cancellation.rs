//! Runs whose future is dropped.

use std::time::{Duration, Instant};

use lineside_core::invocation::{Ending, Invocation};
use lineside_exec::Runner;
use tokio::runtime::{Builder, Runtime};

use crate::room::{Room, children, current_thread, eventually, grace, made, millis};

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A hook that sleeps with a helper, after it has made the file `ready`.
fn sleeper(room: &Room) -> Invocation {
    let ready = room.text("ready");
    let mut hook = room.hook(["helper", "touch", &ready, "sleep", "end", "sleep"]);
    hook.limits.ending = grace(Duration::from_secs(8));
    hook
}

/// A hook that does not hear `SIGTERM`.
fn deaf(room: &Room) -> Invocation {
    let ready = room.text("ready");
    let mut hook = room.hook(["ignore-term", "touch", &ready, "sleep"]);
    hook.limits.ending = grace(millis(200));
    hook
}

/// Starts the run and drops it as soon as the hook is ready.
async fn cancel(room: &Room, runner: &Runner, hook: &Invocation) {
    let ready = room.path("ready");
    tokio::select! {
        ended = runner.run(hook) => panic!("ended: {ended:?}"),
        () = made(&ready) => {}
    }
}

#[test]
fn p01_dropping_the_future_ends_the_whole_tree() {
    for runtime in [current_thread as fn() -> Runtime, multi_thread] {
        let room = Room::enter();
        let hook = sleeper(&room);
        runtime().block_on(async {
            let runner = Runner::new();
            cancel(&room, &runner, &hook).await;
            let began = Instant::now();
            runner.drain().await;
            assert!(began.elapsed() < Duration::from_secs(4), "no process needed the grace");
            assert_eq!(children(), Vec::<String>::new());
        });
        room.leave();
    }
}

#[test]
fn p01_a_dropped_hook_that_ignores_sigterm_is_killed_after_its_grace() {
    let room = Room::enter();
    let hook = deaf(&room);
    room.block_on(async {
        let runner = Runner::new();
        let began = Instant::now();
        cancel(&room, &runner, &hook).await;
        runner.drain().await;
        assert!(began.elapsed() >= millis(200));
        assert_eq!(children(), Vec::<String>::new());
    });
    room.leave();
}

#[test]
fn p01_a_dropped_run_that_was_being_ended_goes_on_ending() {
    let room = Room::enter();
    let mut hook = deaf(&room);
    hook.limits.timeout = millis(300);
    hook.limits.ending = grace(millis(400));
    room.block_on(async {
        let runner = Runner::new();
        let run = tokio::time::timeout(millis(500), runner.run(&hook)).await;
        assert!(run.is_err(), "dropped in the grace: {run:?}");
        runner.drain().await;
        assert_eq!(children(), Vec::<String>::new());
    });
    room.leave();
}

#[test]
fn who_is_in_a_hurry_gives_no_grace() {
    let room = Room::enter();
    let mut hook = deaf(&room);
    hook.limits.ending = grace(Duration::from_secs(60));
    room.block_on(async {
        let runner = Runner::new();
        cancel(&room, &runner, &hook).await;
        runner.hurry();
        runner.drain().await;
        assert_eq!(children(), Vec::<String>::new());
    });
    room.leave();
}

#[test]
fn what_a_dropped_hook_says_in_its_grace_does_not_kill_it() {
    let room = Room::enter();
    let [ready, cleaned] = ["ready", "cleaned"].map(|name| room.text(name));
    let line = format!(
        "trap 'head -c 300000 /dev/zero; touch {cleaned}; exit' TERM; touch {ready}; while :; do sleep 0.01; done"
    );
    let mut hook = room.command(&["/bin/sh", "-c", &line]);
    hook.limits.ending = grace(Duration::from_secs(8));
    room.block_on(async {
        let runner = Runner::new();
        cancel(&room, &runner, &hook).await;
        runner.drain().await;
    });
    assert!(room.path("cleaned").exists());
    room.leave();
}

#[test]
fn a_runtime_that_goes_down_leaves_nothing() {
    for runtime in [current_thread as fn() -> Runtime, multi_thread] {
        let room = Room::enter();
        let hook = deaf(&room);
        let runtime = runtime();
        let runner = Runner::new();
        // Dropped with the runtime while its task has its grace, and while a run is in progress.
        runtime.block_on(cancel(&room, &runner, &hook));
        let other = runner.clone();
        let sleeping = room.hook(["sleep"]);
        runtime.spawn(async move { other.run(&sleeping).await });
        runtime.block_on(tokio::task::yield_now());
        drop(runtime);
        assert_eq!(children(), Vec::<String>::new());
        room.leave();
    }
}

#[test]
fn dropped_outside_a_runtime_a_run_is_killed_at_once() {
    let room = Room::enter();
    let mut hook = deaf(&room);
    hook.limits.ending = grace(Duration::from_secs(60));
    let runtime = current_thread();
    let runner = Runner::new();
    let mut run = Box::pin(runner.run(&hook));
    let ready = room.path("ready");
    runtime.block_on(async {
        tokio::select! {
            ended = &mut run => panic!("ended: {ended:?}"),
            () = made(&ready) => {}
        }
    });
    assert_eq!(children().len(), 1);
    drop(run);
    assert_eq!(children(), Vec::<String>::new());
    drop(runtime);
    room.leave();
}

#[test]
fn a_run_that_was_never_polled_starts_nothing() {
    let room = Room::enter();
    let hook = room.hook(["touch", &room.text("ready")]);
    drop(Runner::new().run(&hook));
    assert!(!room.path("ready").exists());
    room.leave();
}

#[test]
fn dropping_many_runs_ends_them_all() {
    let room = Room::enter();
    let runtime = multi_thread();
    runtime.block_on(async {
        let runner = Runner::new();
        let runs: Vec<_> = (0..20)
            .map(|_| {
                let mut hook = room.hook(["quiet-helper", "sleep", "end", "sleep"]);
                hook.limits.ending = Ending::Kill;
                let runner = runner.clone();
                tokio::spawn(async move { runner.run(&hook).await })
            })
            .collect();
        while children().len() < 20 {
            tokio::time::sleep(millis(1)).await;
        }
        for run in runs {
            run.abort();
            assert!(run.await.unwrap_err().is_cancelled());
        }
        runner.drain().await;
        assert_eq!(children(), Vec::<String>::new());
    });
    drop(runtime);
    eventually("processes stayed", || room.processes().is_empty());
    room.leave();
}
