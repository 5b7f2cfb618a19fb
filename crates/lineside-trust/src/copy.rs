//! The copies of trusted files from where they are run: whatever becomes of a file in its project after a look at it, what
//! runs are the bytes that were trusted.
//!
//! A content has a folder of copies, by its digest, in which each file lies where it lies in its project, so that a script
//! finds what was trusted beside it. All of them are made when one is run first: a file may load any other, over links too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lineside_files::Boundary;

use crate::content::{Content, Item, Kind};
use crate::mark::Marks;
use crate::sha256;
use crate::store::{Store, WriteTrustError, make_private};

/// As many links as Linux follows.
const LINKS: usize = 40;

/// The copies of one content.
pub struct Copies {
    folder: PathBuf,
    root: PathBuf,
    items: BTreeMap<PathBuf, Item>,
    /// Below the root: folders of which everything is content.
    whole: BTreeSet<PathBuf>,
    store: Store,
    /// The states of the copies, once they were made.
    made: Mutex<Option<Marks>>,
}

/// Why a file of a project is not run. Completes "the file is not run: ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyFileError {
    /// It is not what was trusted by now, and what was trusted is kept nowhere.
    #[error("{} is not what was trusted, and no copy of that is kept", _0.display())]
    Gone(PathBuf),
    /// The copy cannot be made.
    #[error(transparent)]
    Write(#[from] WriteTrustError),
}

impl Copies {
    pub(crate) fn of(store: Store, folder: PathBuf, content: &Content) -> Self {
        let root = content.root().to_path_buf();
        let below = |folder: &PathBuf| folder.strip_prefix(&root).ok().map(Path::to_path_buf);
        let whole = content.folders().iter().filter_map(below).collect();
        let items = content.items().iter().map(|item| (PathBuf::from(&item.path), item.clone())).collect();
        Self { folder, whole, items, root, store, made: Mutex::default() }
    }

    /// The folder of all of them.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The copy of what a path of the project leads to; `None` where that is no file of the content.
    ///
    /// # Errors
    /// It cannot be copied.
    pub fn path(&self, path: &Path) -> Result<Option<PathBuf>, CopyFileError> {
        let Some(below) = self.leads_to(path) else { return Ok(None) };
        self.make()?;
        Ok(Some(self.folder.join(below)))
    }

    /// Where the copy of that lies or will lie, as [`path`](Self::path) says it. None is made.
    #[must_use]
    pub fn place(&self, path: &Path) -> Option<PathBuf> {
        self.leads_to(path).map(|below| self.folder.join(below))
    }

    /// By which path the copy of the file has its name that a path leads to, over the links that were trusted. A script that
    /// is a link finds what lies beside the link.
    fn leads_to(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.root).ok()?;
        let mut rest: Vec<_> = steps(below);
        // A folder on the way to `..` may have no copy.
        let mut name: Option<PathBuf> =
            (!rest.iter().any(|step| step == "..")).then(|| below.components().collect());
        let (mut at, mut links) = (PathBuf::new(), 0);
        while let Some(step) = rest.pop() {
            if step == ".." {
                at = at.parent()?.to_path_buf();
                continue;
            }
            at.push(step);
            let Some(Item { kind: Kind::Link, digest, .. }) = self.items.get(&at) else { continue };
            links += 1;
            if rest.is_empty() {
                name.get_or_insert_with(|| at.clone());
            }
            let target = self.target(&at, digest).filter(|_| links <= LINKS)?;
            match target.strip_prefix(&self.root) {
                Ok(inside) => (at, _) = (PathBuf::new(), rest.extend(steps(inside))),
                Err(_) if target.is_absolute() => return None,
                Err(_) => (_, _) = (at.pop(), rest.extend(steps(&target))),
            }
        }
        self.items.contains_key(&at).then(|| name.unwrap_or(at))
    }

    fn target(&self, link: &Path, digest: &str) -> Option<PathBuf> {
        let kept = self.store.bytes(digest).and_then(|bytes| String::from_utf8(bytes).ok());
        let now = || fs::read_link(self.root.join(link)).ok();
        let is_it = |target: &PathBuf| sha256(target.as_os_str().as_encoded_bytes()) == digest;
        kept.map(PathBuf::from).or_else(now).filter(is_it)
    }

    /// Has all copies be there, as they were made.
    fn make(&self) -> Result<(), CopyFileError> {
        // One at a time: a file that another thread has open for writing cannot be started.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.as_ref().is_some_and(Marks::hold) {
            return Ok(());
        }
        // Nor is there another process that makes them.
        let _alone = self.store.alone()?;
        let folders: BTreeSet<&Path> = self.items.keys().flat_map(|path| path.ancestors().skip(1)).collect();
        for folder in &folders {
            self.make_folder(folder, &folders)?;
        }
        for (path, item) in &self.items {
            self.copy(path, item)?;
        }
        let folders = folders.into_iter().filter(|folder| self.whole.contains(*folder));
        let paths = self.items.keys().map(PathBuf::as_path).chain(folders);
        *made = Some(Marks::of(paths.map(|path| self.folder.join(path))));
        Ok(())
    }

    /// Makes a folder of copies, and takes out of it what is no copy.
    fn make_folder(&self, folder: &Path, folders: &BTreeSet<&Path>) -> Result<(), CopyFileError> {
        let there = self.folder.join(folder);
        make_private(&there)?;
        for entry in fs::read_dir(&there).into_iter().flatten().flatten() {
            let (path, stray) = (folder.join(entry.file_name()), entry.path());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = match is_folder {
                true if !folders.contains(&*path) => fs::remove_dir_all(&stray),
                false if !self.items.contains_key(&path) => fs::remove_file(&stray),
                _ => continue,
            };
            removed
                .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
                .map_err(|source| WriteTrustError::Io { path: stray, source })?;
        }
        Ok(())
    }

    fn copy(&self, path: &Path, item: &Item) -> Result<(), CopyFileError> {
        let (there, original) = (self.folder.join(path), self.root.join(path));
        let gone = || CopyFileError::Gone(original.clone());
        let wrong = |source| WriteTrustError::Io { path: there.clone(), source };
        // Beside the folder of the copies: no item has this name. What runs finds the old copy or the new one.
        let name = self.folder.file_name().unwrap_or_default();
        let new = self.folder.with_file_name([".new-".as_ref(), name].into_iter().collect::<OsString>());
        fs::remove_file(&new).ok();
        if item.kind == Kind::Link {
            let target = self.target(path, &item.digest).ok_or_else(gone)?;
            let target =
                target.strip_prefix(&self.root).map(|inside| self.folder.join(inside)).unwrap_or(target);
            if fs::read_link(&there).ok().as_ref() != Some(&target) {
                symlink(&target, &new).and_then(|()| fs::rename(&new, &there)).map_err(wrong)?;
            }
            return Ok(());
        }
        let mode = if item.kind == Kind::Program { 0o500 } else { 0o400 };
        let read = |file: &Path, boundary| lineside_files::read(file, boundary, 64 << 20).ok();
        let is_it = |bytes: &Vec<u8>| sha256(bytes) == item.digest;
        let has_mode = fs::symlink_metadata(&there).is_ok_and(|found| found.mode() & 0o7777 == mode);
        if has_mode && read(&there, Boundary::Own).is_some_and(|bytes| is_it(&bytes)) {
            return Ok(());
        }
        let kept = self.store.bytes(&item.digest);
        let kept =
            kept.or_else(|| read(&original, Boundary::Within(&self.root)).filter(is_it)).ok_or_else(gone)?;
        let written = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
            file.write_all(&kept)?;
            drop(file);
            fs::rename(&new, &there)
        };
        Ok(written().map_err(wrong)?)
    }
}

/// The steps of a path, the last first.
fn steps(path: &Path) -> Vec<OsString> {
    let step = |component| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests;
