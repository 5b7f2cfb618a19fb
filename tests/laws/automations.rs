//! Laws 9, 10 and 11, in virtual time. What is kept across a life is kept by the journal in memory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lineside::Assembly;
use lineside::automation::jobs::{Which, WhichState};
use lineside::automation::machine::{Bounds, JobStatus};
use lineside::automation::{Automations, Durability, JobId};
use lineside::core::{Failure, FailureKind};
use lineside::dialects::{Places, Trust};
use lineside::journal::MemoryJournal;
use lineside::prelude::*;
use tokio::time::Instant;

fn changed(path: &str) -> AfterToolBatch {
    AfterToolBatch::new(Vec::new(), vec![ChangedFile { path: path.to_owned(), ..ChangedFile::default() }])
}

/// Waits until no job is under way.
async fn rest(automations: &Automations) {
    let live = Which { state: WhichState::Live, ..Which::default() };
    while !automations.jobs().list(&live).is_empty() {
        tokio::time::sleep(millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_accepted_automation_runs() {
    let journal = MemoryJournal::new();
    // Each life runs the job once and is over before that ends; the last one lives long enough.
    for life in 1..=4_u32 {
        let bus = Bus::new();
        let (kept, earlier) = (Arc::new(journal.clone()), journal.recovered());
        let (automations, _) = Automations::open(&bus, Bounds::default(), kept, earlier).unwrap();
        let session = bus.session("s").open().await.unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        session
            .automate::<AfterToolBatch>("poison")
            .retry(Retry::constant(3, millis(10)))
            .run(move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                async {
                    std::future::pending::<()>().await;
                    Err(Failure::new(FailureKind::Error, "never said"))
                }
            })
            .unwrap();
        if life == 1 {
            drop(session.publish(changed("a")).await.unwrap());
            assert_eq!(automations.kept().await, Ok(Durability::Memory), "acceptance says how durable it is");
        }
        tokio::time::sleep(millis(100)).await;
        // At least once, at most its attempts; then it rests in the dead letters, with its history.
        assert_eq!(runs.load(Ordering::SeqCst), usize::from(life <= 3), "life {life}");
        let shown = automations.jobs().show(JobId(1)).unwrap();
        assert_eq!(shown.attempts.len(), life.min(3) as usize);
        assert_eq!(matches!(shown.standing, JobStatus::Settled { .. }), life == 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_key_means_one_at_a_time() {
    let bus = Bus::new();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    for name in ["lint", "test"] {
        let (running, most, order) = (Arc::clone(&running), Arc::clone(&most), Arc::clone(&order));
        let attempts = AtomicUsize::new(0);
        bus.automate::<AfterToolBatch>(name)
            .concurrency("{project_root}")
            .retry(Retry::constant(2, millis(5)))
            .run(move |batch, _| {
                let (running, most, order) = (Arc::clone(&running), Arc::clone(&most), Arc::clone(&order));
                let fails = attempts.fetch_add(1, Ordering::SeqCst).is_multiple_of(3);
                async move {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(millis(10)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    if fails {
                        return Err(Failure::new(FailureKind::Error, "once more"));
                    }
                    order.lock().unwrap().push(format!("{name} {}", batch.changed_files[0].path));
                    Ok(Report::success("ok"))
                }
            })
            .unwrap();
    }
    for number in 0..4 {
        let session = bus.session(format!("s{number}")).project_root("/p").open().await.unwrap();
        drop(session.publish(changed(&number.to_string())).await.unwrap());
    }
    rest(&Automations::of(&bus).unwrap()).await;
    assert_eq!(most.load(Ordering::SeqCst), 1, "across automations, sessions and attempts");
    let expected = ["lint 0", "test 0", "lint 1", "test 1", "lint 2", "test 2", "lint 3", "test 3"];
    assert_eq!(*order.lock().unwrap(), expected, "and in order");
}

/// Hooks of a file, one that is waited for and one that is not, whose runs fail where one of them or of an automation
/// with their key is under way.
const KEYED: &str = "hooks:
  on_tool_batch_complete:
  - {name: told, concurrency: build, shell: 'mkdir busy || echo told >> overlaps; sleep 0.02; rmdir busy; echo told >> ran'}
  on_tool_call:
  - {name: asked, concurrency: build, shell: 'mkdir busy || echo asked >> overlaps; sleep 0.02; rmdir busy; echo asked >> ran'}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_concurrency_key_means_one_at_a_time_for_hooks_of_files_too() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join(".chord")).unwrap();
    std::fs::write(project.path().join(".chord/config.yaml"), KEYED).unwrap();
    let assembly = Assembly::new(Bus::new());
    let places = Places {
        environment: std::env::vars().filter(|(name, _)| name == "PATH").collect(),
        project_root: Some(project.path().to_owned()),
        cwd: project.path().to_owned(),
        trust: Trust::Granted,
    };
    assert_eq!(assembly.load(&places).await.unwrap().hooks.len(), 2);
    let folder = project.path().to_owned();
    let automation = assembly
        .bus()
        .automate::<AfterToolBatch>("automation")
        .concurrency("chord:build")
        .run(move |_, _| {
            let folder = folder.clone();
            async move {
                let is_alone = std::fs::create_dir(folder.join("busy"));
                tokio::time::sleep(millis(20)).await;
                let is_alone = std::fs::remove_dir(folder.join("busy")).and(is_alone);
                is_alone.map_err(|error| Failure::new(FailureKind::Error, error.to_string()))?;
                Ok(Report::success("alone"))
            }
        })
        .unwrap();
    let root = project.path().to_str().unwrap();
    let mut sessions = Vec::new();
    for number in 0..3 {
        sessions.push(assembly.bus().session(format!("s{number}")).project_root(root).open().await.unwrap());
    }
    for session in sessions.iter().chain(&sessions) {
        drop(session.publish(changed("a")).await.unwrap());
        drop(session.publish(crate::shell("ls")).await.unwrap());
    }
    assert!(assembly.drain(secs(60)).await.is_clean());
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).unwrap_or_default();
    assert_eq!(read("overlaps"), "", "across formats, sessions, and what is waited for and what is not");
    assert_eq!(read("ran"), "told\nasked\n".repeat(6), "and in the order in which they became due");
    let done = automation.automations().jobs().list(&Which::default());
    assert!(done.iter().all(|job| job.standing.to_string() == "done") && done.len() == 6, "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn debounce_keeps_the_last_event() {
    let (_bus, session) = crate::session().await;
    let began = Instant::now();
    /// When, for which files, and for which turn.
    type Ran = (u128, Vec<String>, Option<u64>);
    let runs: Arc<Mutex<Vec<Ran>>> = Arc::default();
    let told = Arc::clone(&runs);
    let automation = session
        .automate::<AfterToolBatch>("lint")
        .debounce(Debounce::quiet(millis(300)).at_most(secs(1)))
        .run(move |batch, _| {
            let paths = batch.changed_files.iter().map(|file| file.path.clone()).collect();
            told.lock().unwrap().push((began.elapsed().as_millis(), paths, batch.envelope().turn));
            async { Ok(Report::success("ok")) }
        })
        .unwrap();
    // One every 200 ms, which is never quiet for 300 ms: the longest wait ends the burst.
    for turn in 0..6 {
        drop(session.event(changed(&format!("{}.rs", turn % 3))).turn(turn).publish().await.unwrap());
        tokio::time::sleep(millis(200)).await;
    }
    rest(automation.automations()).await;
    let paths = |names: &[&str]| names.iter().map(|name| format!("{name}.rs")).collect::<Vec<_>>();
    assert_eq!(
        *runs.lock().unwrap(),
        [(1000, paths(&["2", "0", "1"]), Some(4)), (1300, paths(&["2"]), Some(5))],
        "the last event, with the files of all, each once"
    );
}

#[tokio::test(start_paused = true)]
async fn an_accepted_automation_runs_across_the_end_of_its_bus() {
    let journal = MemoryJournal::new();
    let ran = Arc::new(Mutex::new(Vec::new()));
    // The first life ends while one job is stuck and others wait for its key; the next one has nothing of the kind.
    for life in 1..=2 {
        let bus = Bus::new();
        let (kept, earlier) = (Arc::new(journal.clone()), journal.recovered());
        let (automations, recovered) = Automations::open(&bus, Bounds::default(), kept, earlier).unwrap();
        let ran_now = Arc::clone(&ran);
        bus.automate::<AfterToolBatch>("lint")
            .concurrency("lint:{project_root}")
            .retry(Retry::constant(2, millis(10)))
            .run(move |batch, _| {
                let (ran, path) = (Arc::clone(&ran_now), batch.changed_files[0].path.clone());
                async move {
                    if path == "stuck" && life == 1 {
                        std::future::pending::<()>().await;
                    }
                    ran.lock().unwrap().push(path);
                    Ok(Report::success("ok"))
                }
            })
            .unwrap();
        if life == 1 {
            let paths = [("s1", "/a", "stuck"), ("s2", "/a", "behind"), ("s3", "/b", "beside")];
            for (session, root, path) in paths {
                let session = bus.session(session).project_root(root).open().await.unwrap();
                drop(session.publish(changed(path)).await.unwrap());
            }
            let report = bus.drain(secs(1)).await;
            assert_eq!((report.jobs.finished, report.jobs.kept, report.jobs.lost), (1, 2, 0));
            assert_eq!(*ran.lock().unwrap(), ["beside"], "what is stuck holds up nothing else");
        } else {
            assert_eq!(recovered.live, 2, "what had no more time is there again");
            automations.all_settled().await.unwrap();
        }
    }
    assert_eq!(*ran.lock().unwrap(), ["beside", "stuck", "behind"]);
}

/// An automation whose report comes when it is let go, and is not in order while `red` says so.
fn tests_of(bus: &Bus, red: &Arc<AtomicBool>, seconds: u64) -> Arc<AtomicUsize> {
    let runs = Arc::new(AtomicUsize::new(0));
    let (red, counted) = (Arc::clone(red), Arc::clone(&runs));
    bus.automate::<AfterToolBatch>("tests")
        .debounce(Debounce::quiet(secs(60)).at_most(secs(300)))
        .join(Join::BeforeNextModel)
        .result(ResultRule { when: ResultWhen::AppendAlways, ..ResultRule::default() })
        .run(move |_, _| {
            let (red, runs) = (Arc::clone(&red), counted.fetch_add(1, Ordering::SeqCst) + 1);
            async move {
                tokio::time::sleep(secs(seconds)).await;
                let found = format!("run {runs}");
                Ok(if red.load(Ordering::SeqCst) { Report::failure(found) } else { Report::success(found) })
            }
        })
        .unwrap();
    runs
}

#[tokio::test(start_paused = true)]
async fn an_agent_does_not_stop_before_it_has_heard_what_joins() {
    let (bus, red) = (Bus::new(), Arc::new(AtomicBool::new(true)));
    let runs = tests_of(&bus, &red, 20);
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(changed("a")).await.unwrap());
    drop(session.publish(changed("b")).await.unwrap());
    let began = Instant::now();
    let decision = session.publish(BeforeStop::new(false)).await.unwrap();
    assert_eq!(began.elapsed(), secs(20), "its window is not waited for, its run is");
    assert_eq!(decision.verdict(), &Verdict::block("[hook:tests] run 1"));
    let receipt = decision.receipt().unwrap().to_json();
    assert_eq!((&receipt["by"], &receipt["hooks"][0]["said"]), (&json!("tests"), &json!("block")));
    assert_eq!(runs.load(Ordering::SeqCst), 1, "one run for the burst");

    // What the agent has is not told twice; what it has not keeps it working as often as a gate may.
    let again = session.publish(BeforeStop::new(false)).await.unwrap();
    assert!(again.is_refused(), "it was not collected");
    let delivery = session.collect().before_next_model().await;
    assert_eq!(delivery.messages().iter().map(|message| &*message.text).collect::<Vec<_>>(), ["run 1"]);
    delivery.accept();
    assert!(!session.publish(BeforeStop::new(false)).await.unwrap().is_refused());

    // What is in order lets it stop, and waits for it.
    red.store(false, Ordering::SeqCst);
    drop(session.publish(changed("a")).await.unwrap());
    let began = Instant::now();
    assert!(!session.publish(BeforeStop::new(false)).await.unwrap().is_refused());
    assert_eq!(began.elapsed(), secs(20));
    assert_eq!(session.collect().ready().accept()[0].text, "run 2");
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_no_longer_than_its_event_has_time_and_is_refused_no_more_often_than_by_a_gate() {
    let (bus, red) = (Bus::new(), Arc::new(AtomicBool::new(true)));
    tests_of(&bus, &red, 20);
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(changed("a")).await.unwrap());
    let began = Instant::now();
    let decision = session.event(BeforeStop::new(false)).within(secs(5)).publish().await.unwrap();
    assert_eq!((decision.is_refused(), began.elapsed()), (false, secs(5)));
    let receipt = decision.receipt().unwrap();
    assert!(receipt.notices[0].what.text.contains("hears of the rest later"), "and a notice says so");

    // It is heard of at the next stop, if nothing was collected before that; then as often in a row as of a gate.
    let began = Instant::now();
    for stop in 1..=4 {
        let refused = session.publish(BeforeStop::new(false)).await.unwrap().is_refused();
        assert_eq!(refused, stop <= 3, "stop {stop}");
    }
    assert_eq!(began.elapsed(), secs(15));
    assert_eq!(session.collect().ready().messages().len(), 1, "what was not heard waits on");
}

#[tokio::test(start_paused = true)]
async fn a_subagent_hears_what_joins_before_its_parent_goes_on() {
    let (bus, red) = (Bus::new(), Arc::new(AtomicBool::new(true)));
    tests_of(&bus, &red, 20);
    let session = bus.session("s").open().await.unwrap();
    let child = session.subagent("s/child").open().await.unwrap();
    drop(child.publish(changed("a")).await.unwrap());
    assert!(!session.publish(BeforeStop::new(false)).await.unwrap().is_refused(), "it is another agent's");
    let end = || AfterSubagent::new("s/child");
    let began = Instant::now();
    let decision = session.publish(end()).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("[hook:tests] run 1"));
    assert_eq!(began.elapsed(), secs(20));
    assert_eq!(child.collect().ready().accept()[0].text, "run 1", "it waits for the one that is to go on");
    assert!(!session.publish(end()).await.unwrap().is_refused());
}
