//! Cgroups (version 2): a leaf for each run, which no process can leave and which is ended as a whole.
//!
//! It needs a subtree in which we may write; nothing here needs to be the administrator. A process is put into its
//! leaf from outside, right after its start: what it has started before that is not in it, and is found by its tag.
//! Leaves are used again, since making one costs as much as moving a process.

use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_core::invocation::Resources;
use rustix::fs::Access;

use crate::escaped::EscapedProcess;
use crate::procfs::Entry;
use crate::run_tag;

/// What the names of our subtrees begin with.
const PREFIX: &str = "lineside-";

/// A subtree in which we may do as we like. It is taken away when it is dropped, unless something lives on in it.
#[derive(Debug)]
pub(crate) struct Subtree {
    /// Where we may write, and where those go who are to stay.
    above: PathBuf,
    root: PathBuf,
    leaves: Mutex<Leaves>,
}

#[derive(Debug, Default)]
struct Leaves {
    made: u64,
    /// Empty ones.
    free: Vec<PathBuf>,
    /// Cgroups with a process that did not end.
    stuck: Vec<PathBuf>,
}

/// The cgroup of one run.
#[derive(Debug)]
pub(crate) struct Leaf {
    subtree: Arc<Subtree>,
    path: PathBuf,
}

impl Subtree {
    /// In the cgroup in which we are ourselves.
    pub(crate) fn here() -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        Self::within(&place(&mounts, &own).ok_or(io::ErrorKind::Unsupported)?)
    }

    /// In this cgroup, in which we must be allowed to write, and to move processes from where we are.
    pub(crate) fn within(above: &Path) -> io::Result<Self> {
        rustix::fs::access(above.join("cgroup.procs"), Access::WRITE_OK)?;
        end_subtrees_of_gone_programs(above);
        let root = above.join(format!("{PREFIX}{}-{}", run_tag::ours(), next()));
        fs::create_dir(&root)?;
        let subtree = Self { above: above.to_owned(), root, leaves: Mutex::default() };
        // Where these controllers are not ours to give, there are no bounds by cgroup.
        for controller in ["+memory", "+pids"] {
            drop(fs::write(subtree.root.join("cgroup.subtree_control"), controller));
        }
        // A kernel before 5.14 cannot end a cgroup as a whole; the subtree is taken away again.
        let kill = subtree.root.join("cgroup.kill");
        rustix::fs::access(kill, Access::WRITE_OK)?;
        Ok(subtree)
    }

    /// An empty leaf.
    pub(crate) fn leaf(self: &Arc<Self>, resources: &Resources) -> io::Result<Leaf> {
        let path = {
            let mut leaves = self.leaves();
            leaves.made += 1;
            let fresh = self.root.join(format!("run-{}", leaves.made));
            leaves.free.pop().unwrap_or(fresh)
        };
        if let Err(error) = fs::create_dir(&path)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        let leaf = Leaf { subtree: Arc::clone(self), path };
        leaf.bound("memory.max", resources.memory.map(NonZeroU64::get));
        leaf.bound("pids.max", resources.processes.map(|most| most.get().into()));
        Ok(leaf)
    }

    fn leaves(&self) -> MutexGuard<'_, Leaves> {
        self.leaves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subtree {
    fn drop(&mut self) {
        let leaves = std::mem::take(&mut *self.leaves());
        for path in leaves.free.iter().chain(&leaves.stuck) {
            drop(fs::remove_dir(path));
        }
        // It stays if something lives in it, and is taken away by the next program that looks.
        drop(fs::remove_dir(&self.root));
    }
}

impl Leaf {
    /// Puts a process in, with everything that it starts from now on.
    ///
    /// It must be a child of ours whose status is not taken.
    pub(crate) fn take(&self, pid: i32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// Kills all processes in it.
    pub(crate) fn kill(&self) {
        drop(fs::write(self.path.join("cgroup.kill"), "1"));
    }

    /// All running processes in it except the leader.
    pub(crate) fn escaped(&self, leader: i32) -> Vec<EscapedProcess> {
        let others = self.members().into_iter().filter(|pid| *pid != leader);
        others.filter_map(|pid| EscapedProcess::hold(pid, || self.members().contains(&pid))).collect()
    }

    /// Releases all processes in it: they are moved to the cgroup of this process.
    pub(crate) fn release(&self) {
        for pid in self.members() {
            drop(fs::write(self.subtree.above.join("cgroup.procs"), pid.to_string()));
        }
    }

    fn members(&self) -> Vec<i32> {
        let listed = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Whether no process runs in it or below it.
    pub(crate) fn is_empty(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 0")
    }

    fn bound(&self, file: &str, most: Option<u64>) {
        let path = self.path.join(file);
        if path.exists() {
            drop(fs::write(path, most.map_or("max".to_owned(), |most| most.to_string())));
        }
    }
}

impl Drop for Leaf {
    /// The leaf is kept for another run when it is empty; if not, the next one that is dropped tries to take it away.
    fn drop(&mut self) {
        let empty = self.is_empty();
        let mut leaves = self.subtree.leaves();
        leaves.stuck.retain(|path| fs::remove_dir(path).is_err());
        let path = std::mem::take(&mut self.path);
        if empty { leaves.free.push(path) } else { leaves.stuck.push(path) }
    }
}

/// Where our own cgroup is in the file system, from what the kernel says of its mounts and of us.
fn place(mounts: &str, own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|mount| {
        let (place, kind) = mount.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let is_cgroup = kind.split(' ').next() == Some("cgroup2") && !point.contains('\\');
        let below = Path::new(path).strip_prefix(root).ok()?;
        is_cgroup.then(|| Path::new(point).join(below))
    })
}

/// A number that no other subtree of this program has.
fn next() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static SUBTREES: AtomicU64 = AtomicU64::new(1);
    SUBTREES.fetch_add(1, Ordering::Relaxed)
}

/// Ends what a program that was killed has left behind here, and takes its subtree away.
fn end_subtrees_of_gone_programs(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((pid, started)) = name.to_str().and_then(owner) else { continue };
        if Entry::of(pid).is_some_and(|entry| entry.started == started && !entry.dead) {
            continue;
        }
        drop(fs::write(entry.path().join("cgroup.kill"), "1"));
        for leaf in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
            drop(fs::remove_dir(leaf.path()));
        }
        // A process that is still exiting keeps it; the next program that looks removes it.
        drop(fs::remove_dir(entry.path()));
    }
}

/// The program whose subtree has this name.
fn owner(name: &str) -> Option<(i32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "24 1 0:22 / /proc rw - proc proc rw\n\
        35 30 0:30 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro\n\
        36 35 0:31 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn our_own_cgroup_is_found() {
        let found = place(MOUNTS, "4:memory:/x\n0::/user.slice/app.scope\n");
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/unified/user.slice/app.scope")));
        assert_eq!(place(MOUNTS, "4:memory:/x\n"), None);
        assert_eq!(place("", "0::/\n"), None);
        let other = MOUNTS.replace("0:31 /", "0:31 /elsewhere");
        assert_eq!(place(&other, "0::/user.slice\n"), None);
    }

    #[test]
    fn p07_a_subtree_names_its_program() {
        assert_eq!(owner("lineside-7-8-x-1"), Some((7, 8)));
        assert_eq!(owner("lineside-seven-8"), None);
        assert_eq!(owner("other-7-8"), None);
    }

    #[test]
    fn a_place_that_is_no_cgroup_is_refused() {
        let room = tempfile::tempdir().unwrap();
        assert!(Subtree::within(room.path()).is_err());
        assert!(fs::read_dir(room.path()).unwrap().next().is_none());
    }
}
