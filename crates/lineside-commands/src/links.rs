//! Links as the file system has them; what they lead to is not opened.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::state::{FileId, Links};

/// How many links one path may take, as for Linux.
const LINKS: usize = 40;
/// The longest path that a system has.
const LONGEST: usize = 4096;

/// Follows the links of this machine: one question to the system for each name of a path that is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileLinks;

impl Links for FileLinks {
    fn resolve(&self, path: &str, last: bool) -> Option<String> {
        Self::resolve_within(path, last, &|_| true).unwrap_or_default()
    }

    fn names(
        &self,
        folder: &str,
        fits: &dyn Fn(&str) -> bool,
        left: &mut usize,
    ) -> Option<Vec<(String, bool)>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1)?;
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            if let Some(name) =
                name.to_str().filter(|name| (kind.is_symlink() || kind.is_dir()) && fits(name))
            {
                all.push((name.to_owned(), kind.is_symlink()));
            }
        }
        // The order in which a file system has them is no property of the command.
        all.sort_unstable();
        Some(all)
    }

    #[cfg(unix)]
    fn file(&self, path: &str) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::symlink_metadata(path).ok()?;
        let has_others = found.is_file() && found.nlink() > 1;
        has_others.then(|| FileId { device: found.dev(), number: found.ino() })
    }

    fn has_name(
        &self,
        file: FileId,
        place: &str,
        fits: &dyn Fn(&str) -> bool,
        left: &mut usize,
    ) -> Option<bool> {
        Self::has_name_within(file, place, &|_| true, fits, left)
    }
}

impl FileLinks {
    /// The same, where the system is asked only of paths that `may_ask` lets through.
    ///
    /// # Errors
    /// A path that it does not let through, on the way or where a link leads.
    pub fn resolve_within(
        path: &str,
        last: bool,
        may_ask: &dyn Fn(&Path) -> bool,
    ) -> Result<Option<String>, PathBuf> {
        if !path.starts_with('/') || path.len() > LONGEST {
            return Ok(None);
        }
        let split = if last { Some((path, None)) } else { path.rsplit_once('/').map(|(a, b)| (a, Some(b))) };
        let Some((folder, name)) = split else { return Ok(None) };
        let Some(mut found) = follow(Path::new(folder), may_ask)? else { return Ok(None) };
        found.extend(name);
        Ok(found.into_os_string().into_string().ok().filter(|found| found != path))
    }
}

impl FileLinks {
    /// [`Links::has_name`], where the system is asked only of paths that `may_ask` lets through.
    #[cfg(unix)]
    pub fn has_name_within(
        file: FileId,
        place: &str,
        may_ask: &dyn Fn(&Path) -> bool,
        fits: &dyn Fn(&str) -> bool,
        left: &mut usize,
    ) -> Option<bool> {
        use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
        let mut open = vec![PathBuf::from(place)];
        while let Some(path) = open.pop() {
            let Some(found) = may_ask(&path).then(|| std::fs::symlink_metadata(&path).ok()).flatten() else {
                continue;
            };
            // A file has names on its own device alone.
            if found.dev() != file.device {
                continue;
            }
            if found.ino() == file.number && path.to_str().is_some_and(fits) {
                return Some(true);
            }
            if !found.is_dir() {
                continue;
            }
            for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
                *left = left.checked_sub(1)?;
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder || entry.ino() == file.number {
                    open.push(entry.path());
                }
            }
        }
        Some(false)
    }

    /// [`Links::has_name`], where the system is asked only of paths that `may_ask` lets through.
    #[cfg(not(unix))]
    pub fn has_name_within(
        _file: FileId,
        _place: &str,
        _may_ask: &dyn Fn(&Path) -> bool,
        _fits: &dyn Fn(&str) -> bool,
        _left: &mut usize,
    ) -> Option<bool> {
        Some(false)
    }
}

/// Where a path leads; `None` where it takes too many links.
fn follow(path: &Path, may_ask: &dyn Fn(&Path) -> bool) -> Result<Option<PathBuf>, PathBuf> {
    let mut path = Cow::Borrowed(path);
    for _ in 0..=LINKS {
        match step(&path, may_ask)? {
            Step::Whole(whole) => return Ok(Some(whole)),
            Step::Link(next) => path = next.into(),
        }
    }
    Ok(None)
}

enum Step {
    /// It has no link in it.
    Whole(PathBuf),
    /// The same without the first of its links.
    Link(PathBuf),
}

fn step(path: &Path, may_ask: &dyn Fn(&Path) -> bool) -> Result<Step, PathBuf> {
    let mut done = PathBuf::with_capacity(path.as_os_str().len() + 1);
    done.push("/");
    let (mut parts, mut is_there) = (path.components(), true);
    while let Some(part) = parts.next() {
        match part {
            Component::Normal(name) => done.push(name),
            Component::ParentDir => {
                done.pop();
                continue;
            }
            _ => continue,
        }
        if !is_there {
            continue;
        }
        if !may_ask(&done) {
            return Err(done);
        }
        match std::fs::read_link(&done) {
            Ok(target) => {
                done.pop();
                done.push(target);
                done.push(parts.as_path());
                return Ok(Step::Link(done));
            }
            Err(error) => is_there = error.kind() == ErrorKind::InvalidInput,
        }
    }
    Ok(Step::Whole(done))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_what_is_not_there_yet() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("../new", root.join("real/dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let at = |path: &str| format!("{}/{path}", root.display());
        let links = FileLinks;
        assert_eq!(links.resolve(&at("link/a/b"), true), Some(at("real/a/b")));
        assert_eq!(links.resolve(&at("link/dangling"), true), Some(at("new")));
        assert_eq!(links.resolve(&at("link"), true), Some(at("real")));
        assert_eq!(links.resolve(&at("link"), false), None, "the link itself");
        assert_eq!(links.resolve(&at("real/a"), true), None, "no link");
        assert_eq!(links.resolve(&at("loop/x"), true), None);
        symlink(root.join("real/up"), root.join("far")).unwrap();
        symlink("..", root.join("real/up")).unwrap();
        assert_eq!(links.resolve(&at("far/link/../far/a"), true), Some(at("a")), "link after link");
        assert_eq!(links.resolve("link", true), None);
    }
}
