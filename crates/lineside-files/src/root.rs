//! Files of one folder, by paths from it that have no links.
//!
//! The kernel follows the path in one call, from a folder that is open: whatever is put in the place of a step meanwhile,
//! nothing outside of the folder is opened. Where it cannot, the path is resolved first, as [`read`](crate::read) does.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::error::OpenFileError;
use crate::{Boundary, first_of, regular};

/// A folder of which many files are read.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    open: File,
}

impl Root {
    /// Opens a folder by its path without links.
    ///
    /// # Errors
    /// It is not there, or it cannot be opened.
    pub fn open(path: PathBuf) -> Result<Self, OpenFileError> {
        Ok(Self {
            #[cfg(target_os = "linux")]
            open: File::open(&path)?,
            path,
        })
    }

    /// The first bytes of a file by its path below the folder, as [`read`](crate::read) has them, and what is known of it.
    ///
    /// ```
    /// use lineside_files::Root;
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("hooks.yaml"), "hooks: []")?;
    /// let root = Root::open(folder.path().canonicalize()?)?;
    /// assert_eq!(root.read("hooks.yaml".as_ref(), 1024)?.0, b"hooks: []");
    /// assert!(root.read("../hooks.yaml".as_ref(), 1024).is_err());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// It cannot be opened or read, it is no regular file, or a step of its path leads out of the folder.
    pub fn read(&self, below: &Path, most: usize) -> Result<(Vec<u8>, Metadata), OpenFileError> {
        #[cfg(target_os = "linux")]
        if let Some(open) = self.beneath(below) {
            let open = open?;
            let found = regular(&open)?;
            return Ok((first_of(open, &found, most)?, found));
        }
        let path = self.path.join(below);
        let bytes = crate::read(&path, Boundary::Within(&self.path), most)?;
        Ok((bytes, path.metadata()?))
    }

    /// What the kernel opens below the folder without a link on the way; `None` where it is too old for that, may not, or
    /// refuses for a reason that the longer way names better.
    #[cfg(target_os = "linux")]
    fn beneath(&self, below: &Path) -> Option<Result<File, OpenFileError>> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        use rustix::io::Errno;
        // The opening of a pipe waits for the other side otherwise, and that of a terminal may make it ours.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&self.open, below, flags, Mode::empty(), within) {
            Ok(open) => Some(Ok(open.into())),
            Err(Errno::NOENT) => Some(Err(std::io::Error::from(Errno::NOENT).into())),
            Err(_) => None,
        }
    }
}
