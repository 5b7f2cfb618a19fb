//! The state of a file on the disk, to see whether it is the one that was read.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock of a file system may stand still so long: two changes within it have one time.
const TICK: Duration = Duration::from_millis(50);

/// The state of a file or folder: bytes, rights, links and names do not change without a change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Mark {
    /// That of what is at a path; a link is not followed. `None` when nothing is there.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: (found.dev(), found.ino()), size: found.size(), changed })
    }

    /// Whether a further change might have the same time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the time of a file is one of the wall clock")]
    pub fn is_fresh(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds).unwrap_or_default();
        let changed = UNIX_EPOCH + Duration::new(changed, u32::try_from(nanoseconds).unwrap_or_default());
        SystemTime::now().duration_since(changed).map_or(true, |age| age < TICK)
    }
}
