//! Automations that lineside's own file declares, from the file to the report: real processes, the real engine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside::automation::machine::job::{Settled, Why};
use lineside::automation::machine::{Bounds, JobStatus};
use lineside::automation::{Automations, JobId, jobs::Which};
use lineside::core::{Acceptance, Outcome};
use lineside::dialects::{self, Places, Trust};
use lineside::durable::OpenDurableError;
use lineside::journal::OpenJournalError;
use lineside::prelude::*;
use lineside::wire;
use lineside::{Assembly, Durable};
use tokio::sync::Notify;

/// A project whose automations are those of a file.
struct Project(tempfile::TempDir);

impl Project {
    fn with(hooks: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.declare(hooks);
        project
    }

    fn declare(&self, hooks: &str) {
        fs::create_dir_all(self.path(".lineside")).unwrap();
        fs::write(self.path(".lineside/hooks.yaml"), hooks).unwrap();
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    /// The lines of a file that an automation has written.
    fn lines(&self, file: &str) -> Vec<String> {
        fs::read_to_string(self.path(file)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn places(&self, trust: Trust) -> Places {
        let root = self.0.path().to_owned();
        Places { environment: BTreeMap::new(), project_root: Some(root.clone()), cwd: root, trust }
    }

    /// The automations on a bus; nothing is wrong with them.
    async fn load(&self, bus: &Bus) -> Assembly {
        let assembly = Assembly::new(bus.clone()).only([dialects::find("native").unwrap()]);
        let report = assembly.load(&self.places(Trust::Granted)).await.unwrap();
        assert_eq!(report.diagnostics.len(), 0, "{:?}", report.diagnostics);
        assembly
    }

    async fn session(&self, bus: &Bus) -> Session {
        bus.session("s").project_root(self.0.path().to_str().unwrap()).open().await.unwrap()
    }
}

fn batch(path: &str) -> AfterToolBatch {
    AfterToolBatch::new(vec![], vec![ChangedFile { path: path.to_owned(), ..ChangedFile::default() }])
}

/// What has become of an event for the hook of this name.
fn acceptance(decision: &Decision<AfterToolBatch>, hook: &str) -> Acceptance {
    let receipt = decision.receipt().unwrap();
    let run = receipt.runs.iter().find(|run| receipt.name(run.hook) == hook).unwrap();
    match &run.outcome {
        Outcome::Offered(taken) => taken.clone(),
        other => panic!("{other:?}"),
    }
}

/// Hook and text of the messages of a delivery, which is accepted.
fn messages(delivery: Delivery) -> Vec<(String, String)> {
    delivery.accept().iter().map(|one| (one.hook.to_string(), one.text.to_string())).collect()
}

async fn drained(assembly: Assembly) {
    assert!(assembly.drain(Duration::from_secs(60)).await.is_clean());
}

#[tokio::test]
async fn a_burst_is_one_run_that_has_all_of_it() {
    let project = Project::with(
        "hooks:\n- name: lint\n  on: after_tool_batch\n  command: cat >> ran; echo >> ran\n  automate:\n    debounce: {quiet: 600000, at_most: 600000}\n",
    );
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    for path in ["a.rs", "b.rs", "a.rs"] {
        let decision = session.publish(batch(path)).await.unwrap();
        assert!(matches!(acceptance(&decision, "lint"), Acceptance::Held(_)));
    }
    // The end of the session is what the burst waits for.
    session.close().await;
    drained(assembly).await;
    let ran = project.lines("ran");
    let [run] = &ran[..] else { panic!("{ran:?}") };
    let event: lineside::json::Value = lineside::json::from_str(run).unwrap();
    assert_eq!(event["job"], json!({"id": 1, "attempt": 1, "events": 3}));
    assert_eq!(event["payload"]["changed_files"], json!([{"path": "b.rs"}, {"path": "a.rs"}]));
    assert_eq!((&event["point"], &event["seq"]), (&json!("after_tool_batch"), &json!(3)));
}

#[tokio::test]
async fn a_key_excludes_across_the_program_and_the_file() {
    let project = Project::with(
        "hooks:\n- {name: check, on: after_tool_batch, command: touch ran, automate: {concurrency: 'build:{session}'}}\n",
    );
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let (started, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, opened, ran) = (Arc::clone(&started), Arc::clone(&gate), project.path("ran"));
    bus.automate::<OnIdle>("build")
        .concurrency("build:{session}")
        .result(ResultRule { when: ResultWhen::AppendAlways, ..ResultRule::default() })
        .run(move |_, _| {
            let (told, opened, ran) = (Arc::clone(&told), Arc::clone(&opened), ran.clone());
            async move {
                told.notify_one();
                opened.notified().await;
                Ok(Report::success(format!("the other one has run: {}", ran.exists())))
            }
        })
        .unwrap();
    let session = project.session(&bus).await;
    drop(session.publish(OnIdle::new()).await.unwrap());
    started.notified().await;
    let decision = session.publish(batch("a")).await.unwrap();
    assert!(matches!(acceptance(&decision, "check"), Acceptance::Queued(_)));
    let jobs = Automations::of(&bus).unwrap().jobs();
    let Some(JobStatus::Key { key, holders, .. }) = jobs.why(JobId(2)) else {
        panic!("{:?}", jobs.why(JobId(2)))
    };
    assert_eq!((&*key, &holders[..]), ("build:s", &[JobId(1)][..]));
    gate.notify_one();
    drained(assembly).await;
    let summaries = format!("{:?}", jobs.show(JobId(1)).unwrap().attempts);
    assert!(summaries.contains("the other one has run: false"), "{summaries}");
    assert!(project.path("ran").exists());
}

#[tokio::test]
async fn what_fails_is_tried_again_and_rests_in_the_dead_letters() {
    let project = Project::with(
        "hooks:\n- name: push\n  on: after_tool_batch\n  command: cat >> ran; echo >> ran; echo unreachable >&2; exit 7\n  automate:\n    retry: {attempts: 3, constant: 0}\n",
    );
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    drop(session.publish(batch("a")).await.unwrap());
    let automations = Automations::of(&bus).unwrap();
    automations.all_settled().await.unwrap();
    let attempts: Vec<_> = project
        .lines("ran")
        .iter()
        .map(|line| {
            lineside::json::from_str::<lineside::json::Value>(line).unwrap()["job"]["attempt"].clone()
        })
        .collect();
    assert_eq!(attempts, [1, 2, 3]);
    let why = "it failed 3 times, at last (exit): exit status 7 (stderr: unreachable)";
    match automations.jobs().why(JobId(1)) {
        Some(JobStatus::Settled {
            settled: Settled::Dead(dead @ Why::Failed { attempts: 3, .. }), ..
        }) => {
            assert_eq!(dead.to_string(), why);
        }
        other => panic!("{other:?}"),
    }
    // All attempts have failed, which the agent has to know.
    let found = messages(session.collect().ready());
    assert_eq!(found, [("push".to_owned(), format!("automation `push`: {why}"))]);
    drained(assembly).await;
}

#[tokio::test]
async fn the_next_model_call_waits_and_has_the_end_of_the_output() {
    let project = Project::with(
        "hooks:\n- name: test\n  on: after_tool_batch\n  match: {path: 'src/**'}\n  command: 'printf \"2 of 9 failed\\na\\nb\\nc\\n\"; exit 1'\n  automate:\n    debounce: {quiet: 600000, at_most: 600000}\n    join: before_next_model\n    result: {format: tail, lines: 1}\n- name: quiet\n  on: after_tool_batch\n  command: echo all well\n  automate: {join: before_next_model}\n- name: told\n  on: after_tool_batch\n  command: echo all well\n  automate: {join: before_next_model, result: append_always}\n",
    );
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    let decision = session.publish(batch("docs/a.md")).await.unwrap();
    assert_eq!(decision.receipt().unwrap().runs.len(), 3, "what is skipped is in the receipt");
    assert_eq!(
        messages(session.collect().before_next_model().await),
        [("told".to_owned(), "all well".to_owned())]
    );
    drop(session.publish(batch("src/a.rs")).await.unwrap());
    let mut found = messages(session.collect().before_next_model().await);
    found.sort();
    assert_eq!(
        found,
        [
            ("test".to_owned(), "2 of 9 failed\n… 2 of 3 lines left out\nc".to_owned()),
            ("told".to_owned(), "all well".to_owned())
        ]
    );
    drained(assembly).await;
}

/// A name may have the characters that stand between the parts of an id.
#[tokio::test]
async fn the_jobs_of_an_automation_are_found_by_its_name() {
    for name in ["lint", "a/b", "50%2F"] {
        let project = Project::with(&format!(
            "hooks:\n- {{name: '{name}', on: after_tool_batch, command: 'true', automate: {{}}}}\n"
        ));
        let bus = Bus::new();
        let assembly = project.load(&bus).await;
        drop(project.session(&bus).await.publish(batch("a")).await.unwrap());
        let jobs = Automations::of(&bus).unwrap().jobs();
        let of = |name: &str| jobs.list(&Which { automation: Some(name.into()), ..Which::default() });
        let [job] = &of(name)[..] else { panic!("{name}: {:?}", jobs.list(&Which::default())) };
        assert_eq!(wire::job(job)["hook"], *name);
        assert_eq!(of("b").len(), 0, "{name}");
        drained(assembly).await;
    }
}

#[tokio::test]
async fn an_event_that_cancels_takes_back_what_waits() {
    let project = Project::with(
        "hooks:\n- name: lint\n  on: after_tool_batch\n  command: touch ran\n  automate:\n    debounce: {quiet: 600000, at_most: 600000}\n    cancelled_by: {on: on_prompt, match: {text: stop}}\n",
    );
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    drop(session.publish(batch("a")).await.unwrap());
    drop(session.publish(OnPrompt::new("go on")).await.unwrap());
    let jobs = Automations::of(&bus).unwrap().jobs();
    assert!(matches!(jobs.why(JobId(1)), Some(JobStatus::Held { events: 1, .. })));
    drop(session.publish(OnPrompt::new("stop that")).await.unwrap());
    assert!(matches!(
        jobs.why(JobId(1)),
        Some(JobStatus::Settled { settled: Settled::Cancelled(Why::Event(_)), .. })
    ));
    drained(assembly).await;
    assert!(!project.path("ran").exists());
}

#[tokio::test]
async fn a_reload_keeps_what_is_held_and_takes_away_what_is_gone() {
    let hook = |name: &str| {
        format!(
            "- name: {name}\n  on: after_tool_batch\n  command: touch {name}\n  automate: {{debounce: {{quiet: 600000}}}}\n"
        )
    };
    let project = Project::with(&format!("hooks:\n{}{}", hook("stays"), hook("goes")));
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    drop(session.publish(batch("a")).await.unwrap());
    project.declare(&format!("# moved\nhooks:\n{}", hook("stays")));
    let report = assembly.load(&project.places(Trust::Granted)).await.unwrap();
    assert_eq!(report.diagnostics.len(), 0);
    let decision = session.publish(batch("b")).await.unwrap();
    assert_eq!(decision.receipt().unwrap().runs.len(), 1);
    let jobs = Automations::of(&bus).unwrap().jobs();
    assert!(
        matches!(jobs.why(JobId(1)), Some(JobStatus::Held { events: 2, .. })),
        "{:?}",
        jobs.why(JobId(1))
    );
    Automations::of(&bus).unwrap().all_registered();
    drained(assembly).await;
    // What was accepted runs, and nothing is accepted by what is gone.
    assert!(project.path("stays").exists() && project.path("goes").exists());
}

#[tokio::test]
async fn an_automation_that_nobody_trusts_is_never_registered() {
    let project = Project::with(
        "hooks:\n- {name: lint, on: after_tool_batch, command: touch ran, automate: {cancelled_by: {on: on_prompt}}}\n",
    );
    let bus = Bus::new();
    let assembly = Assembly::new(bus.clone()).only([dialects::find("native").unwrap()]);
    let report = assembly.load(&project.places(Trust::Withheld)).await.unwrap();
    let found: Vec<_> =
        report.hooks.iter().map(|one| (one.point, one.trigger.as_str(), one.state.as_str())).collect();
    assert_eq!(
        found,
        [("after_tool_batch", "after_tool_batch", "untrusted"), ("on_prompt", "cancelled_by", "untrusted")]
    );
    let session = project.session(&bus).await;
    drop(session.publish(batch("a")).await.unwrap());
    drop(session.publish(OnPrompt::new("a")).await.unwrap());
    assert_eq!(Automations::of(&bus).unwrap().jobs().list(&Which::default()).len(), 0);
    drained(assembly).await;
    assert!(!project.path("ran").exists());
}

/// Opens a journal that an earlier life of this process has left. A process that another test is just starting shares
/// the lock until it is a program of its own.
fn open(kept: &Path) -> Durable {
    for _ in 0..1_000_000 {
        match Durable::open(kept) {
            Err(OpenDurableError { source: OpenJournalError::Locked { .. }, .. }) => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
    panic!("somebody has {} open", kept.display());
}

/// A life of its own: a runtime, and with its end everything that it had.
fn life(kept: &Path, live: impl AsyncFnOnce(Bus, Automations)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bus = Bus::new();
        let durable = open(kept);
        let (automations, recovered) = durable.automations(&bus, Bounds::default()).unwrap();
        assert!(recovered.findings.is_empty(), "{recovered:?}");
        live(bus, automations).await;
    });
}

#[tokio::test]
async fn an_attempt_is_on_record_before_its_program_starts() {
    let project = Project::with(
        "hooks:\n- name: lint\n  on: after_tool_batch\n  command: touch started; until [ -e go ]; do sleep 0.01; done\n  automate: {}\n",
    );
    let (bus, kept) = (Bus::new(), project.path("kept"));
    let (automations, _) = open(&kept).automations(&bus, Bounds::default()).unwrap();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    let decision = session.publish(batch("a")).await.unwrap();
    assert!(matches!(acceptance(&decision, "lint"), Acceptance::Started(_)));
    while !project.path("started").exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Another process looks at the records as they are now.
    let look = Durable::look(&kept).unwrap();
    let attempts: Vec<_> = look.jobs.iter().map(|job| job.shown.attempts.len()).collect();
    assert_eq!(attempts, [1]);
    fs::write(project.path("go"), "").unwrap();
    automations.all_settled().await.unwrap();
    drained(assembly).await;
}

#[test]
fn accepted_work_goes_on_in_another_life_also_from_another_line() {
    let hooks = "hooks:\n- name: lint\n  on: after_tool_batch\n  command: touch ran\n  automate: {debounce: {quiet: 600000}}\n";
    let project = Project::with(hooks);
    let kept = project.path("kept");
    life(&kept, async |bus, automations| {
        let _assembly = project.load(&bus).await;
        let session = project.session(&bus).await;
        drop(session.publish(batch("a")).await.unwrap());
        automations.kept().await.unwrap();
        automations.leave();
    });
    project.declare(&format!("# another line\n{hooks}"));
    life(&kept, async |bus, automations| {
        let assembly = project.load(&bus).await;
        automations.all_registered();
        automations.release_all();
        automations.all_settled().await.unwrap();
        let shown = automations.jobs().list(&Which::default());
        let file = project.path(".lineside/hooks.yaml");
        let id = format!("native:{}/after_tool_batch/lint", file.display());
        assert_eq!(shown.iter().map(|job| &*job.automation).collect::<Vec<_>>(), [id.as_str()]);
        drained(assembly).await;
    });
    assert!(project.path("ran").exists());
}

/// What the page shows, run as it stands there.
#[tokio::test]
async fn the_page_shows_an_automation_that_runs() {
    let page = include_str!("../../../docs/dialects/native.md");
    let mut examples = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let example = examples.find(|example| example.contains("automate:")).unwrap();
    let project = Project::with(example);
    let script = "#!/bin/sh\nread -r event\ncase $event in *'\"attempt\":1,'*) exit 7;; esac\necho 2 problems\necho \"$event\" | grep -o '\"events\":[0-9]*'\nexit 1\n";
    fs::write(project.path("lint.sh"), script).unwrap();
    fs::set_permissions(project.path("lint.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus).await;
    for path in ["src/a.rs", "docs/a.md", "tests/a.rs"] {
        drop(session.publish(batch(path)).await.unwrap());
    }
    assert_eq!(
        messages(session.collect().before_next_model().await),
        [("lint".to_owned(), "2 problems\n\"events\":2".to_owned())]
    );
    drop(session.publish(batch("src/a.rs")).await.unwrap());
    drop(session.publish(BeforePrompt::new("no linting, please")).await.unwrap());
    assert_eq!(messages(session.collect().before_next_model().await), []);
    drained(assembly).await;
}

/// A file of the user and one of the project may use one name: they are two automations.
#[tokio::test]
async fn two_files_may_use_one_name() {
    let hook = |path: &Path| {
        format!(
            "hooks:\n- {{name: lint, on: after_tool_batch, command: 'touch {}', automate: {{}}}}\n",
            path.display()
        )
    };
    let home = tempfile::tempdir().unwrap();
    let project = Project::with("");
    project.declare(&hook(&project.path("project")));
    fs::create_dir_all(home.path().join(".config/lineside")).unwrap();
    fs::write(home.path().join(".config/lineside/hooks.yaml"), hook(&project.path("user"))).unwrap();
    let bus = Bus::new();
    let assembly = Assembly::new(bus.clone()).only([dialects::find("native").unwrap()]);
    let mut places = project.places(Trust::Granted);
    places.environment.insert("HOME".to_owned(), home.path().to_str().unwrap().to_owned());
    assert_eq!(assembly.load(&places).await.unwrap().hooks.len(), 2);
    let session = project.session(&bus).await;
    drop(session.publish(batch("a")).await.unwrap());
    drained(assembly).await;
    assert!(project.path("project").exists() && project.path("user").exists());
}
