//! A file whose bytes are exchanged in one step: readers see the old ones or the new ones.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::error::OpenFileError;
use crate::{Boundary, open_own, read_if_there};

/// How many names are tried for the new file beside the old one.
const NAMES: u32 = 100;

/// Why a file was not exchanged or removed. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceFileError {
    /// It is no longer what it was when it was read.
    #[error("it was changed by another program meanwhile; try again")]
    Changed,
    /// It cannot be read again.
    #[error(transparent)]
    Open(#[from] OpenFileError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Exchanges the bytes of a file that is no link; `expected` is what it has, or that it is not there.
///
/// The new bytes are written beside it, with its mode and, where that is allowed, its owner, and are on the disk before
/// they take its place. A reader sees the old bytes or the new ones.
///
/// ```
/// use lineside_files::{ReplaceFileError, replace};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("settings.json");
/// replace(&file, None, b"{}")?;
/// replace(&file, Some(b"{}"), b"[]")?;
/// assert!(matches!(replace(&file, Some(b"{}"), b"1"), Err(ReplaceFileError::Changed)));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// It has other bytes, or cannot be written.
pub fn replace(file: &Path, expected: Option<&[u8]>, bytes: &[u8]) -> Result<(), ReplaceFileError> {
    let (beside, mut new) = create_beside(file)?;
    let done = fill(&mut new, file, bytes).and_then(|()| {
        verify(file, expected)?;
        match expected {
            Some(_) => fs::rename(&beside, file)?,
            // A link to a name that exists is refused, where a renaming would take its place.
            None => {
                fs::hard_link(&beside, file).map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => ReplaceFileError::Changed,
                    _ => error.into(),
                })?;
                fs::remove_file(&beside)?;
            }
        }
        Ok(())
    });
    if done.is_err() {
        fs::remove_file(&beside).ok();
    } else if let Some(folder) = file.parent().and_then(|folder| File::open(folder).ok()) {
        folder.sync_all().ok();
    }
    done
}

/// Removes a file that has these bytes.
///
/// # Errors
/// It has others, or cannot be removed.
pub fn remove(file: &Path, expected: &[u8]) -> Result<(), ReplaceFileError> {
    verify(file, Some(expected))?;
    Ok(fs::remove_file(file)?)
}

fn fill(new: &mut File, file: &Path, bytes: &[u8]) -> Result<(), ReplaceFileError> {
    if let Ok(old) = fs::symlink_metadata(file) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt as _, fchown};
            // Only the superuser may give a file away; the group may be one of the user's.
            fchown(&*new, Some(old.uid()), Some(old.gid()))
                .or_else(|_| fchown(&*new, None, Some(old.gid())))
                .ok();
        }
        new.set_permissions(old.permissions())?;
    }
    new.write_all(bytes)?;
    Ok(new.sync_all()?)
}

fn verify(file: &Path, expected: Option<&[u8]>) -> Result<(), ReplaceFileError> {
    let most = expected.map_or(0, <[u8]>::len);
    let found = read_if_there(file, Boundary::Open, most).transpose()?;
    if found.as_deref() == expected { Ok(()) } else { Err(ReplaceFileError::Changed) }
}

/// A new file in the folder of another one.
fn create_beside(file: &Path) -> Result<(PathBuf, File), ReplaceFileError> {
    let name = file.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
    for number in 0..NAMES {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".lineside-{number}"));
        let beside = file.with_file_name(beside);
        match open_own(&beside, OpenOptions::new().write(true).create_new(true)) {
            Ok(new) => return Ok((beside, new)),
            Err(_) if fs::symlink_metadata(&beside).is_ok() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "files of interrupted edits stand beside it").into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn stage() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        (folder, file)
    }

    #[test]
    fn a_file_is_exchanged_with_its_mode_and_nothing_is_left_beside_it() {
        let (folder, file) = stage();
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&file, Some(b"old"), b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_has_changed_meanwhile_is_left_alone() {
        let (folder, file) = stage();
        for found in ["newer", "ol", ""] {
            fs::write(&file, found).unwrap();
            assert!(matches!(replace(&file, Some(b"old"), b"new"), Err(ReplaceFileError::Changed)));
            assert!(matches!(replace(&file, None, b"new"), Err(ReplaceFileError::Changed)));
            assert!(matches!(remove(&file, b"old"), Err(ReplaceFileError::Changed)));
            assert_eq!(fs::read(&file).unwrap(), found.as_bytes());
        }
        fs::remove_file(&file).unwrap();
        assert!(matches!(replace(&file, Some(b"old"), b"new"), Err(ReplaceFileError::Changed)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        replace(&file, None, b"new").unwrap();
        remove(&file, b"new").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
