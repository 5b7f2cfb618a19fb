//! Background hooks of a foreign format over several lives of a process, the first of which are killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod life;

use std::path::PathBuf;
use std::time::Duration;

use lineside::Signal;
use lineside::automation::HookId;
use lineside::automation::machine::JobStatus;
use lineside::automation::machine::job::{AttemptEnd, Settled, Why};
use lineside::core::{FailureKind, Outcome};
use lineside::json::Value;
use lineside::prelude::*;

use life::{FOLDER, Ground, Life, loaded, publish};

/// In the first life it says that it has begun and does not end; in the second, it writes down what it was given.
fn hook(point: &str, name: &str, more: &str) -> String {
    format!(
        "  {point}:\n    - name: {name}\n{more}      shell: |\n        if [ ! -e second ]; then echo {name} > began; exec sleep 30; fi\n        \
         cat >> {name}.given; echo >> {name}.given; echo {name} >> ran\n"
    )
}

fn given(ground: &Ground, name: &str) -> Vec<Value> {
    let lines = ground.read(&format!("{name}.given"));
    lines.iter().filter(|line| !line.is_empty()).map(|line| lineside::json::from_str(line).unwrap()).collect()
}

/// Without the variable it is an ordinary life, of a process that is not killed.
#[tokio::test]
async fn a_life_keeps_what_it_accepts() {
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
        let life = Life::begin(&folder).await;
        let session = life.session().await;
        publish(&session, &std::env::var("LINESIDE_TEST_PUBLISHES").unwrap()).await;
        assert_eq!(life.automations.kept().await.unwrap().as_str(), "disk");
        println!("\neverything is on record");
        return std::future::pending().await;
    }
    let ground = Ground::new(&format!("hooks:\n{}", hook("on_idle", "a", "")));
    ground.is_second_life();
    let life = Life::begin(&ground.path).await;
    let session = life.session().await;
    publish(&session, "idle idle").await;
    session.close().await;
    assert_eq!(ground.read("ran"), ["a", "a"]);
    let done = ("a".to_owned(), "done".to_owned());
    assert_eq!(life.standings(), [done.clone(), done]);
}

#[tokio::test]
async fn what_was_accepted_runs_in_the_next_life_as_it_was() {
    let shells = hook("on_idle", "a", "") + hook("on_idle", "b", "").split_once('\n').unwrap().1;
    let ground = Ground::new(&format!("hooks:\n{shells}"));
    let first = ground.other_process("idle");
    assert_eq!(ground.has_begun(), "a");
    first.kill();

    ground.is_second_life();
    let life = Life::begin(&ground.path).await;
    assert!(life.jobs().iter().all(|job| job.standing == JobStatus::Parked), "its session is not open");
    let session = life.session().await;
    session.close().await;
    assert_eq!(ground.read("ran"), ["a", "b"]);
    let [given_a] = &given(&ground, "a")[..] else { panic!("a did not run once") };
    assert_eq!((&given_a["point"], &given_a["session_id"]), (&json!("on_idle"), &json!("s1")));
    assert_eq!(given(&ground, "b"), std::slice::from_ref(given_a));
    let jobs = life.jobs();
    let [a, b] = &jobs[..] else { panic!("{jobs:?}") };
    // The one that was killed counts; what never began does not.
    assert_eq!((a.attempts.len(), b.attempts.len()), (2, 1));
    assert_eq!(a.attempts[0].ended, None);
    assert_eq!((a.session.as_str(), b.session.as_str()), ("s1", "s1"));
    let id = HookId::read(&b.automation).unwrap();
    let file = ground.path.join(".chord/config.yaml").to_string_lossy().into_owned();
    assert_eq!((&*id.name, &*id.dialect, &*id.trigger, id.file), ("b", "chord", "on_idle", file));
    assert_eq!(id.line, 7);
}

#[tokio::test]
async fn a_burst_under_way_at_the_kill_is_one_run_for_its_last_event() {
    let settings = "      debounce_ms: 3600000\n      join: before_next_llm\n      result: always_append\n";
    let shell = hook("on_tool_batch_complete", "check", settings)
        + "        echo '{\"summary\": \"looked at it\"}'\n";
    let ground = Ground::new(&format!("hooks:\n{shell}"));
    ground.other_process("a.rs b.rs a.rs").kill();

    ground.is_second_life();
    let life = Life::begin(&ground.path).await;
    let session = life.session().await;
    assert_eq!(life.standings(), [("check".to_owned(), "3 events are held".to_owned())]);
    publish(&session, "c.rs").await;
    let delivery = session.collect().before_next_model().await;
    let texts: Vec<_> = delivery.messages().iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["[hook:check] Automated feedback\nstatus: success\nsummary: looked at it"]);
    let [given] = &given(&ground, "check")[..] else { panic!("it did not run once") };
    let paths = |value: &Value| -> Vec<String> {
        let files = value["data"]["changed_files"].as_array().unwrap();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(given), ["b.rs", "a.rs", "c.rs"]);
    assert_eq!(life.jobs()[0].events.len(), 4);
}

#[tokio::test]
async fn a_hook_that_tries_again_goes_on_counting_after_a_kill() {
    let settings = "      retry_on_failure: 2\n      retry_delay_ms: 1\n";
    let shell = "      shell: |\n        echo x >> tries\n        \
                 if [ ! -e second ] && [ $(wc -l < tries) = 2 ]; then echo 2 > began; exec sleep 30; fi\n        exit 3\n";
    let ground = Ground::new(&format!("hooks:\n  on_idle:\n    - name: a\n{settings}{shell}"));
    let first = ground.other_process("idle");
    assert_eq!(ground.has_begun(), "2");
    first.kill();

    ground.is_second_life();
    let mut life = Life::begin(&ground.path).await;
    life.session().await.close().await;
    // One that failed and one that was killed, then two that failed: three have failed, as many as may.
    assert_eq!(ground.read("tries").len(), 4);
    let [job] = &life.jobs()[..] else { panic!("{:?}", life.jobs()) };
    let ends: Vec<_> =
        job.attempts.iter().map(|attempt| attempt.ended.as_ref().map(|(_, end)| end)).collect();
    let failed = AttemptEnd::Failed(FailureKind::Exit, "exit status 3".to_owned());
    assert_eq!(ends, [Some(&failed), None, Some(&failed), Some(&failed)]);
    assert!(matches!(
        &job.standing,
        JobStatus::Settled {
            settled: Settled::Dead(Why::Failed { attempts: 4, kind: FailureKind::Exit, .. }),
            ..
        }
    ));
    let finished = life.signalled().into_iter().find_map(|signal| match signal {
        Signal::DetachedFinished { outcome: Outcome::Failed { .. }, earlier, .. } => Some(earlier.len()),
        _ => None,
    });
    assert_eq!(finished, Some(2));
}

#[tokio::test]
async fn a_hook_that_is_gone_or_another_one_is_a_dead_letter() {
    let ground = Ground::new(&format!("hooks:\n{}", hook("on_idle", "a", "")));
    let first = ground.other_process("idle");
    ground.has_begun();
    first.kill();

    ground.is_second_life();
    ground.configure(&format!("hooks:\n{}# another one\n", hook("on_idle", "a", "")));
    let life = Life::begin(&ground.path).await;
    assert_eq!(life.jobs()[0].standing, JobStatus::Parked, "its session may have it");
    life.session().await.close().await;
    let dead = "dead: its hook was removed, or is not what it was".to_owned();
    assert_eq!(life.standings(), [("a".to_owned(), dead)]);
    assert!(ground.read("ran").is_empty());
}

#[tokio::test]
async fn a_hook_that_ends_its_process_again_and_again_is_a_dead_letter() {
    let ground = Ground::new(&format!("hooks:\n{}", hook("on_idle", "a", "")));
    for publishes in ["idle", "", ""] {
        let life = ground.other_process(publishes);
        ground.has_begun();
        life.kill();
    }
    ground.is_second_life();
    let life = Life::begin(&ground.path).await;
    life.session().await.close().await;
    let dead = "dead: it was started 3 times, and its process did not live to end it".to_owned();
    assert_eq!(life.standings(), [("a".to_owned(), dead)]);
    assert!(ground.read("ran").is_empty());
}

#[tokio::test]
async fn what_a_session_has_no_time_for_stays_for_the_next_life() {
    let shells = hook("on_idle", "a", "") + hook("on_idle", "b", "").split_once('\n').unwrap().1;
    let ground = Ground::new(&format!("hooks:\n{shells}"));
    let life = Life::begin(&ground.path).await;
    let session = life.session().await;
    publish(&session, "idle").await;
    let path = ground.path.clone();
    let began = tokio::task::spawn_blocking(move || std::fs::read_to_string(path.join("began")).unwrap());
    assert_eq!(began.await.unwrap(), "a\n");
    let report = life.assembly.drain(Duration::ZERO).await;
    assert_eq!((report.jobs.kept, report.detached_cut_short), (2, 0));
    assert!(report.is_clean());
    assert_eq!(life.standings().len(), 2);
    drop((session, life));

    ground.is_second_life();
    let life = Life::begin(&ground.path).await;
    life.session().await.close().await;
    assert_eq!(ground.read("ran"), ["a", "b"]);
}

#[tokio::test]
async fn without_a_journal_hooks_are_no_jobs() {
    let ground = Ground::new(&format!("hooks:\n{}", hook("on_idle", "a", "")));
    ground.is_second_life();
    let assembly = loaded(Bus::new(), &ground.path).await;
    let session = assembly.bus().session("s1").open().await.unwrap();
    publish(&session, "idle").await;
    let report = assembly.drain(Duration::from_secs(60)).await;
    assert_eq!((report.jobs.kept, report.detached_finished), (0, 1));
    assert_eq!(ground.read("ran"), ["a"]);
    let automations = lineside::automation::Automations::of(assembly.bus()).unwrap();
    assert!(automations.jobs().list(&Default::default()).is_empty());
}

#[tokio::test]
async fn nothing_keeps_a_bus_that_nobody_has() {
    let ground = Ground::new(&format!("hooks:\n{}", hook("on_idle", "a", "")));
    let life = Life::begin(&ground.path).await;
    drop(life.session().await);
    let bus = life.assembly.bus().downgrade();
    drop(life);
    while bus.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
}
