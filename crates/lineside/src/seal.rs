//! What is looked at in the moment before something of a project is started: whether its files are those that were
//! trusted.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lineside_trust::{Content, Wanted};

/// The content that was trusted, with the state that it had when it was read last.
pub(crate) struct Seal {
    root: PathBuf,
    digest: String,
    wanted: Vec<Wanted>,
    /// None when it is to be read again in any case.
    marks: Mutex<Option<Arc<Marks>>>,
}

/// The clock of a file system may stand still so long: two changes within it have one time.
const TICK: Duration = Duration::from_millis(50);

/// The files of a content, and its folders, in which another file may come to lie, each with its state.
type Marks = Vec<(PathBuf, Option<Mark>)>;

/// The state of a file or folder: bytes, rights, links and names do not change without a change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: (found.dev(), found.ino()), size: found.size(), changed })
    }

    /// Whether a further change might have the same time.
    #[expect(clippy::disallowed_methods, reason = "the time of a file is one of the wall clock")]
    fn is_fresh(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds).unwrap_or_default();
        let changed = UNIX_EPOCH + Duration::new(changed, u32::try_from(nanoseconds).unwrap_or_default());
        SystemTime::now().duration_since(changed).map_or(true, |age| age < TICK)
    }
}

impl Seal {
    /// The seal of a content, as long as it is what is there; `None` when it has changed since it was read.
    pub(crate) fn of(content: &Content, wanted: Vec<Wanted>) -> Option<Self> {
        let (root, marks) = (content.root().to_path_buf(), Mutex::default());
        let seal = Self { root, digest: content.digest(), wanted, marks };
        seal.renew(content).is_ok().then_some(seal)
    }

    /// Whether the files are those that were trusted: as they were when they were read last, or read again and the same.
    ///
    /// # Errors
    /// They are not, with what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        let marks = self.marks().clone();
        let is_as_it_was = |marks: Arc<Marks>| marks.iter().all(|(path, was)| Mark::of(path) == *was);
        if marks.is_some_and(is_as_it_was) { Ok(()) } else { self.renew(&self.read()?) }
    }

    fn marks(&self) -> MutexGuard<'_, Option<Arc<Marks>>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the state of a content that was just read, if what was trusted is there still when that is taken.
    fn renew(&self, content: &Content) -> Result<(), String> {
        let items = content.items().iter().map(|item| self.root.join(&item.path));
        let paths = items.chain(content.folders().iter().cloned());
        let marked = |path: PathBuf| {
            let mark = Mark::of(&path);
            (path, mark)
        };
        let marks: Marks = paths.map(marked).collect();
        let is_fresh = marks.iter().filter_map(|(_, mark)| mark.as_ref()).any(Mark::is_fresh);
        if self.read()?.digest() != self.digest {
            return Err(format!("a file of the project is not what was trusted; {}", self.remedy()));
        }
        *self.marks() = (!is_fresh).then(|| Arc::new(marks));
        Ok(())
    }

    fn read(&self) -> Result<Content, String> {
        let wrong =
            |error| format!("a file of the project cannot be read any more: {error}; {}", self.remedy());
        Content::read(&self.root, &self.wanted).map_err(wrong)
    }

    fn remedy(&self) -> String {
        format!("look at it and say: lineside trust {}", self.root.display())
    }
}
