//! Where the links of a path lead.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::Links;
use crate::error::{Kind, OpenFileError};

/// The path without links, which lies within this folder.
pub(crate) fn resolve(path: &Path, root: &Path) -> Result<PathBuf, OpenFileError> {
    let real = fs::canonicalize(path).map_err(|error| match explained(error, path, Links::Followed) {
        // Only the kernel knows where the link of a descriptor leads: there is no such path.
        absent if absent.is_absence() && path.is_symlink() => {
            OpenFileError::Outside(fs::read_link(path).unwrap_or_default())
        }
        other => other,
    })?;
    if real.starts_with(fs::canonicalize(root)?) { Ok(real) } else { Err(OpenFileError::Outside(real)) }
}

/// The error of an opening, with what is there instead of a file.
pub(crate) fn explained(error: io::Error, path: &Path, links: Links) -> OpenFileError {
    if error.kind() == ErrorKind::NotFound {
        return if leads_nowhere(path) { OpenFileError::Dangling } else { error.into() };
    }
    let found = match links {
        Links::Followed => fs::metadata(path),
        Links::Refused => fs::symlink_metadata(path),
    };
    match found.map(|found| Kind::of(found.file_type())) {
        Ok(Some(kind)) => OpenFileError::Kind(kind),
        Err(error) if is_circle(&error) => OpenFileError::Circle,
        Ok(None) | Err(_) => error.into(),
    }
}

/// Whether the last step of a path that is there is a link to something that is not.
fn leads_nowhere(path: &Path) -> bool {
    let there = path.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    there.is_some_and(|there| {
        there.is_symlink() && fs::metadata(there).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    })
}

#[cfg(unix)]
fn is_circle(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_circle(_: &io::Error) -> bool {
    false
}
