//! Starts that the system refuses, and the reasons that are given.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicBool, Ordering};

use lineside_core::invocation::Exit;
use lineside_exec::Runner;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::room::{Room, descriptors, millis, not_started};

#[test]
fn p09_a_missing_program_is_named() {
    let room = Room::enter();
    let why = not_started(room.run(&room.command(&["no-such-program"])));
    assert_eq!(
        why,
        "cannot find program `no-such-program` in the PATH of hooks (that of a daemon has more with `daemon: {path: [FOLDER]}` in config.yaml)"
    );
    let why = not_started(room.run(&room.command(&["/no/such/program"])));
    assert_eq!(why, "cannot run `/no/such/program`: No such file or directory (os error 2)");
    let why = not_started(room.run(&room.command(&[""])));
    assert_eq!(
        why,
        "cannot find program `` in the PATH of hooks (that of a daemon has more with `daemon: {path: [FOLDER]}` in config.yaml)"
    );
    let why = not_started(room.run(&room.command(&[])));
    assert_eq!(why, "cannot run an empty argument vector");
    room.leave();
}

#[test]
fn p09_a_missing_interpreter_is_told_from_a_missing_program() {
    let room = Room::enter();
    let script = room.file("script", "#! /no/such/python3 -u\n", 0o755);
    let path = script.to_str().unwrap();
    let why = not_started(room.run(&room.command(&[path])));
    assert_eq!(why, format!("cannot run `{path}`: its interpreter \"/no/such/python3\" does not exist"));
    room.file("script", "#!/bin/sh\r\necho\r\n", 0o755);
    let why = not_started(room.run(&room.command(&[path])));
    assert_eq!(why, format!("cannot run `{path}`: its interpreter \"/bin/sh\\r\" does not exist"));
    room.leave();
}

#[test]
fn p09_a_file_that_may_not_be_executed_is_refused() {
    let room = Room::enter();
    let path = room.file("data", "#!/bin/sh\n", 0o644).to_str().unwrap().to_owned();
    let why = not_started(room.run(&room.command(&[&path])));
    assert_eq!(why, format!("cannot run `{path}`: Permission denied (os error 13)"));
    let mut hook = room.command(&["data"]);
    hook.environment.set.push(("PATH".into(), room.text("").into()));
    let why = not_started(room.run(&hook));
    assert_eq!(why, format!("cannot run `{path}`, found in PATH: permission denied"));
    room.leave();
}

#[test]
fn p09_a_missing_working_directory_is_told_from_a_missing_program() {
    let room = Room::enter();
    let mut hook = room.command(&["/bin/true"]);
    hook.working_directory = Some("/no/such/place".into());
    let why = not_started(room.run(&hook));
    assert_eq!(
        why,
        "cannot enter the working directory `/no/such/place`: No such file or directory (os error 2)"
    );
    hook.working_directory = Some("/bin/true".into());
    let why = not_started(room.run(&hook));
    assert_eq!(why, "cannot enter the working directory `/bin/true`: Not a directory (os error 20)");
    room.leave();
}

#[test]
fn p09_a_script_without_interpreter_line_gets_the_one_it_was_given() {
    let room = Room::enter();
    let path = room.file("script", "echo ran as $0\n", 0o755).to_str().unwrap().to_owned();
    let mut hook = room.command(&[&path]);
    let why = not_started(room.run(&hook));
    assert_eq!(
        why,
        format!("cannot run `{path}`: it has no first line that names what runs it, such as `#!/bin/sh`")
    );
    hook.program.without_interpreter = Some(vec!["sh".into(), path.clone().into()]);
    let ended = room.run(&hook);
    assert_eq!(ended.stdout.trimmed_text(), format!("ran as {path}"));
    room.leave();
}

#[test]
fn p09_text_that_the_kernel_would_cut_is_refused() {
    let room = Room::enter();
    let why = not_started(room.run(&room.command(&["/bin/true", "a\0b"])));
    assert_eq!(why, "cannot pass argument 1: it holds a NUL byte");
    let mut hook = room.command(&["/bin/true"]);
    hook.environment.set.push(("A".into(), "a\0b".into()));
    assert_eq!(
        not_started(room.run(&hook)),
        "cannot pass the environment variable \"A\": it holds a NUL byte"
    );
    hook.environment.set.push(("A=B".into(), "c".into()));
    let why = not_started(room.run(&hook));
    assert_eq!(why, "cannot set the environment variable \"A=B\": the name is empty or holds `=`");
    room.leave();
}

#[test]
fn p09_too_much_text_is_refused() {
    let room = Room::enter();
    let why = not_started(room.run(&room.command(&["/bin/true", &"x".repeat(1 << 20)])));
    assert_eq!(why, "cannot run `/bin/true`: Argument list too long (os error 7)");
    room.leave();
}

#[test]
fn p09_too_few_descriptors_refuse_the_start() {
    let room = Room::enter();
    let limit = getrlimit(Resource::Nofile);
    let why = room.block_on(async {
        // One of those counted is the folder that was open for counting.
        let current = Some(descriptors() as u64 - 1);
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
        let ended = Runner::new().run(&room.command(&["/bin/true"])).await;
        setrlimit(Resource::Nofile, limit).unwrap();
        not_started(ended)
    });
    assert_eq!(why, "cannot run `/bin/true`: Too many open files (os error 24)");
    room.leave();
}

#[test]
fn p09_a_program_that_stays_open_for_writing_is_given_up() {
    let room = Room::enter();
    let path = room.file("script", "#!/bin/sh\n", 0o755);
    let writer = OpenOptions::new().append(true).open(&path).unwrap();
    let mut hook = room.command(&[path.to_str().unwrap()]);
    hook.limits.busy_retry = millis(100);
    let ended = room.run(&hook);
    assert!(ended.took >= millis(100), "{:?}", ended.took);
    assert!(not_started(ended).contains("open for writing elsewhere, tried for "));
    hook.limits.busy_retry = millis(60_000);
    hook.limits.timeout = millis(100);
    let ended = room.run(&hook);
    assert!(ended.took >= millis(100), "{:?}", ended.took);
    assert!(not_started(ended).contains("open for writing elsewhere"), "the deadline covers it");
    drop(writer);
    room.leave();
}

#[test]
fn p09_a_program_that_is_open_for_writing_is_tried_again() {
    let room = Room::enter();
    let path = room.file("script", "#!/bin/sh\necho ran\n", 0o755);
    let writer = OpenOptions::new().append(true).open(&path).unwrap();
    let mut hook = room.command(&[path.to_str().unwrap()]);
    hook.limits.busy_retry = millis(10_000);
    let ended = room.block_on(async {
        let runner = Runner::new();
        let mut run = std::pin::pin!(runner.run(&hook));
        // Polled once, it has been refused once.
        assert!(polled_once(run.as_mut()).await.is_none());
        drop(writer);
        run.await
    });
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(ended.stdout.bytes, b"ran\n");
    room.leave();
}

#[test]
fn p09_writing_and_starting_beside_forks_succeeds() {
    let room = Room::enter();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // Between fork and exec each of these holds what we have open for writing.
                    std::process::Command::new("/bin/true").status().unwrap();
                }
            });
        }
        for round in 0..20 {
            let path = room.file(&format!("script-{round}"), "#!/bin/sh\necho ran\n", 0o755);
            let mut hook = room.command(&[path.to_str().unwrap()]);
            hook.limits.busy_retry = millis(5_000);
            let ended = room.run(&hook);
            assert_eq!(ended.exit, Exit::Code(0));
        }
        over.store(true, Ordering::Relaxed);
    });
    room.leave();
}

/// Polls a future once.
async fn polled_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(cx) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
