//! `lineside jobs`: what automations have accepted and what has become of it, from a real journal.

use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use lineside::automation::Automations;
use lineside::automation::jobs::Which;
use lineside::automation::machine::JobStatus;
use lineside::automation::machine::job::Settled;
use lineside::core::{Failure, FailureKind};
use lineside::durable::Durable;
use lineside::json::{Value, json};
use lineside::prelude::*;
use tokio::runtime::Runtime;

use crate::daemon::Daemon;
use crate::hook::{given, tool};
use crate::stage::{Said, Stage};

/// A process that has a journal open, with a job in every state.
struct Life {
    runtime: Runtime,
    /// Kept, so that the journal stays open.
    _kept: (Bus, Durable, Automations),
}

const HOUR: Duration = Duration::from_secs(3600);

impl Life {
    fn begin(stage: &Stage) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let kept = runtime.block_on(every_state(stage.path("journal")));
        Self { runtime, _kept: kept }
    }

    /// Ends it as a kill does: what runs does not come to its end.
    fn kill(self) {
        drop(self.runtime);
    }
}

fn changed(path: &str) -> AfterToolBatch {
    AfterToolBatch::new(Vec::new(), vec![ChangedFile { path: path.to_owned(), ..ChangedFile::default() }])
}

async fn every_state(path: PathBuf) -> (Bus, Durable, Automations) {
    let bus = Bus::new();
    let durable = Durable::open(path).unwrap();
    let (automations, _) = durable.automations(&bus, Default::default()).unwrap();
    let wrong = || async { Err(Failure::new(FailureKind::Error, "2 errors\nin a.rs")) };
    bus.automate::<AfterToolBatch>("lint")
        .debounce(Debounce::quiet(HOUR).at_most(HOUR))
        .run(async |_, _| Ok(Report::success("ok")))
        .unwrap();
    bus.automate::<AfterToolBatch>("tests")
        .retry(Retry::constant(2, millis(1)))
        .run(move |_, _| wrong())
        .unwrap();
    bus.automate::<OnPrompt>("index").retry(Retry::constant(3, HOUR)).run(move |_, _| wrong()).unwrap();
    bus.automate::<OnPrompt>("note").run(async |_, _| Ok(Report::success("noted"))).unwrap();
    bus.automate::<OnIdle>("deploy")
        .concurrency("deploy:{project_root}")
        .run(async |_, _| {
            pending::<()>().await;
            Ok(Report::success("never"))
        })
        .unwrap();
    let main = bus.session("s-main").project_root("/p").open().await.unwrap();
    let other = bus.session("s-other").project_root("/p").open().await.unwrap();
    drop(main.publish(changed("a.rs")).await.unwrap());
    drop(main.publish(OnPrompt::new("b")).await.unwrap());
    drop(main.publish(OnIdle::new()).await.unwrap());
    drop(other.publish(OnIdle::new()).await.unwrap());
    while !is_everything_there(&automations) {
        tokio::time::sleep(millis(1)).await;
    }
    automations.kept().await.unwrap();
    (bus, durable, automations)
}

/// Whether there is one that is held, dead, delayed, done, running and waiting for its key; nothing of it changes by
/// itself.
fn is_everything_there(automations: &Automations) -> bool {
    let jobs = automations.jobs().list(&Which::default());
    let there = |wanted: fn(&JobStatus) -> bool| jobs.iter().filter(|job| wanted(&job.standing)).count() == 1;
    there(|one| matches!(one, JobStatus::Held { .. }))
        && there(|one| matches!(one, JobStatus::Settled { settled: Settled::Dead(_), .. }))
        && there(|one| matches!(one, JobStatus::Settled { settled: Settled::Done, .. }))
        && there(|one| matches!(one, JobStatus::Delayed { .. }))
        && there(|one| matches!(one, JobStatus::Running { .. }))
        && there(|one| matches!(one, JobStatus::Key { .. }))
}

fn jobs(stage: &Stage, more: &[&str]) -> Said {
    let path = stage.path("journal");
    let arguments: Vec<&str> =
        ["jobs", "--journal", path.to_str().unwrap()].into_iter().chain(more.iter().copied()).collect();
    stage.run(&arguments, "")
}

/// Without what is another one each time.
fn timeless(text: &str) -> String {
    let rules = [
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "[stamp]"),
        (r"in \d+ (ms|s|min|h)", "in [time]"),
        (r"\d+ (ms|s|min) ago", "[time] ago"),
        (r"\d+ (ms|s)\b", "[time]"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"process \d+", "process [pid]"),
        (" +", " "),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, with)| {
        regex::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    })
}

fn states(said: &Said) -> Vec<(u64, String)> {
    let state = |line: &Value| (line["job"].as_u64().unwrap(), line["state"].as_str().unwrap().to_owned());
    said.json().iter().map(state).collect()
}

fn of_state(stage: &Stage, state: &str) -> u64 {
    let found = states(&jobs(stage, &["--json", "--state", state]));
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].0
}

#[test]
fn the_list_tells_of_a_journal_that_somebody_has_open() {
    let stage = Stage::new();
    let _life = Life::begin(&stage);
    let said = jobs(&stage, &[]);
    assert_eq!((said.code, &*said.err), (Some(0), ""));
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    insta::assert_snapshot!(timeless(&said.out));
}

#[test]
fn one_job_is_told_with_its_attempts() {
    let stage = Stage::new();
    let life = Life::begin(&stage);
    let dead = of_state(&stage, "dead").to_string();
    insta::assert_snapshot!(timeless(&jobs(&stage, &["show", &dead]).out));
    let running = of_state(&stage, "running").to_string();
    life.kill();
    // No process runs it.
    assert_eq!(of_state(&stage, "interrupted").to_string(), running);
    insta::assert_snapshot!(timeless(&jobs(&stage, &["show", &running]).out));
}

#[test]
fn programs_get_one_object_for_each_job() {
    let stage = Stage::new();
    let _life = Life::begin(&stage);
    let said = jobs(&stage, &["--json"]);
    let mut found: Vec<_> = states(&said).into_iter().map(|(_, state)| state).collect();
    found.sort();
    assert_eq!(found, ["dead", "debouncing", "done", "retrying", "running", "waiting"]);
    let dead = said.json().into_iter().find(|job| job["state"] == "dead").unwrap();
    assert_eq!(
        (&dead["automation"], &dead["registered_as"]),
        (&json!("tests"), &json!("after_tool_batch/tests"))
    );
    assert_eq!(dead["session"], "s-main");
    assert_eq!(dead["why"], "it failed 2 times, at last (error): 2 errors\nin a.rs");
    let attempts: Vec<_> = dead["attempts"].as_array().unwrap().iter().collect();
    let seen: Vec<_> = attempts.iter().map(|one| (&one["attempt"], &one["end"], &one["failure"])).collect();
    assert_eq!(
        seen,
        [(&json!(1), &json!("failed"), &json!("error")), (&json!(2), &json!("failed"), &json!("error"))]
    );
    assert!(attempts.iter().all(|one| one["took_ms"].as_u64().is_some() && one["ended"].is_string()));
    let retrying = said.json().into_iter().find(|job| job["state"] == "retrying").unwrap();
    assert!(retrying["next"].as_str() > retrying["since"].as_str());
    // `show` gives the same object.
    let shown = jobs(&stage, &["show", "--json", &dead["job"].to_string()]).json();
    assert_eq!(shown, [dead]);
}

#[test]
fn filters_are_of_state_automation_and_session() {
    let stage = Stage::new();
    let _life = Life::begin(&stage);
    let found = |more: &[&str]| {
        let all: Vec<&str> = ["--json"].into_iter().chain(more.iter().copied()).collect();
        states(&jobs(&stage, &all)).into_iter().map(|(_, state)| state).collect::<Vec<_>>()
    };
    assert_eq!(found(&["--session", "s-other"]), ["waiting"]);
    assert_eq!(found(&["--automation", "deploy"]), ["running", "waiting"]);
    assert_eq!(found(&["--automation", "on_idle/deploy", "--state", "running"]), ["running"]);
    assert_eq!(found(&["--state", "dead", "--state", "done"]).len(), 2);
    let none = jobs(&stage, &["--session", "nobody"]);
    assert_eq!((none.code, none.out.lines().next().unwrap()), (Some(0), "none of 6 jobs"));
}

#[test]
fn a_job_is_named_by_its_number_or_by_a_piece_of_the_id_of_its_event() {
    let stage = Stage::new();
    let _life = Life::begin(&stage);
    let dead = jobs(&stage, &["--json", "--state", "done"]).json().remove(0);
    let id = dead["events"][0].as_str().unwrap();
    let by_end = jobs(&stage, &["show", "--json", &id[id.len() - 12..]]);
    // The prompt is the event of the one that is tried again, too.
    assert_eq!((by_end.code, &*by_end.out), (Some(1), ""));
    assert!(by_end.err.contains("could be 2 jobs: "), "{}", by_end.err);
    let waiting = jobs(&stage, &["--json", "--state", "waiting"]).json().remove(0);
    let id = waiting["events"][0].as_str().unwrap();
    for piece in [&id[id.len() - 12..], id] {
        assert_eq!(
            jobs(&stage, &["show", "--json", piece]).json(),
            std::slice::from_ref(&waiting),
            "{piece}"
        );
    }
    for (name, why) in [("99", "there is no job `99`"), ("ffffffff-0", "and none with an event")] {
        let said = jobs(&stage, &["show", name]);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains(why), "{}", said.err);
    }
}

#[test]
fn a_dead_job_is_taken_up_again_and_runs_in_the_next_life() {
    let stage = Stage::new();
    Life::begin(&stage).kill();
    let dead = of_state(&stage, "dead").to_string();
    let said = jobs(&stage, &["retry", &dead]);
    let done = format!("job {dead} is taken up again, and runs when its automation is there\n");
    assert_eq!((said.code, said.out, &*said.err), (Some(0), done, ""));
    let job = jobs(&stage, &["show", "--json", &dead]).json().remove(0);
    assert_eq!((&job["state"], job["attempts"].as_array().unwrap().len()), (&json!("waiting"), 2));
    let again = jobs(&stage, &["retry", &dead]);
    assert_eq!(again.code, Some(1));
    assert_eq!(
        again.err,
        format!("lineside: job {dead} is waiting, and only a dead one is taken up again\n")
    );
    Runtime::new().unwrap().block_on(async {
        let (bus, durable) = (Bus::new(), Durable::open(stage.path("journal")).unwrap());
        let (automations, _) = durable.automations(&bus, Default::default()).unwrap();
        let tests = bus.automate::<AfterToolBatch>("tests");
        tests.run(async |batch, _| Ok(Report::success(batch.changed_files[0].path.clone()))).unwrap();
        let job = lineside::automation::JobId(dead.parse().unwrap());
        while !matches!(automations.jobs().why(job), Some(JobStatus::Settled { .. })) {
            tokio::time::sleep(millis(1)).await;
        }
        automations.kept().await.unwrap();
    });
    let job = jobs(&stage, &["show", "--json", &dead]).json().remove(0);
    assert_eq!((&job["state"], &job["attempts"][2]["text"]), (&json!("done"), &json!("a.rs")));
}

#[test]
fn a_job_is_dropped_whether_it_is_dead_or_under_way() {
    let stage = Stage::new();
    Life::begin(&stage).kill();
    let (dead, held) = (of_state(&stage, "dead").to_string(), of_state(&stage, "debouncing").to_string());
    assert_eq!(jobs(&stage, &["drop", &dead]).out, format!("job {dead} is dropped; it was dead\n"));
    assert_eq!(jobs(&stage, &["drop", &held]).out, format!("job {held} is dropped; it was debouncing\n"));
    assert_eq!(jobs(&stage, &["show", &dead]).code, Some(1));
    let shown = jobs(&stage, &["show", "--json", &held]).json().remove(0);
    assert_eq!((&shown["state"], &shown["why"]), (&json!("cancelled"), &json!("a person dropped it")));
    let again = jobs(&stage, &["drop", &held]);
    assert_eq!(again.code, Some(1));
    assert_eq!(again.err, format!("lineside: job {held} is cancelled, and is not dropped any more\n"));
    assert_eq!(states(&jobs(&stage, &["--json"])).len(), 5);
}

#[test]
fn what_changes_a_job_says_who_is_in_its_way() {
    let stage = Stage::new();
    let _life = Life::begin(&stage);
    let dead = of_state(&stage, "dead").to_string();
    for what in ["retry", "drop"] {
        let said = jobs(&stage, &[what, &dead]);
        assert_eq!((said.code, &*said.out), (Some(1), ""));
        let me = std::process::id();
        let text = format!(
            "lineside: process {me} has the journal open, so nothing was changed; end it, and try again\n"
        );
        assert_eq!(said.err, text);
    }
    of_state(&stage, "dead");
}

#[test]
fn a_damaged_journal_is_told_and_the_rest_of_it_is_shown() {
    let stage = Stage::new();
    Life::begin(&stage).kill();
    let folder = stage.path("journal/jobs");
    let log = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let log = log.filter(|path| path.extension().is_some_and(|extension| extension == "log")).min().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let noted = bytes.windows(5).position(|bytes| bytes == b"noted").unwrap();
    bytes[noted] = b'N';
    std::fs::write(&log, &bytes).unwrap();
    let said = jobs(&stage, &["--json"]);
    assert_eq!((said.code, said.json().len()), (Some(0), 6));
    let warning =
        regex::Regex::new(r"^warning: jobs/0+1\.log: records (\d+) to (\d+) are damaged\n$").unwrap();
    assert!(warning.is_match(&said.err), "{}", said.err);
    // Looking changes nothing, so it is reported again.
    assert_eq!(jobs(&stage, &["--json"]).err, said.err);
    assert_eq!(std::fs::read(&log).unwrap(), bytes);
}

#[test]
fn where_there_is_no_journal_none_is_made() {
    let stage = Stage::new();
    for more in [&[][..], &["show", "1"], &["retry", "1"]] {
        let said = jobs(&stage, more);
        assert_eq!(said.code, Some(2));
        let text = "lineside: there is no journal of jobs: [stage]/journal/jobs does not exist\n";
        assert_eq!(said.err, text);
        assert!(!stage.path("journal").exists());
    }
}

#[test]
fn an_action_without_a_job_is_refused() {
    let stage = Stage::new();
    let said = jobs(&stage, &["retry"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("required arguments"), "{}", said.err);
}

#[test]
fn the_runs_of_a_log_are_counted_and_listed_where_that_is_asked_for() {
    let stage = Stage::new();
    let hooks = "hooks:
  - {name: log, on: before_tool, async: true, command: [\"true\"]}
  - {name: fails, on: before_tool, async: true, command: [\"false\"]}
";
    stage.file("home/.config/lineside/hooks.yaml", hooks);
    let daemon = Daemon::start(&stage);
    for _ in 0..3 {
        let said = given(&stage, stage.command(&["hook", "claude"]), tool("s1", "ls").as_bytes());
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    let settled = || {
        let jobs = stage.run(&["jobs", "--json"], "").json();
        jobs.iter().filter(|job| job["state"] == "done" || job["state"] == "dead").count() == 6
    };
    while !settled() {
        std::thread::yield_now();
    }
    let listed = stage.run(&["jobs"], "").out;
    assert!(!listed.contains(" log ") && listed.contains(" fails "), "{listed}");
    assert!(listed.contains("3 jobs: 3 dead\n3 runs of hooks in the background ended well"), "{listed}");
    let all = stage.run(&["jobs", "--all"], "").out;
    assert!(all.contains(" log ") && all.contains("6 jobs: 3 done, 3 dead"), "{all}");
    let of_log = stage.run(&["jobs", "--automation", "log"], "").out;
    assert!(of_log.contains("3 jobs of 6: 3 done"), "{of_log}");
    daemon.kill();
}
