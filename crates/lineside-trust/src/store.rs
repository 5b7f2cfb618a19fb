//! The store of what was trusted: in the state folder of the user, with a file for each project.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use lineside_core::json;
use lineside_files::{Boundary, OpenFileError};
use serde::{Deserialize, Serialize};

use crate::content::{Change, Content, ReadContentError};
use crate::copy::Copies;
use crate::record::{Guard, ReadRecordError, Record, SCHEMA, sealed, unsealed};
use crate::{repository, sha256};

/// The store of one user.
#[derive(Debug, Clone)]
pub struct Store {
    state: PathBuf,
}

/// How far a trust reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the project, and to other working trees of its repository that have the same content.
    Project,
    /// To every project that has the same content.
    Anywhere,
}

/// How a project stands.
#[derive(Debug)]
pub enum Standing {
    /// It was never trusted: nothing of it runs.
    Never,
    /// Its content is what was trusted.
    Trusted(Box<Record>),
    /// It was trusted, and its content is another one: its guards stand closed.
    Changed {
        /// What was trusted.
        record: Box<Record>,
        /// What is different; nothing where the content cannot be read.
        changes: Vec<Change>,
        /// Why it cannot be read.
        unreadable: Option<String>,
    },
    /// It was trusted, and what was trusted is not known any more: its guards stand closed.
    Lost {
        /// The guards, as far as they are known.
        guards: Vec<Guard>,
        /// Why.
        why: String,
    },
}

/// Why a trust was not recorded or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteTrustError {
    /// A file or folder cannot be written.
    #[error("failed to write {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder of the store may be reached by others.
    #[error("{} must be a folder of yours alone, with mode 700", _0.display())]
    Open(PathBuf),
    /// The path of the root is not UTF-8.
    #[error("the path of the project is not UTF-8: {}", _0.display())]
    Name(PathBuf),
    /// The record cannot be written as text.
    #[error("failed to write the record")]
    Record(#[from] json::Error),
}

/// The projects that were ever trusted, and not untrusted since: it tells a record that is gone from one that never was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    schema: u32,
    projects: Vec<Listed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    root: String,
    guards: Vec<Guard>,
}

impl Store {
    /// The store in this state folder, which need not be there.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { state: state.to_path_buf() }
    }

    /// The files that tell how a project stands: when one of them changes, it may stand otherwise.
    #[must_use]
    pub fn files(&self, root: &Path) -> [PathBuf; 2] {
        [self.file(root), self.index()]
    }

    /// The list of all projects that were trusted: it changes with each trust.
    #[must_use]
    pub fn list_file(&self) -> PathBuf {
        self.index()
    }

    /// The roots of the projects of which exactly this content was trusted.
    #[must_use]
    pub fn roots_of(&self, digest: &str) -> Vec<PathBuf> {
        let records = self.records().into_iter().filter_map(|(_, record)| record.ok());
        records.filter(|record| record.digest == digest).map(|record| record.root.into()).collect()
    }

    /// Whether a project with this root was trusted, and is to stand closed when nothing of it is there any more.
    #[must_use]
    pub fn knows(&self, root: &Path) -> bool {
        self.file(root).symlink_metadata().is_ok() || self.listed(root).is_some()
    }

    fn folder(&self) -> PathBuf {
        self.state.join("trust")
    }

    fn file(&self, root: &Path) -> PathBuf {
        self.folder().join(format!("{}.json", sha256(root.as_os_str().as_encoded_bytes())))
    }

    fn index(&self) -> PathBuf {
        self.state.join("trusted-projects")
    }

    fn kept(&self, digest: &str) -> PathBuf {
        self.folder().join("content").join(digest)
    }

    /// The record of a project; `None` when it has none.
    ///
    /// # Errors
    /// Those of [`ReadRecordError`].
    pub fn record(&self, root: &Path) -> Result<Option<Record>, ReadRecordError> {
        self.private()?;
        let Some(record) = unsealed::<Record>(&self.file(root))? else { return Ok(None) };
        let record = record.check(Some(root))?;
        match fs::metadata(root) {
            Ok(found) if found.uid() != record.owner => {
                Err(ReadRecordError::Other(format!("{} of another user", record.root)))
            }
            _ => Ok(Some(record)),
        }
    }

    /// Every record, by the name of its file; those that cannot be believed with their reason.
    #[must_use]
    pub fn records(&self) -> Vec<(PathBuf, Result<Record, ReadRecordError>)> {
        let Ok(entries) = fs::read_dir(self.folder()) else { return Vec::new() };
        let files = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
        files.sort();
        let read = |file: PathBuf| {
            let record = self.private().and_then(|()| unsealed::<Record>(&file)).transpose()?;
            let record = record.and_then(|record| {
                let root = PathBuf::from(&record.root);
                if self.file(&root) == file {
                    record.check(None)
                } else {
                    Err(ReadRecordError::Other(record.root))
                }
            });
            Some((file, record))
        };
        files.into_iter().filter_map(read).collect()
    }

    /// How a project stands, whose content is this.
    #[must_use]
    pub fn judge(&self, root: &Path, content: &Result<Content, ReadContentError>) -> Standing {
        let record = match self.record(root) {
            Ok(Some(record)) => record,
            Ok(None) => return self.without_record(root, content),
            Err(error) => {
                let why = format!(
                    "the record of what was trusted cannot be read: {}: {error}",
                    self.file(root).display()
                );
                return Standing::Lost { guards: self.listed(root).unwrap_or_default(), why };
            }
        };
        match content {
            Ok(content) if content.digest() == record.digest => Standing::Trusted(Box::new(record)),
            Ok(content) => {
                let changes = content.since(&record.items);
                Standing::Changed { record: Box::new(record), changes, unreadable: None }
            }
            Err(error) => {
                let unreadable = Some(error.to_string());
                Standing::Changed { record: Box::new(record), changes: Vec::new(), unreadable }
            }
        }
    }

    /// A project without a record of its own: one of the same content may be trusted with it.
    fn without_record(&self, root: &Path, content: &Result<Content, ReadContentError>) -> Standing {
        match self.index_now() {
            Ok(index) => {
                let own = index.projects.into_iter().find(|listed| Path::new(&listed.root) == root);
                if let Some(Listed { guards, .. }) = own {
                    let why =
                        format!("the record of what was trusted is gone: {}", self.file(root).display());
                    return Standing::Lost { guards, why };
                }
            }
            Err(why) => return Standing::Lost { guards: Vec::new(), why },
        }
        let Ok(content) = content else { return Standing::Never };
        let digest = content.digest();
        let is_meant = |record: &Record| {
            record.digest == digest && (record.anywhere || repository::is_same(Path::new(&record.root), root))
        };
        let mut records = self.records().into_iter().filter_map(|(_, record)| record.ok());
        records.find(is_meant).map_or(Standing::Never, |record| Standing::Trusted(Box::new(record)))
    }

    /// The guards of a project that was trusted, as far as they are known.
    fn listed(&self, root: &Path) -> Option<Vec<Guard>> {
        let mut listed = self.index_now().ok()?.projects.into_iter();
        Some(listed.find(|listed| Path::new(&listed.root) == root)?.guards)
    }

    /// The list of trusted projects, which is there when there is a store; why it is not believed.
    fn index_now(&self) -> Result<Index, String> {
        let why = match unsealed::<Index>(&self.index()) {
            Ok(Some(index)) if index.schema == SCHEMA => return Ok(index),
            Ok(None) if !self.folder().exists() => return Ok(Index { schema: SCHEMA, projects: Vec::new() }),
            Ok(None) => "it is gone".to_owned(),
            Ok(Some(_)) => ReadRecordError::OtherSchema.to_string(),
            Err(error) => error.to_string(),
        };
        Err(format!("the list of trusted projects cannot be read: {}: {why}", self.index().display()))
    }

    /// What is wrong with the store as a whole.
    #[must_use]
    pub fn finding(&self) -> Option<String> {
        let exposed = |why| format!("the store of trust is not believed: {}: {why}", self.folder().display());
        self.index_now().err().or_else(|| self.private().err().map(exposed))
    }

    /// Whether the folder is the user's alone. One that is not there is.
    fn private(&self) -> Result<(), ReadRecordError> {
        match fs::symlink_metadata(self.folder()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(OpenFileError::from(error).into()),
            Ok(found) if !found.is_dir() => Err(OpenFileError::NoFolder.into()),
            Ok(_) => match lineside_files::exposure(&self.folder()) {
                Some(exposure) => Err(OpenFileError::Exposed(exposure).into()),
                None => Ok(()),
            },
        }
    }

    /// Records that a person has trusted a content, with the guards that it has. Its bytes are kept, to show what
    /// changes.
    ///
    /// # Errors
    /// Those of [`WriteTrustError`]; what was trusted before is so still.
    pub fn trust(
        &self,
        content: &Content,
        guards: Vec<Guard>,
        reach: Reach,
    ) -> Result<Record, WriteTrustError> {
        let root = content.root();
        let Some(name) = root.to_str() else { return Err(WriteTrustError::Name(root.to_path_buf())) };
        for folder in [self.folder(), self.folder().join("content")] {
            make_private(&folder)?;
        }
        let owner = fs::metadata(root).map_err(at(root))?.uid();
        let record = Record {
            schema: SCHEMA,
            root: name.to_owned(),
            owner,
            digest: content.digest(),
            anywhere: reach == Reach::Anywhere,
            guards: guards.clone(),
            items: content.items().to_vec(),
        };
        for item in content.items() {
            let kept = self.kept(&item.digest);
            if !kept.exists() {
                write(&kept, content.bytes(item))?;
            }
        }
        // The list first: a record without its line would be believed, and its loss not noticed.
        self.list(name, Some(guards))?;
        write(&self.file(root), sealed(&record)?.as_bytes())?;
        self.remove_copies();
        Ok(record)
    }

    /// Takes a trust back; `false` when there was none.
    ///
    /// # Errors
    /// Those of [`WriteTrustError`].
    pub fn untrust(&self, root: &Path) -> Result<bool, WriteTrustError> {
        let file = self.file(root);
        let had_record = match fs::remove_file(&file) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(source) => return Err(WriteTrustError::Io { path: file, source }),
        };
        // The list last: a record that is left without its line would be believed.
        let was_listed = self.list(&root.to_string_lossy(), None)?;
        self.remove_copies();
        Ok(had_record || was_listed)
    }

    /// Bytes that were trusted, by their digest.
    #[must_use]
    pub fn bytes(&self, digest: &str) -> Option<Vec<u8>> {
        let bytes = lineside_files::read(&self.kept(digest), Boundary::Own, 64 << 20).ok()?;
        (sha256(&bytes) == digest).then_some(bytes)
    }

    /// The copies of a trusted content, from where its files are run.
    #[must_use]
    pub fn copies(&self, content: &Content) -> Copies {
        Copies::of(self.clone(), self.run().join(content.digest()), content)
    }

    fn run(&self) -> PathBuf {
        self.folder().join("run")
    }

    /// Removes the copies of what is trusted no longer.
    fn remove_copies(&self) {
        // Not while another process makes some.
        let _alone = self.alone();
        let records = self.records();
        let is_trusted = |digest: &OsStr| {
            records.iter().any(|(_, record)| record.as_ref().is_ok_and(|record| *record.digest == *digest))
        };
        for entry in fs::read_dir(self.run()).into_iter().flatten().flatten() {
            if !is_trusted(&entry.file_name()) {
                // What is left over is of no harm: nothing is run from there that is not compared first.
                fs::remove_dir_all(entry.path()).ok();
            }
        }
    }

    /// Puts a project on the list, or takes it off; gives whether it was there. A list that cannot be read is made anew of
    /// the records.
    fn list(&self, root: &str, guards: Option<Vec<Guard>>) -> Result<bool, WriteTrustError> {
        let _alone = self.alone()?;
        let index = unsealed::<Index>(&self.index()).ok().flatten();
        let mut projects = index.map_or_else(
            || {
                let records = self.records().into_iter().filter_map(|(_, record)| record.ok());
                records.map(|record| Listed { root: record.root, guards: record.guards }).collect()
            },
            |index| index.projects,
        );
        let before = projects.len();
        projects.retain(|listed| listed.root != root);
        let was_there = projects.len() < before;
        projects.extend(guards.map(|guards| Listed { root: root.to_owned(), guards }));
        write(&self.index(), sealed(&Index { schema: SCHEMA, projects })?.as_bytes())?;
        Ok(was_there)
    }

    /// Lets one process at a time change the list, or copies, until the file is dropped.
    pub(crate) fn alone(&self) -> Result<fs::File, WriteTrustError> {
        make_private(&self.folder())?;
        let path = self.folder().join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let locked =
            lineside_files::open_own(&path, &mut options).map_err(io::Error::from).and_then(|file| {
                file.lock()?;
                Ok(file)
            });
        locked.map_err(at(&path))
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> WriteTrustError {
    move |source| WriteTrustError::Io { path: path.to_path_buf(), source }
}

/// Makes a folder of the user alone, or verifies that it is one.
pub(crate) fn make_private(folder: &Path) -> Result<(), WriteTrustError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(at(folder))?;
    let found = fs::symlink_metadata(folder).map_err(at(folder))?;
    if !found.is_dir() || lineside_files::exposure(folder).is_some() {
        return Err(WriteTrustError::Open(folder.to_path_buf()));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(at(folder))
}

/// Writes a file that only the user may read, in one step.
fn write(file: &Path, bytes: &[u8]) -> Result<(), WriteTrustError> {
    let beside = file.with_extension(format!("new-{}", sha256(bytes).get(..16).unwrap_or_default()));
    let written = || -> io::Result<()> {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut new = lineside_files::open_own(&beside, options.write(true).create_new(true).mode(0o600))?;
        new.write_all(bytes)?;
        new.sync_all()?;
        fs::rename(&beside, file)
    };
    written().map_err(at(file))
}

#[cfg(test)]
mod tests;
