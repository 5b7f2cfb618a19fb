//! The folders in a folder.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::OpenFileError;
use crate::{Boundary, Links, links};

/// The folders in a folder, and links to folders, in the byte order of their names; none if it is not there.
///
/// Of what lies in it a link that leads nowhere is passed over, and one of which nothing is known is there: opening
/// what is expected below it says why.
///
/// ```
/// use lineside_files::{Boundary, folders};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::create_dir(folder.path().join("b"))?;
/// std::fs::create_dir(folder.path().join("a"))?;
/// let found = folders(folder.path(), Boundary::Open).unwrap();
/// assert_eq!(found, [folder.path().join("a"), folder.path().join("b")]);
/// assert!(folders(&folder.path().join("absent"), Boundary::Open).unwrap().is_empty());
/// # Ok::<_, std::io::Error>(())
/// ```
///
/// # Errors
/// It cannot be read, it is no folder, or it is out of the boundary.
pub fn folders(folder: &Path, boundary: Boundary<'_>) -> Result<Vec<PathBuf>, OpenFileError> {
    match look(folder, boundary) {
        Err(error) if error.is_absence() => Ok(Vec::new()),
        looked => looked,
    }
}

fn look(folder: &Path, boundary: Boundary<'_>) -> Result<Vec<PathBuf>, OpenFileError> {
    if let Boundary::Within(root) = boundary {
        links::resolve(folder, root)?;
    }
    let entries = fs::read_dir(folder).map_err(|error| {
        let is_there = error.kind() == ErrorKind::NotADirectory && fs::symlink_metadata(folder).is_ok();
        if is_there { OpenFileError::NoFolder } else { links::explained(error, folder, Links::Followed) }
    })?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => fs::metadata(&path)
                .map_or_else(|error| error.kind() != ErrorKind::NotFound, |found| found.is_dir()),
            Ok(kind) => kind.is_dir(),
            Err(_) => true,
        };
        if is_folder {
            found.push(path);
        }
    }
    found.sort_by(|a, b| bytes(a).cmp(bytes(b)));
    Ok(found)
}

fn bytes(path: &Path) -> &[u8] {
    path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default()
}
