//! A concurrency key is kept until the processes of the run that has it have ended: also when the run is
//! cancelled, or given up. Real processes, each of which takes its time to end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lineside::Assembly;
use lineside::automation::jobs::Which;
use lineside::automation::machine::JobSummary;
use lineside::automation::{Automations, JobId, LostKeyError, RunUnderKey, SharedKeys};
use lineside::bus::interceptor::BoxFuture;
use lineside::dialects::{Places, Trust};
use lineside::prelude::*;
use tokio::sync::Semaphore;

/// Notes where it starts that the one before it lives, and takes 0.3 s of the grace of 0.5 s for its end.
const RUN: &str = "kill -0 $(cat last) 2> /dev/null && echo $$ >> overlaps; echo $$ > last; echo $$ >> ran; \
    trap \"sleep 0.3; exit 1\" TERM; sleep 9 & wait";

/// Programs of a project with one file of hooks; each stands for a machine.
struct Project(tempfile::TempDir);

impl Project {
    fn with(file: &str, hooks: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        let file = project.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, hooks.replace("$RUN", &RUN.replace('\'', "''"))).unwrap();
        fs::write(project.path().join("last"), "none").unwrap();
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    async fn load(&self, bus: &Bus) -> Assembly {
        let assembly = Assembly::new(bus.clone());
        let places = Places {
            environment: std::env::vars().filter(|(name, _)| name == "PATH").collect::<BTreeMap<_, _>>(),
            project_root: Some(self.path().to_owned()),
            cwd: self.path().to_owned(),
            trust: Trust::Granted,
        };
        let report = assembly.load(&places).await.unwrap();
        assert!(report.diagnostics.is_empty() && !report.hooks.is_empty(), "{:?}", report.diagnostics);
        assembly
    }

    async fn session(&self, bus: &Bus, id: &str) -> Session {
        bus.session(id).project_root(self.path().to_str().unwrap()).open().await.unwrap()
    }

    fn lines(&self, file: &str) -> usize {
        fs::read_to_string(self.path().join(file)).unwrap_or_default().lines().count()
    }

    /// Waits until this many have started.
    async fn have_started(&self, count: usize) {
        let began = tokio::time::Instant::now();
        while self.lines("ran") < count {
            assert!(began.elapsed() < Duration::from_secs(30), "{} have started", self.lines("ran"));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn is_one_at_a_time(&self, count: usize, assembly: Assembly) {
        assert_eq!(assembly.drain(Duration::from_secs(60)).await.jobs.lost, 0);
        assert_eq!((self.lines("overlaps"), self.lines("ran")), (0, count));
    }
}

fn automation(more: &str) -> String {
    format!("hooks:\n- {{name: a, on: on_idle, command: '$RUN', automate: {{concurrency: k, {more}}}}}\n")
}

async fn publish(session: &Session) {
    drop(session.publish(OnIdle::new()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_restarted_begins_when_the_processes_of_the_one_before_have_ended() {
    let project = Project::with(".lineside/hooks.yaml", &automation("on_busy: restart"));
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus, "s").await;
    for count in 1..=3 {
        publish(&session).await;
        project.have_started(count).await;
    }
    let jobs = Automations::of(&bus).unwrap().jobs();
    let last = jobs.list(&Which::default()).iter().map(|job| job.job).max().unwrap();
    assert!(jobs.drop(last));
    project.is_one_at_a_time(3, assembly).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_dropped_has_its_key_until_its_processes_have_ended() {
    let project = Project::with(".lineside/hooks.yaml", &automation(""));
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus, "s").await;
    publish(&session).await;
    publish(&session).await;
    let jobs = Automations::of(&bus).unwrap().jobs();
    for job in 1..=2 {
        project.have_started(job).await;
        assert!(jobs.drop(JobId(job as u64)));
    }
    project.is_one_at_a_time(2, assembly).await;
}

/// Hooks of a file, one that is waited for and one that is not.
const CHORD: &str = "hooks:
  on_tool_batch_complete:
  - {name: told, concurrency: k, shell: '$RUN'}
  on_tool_call:
  - {name: asked, concurrency: k, shell: '$RUN'}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_of_files_that_are_given_up_have_their_key_until_their_processes_have_ended() {
    let project = Project::with(".chord/config.yaml", CHORD);
    let bus = Bus::new();
    let assembly = project.load(&bus).await;
    let session = project.session(&bus, "s").await;
    let jobs = Automations::of(&bus).unwrap().jobs();
    for round in 0..2 {
        drop(session.publish(AfterToolBatch::new(vec![], vec![])).await.unwrap());
        project.have_started(2 * round + 1).await;
        let job = jobs.list(&Which::default()).iter().map(|job| job.job).max().unwrap();
        assert!(jobs.drop(job));
        tokio::select! {
            _ = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))) => panic!("it has answered"),
            () = project.have_started(2 * round + 2) => {}
        }
    }
    project.is_one_at_a_time(4, assembly).await;
}

/// Keys that several programs share: one that is given up is free at once.
struct Shared(Arc<Semaphore>);

impl SharedKeys for Shared {
    fn under(&self, _key: &str, run: RunUnderKey) -> BoxFuture<Result<(), LostKeyError>> {
        let key = Arc::clone(&self.0);
        Box::pin(async move {
            let _held = key.acquire_owned().await.unwrap();
            run(1).await;
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_the_cluster_is_kept_until_the_processes_of_a_run_have_ended() {
    let project = Project::with(".lineside/hooks.yaml", &automation("scope: cluster"));
    let key = Arc::new(Semaphore::new(1));
    let mut programs = Vec::new();
    for _ in 0..2 {
        let bus = Bus::new();
        Automations::of(&bus).unwrap().share_keys(Arc::new(Shared(Arc::clone(&key))));
        let assembly = project.load(&bus).await;
        let session = project.session(&bus, "s").await;
        publish(&session).await;
        programs.push((assembly, session));
    }
    // One of them runs, and the other one waits for the key.
    for count in 1..=2 {
        project.have_started(count).await;
        let dropped = programs.iter().any(|(assembly, _)| {
            let jobs = Automations::of(assembly.bus()).unwrap().jobs();
            let runs = |job: &JobSummary| !job.attempts.is_empty() && jobs.drop(job.job);
            jobs.list(&Which::default()).iter().any(runs)
        });
        assert!(dropped);
    }
    let (last, _) = programs.pop().unwrap();
    assert_eq!(programs.pop().unwrap().0.drain(Duration::from_secs(60)).await.jobs.lost, 0);
    project.is_one_at_a_time(2, last).await;
}
