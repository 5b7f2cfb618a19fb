//! The two files, and their bytes.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use lineside_core::Layer;

use crate::dialect::Places;
use crate::yaml::LONGEST;

/// A file in which hooks are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Whose it is.
    pub(super) layer: Layer,
    /// Its absolute path.
    pub(super) file: PathBuf,
}

/// The file of the user, then that of the project.
pub(super) fn all(places: &Places) -> Vec<Place> {
    let user = user_folder(places)
        .map(|folder| Place { layer: Layer::User, file: folder.join("lineside/hooks.yaml") });
    let file = absolute(places.work_dir()).join(".lineside/hooks.yaml");
    user.into_iter().chain([Place { layer: Layer::Project, file }]).collect()
}

/// A relative `XDG_CONFIG_HOME` counts as none, as its specification says: it would make a folder of the project one
/// of the user.
fn user_folder(places: &Places) -> Option<PathBuf> {
    let named = places.variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    named.or_else(|| places.home().map(|home| home.join(".config")))
}

/// The bytes of a file; `None` when it does not exist.
///
/// # Errors
/// It exists and cannot be read.
pub(super) fn bytes(file: &Path) -> Option<Result<Vec<u8>, io::Error>> {
    match fs::metadata(file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => Some(Err(error)),
        // Reading a pipe would wait for ever.
        Ok(metadata) if !metadata.is_file() => Some(Err(io::Error::other("it is no regular file"))),
        Ok(_) => {
            let mut bytes = Vec::new();
            // One byte more than is read of a document says that there is more.
            let read =
                File::open(file).and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes));
            Some(read.map(|_| bytes))
        }
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
