//! The state of a file on the disk, to see whether it is the one that was read.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock of a file system may stand still so long: two changes within it have one time.
const TICK: Duration = Duration::from_millis(50);

/// The state of a file or folder: bytes, rights, links and names do not change without a change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Mark {
    /// That of what is at a path; a link is not followed. `None` when nothing is there.
    fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().as_ref().map(Self::from)
    }

    /// When it was changed last.
    fn changed(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.changed;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        UNIX_EPOCH + Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or_default())
    }
}

impl From<&Metadata> for Mark {
    fn from(found: &Metadata) -> Self {
        let changed = (found.ctime(), found.ctime_nsec());
        Self { inode: (found.dev(), found.ino()), size: found.size(), changed }
    }
}

/// The states of files and folders, each taken before it was read: as long as they hold, what was read is what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// When the first of them was taken, or before.
    since: SystemTime,
    of: Vec<(PathBuf, Mark)>,
}

impl Marks {
    /// Those of what is at these paths, as far as anything is.
    pub(crate) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let marked = |path: PathBuf| Mark::of(&path).map(|mark| (path, mark));
        Self { of: paths.into_iter().filter_map(marked).collect(), ..Self::begin() }
    }

    /// None yet; they are taken from now on.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the time of a file is one of the wall clock")]
    pub fn begin() -> Self {
        Self { since: SystemTime::now(), of: Vec::new() }
    }

    /// Takes that of what is to be read, as it was just found there; a link is not followed.
    pub fn take(&mut self, path: &Path, found: &Metadata) {
        self.of.push((path.to_path_buf(), Mark::from(found)));
    }

    /// Whether all of it is as it was.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.of.iter().all(|(path, was)| Mark::of(path).as_ref() == Some(was))
    }

    /// Whether something was changed so shortly before that a further change might have the same time, and does not show.
    #[must_use]
    pub fn are_fresh(&self) -> bool {
        let is_fresh = |mark: &Mark| self.since.duration_since(mark.changed()).map_or(true, |age| age < TICK);
        self.of.iter().any(|(_, mark)| is_fresh(mark))
    }
}
