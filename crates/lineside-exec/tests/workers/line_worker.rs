//! A worker that is given lines and asked nothing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lineside_core::invocation::{Environment, Program};
use lineside_exec::LineWorker;
use tokio::time::{Instant, timeout};

/// A worker that runs a script in a folder.
fn worker(folder: &Path, script: &str) -> LineWorker {
    let program = Program::argv(["/bin/sh", "-c", script]);
    LineWorker::new(program, Environment::default(), Some(folder.to_owned()))
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn what_a_worker_had_not_read_the_next_one_has_until_too_many_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker =
        worker(folder.path(), "IFS= read -r line; echo \"$line\" >> had; echo because >&2; exit 3");
    worker.give(b"1\n2\n3\n4\n5\n6\n").await.unwrap();
    let why = timeout(LONG, worker.keep()).await.unwrap();
    assert_eq!(why, "it is not started for 30 s: the worker ended with status 3 (stderr: because)");
    assert_eq!(fs::read_to_string(folder.path().join("had")).unwrap(), "1\n2\n3\n4\n5\n");
    assert_eq!(worker.give(b"7\n").await.unwrap_err(), why);
    assert_eq!(worker.end(LONG).await, b"6\n", "what was refused is not kept");
}

#[tokio::test]
async fn a_line_of_which_a_part_was_read_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(folder.path(), "dd bs=1 count=9 2>&-");
    worker.give(b"first\nsecond\nthird\n").await.unwrap();
    assert_eq!(worker.end(LONG).await, b"second\nthird\n");
}

#[tokio::test]
async fn a_worker_that_has_closed_its_output_reads_on_and_ends_with_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(folder.path(), "exec cat > had 2>&-");
    worker.give(b"a\n").await.unwrap();
    // One of whom answers are expected would be ended by now, and the next one would begin the file anew.
    assert!(timeout(Duration::from_secs(1), worker.keep()).await.is_err());
    worker.give(b"b\n").await.unwrap();
    assert!(worker.end(LONG).await.is_empty());
    assert_eq!(fs::read_to_string(folder.path().join("had")).unwrap(), "a\nb\n");
}

#[tokio::test]
async fn one_that_does_not_read_keeps_its_giver_waiting_and_leaves_what_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(folder.path(), "exec sleep 600");
    let line = vec![b'x'; 1023].into_iter().chain([b'\n']).collect::<Vec<_>>();
    worker.give(&line).await.unwrap();
    assert!(timeout(Duration::from_millis(100), worker.give(&line.repeat(1024))).await.is_err());
    let began = Instant::now();
    let left = worker.end(Duration::from_millis(50)).await;
    assert!(left == line.repeat(1025), "{} bytes", left.len());
    assert!(began.elapsed() < LONG);
}

#[tokio::test]
async fn one_that_has_closed_its_input_is_started_again_and_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(folder.path(), "exec 0<&-; exec sleep 600");
    let given = async {
        loop {
            // Its end may show itself to either.
            if let Err(why) = worker.give(b"x\n").await {
                return why;
            }
            if let Ok(why) = timeout(Duration::from_millis(10), worker.keep()).await {
                return why;
            }
        }
    };
    let why = timeout(LONG, given).await.unwrap();
    assert!(why.contains("killed: it closed its input"), "{why}");
}

#[tokio::test]
async fn one_that_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::argv(["/no/such/program"]);
    let mut worker = LineWorker::new(program, Environment::default(), Some(folder.path().to_owned()));
    let why = timeout(LONG, worker.give(b"x\n")).await.unwrap().unwrap_err();
    assert!(why.contains("it could not be started") && why.contains("/no/such/program"), "{why}");
    assert!(worker.end(LONG).await.is_empty());
}
