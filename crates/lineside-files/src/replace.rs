//! A file whose bytes are exchanged in one step: readers see the old ones or the new ones.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{RenameFlags, XattrFlags};
use rustix::io::Errno;

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
/// The new bytes are written beside it, with its mode, its access list and, where that is allowed, its owner, and are on
/// the disk before the two change places. A reader sees the old bytes or the new ones. What was changed in that moment by
/// another program takes its place again. Where a file system cannot exchange two files, the last look before the new one
/// takes the place has to do.
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
    replace_after(file, expected, bytes, || ())
}

/// The same; what stands for other programs acts in the last moment before the exchange.
fn replace_after(
    file: &Path,
    expected: Option<&[u8]>,
    bytes: &[u8],
    others: impl FnOnce(),
) -> Result<(), ReplaceFileError> {
    let (beside, mut new) = create_beside(file)?;
    let done = fill(&mut new, file, bytes).and_then(|()| {
        verify(file, expected)?;
        others();
        match expected {
            Some(expected) => exchange(&beside, file, expected, bytes)?,
            // A link to a name that exists is refused, where a renaming would take its place.
            None => fs::hard_link(&beside, file).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => ReplaceFileError::Changed,
                _ => error.into(),
            })?,
        }
        Ok(())
    });
    // What is there no longer was renamed.
    fs::remove_file(&beside).ok();
    if done.is_ok()
        && let Some(folder) = file.parent().and_then(|folder| File::open(folder).ok())
    {
        folder.sync_all().ok();
    }
    done
}

/// How often a file that other programs write at the same time is put back.
const TURNS: u32 = 100;

/// Has the new file and the old one change places, and looks at what came back.
fn exchange(new: &Path, file: &Path, expected: &[u8], bytes: &[u8]) -> Result<(), ReplaceFileError> {
    match renamed(new, file, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return Ok(fs::rename(new, file)?),
        Err(Errno::NOENT) => return Err(ReplaceFileError::Changed),
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let is_file = fs::symlink_metadata(new).is_ok_and(|found| found.is_file());
    if is_file && verify(new, Some(expected)).is_ok() {
        return Ok(());
    }
    // Another program has written in between: its file goes back. What comes in exchange is ours, or yet another one of
    // that program, which is newer and goes back in its turn.
    for _ in 0..TURNS {
        renamed(new, file, RenameFlags::EXCHANGE).map_err(io::Error::from)?;
        if verify(new, Some(bytes)).is_ok() {
            break;
        }
    }
    Err(ReplaceFileError::Changed)
}

fn renamed(from: &Path, to: &Path, how: RenameFlags) -> Result<(), Errno> {
    rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, how)
}

/// Removes a file that has these bytes.
///
/// # Errors
/// It has others, or cannot be removed.
pub fn remove(file: &Path, expected: &[u8]) -> Result<(), ReplaceFileError> {
    remove_after(file, expected, || ())
}

fn remove_after(file: &Path, expected: &[u8], others: impl FnOnce()) -> Result<(), ReplaceFileError> {
    verify(file, Some(expected))?;
    others();
    let (beside, _) = create_beside(file)?;
    let taken = fs::rename(file, &beside).map_err(ReplaceFileError::from).and_then(|()| {
        verify(&beside, Some(expected)).inspect_err(|_| {
            // A newer one that stands there by now stays.
            renamed(&beside, file, RenameFlags::NOREPLACE).ok();
        })
    });
    fs::remove_file(&beside).ok();
    taken
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
        keep_access_list(new, file)?;
    }
    new.write_all(bytes)?;
    Ok(new.sync_all()?)
}

/// The attribute of a file with its access list.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Gives the new file the access list of the old one. With its mode alone, those would read it whom the list excludes.
fn keep_access_list(new: &File, file: &Path) -> io::Result<()> {
    let mut list = vec![0; 64 << 10];
    match rustix::fs::lgetxattr(file, ACCESS_LIST, &mut list[..]) {
        Ok(length) => {
            list.truncate(length);
            Ok(rustix::fs::fsetxattr(new, ACCESS_LIST, &list, XattrFlags::empty())?)
        }
        // The folder may have given it one.
        Err(Errno::NODATA) => match rustix::fs::fremovexattr(new, ACCESS_LIST) {
            Ok(()) => new.set_permissions(fs::symlink_metadata(file)?.permissions()),
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        },
        Err(Errno::NOTSUP) => Ok(()),
        Err(error) => Err(error.into()),
    }
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

    /// The bytes of a list that lets its owner read and write, and excludes this group from what others may read.
    fn list_without(group: u32) -> Vec<u8> {
        let none = u32::MAX;
        let entries: [(u16, u16, u32); 5] =
            [(0x01, 6, none), (0x04, 4, none), (0x08, 0, group), (0x10, 4, none), (0x20, 4, none)];
        let entry = |(tag, may, id): (u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        [2_u32.to_le_bytes().to_vec(), entries.into_iter().flat_map(entry).collect()].concat()
    }

    fn access_list(file: &Path) -> Option<Vec<u8>> {
        let mut list = vec![0; 1024];
        let length = rustix::fs::lgetxattr(file, ACCESS_LIST, &mut list[..]).ok()?;
        Some(list[..length].to_vec())
    }

    #[test]
    fn a_group_that_an_access_list_excludes_is_excluded_afterwards() {
        let (folder, file) = stage();
        fs::write(&file, "old").unwrap();
        let list = list_without(12_345);
        match rustix::fs::setxattr(&file, ACCESS_LIST, &list, XattrFlags::empty()) {
            Err(Errno::NOTSUP) => return,
            done => done.unwrap(),
        }
        replace(&file, Some(b"old"), b"new").unwrap();
        assert_eq!(access_list(&file), Some(list.clone()));
        // One that the folder gives to what is new is not that of the file.
        let other = folder.path().join("other");
        fs::write(&other, "old").unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).unwrap();
        let default = "system.posix_acl_default";
        rustix::fs::setxattr(folder.path(), default, &list, XattrFlags::empty()).unwrap();
        replace(&other, Some(b"old"), b"new").unwrap();
        assert_eq!(access_list(&other), None);
        assert_eq!(fs::metadata(&other).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_edit_in_the_last_moment_is_not_lost() {
        let in_place = |file: &Path| fs::write(file, "edited").unwrap();
        let renamed = |file: &Path| {
            fs::write(file.with_extension("new"), "edited").unwrap();
            fs::rename(file.with_extension("new"), file).unwrap();
        };
        for edit in [&in_place as &dyn Fn(&Path), &renamed] {
            let (folder, file) = stage();
            let again = || fs::write(&file, "old").unwrap();
            again();
            let replaced = replace_after(&file, Some(b"old"), b"new", || edit(&file));
            assert!(matches!(replaced, Err(ReplaceFileError::Changed)));
            assert_eq!(fs::read(&file).unwrap(), b"edited");
            again();
            let removed = remove_after(&file, b"old", || edit(&file));
            assert!(matches!(removed, Err(ReplaceFileError::Changed)));
            assert_eq!(fs::read(&file).unwrap(), b"edited");
            fs::remove_file(&file).unwrap();
            let created = replace_after(&file, None, b"new", || edit(&file));
            assert!(matches!(created, Err(ReplaceFileError::Changed)));
            assert_eq!(fs::read(&file).unwrap(), b"edited");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}
