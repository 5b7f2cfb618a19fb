//! A room for one test: a directory, a mark in the environment of every process, and a check for residue at the end.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lineside_core::invocation::{Ended, Ending, Environment, Exit, Invocation, Leftovers, Limits, Program};
use lineside_exec::{Containment, Runner};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// One room at a time in one process: descriptors and children are counted.
static DOOR: Mutex<()> = Mutex::new(());
static ROOMS: AtomicUsize = AtomicUsize::new(0);

const MARK: &str = "LINESIDE_TEST_ROOM";

/// Longer than any noise of a machine makes one answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Longer than a whole test takes, which may start several programs, on a machine with many times its load.
const HANGS: Duration = Duration::from_secs(60);

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The ending with this much grace.
pub(crate) fn grace(grace: Duration) -> Ending {
    Ending::Terminate { grace }
}

pub(crate) struct Room {
    directory: TempDir,
    mark: String,
    descriptors: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Room {
    pub(crate) fn enter() -> Self {
        let alone = DOOR.lock().unwrap_or_else(PoisonError::into_inner);
        // The first runtime of a process and the first run open descriptors that stay.
        current_thread().block_on(Runner::new().run(&invocation(&["/bin/true"], Vec::new())));
        let number = ROOMS.fetch_add(1, Ordering::Relaxed);
        Self {
            directory: tempfile::tempdir().unwrap(),
            mark: format!("{}-{number}", std::process::id()),
            descriptors: descriptors(),
            _alone: alone,
        }
    }

    /// Runs the future in a runtime of its own.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        current_thread().block_on(async { tokio::time::timeout(HANGS, future).await.expect("it hangs") })
    }

    /// Runs the invocation.
    pub(crate) fn run(&self, invocation: &Invocation) -> Ended {
        self.run_in(&Containment::new(), invocation)
    }

    /// Runs the invocation, kept together in this way.
    pub(crate) fn run_in(&self, containment: &Containment, invocation: &Invocation) -> Ended {
        self.block_on(Runner::contained(containment.clone()).run(invocation))
    }

    /// Runs an invocation that waits for the file `go` before it does anything.
    ///
    /// What holds a process is put on it right after its start, from outside, and on a busy machine it has done much by
    /// then. The file is made after that.
    pub(crate) fn run_held(&self, containment: &Containment, invocation: &Invocation) -> Ended {
        let go = self.path("go");
        let runner = Runner::contained(containment.clone());
        let made = async { fs::write(&go, "").unwrap() };
        let (ended, ()) = self.block_on(async { tokio::join!(biased; runner.run(invocation), made) });
        fs::remove_file(go).unwrap();
        ended
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A path as text, for a step of the hook.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A file with this content and these permissions.
    pub(crate) fn file(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// An invocation of the ill-behaved hook.
    pub(crate) fn hook<const N: usize>(&self, steps: [&str; N]) -> Invocation {
        let mut argv = vec![env!("CARGO_BIN_EXE_lineside-misbehave")];
        argv.extend(steps);
        self.command(&argv)
    }

    /// An invocation of any command; patient, and without grace for pipes unless the test gives some.
    pub(crate) fn command(&self, argv: &[&str]) -> Invocation {
        invocation(argv, self.mark())
    }

    /// The mark in the environment of every process.
    pub(crate) fn mark(&self) -> Vec<(OsString, OsString)> {
        vec![(MARK.into(), self.mark.clone().into())]
    }

    /// Processes with the room's mark that run, wherever they have moved to.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.mark);
        let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let marked = entries.filter(|path| {
            let environ = fs::read(path.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        });
        marked.map(|path| path.display().to_string()).collect()
    }

    /// Checks that nothing stayed.
    pub(crate) fn leave(self) {
        assert_eq!(children(), Vec::<String>::new(), "children or zombies of ours");
        // What was killed by its group's signal is not our child: it dies in its own time, which is soon.
        eventually("processes stayed", || self.processes().is_empty());
        assert_eq!(descriptors(), self.descriptors, "descriptors");
    }
}

fn invocation(argv: &[&str], set: Vec<(OsString, OsString)>) -> Invocation {
    Invocation {
        program: Program::argv(argv),
        stdin: Vec::new(),
        environment: Environment { set, ..Environment::default() },
        files: Vec::new(),
        working_directory: None,
        limits: Limits { timeout: PATIENCE, leftovers: Leftovers::Kill, ..Limits::default() },
    }
}

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Waits until a condition holds, and fails after some patience.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(millis(1));
    }
}

/// Waits for a file that a hook makes.
pub(crate) async fn made(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(millis(1)).await;
    }
}

pub(crate) fn not_started(ended: Ended) -> String {
    match ended.exit {
        Exit::NotStarted { why } => why,
        other => panic!("started, and ended with {other:?}"),
    }
}

/// What keeps runs together: what is there everywhere, and a cgroup where one is delegated to us.
pub(crate) fn containments() -> Vec<Containment> {
    let strongest = Some(Containment::strongest()).filter(Containment::has_cgroup);
    if strongest.is_none() {
        eprintln!("no cgroup is delegated to us: runs in cgroups are not tested");
    }
    std::iter::once(Containment::new()).chain(strongest).collect()
}

/// Our children, zombies included.
pub(crate) fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
