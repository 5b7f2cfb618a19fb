//! A place for one test: a project, a bus, and a check for residue at the end.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lineside::Assembly;
use lineside::LoadReport;
use lineside::core::invocation::{Environment, Invocation, Limits, Program};
use lineside::core::{Failure, Outcome, Point};
use lineside::dialects::{self, Dialect, Places, Trust};
use lineside::exec::Runner;
use lineside::prelude::*;
use tempfile::TempDir;

/// One at a time: descriptors and children are counted.
static DOOR: Mutex<()> = Mutex::new(());
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Bench {
    project: TempDir,
    descriptors: usize,
    _alone: MutexGuard<'static, ()>,
}

/// What is published to.
pub(crate) struct Stage {
    pub(crate) assembly: Assembly,
    pub(crate) session: Session,
    pub(crate) report: LoadReport,
    /// Whether the test has messages dropped, which the end has to tell.
    pub(crate) loses: Cell<bool>,
}

impl Bench {
    pub(crate) fn enter() -> Self {
        let alone = DOOR.lock().unwrap_or_else(PoisonError::into_inner);
        // The first runtime of a process and the first run open descriptors that stay.
        runtime().block_on(Runner::new().run(&nothing()));
        Self { project: tempfile::tempdir().unwrap(), descriptors: descriptors(), _alone: alone }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.project.path()
    }

    /// A hook before every tool, with these further keys and this script.
    pub(crate) fn hook(&self, name: &str, front: &str, script: &str) {
        let folder = self.path(".agents/hooks").join(name);
        fs::create_dir_all(folder.join("scripts")).unwrap();
        let text = format!("---\nname: {name}\ndescription: d\ntrigger: before_tool\n{front}\n---\n");
        fs::write(folder.join("HOOK.md"), text).unwrap();
        fs::write(folder.join("scripts/run.sh"), script).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("scripts/run.sh"), mode).unwrap();
    }

    /// Runs a test with the hooks of the project, and looks for residue.
    pub(crate) fn run(self, test: impl AsyncFnOnce(&Stage)) {
        let dialect = dialects::find("agenthooks").unwrap();
        self.run_with(dialect, test);
    }

    /// A session of an untrusted project, and a look for residue.
    pub(crate) fn run_untrusted(self, test: impl AsyncFnOnce(&Path, &Session)) {
        let root = self.root().to_owned();
        runtime().block_on(async {
            let dialect = dialects::find("agenthooks").unwrap();
            let assembly = Assembly::new(Bus::new()).only([dialect]);
            assembly.load(&places(&root, Trust::Withheld)).await.unwrap();
            let session =
                assembly.bus().session("s").project_root(root.to_str().unwrap()).open().await.unwrap();
            test(&root, &session).await;
            let report = assembly.drain(Duration::from_secs(20)).await;
            assert!(report.is_clean(), "{report:?}");
        });
        assert_eq!(marked(), [""; 0], "processes of a run stayed");
    }

    /// The same with the hooks of this dialect.
    pub(crate) fn run_with(self, dialect: &'static dyn Dialect, test: impl AsyncFnOnce(&Stage)) {
        let root = self.root().to_owned();
        self.run_in(&root, dialect, test);
    }

    /// The same with the hooks of another project.
    pub(crate) fn run_at(self, root: &Path, test: impl AsyncFnOnce(&Stage)) {
        let root = root.canonicalize().unwrap();
        self.run_in(&root, dialects::find("agenthooks").unwrap(), test);
    }

    fn run_in(self, root: &Path, dialect: &'static dyn Dialect, test: impl AsyncFnOnce(&Stage)) {
        runtime().block_on(async {
            let all = async {
                let stage = Stage::open(root, dialect).await;
                test(&stage).await;
                let Stage { assembly, loses, .. } = stage;
                let report = assembly.drain(Duration::from_secs(20)).await;
                assert_eq!(report.is_clean(), !loses.get(), "{report:?}");
            };
            tokio::time::timeout(PATIENCE, all).await.expect("it hangs");
        });
        assert_eq!(marked(), [""; 0], "processes of a run stayed");
        assert_eq!(children(), [""; 0], "children or zombies of ours");
        assert_eq!(settled(self.descriptors), self.descriptors, "descriptors");
    }
}

impl Stage {
    async fn open(root: &Path, dialect: &'static dyn Dialect) -> Self {
        let assembly = Assembly::new(Bus::new()).only([dialect]);
        let report = assembly.load(&places(root, Trust::Granted)).await.unwrap();
        let session = assembly.bus().session("s").project_root(root.to_str().unwrap()).open().await.unwrap();
        Self { assembly, session, report, loses: Cell::new(false) }
    }

    /// Publishes a shell call.
    pub(crate) async fn shell(&self, command: &str) -> Decision<BeforeTool> {
        self.session.publish(shell(command)).await.unwrap()
    }
}

fn places(root: &Path, trust: Trust) -> Places {
    Places {
        environment: std::collections::BTreeMap::new(),
        project_root: Some(root.to_owned()),
        cwd: root.to_owned(),
        trust,
    }
}

pub(crate) fn shell(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({ "command": command }))
}

/// The failure that the only run of the one receipt tells.
pub(crate) fn cause<P: Point>(decision: &Decision<P>) -> Failure {
    let receipt = decision.receipt().expect("somebody listens");
    let failures: Vec<_> = receipt
        .runs
        .iter()
        .filter_map(|run| match &run.outcome {
            Outcome::Failed { failure, .. } => Some(failure.as_ref().clone()),
            _ => None,
        })
        .collect();
    let [cause] = &failures[..] else { panic!("one cause, not {failures:?}: {:?}", receipt.runs) };
    assert!(!cause.detail.is_empty() && !cause.detail.contains('\n'), "one line: {cause:?}");
    cause.clone()
}

/// A program that does nothing.
fn nothing() -> Invocation {
    Invocation {
        program: Program::argv(["/bin/true"]),
        stdin: Vec::new(),
        environment: Environment::default(),
        files: Vec::new(),
        working_directory: None,
        limits: Limits::default(),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Living processes with a mark of ours; those that were just killed get a moment to die.
fn marked() -> Vec<String> {
    let mark = format!("LINESIDE_RUN={}-", std::process::id());
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let found = entries.filter(|path| {
            let environ = fs::read(path.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
        });
        let found: Vec<_> = found.map(|path| path.display().to_string()).collect();
        if found.is_empty() || Instant::now() > until {
            return found;
        }
        std::thread::yield_now();
    }
}

fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// How many descriptors are open; what is being closed on another thread gets a moment to come to so many.
fn settled(expected: usize) -> usize {
    let until = Instant::now() + Duration::from_secs(10);
    while descriptors() != expected && Instant::now() < until {
        std::thread::yield_now();
    }
    descriptors()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
