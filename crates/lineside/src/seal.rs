//! What is looked at in the moment before something of a project is started: whether its files are those that were
//! trusted.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lineside_trust::{Content, Wanted};

/// The content that was trusted, with the state of its files when it was read last.
pub(crate) struct Seal {
    root: PathBuf,
    digest: String,
    wanted: Vec<Wanted>,
    files: Vec<PathBuf>,
    marks: Mutex<Vec<Option<Mark>>>,
}

/// The state of a file: bytes, rights and links do not change without a change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Mark {
    fn of(found: &Metadata) -> Self {
        let changed = (found.ctime(), found.ctime_nsec());
        Self { inode: (found.dev(), found.ino()), size: found.size(), changed }
    }
}

impl Seal {
    /// The seal of a content, as long as it is what is there; `None` when it has changed since it was read.
    pub(crate) fn of(content: &Content, wanted: Vec<Wanted>) -> Option<Self> {
        let root = content.root().to_path_buf();
        let files: Vec<PathBuf> = content.items().iter().map(|item| root.join(&item.path)).collect();
        let marks = Mutex::new(Vec::new());
        let seal = Self { root, digest: content.digest(), wanted, files, marks };
        seal.check().is_ok().then_some(seal)
    }

    /// Whether the files are those that were trusted: as they were when they were read last, or read again and the same.
    ///
    /// # Errors
    /// They are not, with what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        let now = self.now();
        if *self.marks.lock().unwrap_or_else(PoisonError::into_inner) == now {
            return Ok(());
        }
        let remedy = format!("look at it and say: lineside trust {}", self.root.display());
        match Content::read(&self.root, &self.wanted) {
            Ok(content) if content.digest() == self.digest && self.now() == now => {
                *self.marks.lock().unwrap_or_else(PoisonError::into_inner) = now;
                Ok(())
            }
            Ok(_) => Err(format!("a file of the project is not what was trusted; {remedy}")),
            Err(error) => Err(format!("a file of the project cannot be read any more: {error}; {remedy}")),
        }
    }

    fn now(&self) -> Vec<Option<Mark>> {
        let mark = |file: &PathBuf| fs::symlink_metadata(file).ok().as_ref().map(Mark::of);
        self.files.iter().map(mark).collect()
    }
}
