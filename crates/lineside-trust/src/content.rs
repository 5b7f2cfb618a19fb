//! The content of a project: everything of it that decides what its hooks do, as far as it can be known.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use lineside_files::{Exposure, OpenFileError, Root, exposure, exposure_of};
use lineside_search::{Effort, Searcher};
use serde::{Deserialize, Serialize};

use crate::mark::Marks;
use crate::sha256;

/// How many files a content has at most: a person is to look at them.
const FILES: usize = 4_096;

/// How many bytes they have together at most.
const BYTES: usize = 32 << 20;

/// How many links a path may lead over; as many as Linux follows.
const LINKS: usize = 40;

/// What belongs to the content of a project, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// An absolute path below the root.
    pub path: PathBuf,
    /// What counts of a folder.
    pub of_folder: OfFolder,
}

/// What counts of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfFolder {
    /// Nothing.
    Nothing,
    /// Everything that is in it.
    Everything,
    /// What is loaded by something else that is run: the files in it and below whose paths from the root this glob fits.
    Loaded(String),
}

impl Wanted {
    /// What is loaded: the files that a path or a glob from the root names, or all that is in the folder that it names.
    #[must_use]
    pub fn loaded(root: &Path, named: &str) -> Self {
        let is_glob = |step: &&str| step.contains(['*', '?', '[', '{', '\\']);
        let steps: Vec<&str> = named.split('/').collect();
        let plain = steps.iter().take_while(|step| !is_glob(step)).count();
        let glob = if plain < steps.len() { named } else { "**" };
        let path = root.join(steps[..plain].join("/"));
        Self { path, of_folder: OfFolder::Loaded(glob.to_owned()) }
    }
}

/// The content of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    root: PathBuf,
    items: Vec<Item>,
    folders: Vec<PathBuf>,
    bytes: BTreeMap<String, Vec<u8>>,
    marks: Marks,
}

/// One file of a content, or one link on the way to a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// Its path below the root.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The SHA-256 of its bytes, in hexadecimal; of a link, of where that leads.
    pub digest: String,
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file.
    File,
    /// A file that may be executed.
    Program,
    /// A symbolic link.
    Link,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Program => "program",
            Self::Link => "link",
        }
    }
}

/// How an item differs from what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path below the root.
    pub path: String,
    /// What it was; `None` when it was not there.
    pub before: Option<Item>,
    /// What it is; `None` when it is not there.
    pub now: Option<Item>,
}

impl Change {
    /// What has happened to it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match (&self.before, &self.now) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(before), Some(now)) if before.digest == now.digest => "of another kind",
            _ => "changed",
        }
    }
}

/// Why the content of a project cannot be trusted. Completes "the content cannot be read: ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadContentError {
    /// A file cannot be read, or leads out of the project.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: OpenFileError,
    },
    /// Another user may change it.
    #[error("{}: {exposure}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// Who, and what to do.
        exposure: Exposure,
    },
    /// A name that cannot be shown.
    #[error("{}: its name is not UTF-8; rename it", _0.display())]
    Name(PathBuf),
    /// More than a person can look at.
    #[error("hooks have more than {FILES} files or {} MiB in {}; move what is not theirs out of their folders", BYTES >> 20, _0.display())]
    TooMuch(PathBuf),
}

impl ReadContentError {
    /// The file or folder that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. } | Self::Exposed { path, .. } | Self::Name(path) | Self::TooMuch(path) => {
                path
            }
        }
    }
}

impl Content {
    /// Reads the content of a project: what is wanted of it, and where the links of that lead.
    ///
    /// # Errors
    /// Those of [`ReadContentError`].
    pub fn read(root: &Path, wanted: &[Wanted]) -> Result<Self, ReadContentError> {
        let open = |source: std::io::Error| ReadContentError::Open {
            path: root.to_path_buf(),
            source: source.into(),
        };
        let root = fs::canonicalize(root).map_err(open)?;
        let files = Root::open(root.clone())
            .map_err(|source| ReadContentError::Open { path: root.clone(), source })?;
        let mut reading = Reading {
            root: &root,
            files,
            plain: HashSet::new(),
            items: BTreeMap::new(),
            bytes: BTreeMap::new(),
            seen: BTreeSet::new(),
            walked: BTreeSet::new(),
            size: 0,
            marks: Marks::begin(),
        };
        reading.is_own(&root)?;
        for Wanted { path, of_folder } in wanted {
            match of_folder {
                OfFolder::Nothing => reading.take(path, false)?,
                OfFolder::Everything => reading.take(path, true)?,
                OfFolder::Loaded(glob) => {
                    let fits = Searcher::of_globs([&**glob]).ok();
                    reading.take_loaded(path, fits.as_ref())?;
                }
            }
        }
        let Reading { items, bytes, seen, walked, marks, .. } = reading;
        let folders = seen.union(&walked).cloned().collect();
        Ok(Self { items: items.into_values().collect(), folders, bytes, marks, root })
    }

    /// The root of the project, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its items, by path.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The folders without links in which what comes to lie is content too, or may be.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The states of its items and folders, each taken before it was read.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The bytes of an item; of a link, where that leads.
    #[must_use]
    pub fn bytes(&self, item: &Item) -> &[u8] {
        self.bytes.get(&item.digest).map_or(&[], Vec::as_slice)
    }

    /// The digest of all of it, in hexadecimal: the same for another project of the same content.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&self.items)
    }

    /// What has changed of it since it had these items.
    #[must_use]
    pub fn since(&self, before: &[Item]) -> Vec<Change> {
        let by_path = |items: &[Item]| -> BTreeMap<String, Item> {
            items.iter().map(|item| (item.path.clone(), item.clone())).collect()
        };
        let (mut before, now) = (by_path(before), by_path(&self.items));
        let mut changes: Vec<Change> = Vec::new();
        for (path, item) in now {
            let was = before.remove(&path);
            if was.as_ref() != Some(&item) {
                changes.push(Change { path, before: was, now: Some(item) });
            }
        }
        changes.extend(before.into_iter().map(|(path, item)| Change { path, before: Some(item), now: None }));
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }
}

/// The digest of items. No path has the character that ends one.
pub(crate) fn digest(items: &[Item]) -> String {
    let mut text = String::from("lineside content 1\n");
    for Item { path, kind, digest } in items {
        text.push_str(&format!("{}\0{path}\0{digest}\0", kind.as_str()));
    }
    sha256(text)
}

/// A content that is being read.
struct Reading<'a> {
    root: &'a Path,
    files: Root,
    /// Folders that are no links.
    plain: HashSet<PathBuf>,
    items: BTreeMap<String, Item>,
    bytes: BTreeMap<String, Vec<u8>>,
    /// Folders of which everything was taken.
    seen: BTreeSet<PathBuf>,
    /// Folders that were looked through for what is loaded.
    walked: BTreeSet<PathBuf>,
    size: usize,
    marks: Marks,
}

impl Reading<'_> {
    /// Follows a path below the root, link by link.
    fn take(&mut self, path: &Path, whole: bool) -> Result<(), ReadContentError> {
        let Ok(below) = path.strip_prefix(self.root) else { return Ok(()) };
        let mut at = self.root.to_path_buf();
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
        self.file_or_folder(&at, last, whole)
    }

    /// Takes a file that is loaded, or what fits of a folder; all of it without a glob.
    fn take_loaded(&mut self, path: &Path, fits: Option<&Searcher>) -> Result<(), ReadContentError> {
        let folder = fs::symlink_metadata(path).ok().filter(Metadata::is_dir);
        let Some(found) = folder else {
            return self.take(path, true);
        };
        let open = |source: std::io::Error| ReadContentError::Open {
            path: path.to_path_buf(),
            source: source.into(),
        };
        if self.walked.len() >= FILES {
            return Err(ReadContentError::TooMuch(self.root.to_path_buf()));
        }
        self.is_own(path)?;
        if self.walked.insert(path.to_path_buf()) {
            self.marks.take(path, &found);
        }
        for entry in fs::read_dir(path).map_err(open)? {
            let entry = entry.map_err(open)?;
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let below = path.strip_prefix(self.root).unwrap_or(&path).to_string_lossy();
            let is_meant = || fits.is_none_or(|fits| fits.is_match(&below, &mut Effort::default()));
            if entry.file_name() != ".git" && (is_folder || is_meant()) {
                self.take_loaded(&path, fits)?;
            }
        }
        Ok(())
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
        self.marks.take(at, &found);
        for entry in fs::read_dir(at).map_err(|error| open(error.into()))? {
            let entry = entry.map_err(|error| open(error.into()))?;
            // What git keeps is no hook's, and changes with every command of git.
            if entry.file_name() != ".git" {
                self.take(&entry.path(), true)?;
            }
        }
        Ok(())
    }

    /// Whether no other user may change it.
    fn is_own(&self, path: &Path) -> Result<(), ReadContentError> {
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
        if self.size > BYTES || self.items.len() >= FILES {
            return Err(ReadContentError::TooMuch(self.root.to_path_buf()));
        }
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

#[cfg(test)]
mod tests;
