//! `lineside run --journal`: what is kept is taken up, told of, and left in order.

use std::path::Path;
use std::sync::Arc;

use lineside::automation::machine::Bounds;
use lineside::prelude::*;
use lineside::{Bus, Durable};

use crate::stage::{IDLE, Stage, shell, timeless};

/// A life in which a job of a programme's automation was accepted and never ended.
fn earlier_life(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bus = Bus::new();
        let durable = Durable::open(path).unwrap();
        let (automations, _) = durable.automations(&bus, Bounds::default()).unwrap();
        let started = Arc::new(tokio::sync::Notify::new());
        let told = Arc::clone(&started);
        bus.automate::<AfterToolBatch>("lint")
            .run(move |_batch, _cx| {
                told.notify_one();
                std::future::pending()
            })
            .unwrap();
        let session = bus.session("s1").open().await.unwrap();
        drop(session.publish(AfterToolBatch::new(vec![], vec![])).await.unwrap());
        automations.kept().await.unwrap();
        started.notified().await;
        automations.leave();
    });
}

#[test]
fn work_whose_automation_is_not_there_is_told_of_and_goes_to_the_dead_letters_once() {
    let stage = Stage::new();
    let path = stage.path("kept");
    earlier_life(&path);
    let said = stage.run(&["run", "--journal", path.to_str().unwrap()], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        timeless(&said.err),
        "note: 1 job of an earlier run to be finished\n\
         job 1 of after_tool_batch/lint is dead: there is no such automation\n\
         0 events; 0 hooks in force; [time]\n"
    );
    let said = stage.run(&["run", "--journal", path.to_str().unwrap()], shell("ls"));
    assert_eq!(timeless(&said.err), "1 event: 1 continue; 0 hooks in force; [time]\n");
}

#[test]
fn work_of_a_project_that_is_not_trusted_waits_for_a_run_that_trusts_it() {
    for (file, hooks) in [
        (
            "project/.lineside/hooks.yaml",
            "hooks:\n- name: tidy\n  on: on_idle\n  command: |\n    if [ ! -e second ]; then echo > began; exec sleep 30; fi\n    echo tidied >> ran\n  automate:\n    retry: {attempts: 9, constant: 0}\n",
        ),
        (
            "project/.chord/config.yaml",
            "hooks:\n  on_idle:\n    - name: tidy\n      shell: |\n        if [ ! -e second ]; then echo > began; exec sleep 30; fi\n        echo tidied >> ran\n",
        ),
    ] {
        let stage = Stage::new();
        let path = stage.path("kept");
        let kept = path.to_str().unwrap();
        stage.file(file, hooks);
        stage.run_killed(&["run", "--project", ".", "--journal", kept], IDLE);
        for _ in 0..2 {
            let said = stage.run(&["run", "--journal", kept], IDLE);
            let note = "note: 1 job of a project that is not trusted waits for a run that trusts it";
            assert!(said.err.contains(note), "{file}: {}", said.err);
            assert!(!said.err.contains("dead"), "{file}: {}", said.err);
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        let jobs = stage.run(&["jobs", "--journal", kept], "");
        assert!(!jobs.out.contains("dead"), "{}", jobs.out);
        let said = stage.run(&["run", "--project", ".", "--journal", kept], "");
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(std::fs::read_to_string(stage.path("project/ran")).unwrap(), "tidied\n", "{file}");
    }
}

#[test]
fn a_damaged_record_is_put_aside_and_told_of_and_the_run_goes_on() {
    let stage = Stage::new();
    let path = stage.path("kept");
    earlier_life(&path);
    let log = log(&path);
    let mut bytes = std::fs::read(&log).unwrap();
    let at = bytes.windows(8).position(|bytes| bytes == b"accepted").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let said = stage.run(&["run", "--journal", path.to_str().unwrap()], shell("ls"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("are damaged; the bytes are kept in"), "{}", said.err);
    assert!(said.out.contains("\"verdict\":\"continue\""), "{}", said.out);
}

/// The log of the jobs.
fn log(path: &Path) -> std::path::PathBuf {
    std::fs::read_dir(path.join("jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "log"))
        .unwrap()
}

#[test]
fn a_log_that_was_cut_within_its_beginning_is_told_of() {
    for length in [66, 100, 127, 128] {
        let stage = Stage::new();
        let path = stage.path("kept");
        earlier_life(&path);
        std::fs::File::options().write(true).open(log(&path)).unwrap().set_len(length).unwrap();
        let expected = format!("cut off after {length} bytes, and the records that it held are gone");
        let said = stage.run(&["jobs", "--journal", path.to_str().unwrap()], "");
        assert!(said.err.contains(&expected), "{said:?}");
        let said = stage.run(&["run", "--journal", path.to_str().unwrap()], shell("ls"));
        assert_eq!(said.code, Some(0));
        assert!(said.err.contains(&expected), "{said:?}");
        let said = stage.run(&["run", "--journal", path.to_str().unwrap()], shell("ls"));
        assert!(!said.err.contains("cut off"), "it is told once: {said:?}");
    }
}

#[test]
fn a_folder_that_another_process_has_open_is_refused_by_name() {
    let stage = Stage::new();
    let path = stage.path("kept");
    let _durable = Durable::open(&path).unwrap();
    let said = stage.run(&["run", "--journal", path.to_str().unwrap()], "");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains(&format!("is in use by process {}", std::process::id())), "{}", said.err);
}

#[test]
fn durability_needs_a_journal() {
    let said = Stage::new().run(&["run", "--durability", "process"], "");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--journal <PATH>"), "{}", said.err);
}

#[test]
fn what_a_killed_run_had_begun_is_finished_by_the_next_one_also_without_a_word_of_its_session() {
    let stage = Stage::new();
    let path = stage.path("kept");
    let arguments = ["run", "--project", ".", "--journal", path.to_str().unwrap()];
    stage.file(
        "project/.chord/config.yaml",
        "hooks:\n  on_idle:\n    - name: tidy\n      shell: |\n        if [ ! -e second ]; then echo > began; exec sleep 30; fi\n        echo tidied >> ran\n",
    );
    stage.run_killed(&arguments, IDLE);
    let said = stage.run(&arguments, "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("note: 1 job of an earlier run to be finished"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(stage.path("project/ran")).unwrap(), "tidied\n");
    let said = stage.run(&arguments, "");
    assert!(!said.err.contains("earlier run"), "{}", said.err);
}
