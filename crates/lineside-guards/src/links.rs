//! Links as the file system has them, where one that does not answer holds up nothing.
//!
//! What lies on a file system of this machine is asked at once. Of any other, which may be that of a server that is gone, a
//! thread of its own asks; what it does not say in time is not known.

use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lineside_commands::{FileId, FileLinks, Links};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a file system that is not of this machine may take for one path.
const PATIENCE: Duration = Duration::from_millis(500);

/// After how many readings with a path in them the list of mounts is read anew, where the system does not say that it has
/// changed.
const READINGS: u32 = 1_024;

/// Of how many paths a reading remembers where they lead.
const REMEMBERED: usize = 32;

/// The beginnings of the types of file systems that may not answer.
const REMOTE: [&str; 14] = [
    "nfs", "cifs", "smb", "fuse", "9p", "afs", "ceph", "gluster", "lustre", "autofs", "davfs", "ncp", "gfs",
    "ocfs",
];

/// The links of this machine, for one reading of an event.
pub(crate) struct LocalLinks {
    /// Looked up with the first path: most commands have none.
    remote: OnceCell<Arc<[PathBuf]>>,
    /// What was asked already, and where it leads.
    known: RefCell<Vec<(String, bool, Option<String>)>>,
    /// What was not answered in time.
    silent: RefCell<Option<String>>,
    /// How long that is.
    patience: Duration,
}

impl LocalLinks {
    pub(crate) fn new() -> Self {
        let (known, silent) = (RefCell::default(), RefCell::default());
        Self { remote: OnceCell::new(), known, silent, patience: PATIENCE }
    }

    /// The path of which it is not known where its links lead, if there was one.
    pub(crate) fn silent(&self) -> Option<String> {
        self.silent.borrow().clone()
    }
}

impl LocalLinks {
    fn is_local(&self, path: &Path) -> bool {
        !self.remote.get_or_init(remote).iter().any(|mount| path.starts_with(mount))
    }

    fn ask(&self, path: &str, last: bool) -> Option<String> {
        let remote = self.remote.get_or_init(remote);
        let is_local = |path: &Path| !remote.iter().any(|mount| path.starts_with(mount));
        if let Ok(found) = FileLinks::resolve_within(path, last, &is_local) {
            return found;
        }
        if self.silent.borrow().is_some() {
            return None;
        }
        follow_aside(path, last, self.patience).unwrap_or_else(|| {
            self.silent.replace(Some(path.to_owned()));
            None
        })
    }
}

impl Links for LocalLinks {
    fn resolve(&self, path: &str, last: bool) -> Option<String> {
        let is_it = |(known, whole, _): &&(String, bool, _)| *whole == last && known == path;
        if let Some((.., found)) = self.known.borrow().iter().find(is_it) {
            return found.clone();
        }
        let found = self.ask(path, last);
        let mut known = self.known.borrow_mut();
        if known.len() < REMEMBERED {
            known.push((path.to_owned(), last, found.clone()));
        }
        found
    }

    /// A folder of a file system that may not answer is not read, and so what it holds is not known.
    fn names(
        &self,
        folder: &str,
        fits: &dyn Fn(&str) -> bool,
        left: &mut usize,
    ) -> Option<Vec<(String, bool)>> {
        let found = self.resolve(folder, true);
        let folder = found.as_deref().unwrap_or(folder);
        let remote = self.remote.get_or_init(remote);
        let is_local = !remote.iter().any(|mount| Path::new(folder).starts_with(mount));
        if is_local { FileLinks.names(folder, fits, left) } else { None }
    }

    fn file(&self, path: &str) -> Option<FileId> {
        if self.is_local(Path::new(path)) { FileLinks.file(path) } else { None }
    }

    fn has_name(
        &self,
        file: FileId,
        place: &str,
        fits: &dyn Fn(&str) -> bool,
        left: &mut usize,
    ) -> Option<bool> {
        FileLinks::has_name_within(file, place, &|path| self.is_local(path), fits, left)
    }
}

/// The mounts whose file systems may not answer, as they were when the list was read.
struct Mounts {
    /// The list; by it the system says that there is another one.
    list: Option<File>,
    remote: Arc<[PathBuf]>,
    readings: u32,
}

impl Mounts {
    fn read() -> Self {
        // What changes from here on is said by the open file, also while it is read.
        let mut list = File::open("/proc/self/mountinfo").ok();
        let mut text = String::new();
        let is_read = list.as_mut().is_some_and(|list| list.read_to_string(&mut text).is_ok());
        // Where there is no list, any may be one.
        let remote = if is_read { remote_of(&text) } else { [PathBuf::from("/")].into() };
        Self { list: list.filter(|_| is_read), remote, readings: 0 }
    }

    /// Whether they are others by now.
    fn are_old(&mut self) -> bool {
        self.readings += 1;
        let Some(list) = self.list.as_ref().filter(|_| self.readings < READINGS) else { return true };
        let nothing = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut [PollFd::new(list, PollFlags::PRI)], Some(&nothing)), Ok(0))
    }
}

/// The mounts whose file systems may not answer.
fn remote() -> Arc<[PathBuf]> {
    static MOUNTS: Mutex<Option<Mounts>> = Mutex::new(None);
    let mut mounts = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    if mounts.as_mut().is_none_or(Mounts::are_old) {
        *mounts = None;
    }
    Arc::clone(&mounts.get_or_insert_with(Mounts::read).remote)
}

fn remote_of(mountinfo: &str) -> Arc<[PathBuf]> {
    let mount = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let kind = kind.split(' ').next()?;
        let path = place.split(' ').nth(4)?.replace("\\040", " ");
        REMOTE.iter().any(|remote| kind.starts_with(remote)).then(|| PathBuf::from(path))
    };
    mountinfo.lines().filter_map(mount).collect()
}

/// What a thread is asked, and where its answer goes.
type Question = (String, bool, SyncSender<Option<String>>);

/// A thread that follows links. Where it waits for a file system, no further question waits for it.
static FOLLOWER: Mutex<Option<SyncSender<Question>>> = Mutex::new(None);

/// Where the links of a path lead; `None` when no answer came in time.
fn follow_aside(path: &str, last: bool, patience: Duration) -> Option<Option<String>> {
    let (answer, answered) = sync_channel(1);
    {
        let mut follower = FOLLOWER.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = match &*follower {
            Some(ask) => ask,
            None => follower.insert(start()?),
        };
        ask.try_send((path.to_owned(), last, answer)).ok()?;
    }
    answered.recv_timeout(patience).ok()
}

fn start() -> Option<SyncSender<Question>> {
    let (ask, asked): (_, Receiver<Question>) = sync_channel(1);
    let run = move || {
        for (path, last, answer) in asked {
            answer.try_send(FileLinks.resolve(&path, last)).ok();
        }
    };
    thread::Builder::new().name("lineside-links".to_owned()).spawn(run).ok()?;
    Some(ask)
}

/// How a session that begins here names the project with this root, where that is by a link.
pub(crate) fn alias(links: &dyn Links, begun: &str, root: &str) -> Option<String> {
    if Path::new(begun).starts_with(root) {
        return None;
    }
    let there = links.resolve(begun, true)?;
    let below = Path::new(&there).strip_prefix(root).ok()?;
    let named = Path::new(begun).ancestors().nth(below.components().count())?;
    let is_named = named.join(below) == Path::new(begun);
    named.to_str().filter(|_| is_named).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One question at a time: a second one is not heard while the first waits.
    static ASKS: Mutex<()> = Mutex::new(());

    #[test]
    fn a_session_that_begins_behind_a_link_has_a_name_of_its_own_for_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().canonicalize().unwrap().join(path).to_str().unwrap().to_owned();
        std::fs::create_dir_all(at("p/sub")).unwrap();
        std::os::unix::fs::symlink(at("p"), at("l")).unwrap();
        let alias = |begun: &str| super::alias(&LocalLinks::new(), &at(begun), &at("p"));
        assert_eq!([alias("l"), alias("l/sub")], [(); 2].map(|()| Some(at("l"))));
        assert_eq!([alias("p"), alias("p/sub"), alias("q")], [None, None, None]);
    }

    #[test]
    fn what_is_not_of_this_machine_is_found_among_the_mounts() {
        let text = "22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            30 22 0:30 / /mnt/with\\040blank rw - nfs4 server:/x rw\n31 22 0:31 / /home/dev/s rw - fuse.sshfs s: rw\n";
        assert_eq!(*remote_of(text), [Path::new("/mnt/with blank"), Path::new("/home/dev/s")]);
    }

    #[test]
    fn a_list_of_mounts_is_old_when_the_system_says_so_or_it_has_served_long() {
        let mut mounts = Mounts::read();
        assert!(mounts.list.is_some());
        let old = (0..READINGS).filter(|_| mounts.are_old()).count();
        assert!((1..8).contains(&old), "the last one, and what is mounted meanwhile: {old}");
        mounts.list = None;
        mounts.readings = 0;
        assert!(mounts.are_old(), "what is not known is asked again");
    }

    #[test]
    fn the_names_of_a_folder_are_read_where_its_file_system_is_local() {
        let _asks = ASKS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        std::os::unix::fs::symlink("file", root.join("real/to")).unwrap();
        let names = |remote: PathBuf, folder: &str, mut left: usize| {
            let links = LocalLinks { remote: OnceCell::from(Arc::from([remote])), ..LocalLinks::new() };
            links.names(&format!("{}/{folder}", root.display()), &|name| name != "x", &mut left)
        };
        let elsewhere = || PathBuf::from("/mnt/none");
        let of_root = vec![("link".to_owned(), true), ("real".to_owned(), false)];
        assert_eq!(names(elsewhere(), "", 9), Some(of_root));
        assert_eq!(names(elsewhere(), "link", 9), Some(vec![("to".to_owned(), true)]), "files are left out");
        assert_eq!(names(elsewhere(), "none", 9), Some(vec![]));
        assert_eq!(names(elsewhere(), "", 1), None, "more than may be read");
        assert_eq!(names(root.join("real"), "link", 9), None, "behind a link");
    }

    #[test]
    fn what_is_not_local_is_followed_aside_and_found_all_the_same() {
        let _asks = ASKS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let at = |path: &str| format!("{}/{path}", root.display());
        // The machine may be busy, and what is asked for is there.
        let patience = Duration::from_secs(600);
        for remote in [vec![], vec![PathBuf::from("/")], vec![root.clone()]] {
            let links =
                LocalLinks { remote: OnceCell::from(Arc::from(remote)), patience, ..LocalLinks::new() };
            assert_eq!(links.resolve(&at("link/a"), true), Some(at("real/a")));
            assert_eq!(links.resolve(&at("link"), false), None);
            assert_eq!(links.resolve(&at("link"), true), Some(at("real")), "another question than before");
            assert_eq!(links.silent(), None);
        }
    }
}
