//! The walk through a project that reads its content. It calls itself nowhere: folders may lie as deep as paths go.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use lineside_files::{OpenFileError, Root, exposure, exposure_of};
use lineside_search::{Effort, Searcher};

use super::{BYTES, FILES, Item, Kind, LOOKED, ReadContentError};
use crate::mark::Marks;
use crate::sha256;

/// How many links a path may lead over; as many as Linux follows.
const LINKS: usize = 40;

/// A content that is being read.
pub(super) struct Reading<'a> {
    root: &'a Path,
    files: Root,
    /// Folders that are no links.
    plain: HashSet<PathBuf>,
    pub(super) items: BTreeMap<String, Item>,
    pub(super) bytes: BTreeMap<String, Vec<u8>>,
    /// Folders of which everything was taken.
    pub(super) seen: BTreeSet<PathBuf>,
    /// Folders that were looked through for what is loaded.
    pub(super) walked: BTreeSet<PathBuf>,
    looked: usize,
    size: usize,
    pub(super) marks: Marks,
}

impl<'a> Reading<'a> {
    pub(super) fn new(root: &'a Path, files: Root) -> Self {
        Self {
            root,
            files,
            plain: HashSet::new(),
            items: BTreeMap::new(),
            bytes: BTreeMap::new(),
            seen: BTreeSet::new(),
            walked: BTreeSet::new(),
            looked: 0,
            size: 0,
            marks: Marks::begin(),
        }
    }

    /// Takes what a path below the root leads to; of a folder all that is in it where it is meant as a whole.
    pub(super) fn take(&mut self, path: &Path, whole: bool) -> Result<(), ReadContentError> {
        let mut left = vec![path.to_path_buf()];
        while let Some(path) = left.pop() {
            self.follow(&path, whole, &mut left)?;
        }
        Ok(())
    }

    /// Follows a path below the root, link by link; what is left to take is added.
    fn follow(&mut self, path: &Path, whole: bool, left: &mut Vec<PathBuf>) -> Result<(), ReadContentError> {
        // What is beside something else is not followed from the root again.
        let near = path.ancestors().take(3).find(|folder| self.plain.contains(*folder));
        let mut at = near.unwrap_or(self.root).to_path_buf();
        let Ok(below) = path.strip_prefix(&at) else { return Ok(()) };
        let mut rest: VecDeque<OsString> = steps(below);
        let (mut links, mut last) = (0, None);
        while let Some(step) = rest.pop_front() {
            if step == ".." {
                last = None;
                at.pop();
                self.is_within(&at, path)?;
                continue;
            }
            let next = at.join(&step);
            if self.plain.contains(&next) {
                (at, last) = (next, None);
                continue;
            }
            let found = match fs::symlink_metadata(&next) {
                Ok(found) => found,
                Err(error) => {
                    let source = OpenFileError::from(error);
                    return if source.is_absence() {
                        Ok(())
                    } else {
                        Err(ReadContentError::Open { path: next, source })
                    };
                }
            };
            if !found.is_symlink() {
                if found.is_dir() {
                    self.plain.insert(next.clone());
                }
                (at, last) = (next, Some(found));
                continue;
            }
            (links, last) = (links + 1, None);
            let circle = || ReadContentError::Open { path: next.clone(), source: OpenFileError::Circle };
            let target = fs::read_link(&next).ok().filter(|_| links <= LINKS).ok_or_else(circle)?;
            self.add(&next, Kind::Link, target.as_os_str().as_encoded_bytes().to_vec(), &found)?;
            if target.is_absolute() {
                at = self.root.to_path_buf();
                let Ok(inside) = target.strip_prefix(self.root) else {
                    return Err(ReadContentError::Open {
                        path: next,
                        source: OpenFileError::Outside(target),
                    });
                };
                prepend(inside, &mut rest);
            } else {
                prepend(&target, &mut rest);
            }
        }
        self.file_or_folder(&at, last, whole, left)
    }

    /// Takes a file that is loaded, or what fits of a folder; all of it without a glob.
    pub(super) fn take_loaded(
        &mut self,
        path: &Path,
        fits: Option<&Searcher>,
    ) -> Result<(), ReadContentError> {
        let mut left = vec![path.to_path_buf()];
        while let Some(path) = left.pop() {
            self.walk_loaded(&path, fits, &mut left)?;
        }
        Ok(())
    }

    fn walk_loaded(
        &mut self,
        path: &Path,
        fits: Option<&Searcher>,
        left: &mut Vec<PathBuf>,
    ) -> Result<(), ReadContentError> {
        let folder = fs::symlink_metadata(path).ok().filter(Metadata::is_dir);
        let Some(found) = folder else {
            return self.take(path, true);
        };
        let open = |source: std::io::Error| ReadContentError::Open {
            path: path.to_path_buf(),
            source: source.into(),
        };
        self.is_own(path)?;
        if self.walked.insert(path.to_path_buf()) {
            self.enter(path, &found)?;
        }
        for entry in fs::read_dir(path).map_err(open)? {
            let entry = entry.map_err(open)?;
            let path = entry.path();
            self.looked += 1;
            self.fits(self.looked <= LOOKED)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let below = path.strip_prefix(self.root).unwrap_or(&path).to_string_lossy();
            let is_meant = || fits.is_none_or(|fits| fits.is_match(&below, &mut Effort::default()));
            if entry.file_name() != ".git" && (is_folder || is_meant()) {
                self.leave(path, left)?;
            }
        }
        Ok(())
    }

    /// Counts a folder that was not looked through before.
    fn enter(&mut self, path: &Path, found: &Metadata) -> Result<(), ReadContentError> {
        self.marks.take(path, found);
        self.fits(self.seen.len() + self.walked.len() <= FILES)
    }

    fn fits(&self, fits: bool) -> Result<(), ReadContentError> {
        if fits { Ok(()) } else { Err(ReadContentError::TooMuch(self.root.to_path_buf())) }
    }

    /// Leaves something in a folder for later, as long as there may be as much.
    fn leave(&self, path: PathBuf, left: &mut Vec<PathBuf>) -> Result<(), ReadContentError> {
        left.push(path);
        self.fits(left.len() <= 2 * FILES)
    }

    fn is_within(&self, at: &Path, path: &Path) -> Result<(), ReadContentError> {
        if at.starts_with(self.root) {
            return Ok(());
        }
        let source = OpenFileError::Outside(at.to_path_buf());
        Err(ReadContentError::Open { path: path.to_path_buf(), source })
    }

    /// Takes what is here, whose path has no links; what is known of it may have been found out.
    fn file_or_folder(
        &mut self,
        at: &Path,
        found: Option<Metadata>,
        whole: bool,
        left: &mut Vec<PathBuf>,
    ) -> Result<(), ReadContentError> {
        let open = |source| ReadContentError::Open { path: at.to_path_buf(), source };
        let found = match found {
            Some(found) => found,
            None => fs::symlink_metadata(at).map_err(|error| open(error.into()))?,
        };
        let exposed = |found: &Metadata| match exposure_of(found) {
            Some(exposure) => Err(ReadContentError::Exposed { path: at.to_path_buf(), exposure }),
            None => Ok(()),
        };
        if !found.is_dir() {
            exposed(&found)?;
            let below = at.strip_prefix(self.root).unwrap_or(at);
            if below.to_str().is_some_and(|below| self.items.contains_key(below)) {
                return Ok(());
            }
            let most = BYTES.saturating_sub(self.size);
            let (bytes, opened) = self.files.read(below, most).map_err(open)?;
            exposed(&opened)?;
            let is_program = opened.permissions().mode() & 0o111 != 0;
            let kind = if is_program { Kind::Program } else { Kind::File };
            return self.add(at, kind, bytes, &found);
        }
        if !whole || !self.seen.insert(at.to_path_buf()) {
            return Ok(());
        }
        exposed(&found)?;
        self.enter(at, &found)?;
        for entry in fs::read_dir(at).map_err(|error| open(error.into()))? {
            let entry = entry.map_err(|error| open(error.into()))?;
            // What git keeps is no hook's, and changes with every command of git.
            if entry.file_name() != ".git" {
                self.leave(entry.path(), left)?;
            }
        }
        Ok(())
    }

    /// Whether no other user may change it.
    pub(super) fn is_own(&self, path: &Path) -> Result<(), ReadContentError> {
        match exposure(path) {
            Some(exposure) => Err(ReadContentError::Exposed { path: path.to_path_buf(), exposure }),
            None => Ok(()),
        }
    }

    /// Adds an item that was as `found` before it was read.
    fn add(
        &mut self,
        at: &Path,
        kind: Kind,
        bytes: Vec<u8>,
        found: &Metadata,
    ) -> Result<(), ReadContentError> {
        let below = at.strip_prefix(self.root).unwrap_or(at);
        let Some(path) = below.to_str().map(str::to_owned) else {
            return Err(ReadContentError::Name(at.to_path_buf()));
        };
        if self.items.contains_key(&path) {
            return Ok(());
        }
        self.size = self.size.saturating_add(bytes.len());
        self.fits(self.size <= BYTES && self.items.len() < FILES)?;
        self.marks.take(at, found);
        let digest = sha256(&bytes);
        self.bytes.insert(digest.clone(), bytes);
        self.items.insert(path.clone(), Item { path, kind, digest });
        Ok(())
    }
}

/// The steps of a path; those that lead nowhere are left out.
fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |component| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    path.components().filter_map(step).collect()
}

fn prepend(path: &Path, rest: &mut VecDeque<OsString>) {
    for step in steps(path).into_iter().rev() {
        rest.push_front(step);
    }
}
