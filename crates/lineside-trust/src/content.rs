//! The content of a project: everything of it that decides what its hooks do, as far as it can be known.

mod reading;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lineside_files::{Exposure, OpenFileError, Root};
use lineside_search::{Effort, Searcher};
use serde::{Deserialize, Serialize};

use self::reading::Reading;
use crate::mark::Marks;
use crate::sha256;

/// How many files a content has at most, and folders: a person is to look at them.
const FILES: usize = 4_096;

/// How many bytes they have together at most.
const BYTES: usize = 32 << 20;

/// How many entries of folders are looked at for what is loaded, those that several globs look at counted each time.
const LOOKED: usize = 1 << 18;

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

    /// Whether all is loaded that a glob may find, whose `*` stands for anything: it begins with the folder that is loaded, or
    /// whatever stands in its place fits.
    #[must_use]
    pub fn loads(&self, root: &Path, found: &Path) -> bool {
        const STANDS: [&str; 3] = ["x", ".x", "x/x"];
        let OfFolder::Loaded(glob) = &self.of_folder else { return false };
        let Ok(below) = found.strip_prefix(root) else { return false };
        let below = below.to_string_lossy();
        if !found.starts_with(&self.path) || glob == "**" || *glob == below {
            return found.starts_with(&self.path);
        }
        let parts: Vec<&str> = below.split(['*', '?', '[']).collect();
        let fits = Searcher::of_globs([&**glob]).ok();
        let is_match =
            |path: String| fits.as_ref().is_some_and(|fits| fits.is_match(&path, &mut Effort::default()));
        STANDS.iter().all(|stands| is_match(parts.join(stands)))
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
    #[error("hooks have more than {FILES} files or folders, {} MiB, or {LOOKED} entries that are looked at for them, in {}; move what is not theirs out of their folders", BYTES >> 20, _0.display())]
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
        let mut reading = Reading::new(&root, files);
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

#[cfg(test)]
mod tests;
