//! Law 9 across real ends of real processes: one is killed, one finds its disk full.
//!
//! Each test starts itself once more as the process that comes to its end, with the folder of the journal in its
//! environment; what that process says is on its standard output.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use lineside::Durable;
use lineside::automation::machine::Bounds;
use lineside::automation::{Automations, Durability, JobId};
use lineside::prelude::*;

const FOLDER: &str = "LINESIDE_TEST_JOURNAL";
const SAYS: &str = "says: ";

/// The folder, in the process that a test has started.
fn folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// This test, once more, behind this line of the shell.
fn once_more(test: &str, folder: &Path, shell: &str) -> Child {
    let own = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", &format!("{shell} exec \"$0\" --exact {test} --nocapture --test-threads 1")])
        .arg(own)
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn say(what: &str) {
    println!("{SAYS}{what}");
}

/// What a process says, up to and with the first word for which this holds.
fn heard(child: &mut Child, is_last: impl Fn(&str) -> bool) -> Vec<String> {
    let mut heard = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // The harness writes the name of the test without ending the line.
        let line = line.unwrap();
        if let Some((_, what)) = line.split_once(SAYS) {
            heard.push(what.to_owned());
            if is_last(what) {
                return heard;
            }
        }
    }
    panic!("it has ended, and said only {heard:?}");
}

fn changed(path: &str) -> AfterToolBatch {
    AfterToolBatch::new(Vec::new(), vec![ChangedFile { path: path.to_owned(), ..ChangedFile::default() }])
}

fn open(folder: &Path) -> (Bus, Durable, Automations) {
    let (bus, durable) = (Bus::new(), Durable::open(folder).unwrap());
    let (automations, recovered) = durable.automations(&bus, Bounds::default()).unwrap();
    assert!(recovered.findings.is_empty(), "{recovered:?}");
    (bus, durable, automations)
}

/// Lints one file at a time.
fn lint(bus: &Bus, run: impl Fn(String) -> bool + Send + Sync + 'static) {
    bus.automate::<AfterToolBatch>("lint")
        .concurrency("one")
        .retry(Retry::constant(2, millis(1)))
        .run(move |batch, _cx| {
            let ends = run(batch.changed_files[0].path.clone());
            async move {
                if !ends {
                    std::future::pending::<()>().await;
                }
                Ok(Report::success("ok"))
            }
        })
        .unwrap();
}

#[tokio::test]
async fn an_accepted_automation_runs_across_a_kill() {
    if let Some(folder) = folder() {
        // The first run never ends, and the others wait for its key.
        let (bus, _durable, automations) = open(&folder);
        let (started, mut has_started) = tokio::sync::mpsc::channel(1);
        lint(&bus, move |_path| {
            started.try_send(()).ok();
            false
        });
        let session = bus.session("s1").open().await.unwrap();
        for path in ["a", "b", "c"] {
            drop(session.publish(changed(path)).await.unwrap());
        }
        assert_eq!(automations.kept().await, Ok(Durability::Disk));
        has_started.recv().await;
        say("accepted and started");
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = once_more("lives::an_accepted_automation_runs_across_a_kill", folder.path(), "");
    heard(&mut child, |what| what == "accepted and started");
    child.kill().unwrap();
    child.wait().unwrap();

    let (bus, _durable, automations) = open(folder.path());
    let ran: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&ran);
    lint(&bus, move |path| {
        told.lock().unwrap().push(path);
        true
    });
    tokio::time::timeout(secs(30), automations.all_settled()).await.expect("it comes to rest").unwrap();
    assert_eq!(*ran.lock().unwrap(), ["a", "b", "c"], "all of it, in order");
    let attempts = |job| automations.jobs().show(JobId(job)).unwrap().attempts.len();
    assert_eq!((attempts(1), attempts(2)), (2, 1), "the run that was killed counts");
}

#[tokio::test]
async fn on_a_full_disk_nothing_is_acknowledged_that_is_not_kept_and_gates_go_on() {
    if let Some(folder) = folder() {
        let (bus, _durable, automations) = open(&folder);
        lint(&bus, |_path| false);
        let session = bus.session("s1").open().await.unwrap();
        session.intercept::<BeforeTool>("no").gate(async |_call, _cx| Verdict::block("no")).unwrap();
        for number in 0..10_000 {
            let decision = session.publish(changed(&format!("{number} {}", "x".repeat(1000)))).await.unwrap();
            let unavailable = decision.receipt().is_some_and(|receipt| receipt.unavailable().count() == 1);
            match automations.kept().await {
                Ok(_) => say(&format!("kept {number}")),
                Err(_) if unavailable => break,
                Err(_) => {}
            }
        }
        let why = automations.durability().unwrap_err().why;
        let decision = session.publish(crate::shell("ls")).await.unwrap();
        assert!(decision.is_refused());
        return say(&format!("unavailable: {why}"));
    }
    let folder = tempfile::tempdir().unwrap();
    // No file may become longer than some hundred kilobytes; to write more is an error and no signal.
    let mut child = once_more(
        "lives::on_a_full_disk_nothing_is_acknowledged_that_is_not_kept_and_gates_go_on",
        folder.path(),
        "trap '' XFSZ; ulimit -f 400;",
    );
    let said = heard(&mut child, |what| what.starts_with("unavailable"));
    child.wait().unwrap();
    let kept = said.iter().filter(|what| what.starts_with("kept")).count();
    assert!(kept > 20, "{said:?}");
    assert!(said.last().unwrap().contains("File too large"), "{said:?}");

    // What was not acknowledged may be there as well; what was is.
    let (bus, durable) = (Bus::new(), Durable::open(folder.path()).unwrap());
    let (automations, _) = durable.automations(&bus, Bounds::default()).unwrap();
    let jobs = automations.jobs().list(&lineside::automation::jobs::Which::default());
    assert!(jobs.len() >= kept && jobs.len() <= kept + 1, "{} of {kept}", jobs.len());
}
