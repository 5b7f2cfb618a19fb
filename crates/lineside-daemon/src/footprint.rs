//! What a load of hooks has to do with on the disk: the folders to be watched so that no change is missed, and the state
//! of the files.
//!
//! Folders are watched and never files: editors put a new file in the place of the old one. Of what is not there, the
//! nearest folder that is there is watched, for the name that leads on. Links are followed, and the place of each link is
//! watched like the place of a file.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use lineside::dialects::Watched;
use lineside::trust::Marks;
use notify::EventKind;
use notify::event::{AccessKind, AccessMode, ModifyKind};

/// How many links a path may lead over; as many as Linux follows.
const LINKS: usize = 40;

/// Folders in which there are no hooks, and very many files.
const PASSED_OVER: [&str; 2] = ["node_modules", ".git"];

/// The files and folders of a load at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    folders: Folders,
    files: HashMap<PathBuf, Mark>,
}

/// What a footprint was found by.
pub(crate) struct Seen {
    /// Files, links, and folders that were listed.
    marks: Marks,
    /// Where nothing was.
    absent: Vec<PathBuf>,
    /// The folders that were listed, and those in which something was missing.
    folders: HashMap<PathBuf, Mark>,
}

impl Seen {
    /// Whether the footprint is for certain what it was: no file has changed, and none has come or gone.
    pub(crate) fn holds(&self) -> bool {
        let is_absent = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        !self.marks.are_fresh() && self.marks.hold() && self.absent.iter().all(is_absent)
    }

    /// Whether nothing has come and gone since in the folders that do not have something, or were listed: it shows in their
    /// times.
    pub(crate) fn has_folders_of(&self, other: &Self) -> bool {
        self.folders == other.folders
    }
}

/// The folders to be watched, each without links in its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folders(HashMap<PathBuf, Wanted>);

/// What counts in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wanted {
    /// Entries of these names.
    names: HashSet<OsString>,
    /// Files whose names end so.
    ends: Vec<&'static str>,
    /// Entries that may be folders: that they appear and go.
    deeper: bool,
}

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    inode: (u64, u64),
    size: u64,
    /// When its content was changed last.
    modified: Option<SystemTime>,
    /// When anything of it was changed last, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl Footprint {
    /// What these files and folders come to now.
    pub(crate) fn of(watched: &[Watched]) -> Self {
        Self::seen(watched).0
    }

    /// The same, with what it was found by.
    pub(crate) fn seen(watched: &[Watched]) -> (Self, Seen) {
        let Walk { found, seen, .. } = Walk::from(Self::default(), watched);
        (found, seen)
    }

    /// The same with these files and folders as well.
    pub(crate) fn and(self, watched: &[Watched]) -> Self {
        Walk::from(self, watched).found
    }

    /// The folders to be watched, and what counts in them.
    pub(crate) fn wanted(&self) -> Folders {
        self.folders.clone()
    }

    /// How long ago a file was changed last; `None` without files, or when its
    /// modification time is in the future.
    #[expect(clippy::disallowed_methods, reason = "the time of a file is one of the wall clock")]
    pub(crate) fn age(&self) -> Option<Duration> {
        self.files.values().filter_map(|mark| mark.modified).max()?.elapsed().ok()
    }
}

/// The making of a footprint.
struct Walk {
    found: Footprint,
    seen: Seen,
    /// Folders that are no links.
    plain: HashSet<PathBuf>,
}

impl Walk {
    fn from(found: Footprint, watched: &[Watched]) -> Self {
        let seen = Seen { marks: Marks::begin(), absent: Vec::new(), folders: HashMap::new() };
        let mut walk = Self { found, seen, plain: HashSet::new() };
        for Watched { path, levels, ends } in watched {
            walk.walk(Path::new("/"), path, *levels, ends);
        }
        walk
    }

    /// Follows a path from a folder without links.
    fn walk(&mut self, from: &Path, path: &Path, levels: u8, ends: &'static [&'static str]) {
        let mut at = from.to_path_buf();
        let mut rest: VecDeque<OsString> = VecDeque::new();
        // Most paths lead on from a folder that is known, and so is the way to it.
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if self.found.folders.0.contains_key(folder) => {
                at = folder.to_path_buf();
                rest.push_back(name.to_os_string());
            }
            _ => lead(path, &mut at, &mut rest),
        }
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            let wanted = self.found.folders.0.entry(at.clone()).or_default();
            if !wanted.names.contains(&name) {
                wanted.names.insert(name);
            }
            if self.plain.contains(&next) {
                at = next;
                continue;
            }
            let Ok(found) = fs::symlink_metadata(&next) else {
                self.seen.absent.push(next);
                if let Ok(folder) = fs::symlink_metadata(&at) {
                    self.seen.folders.entry(at).or_insert_with(|| Mark::of(&folder));
                }
                return;
            };
            if found.is_symlink() {
                links += 1;
                self.seen.marks.take(&next, &found);
                let Ok(target) = fs::read_link(&next) else { return };
                if links > LINKS {
                    return;
                }
                lead(&target, &mut at, &mut rest);
            } else if found.is_dir() {
                self.plain.insert(next.clone());
                at = next;
            } else {
                self.file(next, &found);
                return;
            }
        }
        self.below(&at, levels, ends);
    }

    /// Everything that counts below a folder.
    fn below(&mut self, folder: &Path, levels: u8, ends: &'static [&'static str]) {
        let Some(levels) = levels.checked_sub(1) else { return };
        let wanted = self.found.folders.0.entry(folder.to_path_buf()).or_default();
        wanted.deeper |= levels > 0;
        for end in ends {
            if !wanted.ends.contains(end) {
                wanted.ends.push(end);
            }
        }
        // Before it is read: what comes later shows in it.
        match fs::symlink_metadata(folder) {
            Ok(found) => {
                self.seen.marks.take(folder, &found);
                self.seen.folders.insert(folder.to_path_buf(), Mark::of(&found));
            }
            Err(_) => self.seen.absent.push(folder.to_path_buf()),
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let is_file = has_end(&name, ends);
            if kind.is_symlink() && (is_file || levels > 0) {
                self.walk(folder, Path::new(&name), levels, ends);
            } else if kind.is_dir() && !PASSED_OVER.iter().any(|passed| name == *passed) {
                self.below(&entry.path(), levels, ends);
            } else if is_file && let Ok(found) = entry.metadata() {
                self.file(entry.path(), &found);
            }
        }
    }

    fn file(&mut self, path: PathBuf, found: &Metadata) {
        self.seen.marks.take(&path, found);
        self.found.files.insert(path, Mark::of(found));
    }
}

impl Folders {
    /// Each without links in its path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Whether it matters that this has happened to this path.
    pub(crate) fn concern(&self, kind: EventKind, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Some(wanted) = self.0.get(folder) else { return false };
        match kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => wanted.file(name),
            EventKind::Access(_) => false,
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => wanted.file(name),
            _ => wanted.deeper || wanted.file(name),
        }
    }
}

impl Wanted {
    fn file(&self, name: &OsStr) -> bool {
        self.names.contains(name) || has_end(name, &self.ends)
    }
}

impl Mark {
    fn of(found: &Metadata) -> Self {
        Self {
            inode: (found.dev(), found.ino()),
            size: found.len(),
            modified: found.modified().ok(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Puts the steps of a path before those that are left; an absolute one starts at the root.
fn lead(path: &Path, at: &mut PathBuf, rest: &mut VecDeque<OsString>) {
    let mut steps = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => *at = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => steps.push(OsString::from("..")),
            Component::Normal(name) => steps.push(name.to_os_string()),
        }
    }
    for step in steps.into_iter().rev() {
        rest.push_front(step);
    }
}

fn has_end(name: &OsStr, ends: &[&str]) -> bool {
    let name = name.as_encoded_bytes();
    ends.iter().any(|end| {
        name.len()
            .checked_sub(end.len())
            .and_then(|from| name.get(from..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use lineside::dialects::Watched;
    use notify::EventKind;
    use notify::event::{CreateKind, DataChange, ModifyKind, RemoveKind};

    use super::{Footprint, Seen};

    fn created() -> EventKind {
        EventKind::Create(CreateKind::Any)
    }

    fn written() -> EventKind {
        EventKind::Modify(ModifyKind::Data(DataChange::Any))
    }

    #[test]
    fn of_what_is_not_there_the_nearest_folder_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let watched = [Watched { path: root.join("a/b/hooks.yaml"), levels: 0, ends: &[] }];
        let footprint = Footprint::of(&watched);
        assert!(footprint.folders.concern(created(), &root.join("a")));
        assert!(!footprint.folders.concern(created(), &root.join("b")));
        assert!(!footprint.folders.concern(created(), &root.join("a/b")), "nothing watches there yet");
        fs::create_dir_all(root.join("a/b")).unwrap();
        let footprint = Footprint::of(&watched);
        assert!(footprint.folders.concern(written(), &root.join("a/b/hooks.yaml")));
        assert!(!footprint.folders.concern(written(), &root.join("a/b/other.yaml")));
        assert_ne!(footprint, {
            fs::write(root.join("a/b/hooks.yaml"), "").unwrap();
            Footprint::of(&watched)
        });
    }

    #[test]
    fn it_holds_until_a_file_changes_comes_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("hooks/one")).unwrap();
        for file in ["hooks/one/HOOK.md", "hooks.yaml"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink("hooks/one", root.join("linked")).unwrap();
        let file = |path: &str| Watched { path: root.join(path), levels: 0, ends: &[] };
        let ends: &[&str] = &["HOOK.md"];
        let watched = [
            Watched { path: root.join("hooks"), levels: 2, ends },
            file("hooks.yaml"),
            file("linked/HOOK.md"),
            file("later/hooks.yaml"),
        ];
        let settled = || {
            let all = || std::iter::repeat_with(|| Footprint::seen(&watched).1);
            all().find(Seen::holds).unwrap()
        };
        let changes: [&dyn Fn(); 6] = [
            &|| fs::write(root.join("hooks/one/HOOK.md"), "y").unwrap(),
            &|| fs::create_dir(root.join("hooks/two")).unwrap(),
            &|| fs::write(root.join("hooks/two/HOOK.md"), "y").unwrap(),
            &|| fs::create_dir(root.join("later")).unwrap(),
            &|| fs::rename(root.join("hooks/two"), root.join("hooks/three")).unwrap(),
            &|| {
                fs::remove_file(root.join("linked")).unwrap();
                symlink("hooks/three", root.join("linked")).unwrap();
            },
        ];
        for change in changes {
            let before = settled();
            // What is no hook is no change.
            fs::write(root.join("notes.txt"), "x").unwrap();
            assert!(before.holds());
            change();
            assert!(!before.holds());
        }
    }

    #[test]
    fn links_are_followed_and_watched_where_they_lie() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for made in ["real/one", "hooks"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink("../real/one", root.join("hooks/linked")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let ends: &[&str] = &["HOOK.md"];
        let watched = [
            Watched { path: root.join("hooks"), levels: 2, ends },
            Watched { path: root.join("round/x"), levels: 0, ends: &[] },
        ];
        let footprint = Footprint::of(&watched);
        let concerns = |kind, path: &str| footprint.folders.concern(kind, &root.join(path));
        assert!(concerns(EventKind::Remove(RemoveKind::Any), "hooks/linked"));
        assert!(concerns(EventKind::Remove(RemoveKind::Any), "real/one"));
        assert!(concerns(written(), "real/one/HOOK.md"));
        assert!(concerns(written(), "real/one/hook.md"));
        assert!(!concerns(written(), "real/one/log.txt"));
        assert!(!concerns(written(), "hooks/log.txt"));
        assert!(concerns(created(), "hooks/new"));
        assert!(concerns(created(), "round"));
    }

    #[test]
    fn opening_and_reading_is_no_change() {
        use notify::event::{AccessKind, AccessMode};
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let footprint = Footprint::of(&[Watched { path: root.join("x"), levels: 0, ends: &[] }]);
        let read = [AccessKind::Open(AccessMode::Any), AccessKind::Close(AccessMode::Read)];
        for kind in read {
            assert!(!footprint.folders.concern(EventKind::Access(kind), &root.join("x")));
        }
        let write = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert!(footprint.folders.concern(write, &root.join("x")));
        assert!(!footprint.folders.concern(created(), Path::new("/")));
    }
}
