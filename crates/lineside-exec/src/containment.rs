//! What holds the processes of a run together, beyond their process group: their tag, and a cgroup where there is one.
//!
//! A [`Containment`] is chosen once for a program; what it does for one run is a [`Hold`].
//! [`crate::tree`] decides when processes are signalled.

use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Instant;

use lineside_core::invocation::{CoreDumps, Limits, Resources};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::cgroup::{Leaf, Subtree};
use crate::escaped::{self, EscapedProcess, Found, Search};
use crate::run_tag::RunTag;

/// How the processes of hooks are kept together, so that they can be ended.
///
/// | | reaches | costs |
/// |---|---|---|
/// | process group | what a hook starts, unless it leaves the group | nothing; always |
/// | tag | what has left the group, unless it removed the tag from both places | little; always |
/// | cgroup | everything that is started once the hook is in it | moving each process; where we may make cgroups |
/// | adoption of orphans | lets what was ended be reaped by us and not by `init` | the whole program is concerned |
///
/// The tag is the variable `LINESIDE_RUN` in the environment, and a number in the soft limit `RLIMIT_LOCKS`, which
/// Linux does not use.
///
/// Clones share the cgroup.
///
/// ```
/// use lineside_exec::{Containment, Runner};
///
/// let runner = Runner::contained(Containment::strongest());
/// println!("a cgroup holds what hooks start: {}", runner.containment().has_cgroup());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Containment {
    cgroup: Option<Arc<Subtree>>,
    orphans: Orphans,
}

/// Who becomes the parent of a process whose parent has exited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Orphans {
    /// `init`, or another subreaper.
    #[default]
    Elsewhere,
    /// We.
    Ours,
}

impl Containment {
    /// Process groups and tags: what is there everywhere.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The strongest that needs no further permissions: with a cgroup if the one of this process is delegated to us,
    /// like [`Containment::new`] otherwise.
    #[must_use]
    pub fn strongest() -> Self {
        match Subtree::here() {
            Ok(subtree) => Self { cgroup: Some(Arc::new(subtree)), ..Self::default() },
            Err(error) => {
                tracing::debug!(%error, "no cgroup is delegated to us");
                Self::default()
            }
        }
    }

    /// With cgroups below this one, a folder of a mounted hierarchy of version 2 that was delegated to us.
    ///
    /// # Errors
    /// It is none, or we may not make cgroups there.
    pub fn in_cgroup(self, folder: &Path) -> io::Result<Self> {
        Ok(Self { cgroup: Some(Arc::new(Subtree::within(folder)?)), ..self })
    }

    /// Makes this program the parent of orphans among its descendants (`PR_SET_CHILD_SUBREAPER`), and reaps those that
    /// belong to hooks.
    ///
    /// This concerns the whole program and stays so: orphans of processes that other parts of it have started become
    /// its children too, and it is for those parts to wait for them. Only processes with the tag of a run are waited for
    /// of ours, which can be read of a dead one as well.
    ///
    /// # Errors
    /// The kernel does not know it.
    pub fn adopting_orphans(self) -> io::Result<Self> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(Self { orphans: Orphans::Ours, ..self })
    }

    /// Whether runs are in cgroups.
    #[must_use]
    pub fn has_cgroup(&self) -> bool {
        self.cgroup.is_some()
    }

    /// Kills what is left of runs of programs that are gone without having ended them, of those whose leftovers were to
    /// be killed; says how many processes that were.
    ///
    /// They are known by their tag, which names the program with its number, its start, and the container in which
    /// these mean it. The process with the tag is killed, never the one that a tag names; so a forged tag
    /// harms only the process that has it. Ancestors of this program are not touched, and neither are runs that it is
    /// within.
    ///
    /// The command `lineside` does this at each start that may run hooks; a program that embeds the library says when.
    /// Reads the environment of every process of this user, which takes some milliseconds.
    #[must_use]
    pub fn end_orphans() -> usize {
        let orphaned = escaped::orphaned();
        for process in &orphaned {
            process.signal(Signal::KILL);
        }
        orphaned.len()
    }

    /// A hold for a run that is about to start.
    pub(crate) fn prepare(&self, limits: &Limits) -> Prepared {
        let leaf = self.cgroup.as_ref().and_then(|subtree| match subtree.leaf(&limits.resources) {
            Ok(leaf) => Some(leaf),
            Err(error) => {
                tracing::warn!(%error, "a hook gets no cgroup");
                None
            }
        });
        Prepared { tag: RunTag::new(limits.leftovers), leaf, orphans: self.orphans, since: Instant::now() }
    }
}

/// A hold without processes.
#[derive(Debug)]
pub(crate) struct Prepared {
    tag: RunTag,
    leaf: Option<Leaf>,
    orphans: Orphans,
    since: Instant,
}

impl Prepared {
    /// What the run is to wear.
    pub(crate) fn tag(&self) -> &RunTag {
        &self.tag
    }

    /// Takes hold of the process that was started.
    pub(crate) fn take(self, leader: &Child) -> Hold {
        let Self { tag, leaf, orphans, since } = self;
        let pid = Pid::from_child(leader);
        tag.apply_to(pid);
        let leaf = leaf.filter(|leaf| match leaf.take(pid.as_raw_nonzero().get()) {
            Ok(()) => true,
            // It has exited already.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => true,
            Err(error) => {
                tracing::warn!(%error, "a hook cannot be put into its cgroup");
                false
            }
        });
        Hold { search: Search::new(tag, pid, since), leader: pid, leaf, orphans }
    }
}

/// What holds the processes of one run.
#[derive(Debug)]
pub(crate) struct Hold {
    search: Search,
    leader: Pid,
    leaf: Option<Leaf>,
    orphans: Orphans,
}

impl Hold {
    /// All running processes of the run except the leader.
    pub(crate) fn find(&mut self) -> Found {
        let mut found = self.search.find();
        if let Some(leaf) = &self.leaf {
            let more = leaf.escaped(self.leader.as_raw_nonzero().get());
            found.escaped.extend(more);
        }
        found
    }

    /// Kills all processes in the cgroup, if there is one.
    pub(crate) fn kill(&self) {
        if let Some(leaf) = &self.leaf {
            leaf.kill();
        }
    }

    /// Whether a process runs in the cgroup.
    pub(crate) fn has_cgroup_mates(&self) -> bool {
        self.leaf.as_ref().is_some_and(|leaf| !leaf.is_empty())
    }

    /// Releases all processes.
    pub(crate) fn release(&self) {
        if let Some(leaf) = &self.leaf {
            leaf.release();
        }
    }

    /// Whether orphans become our children.
    pub(crate) fn adopts(&self) -> bool {
        self.orphans == Orphans::Ours
    }

    /// Takes the statuses of dead orphans, where they are ours.
    pub(crate) fn reap(&self) {
        if self.adopts() {
            self.search.find_dead().iter().for_each(EscapedProcess::reap);
        }
    }

    /// The search for those whose statuses are to be taken one day.
    pub(crate) fn to_be_reaped(&self) -> Option<Search> {
        self.adopts().then(|| self.search.clone())
    }

    /// The tag, for people.
    pub(crate) fn tag(&self) -> &str {
        self.search.tag().as_str()
    }
}

/// Bounds what the process may use up; what it starts from now on inherits that.
///
/// A process that has exited already is none to be bounded.
pub(crate) fn bound(leader: Pid, resources: &Resources) -> io::Result<()> {
    let count = |most: Option<NonZeroU32>| most.map(|most| u64::from(most.get()));
    let bounds = [
        (Resource::Core, (resources.core_dumps == CoreDumps::Never).then_some(0)),
        (Resource::As, resources.memory.map(NonZeroU64::get)),
        (Resource::Nproc, count(resources.processes)),
        (Resource::Nofile, count(resources.files)),
    ];
    for (resource, most) in bounds {
        let Some(most) = most else { continue };
        // It has the capabilities of this process and cannot gain more.
        let ours = getrlimit(resource);
        let most = ours.maximum.map_or(most, |maximum| maximum.min(most));
        if ours.current == Some(most) && ours.maximum == Some(most) {
            continue;
        }
        match prlimit(Some(leader), resource, Rlimit { current: Some(most), maximum: Some(most) }) {
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
