//! Opens files that an attacker may have put in their places.
//!
//! Only a regular file is opened, and no opening waits: a pipe, a device, a socket or a folder is an error. What others
//! wrote is read up to a bound and, where its place is a project, from within that project alone. What is our own to
//! write is never opened through a link. What stands in a file, and what becomes of an error, is for the caller.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod exposure;
mod folders;
mod links;
mod replace;
mod root;

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

pub use error::{Kind, OpenFileError};
pub use exposure::{Exposure, exposure, of as exposure_of};
pub use folders::folders;
pub use replace::{ReplaceFileError, remove, replace};
pub use root::Root;

/// Where the links of a path may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary<'a> {
    /// Anywhere.
    Open,
    /// Anywhere: the path is the user's own, who may keep the files elsewhere. What it leads to is read only if no
    /// other user may have written it.
    Own,
    /// No further than this folder, whose own path may have links.
    Within(&'a Path),
    /// Anywhere, if neither the file nor the folder of its path belongs to another user than this one and the superuser, or
    /// may be written by others.
    Of(u32),
}

/// The first bytes of a file: `most`, and one more where the file is longer, which tells that there is more.
///
/// ```
/// use lineside_files::{Boundary, read};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("settings.json");
/// std::fs::write(&file, "{}")?;
/// assert_eq!(read(&file, Boundary::Within(folder.path()), 1024)?, b"{}");
/// // A folder is no regular file.
/// assert!(read(folder.path(), Boundary::Open, 1024).is_err());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// It cannot be opened or read, it is no regular file, it is out of the boundary, or others may have written what is to
/// be the user's own.
pub fn read(file: &Path, boundary: Boundary<'_>, most: usize) -> Result<Vec<u8>, OpenFileError> {
    let (open, found) = match boundary {
        Boundary::Open => open(file, OpenOptions::new().read(true), Links::Followed)?,
        Boundary::Own => {
            let (open, found) = open(file, OpenOptions::new().read(true), Links::Followed)?;
            if let Some(exposure) = exposure::of(&found) {
                return Err(OpenFileError::Exposed(exposure));
            }
            (open, found)
        }
        Boundary::Of(owner) => {
            let (open, found) = open(file, OpenOptions::new().read(true), Links::Followed)?;
            let folder = std::fs::metadata(file.parent().unwrap_or(Path::new("/")))?;
            for metadata in [&found, &folder] {
                if let Some(exposure) = exposure::to_others_than(owner, metadata) {
                    return Err(OpenFileError::Exposed(exposure));
                }
            }
            (open, found)
        }
        // The path without links: what is put in its place meanwhile is not followed.
        Boundary::Within(root) => {
            open(&links::resolve(file, root)?, OpenOptions::new().read(true), Links::Refused)?
        }
    };
    first_of(open, &found, most)
}

fn first_of(open: File, found: &Metadata, most: usize) -> Result<Vec<u8>, OpenFileError> {
    let most = most as u64 + 1;
    // One byte more than there are: the end is seen in the same room.
    let room = found.len().saturating_add(1).min(most);
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    open.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same of a file that need not be there: `None` when it is not. A link that leads nowhere is there.
///
/// # Errors
/// Those of [`read`], of a file that is there.
pub fn read_if_there(
    file: &Path,
    boundary: Boundary<'_>,
    most: usize,
) -> Option<Result<Vec<u8>, OpenFileError>> {
    match read(file, boundary, most) {
        Err(error) if error.is_absence() => None,
        read => Some(read),
    }
}

/// Opens a file of our own with these options, to which those are added that are needed to open it safely. Its folder
/// may be reached through links, the file itself may be none.
///
/// # Errors
/// It cannot be opened, or it is no regular file.
pub fn open_own(file: &Path, options: &mut OpenOptions) -> Result<File, OpenFileError> {
    open(file, options, Links::Refused).map(|(open, _)| open)
}

/// Whether the last step of a path may be a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

/// The open file, and what is known of it. What it is gets checked on the descriptor, because a path may lead elsewhere a moment later.
fn open(file: &Path, options: &mut OpenOptions, links: Links) -> Result<(File, Metadata), OpenFileError> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // The opening of a pipe waits for the other side otherwise, and that of a terminal may make it ours.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, links == Links::Refused);
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    if links == Links::Refused && file.is_symlink() {
        return Err(OpenFileError::Kind(Kind::Link));
    }
    let open = options.open(file).map_err(|error| links::explained(error, file, links))?;
    let found = regular(&open)?;
    Ok((open, found))
}

/// What is known of a file that is open, which is a regular one.
fn regular(open: &File) -> Result<Metadata, OpenFileError> {
    let found = open.metadata()?;
    match Kind::of(found.file_type()) {
        None => Ok(found),
        Some(kind) => Err(OpenFileError::Kind(kind)),
    }
}

#[cfg(all(test, unix))]
mod tests;
