//! The two files (CH-1, CH-3).

use std::fs::File;
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

/// The global file, then the project's (CH-2).
pub(super) fn all(places: &Places) -> Vec<Place> {
    let global = global_folder(places).map(|folder| Place {
        layer: Layer::User,
        file: absolute(&places.cwd.join(folder).join("config.yaml")),
    });
    let file = absolute(places.work_dir()).join(".chord/config.yaml");
    global.into_iter().chain([Place { layer: Layer::Project, file }]).collect()
}

/// CH-1
fn global_folder(places: &Places) -> Option<PathBuf> {
    let set = |name| places.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CHORD_CONFIG_HOME")
        .or_else(|| set("XDG_CONFIG_HOME").map(|folder| folder.join("chord")))
        .or_else(|| places.home().map(|home| home.join(".config/chord")))
}

/// The bytes of a file; `None` when it does not exist.
///
/// # Errors
/// It exists and cannot be read.
pub(super) fn bytes(file: &Path) -> Option<Result<Vec<u8>, io::Error>> {
    let mut bytes = Vec::new();
    // One byte more than is read of a document says that there is more.
    let read = File::open(file).and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes));
    match read {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        read => Some(read.map(|_| bytes)),
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
