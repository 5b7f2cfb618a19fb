//! What was installed: one file in the state folder for each settings file (HO-61).

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use lineside_files::{Boundary, read_if_there, replace};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::program::Host;
use super::act::InstallError;
use super::plan::Inserted;

/// The longest record, in bytes.
const LONGEST: usize = 1 << 20;

/// The folder of records in the state folder.
const FOLDER: &str = "installed";

/// What was done to a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The settings file, as the host names it.
    pub(super) file: PathBuf,
    /// The digest of its bytes before the installation; none if it was not there.
    pub(super) before: Option<String>,
    /// The digest of its bytes after the installation.
    pub(super) after: String,
    /// The length of its text after the installation, in bytes.
    #[serde(default)]
    pub(super) length: usize,
    /// The texts that were inserted; none if they alone do not make the one out of the other.
    pub(super) inserted: Vec<Inserted>,
    /// The lists that were made for the entries.
    pub(super) made: Vec<String>,
    /// The folders that were made for the file, the innermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// A digest of bytes.
pub(super) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<String>())
}

/// The file of a record.
pub(super) fn path(state: &Path, host: Host, file: &Path) -> PathBuf {
    let digest = digest(file.as_os_str().as_encoded_bytes());
    state.join(FOLDER).join(format!("{host}-{}.json", &digest["sha256:".len()..][..16]))
}

/// The record of a settings file. One that cannot be read is none: the entries are found without it.
pub(super) fn read(state: &Path, host: Host, file: &Path) -> Option<Record> {
    let bytes = read_if_there(&path(state, host, file), Boundary::Own, LONGEST)?.ok()?;
    let record: Record = lineside_core::json::from_slice(&bytes).ok()?;
    (record.file == file).then_some(record)
}

/// The settings files of agent programs in which our entries were put, of all projects and of the user, as far as the state
/// folder has records of it.
#[must_use]
pub fn recorded(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join(FOLDER)).into_iter().flatten().flatten();
    let file = |path: PathBuf| {
        let bytes = read_if_there(&path, Boundary::Own, LONGEST)?.ok()?;
        lineside_core::json::from_slice::<Record>(&bytes).ok().map(|record| record.file)
    };
    entries.filter_map(|entry| file(entry.path())).collect()
}

/// Puts a record in its place, or takes it away.
///
/// # Errors
/// The state folder cannot be written.
pub(super) fn write(state: &Path, host: Host, file: &Path, record: Option<&Record>) -> io::Result<()> {
    let path = path(state, host, file);
    let Some(record) = record else {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    make(state, &state.join(FOLDER))?;
    let text = lineside_core::json::to_string(record).map_err(io::Error::other)?;
    let old = read_if_there(&path, Boundary::Own, LONGEST).transpose().map_err(io::Error::other)?;
    replace(&path, old.as_deref(), text.as_bytes()).map_err(io::Error::other)
}

/// Makes a folder in the state folder, or that itself.
fn make(state: &Path, folder: &Path) -> io::Result<()> {
    if let Some(above) = state.parent() {
        // What is above is the user's own affair.
        fs::create_dir_all(above)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        // As the daemon makes it, which refuses a folder that others can enter.
        builder.mode(0o700);
    }
    builder.recursive(true).create(folder)
}

/// Waits until no other installation is under way: two of them at once would each plan from what the other changes.
///
/// Gives the state folder, which is locked until it is dropped. Makes it where `makes` says so; without one nothing was
/// installed, and nothing is locked.
///
/// # Errors
/// The state folder cannot be made or locked.
pub fn alone(state: &Path, makes: bool) -> Result<Option<File>, InstallError> {
    let locked = || {
        if makes {
            make(state, state)?;
        }
        let folder = match File::open(state) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            folder => folder?,
        };
        folder.lock()?;
        Ok(Some(folder))
    };
    locked().map_err(|source| InstallError::Record { state: state.to_owned(), source })
}
