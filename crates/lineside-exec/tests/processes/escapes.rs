//! Processes that leave the group of their hook.

use std::fs;
use std::time::Duration;

use lineside_core::invocation::{Exit, Invocation, Leaked, Leftovers};
use lineside_exec::{Containment, Runner};

use crate::room::{Room, containments, eventually, grace, made, millis};

/// A hook whose grandchild, in a session of its own, has no parent of ours any more when the hook goes on.
fn with_daemon(room: &Room, then: &[&str]) -> Invocation {
    let away = room.text("away");
    let daemon = ["quiet-helper", "leave-group", "quiet-helper", "ignore-term", "await-orphaned"];
    let mut argv = vec![env!("CARGO_BIN_EXE_lineside-misbehave")];
    argv.extend(daemon);
    argv.extend(["touch", &away, "sleep", "end", "await", &away]);
    argv.extend(then);
    room.command(&argv)
}

#[test]
fn p03_a_daemon_is_killed_when_its_hook_exits() {
    let room = Room::enter();
    for containment in containments() {
        let ended = room.run_in(&containment, &with_daemon(&room, &["say", "decision"]));
        assert_eq!(ended.exit, Exit::Code(0));
        assert_eq!(ended.stdout.bytes, b"decision");
        assert_eq!(ended.leaked, Leaked::Killed);
        assert_eq!(room.processes(), [""; 0], "dead when the run is over");
        fs::remove_file(room.path("away")).unwrap();
    }
    room.leave();
}

#[test]
fn p03_a_daemon_is_killed_at_the_deadline_after_its_grace() {
    let room = Room::enter();
    for containment in containments() {
        let mut hook = with_daemon(&room, &["sleep"]);
        hook.limits.timeout = millis(700);
        hook.limits.ending = grace(millis(100));
        let ended = room.run_in(&containment, &hook);
        assert_eq!(ended.exit, Exit::TimedOut { after: millis(700) });
        assert!(ended.took >= millis(800), "the daemon had its grace: {:?}", ended.took);
        assert_eq!(ended.leaked, Leaked::Killed);
        assert_eq!(room.processes(), [""; 0]);
        fs::remove_file(room.path("away")).unwrap();
    }
    room.leave();
}

#[test]
fn p03_a_daemon_is_killed_when_the_run_is_dropped() {
    let room = Room::enter();
    for containment in containments() {
        let mut hook = with_daemon(&room, &["sleep"]);
        hook.limits.ending = grace(millis(50));
        let away = room.path("away");
        room.block_on(async {
            let runner = Runner::contained(containment);
            tokio::select! {
                ended = runner.run(&hook) => panic!("ended: {ended:?}"),
                () = made(&away) => {}
            }
            runner.drain().await;
            assert_eq!(room.processes(), [""; 0], "dead when nothing is left to wait for");
        });
        fs::remove_file(room.path("away")).unwrap();
    }
    room.leave();
}

#[test]
fn p03_a_daemon_is_killed_with_the_runtime() {
    let room = Room::enter();
    let hook = with_daemon(&room, &["sleep"]);
    let runtime = crate::room::current_thread();
    let runner = Runner::new();
    let away = room.path("away");
    runtime.block_on(async {
        tokio::select! {
            ended = runner.run(&hook) => panic!("ended: {ended:?}"),
            () = made(&away) => {}
        }
    });
    drop(runtime);
    assert_eq!(room.processes(), [""; 0]);
    room.leave();
}

#[test]
fn p03_who_took_the_mark_off_is_known_by_a_parent_who_has_it() {
    let room = Room::enter();
    let [go, away] = ["go", "away"].map(|name| room.text(name));
    // The shell in a session of its own stays, as the parent of who has no mark.
    let line = format!(
        "while ! [ -e {go} ]; do sleep 0.01; done; \
         setsid sh -c '\"$0\" take-mark-off touch {away} sleep; :' {} </dev/null >/dev/null 2>&1 & \
         while ! [ -e {away} ]; do sleep 0.01; done",
        env!("CARGO_BIN_EXE_lineside-misbehave")
    );
    let ended = room.run_held(&Containment::new(), &room.command(&["/bin/sh", "-c", &line]));
    assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Killed));
    assert_eq!(room.processes(), [""; 0]);
    room.leave();
}

/// It keeps the number that it has, whatever it does to its environment.
#[test]
fn p03_a_daemon_without_an_environment_is_killed() {
    let room = Room::enter();
    let [go, away] = ["go", "away"].map(|name| room.text(name));
    let daemon =
        format!("(env -i setsid /bin/sh -c 'echo $$ > {away}.new; mv {away}.new {away}; exec sleep 600' &)");
    let wait = |file: &str| format!("while ! [ -e {file} ]; do sleep 0.01; done");
    let line = format!("{}; {daemon} >/dev/null 2>&1; {}", wait(&go), wait(&away));
    let ended = room.run_held(&Containment::new(), &room.command(&["/bin/sh", "-c", &line]));
    assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Killed));
    let daemon = fs::read_to_string(away).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.trim())).unwrap_or_default();
    assert!(!stat.contains("(sleep) S"), "it runs: {stat}");
    room.leave();
}

#[test]
fn p03_nobody_leaves_a_cgroup() {
    let room = Room::enter();
    let [go, away] = ["go", "away"].map(|name| room.text(name));
    // It sheds its session, its parent and its mark.
    let daemon = ["quiet-helper", "leave-group", "quiet-helper", "take-mark-off", "touch", &away, "sleep"];
    let mut argv = vec![env!("CARGO_BIN_EXE_lineside-misbehave"), "await", &go];
    argv.extend(daemon);
    argv.extend(["end", "await", &away]);
    for containment in containments().into_iter().filter(Containment::has_cgroup) {
        let ended = room.run_held(&containment, &room.command(&argv));
        assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Killed));
        assert_eq!(room.processes(), [""; 0]);
        fs::remove_file(&away).unwrap();
    }
    room.leave();
}

#[test]
fn p03_what_cannot_be_ended_is_told() {
    let room = Room::enter();
    for containment in containments() {
        let [started, stop] = ["started", "stop"].map(|name| room.text(name));
        let hook = room.hook(["quiet-helper", "hydra", &stop, "touch", &started, "end", "await", &started]);
        let ended = room.run_in(&containment, &hook);
        let rest = room.processes();
        fs::write(&stop, "").unwrap();
        assert_eq!(ended.exit, Exit::Code(0));
        match ended.leaked {
            // Each one was gone before it was signalled, and another in its place.
            Leaked::Escaped => assert!(!containment.has_cgroup(), "no process escapes from a cgroup"),
            Leaked::Killed | Leaked::Nothing => assert_eq!(rest, [""; 0], "{:?}", ended.leaked),
            Leaked::Left => panic!("it was not to be left"),
        }
        eventually("the hydra stayed", || room.processes().is_empty());
        for file in [started, stop] {
            fs::remove_file(file).unwrap();
        }
    }
    room.leave();
}

#[test]
fn p03_a_daemon_may_be_left_alone() {
    let room = Room::enter();
    for containment in containments() {
        let [away, done] = ["away", "done"].map(|name| room.text(name));
        let steps = ["quiet-helper", "leave-group", "quiet-helper", "touch", &away, "await", &done, "end"];
        let mut hook = room.hook(steps);
        hook.program.argv.extend(["await".into(), away.clone().into()]);
        hook.limits.leftovers = Leftovers::Leave;
        let ended = room.run_in(&containment, &hook);
        assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Left));
        drop(containment);
        // Who was between it and the hook may still be about to exit.
        eventually("the daemon goes on, also when the cgroup has gone", || room.processes().len() == 1);
        fs::write(&done, "").unwrap();
        eventually("the daemon stayed", || room.processes().is_empty());
        for file in [away, done] {
            fs::remove_file(file).unwrap();
        }
    }
    room.leave();
}

#[test]
fn p03_a_cgroup_is_taken_away_with_the_last_who_knows_it() {
    let room = Room::enter();
    let own = format!("lineside-{}-", std::process::id());
    let ours = || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let points = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
        let points = points.filter_map(|line| line.split(' ').nth(4).map(str::to_owned));
        let entries = points.flat_map(|point| fs::read_dir(point).into_iter().flatten().flatten());
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count()
    };
    for containment in containments() {
        let in_cgroup = containment.has_cgroup();
        let runner = Runner::contained(containment);
        room.block_on(async {
            let hooks = [(); 3].map(|()| room.hook(["quiet-helper", "sleep", "end", "exit", "0"]));
            let runs = tokio::join!(runner.run(&hooks[0]), runner.run(&hooks[1]), runner.run(&hooks[2]));
            assert_eq!([runs.0.leaked, runs.1.leaked, runs.2.leaked], [Leaked::Killed; 3]);
        });
        if in_cgroup && ours() > 0 {
            drop(runner);
            assert_eq!(ours(), 0);
        }
    }
    room.leave();
}

/// The usual case pays nothing for it: what a hook starts and waits for is no stray.
#[test]
fn p03_a_hook_that_cleans_up_leaves_nothing() {
    let room = Room::enter();
    for containment in containments() {
        let mut hook =
            room.command(&["/bin/sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; (setsid true)"]);
        hook.limits.leak_grace = Duration::from_secs(30);
        let ended = room.run_in(&containment, &hook);
        assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Nothing));
    }
    room.leave();
}
