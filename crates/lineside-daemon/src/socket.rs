//! The Unix socket: a folder that only its owner can enter, a path that no other process has, and peers of the same user.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lineside_account::own_user;
#[cfg(target_os = "linux")]
use lineside_account::peer_of;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::boxed::apart;

/// The longest path of a socket that every Unix takes, in bytes.
///
/// Linux has room for 108 bytes with the closing zero, macOS for 104; the smaller bound that both meet is not applied,
/// since a path beyond it fails at once on the system concerned.
pub const LONGEST: usize = 107;

/// How long another process may look at a socket and take its place, which takes it microseconds.
const LONGEST_HELD: Duration = Duration::from_secs(5);
/// How long to wait before it is asked again.
const BETWEEN: Duration = Duration::from_millis(5);

/// The mode of the folder: its owner and no other.
const FOLDER: u32 = 0o700;
/// The mode of the socket.
const SOCKET: u32 = 0o600;

/// Why a socket cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindSocketError {
    /// The path does not fit into a socket address.
    #[error(
        "the path of the socket has {length} bytes, at most {LONGEST} fit: {}; choose a shorter one with --socket",
        path.display()
    )]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The path has no folder.
    #[error("the path of the socket names no folder: {}", .0.display())]
    NoFolder(PathBuf),
    /// The folder is a link, or no folder.
    #[error("{} is not a folder of its own; remove it or choose another socket with --socket", .0.display())]
    NotAFolder(PathBuf),
    /// Another user has the folder.
    #[error("{} belongs to user {owner}, not to {own}; choose another socket with --socket", path.display())]
    ForeignFolder {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who asks.
        own: u32,
    },
    /// Others may enter the folder.
    #[error("{} can be entered by others (mode {mode:o}); run: chmod 700 {}", path.display(), path.display())]
    OpenFolder {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Something that is not a socket of ours is there.
    #[error("{} exists and is not a socket of this user; remove it or choose another with --socket", .0.display())]
    Occupied(PathBuf),
    /// Another daemon answers there.
    #[error("a daemon listens on {} already", .0.display())]
    InUse(PathBuf),
    /// The system refuses.
    #[error("failed to prepare {}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A socket that is listened on. Dropping it takes its file away.
///
/// ```
/// use lineside_daemon::socket::Socket;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("own/lineside.sock");
/// let socket = Socket::bind(&path)?;
/// assert!(path.exists() && Socket::bind(&path).is_err());
/// drop(socket);
/// assert!(!path.exists());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Socket {
    listener: AsyncFd<StdUnixListener>,
    path: PathBuf,
    own: u32,
    /// The file that was bound, so that only that one is taken away; none when it is another's to take away.
    inode: Option<(u64, u64)>,
    /// Whether the last attempt to listen anew has failed.
    is_lost: bool,
    /// Where it listens when nothing can be made at the path.
    other: Option<PathBuf>,
}

impl Socket {
    /// Listens on a path.
    ///
    /// The folder is made with mode 0700 when it is absent, and refused when it is a link, another user's, or open to
    /// others. A stale socket of this user is replaced; a socket on which something answers, another user's, a link or
    /// any other file is refused. The mode of the socket is 0600 whatever the umask.
    ///
    /// # Errors
    /// Those of [`BindSocketError`], each with its remedy.
    pub fn bind(path: &Path) -> Result<Self, BindSocketError> {
        let length = path.as_os_str().len();
        if length > LONGEST {
            return Err(BindSocketError::TooLong { path: path.to_path_buf(), length });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.ok_or_else(|| BindSocketError::NoFolder(path.to_path_buf()))?;
        let own = private_folder(folder)?;
        // Between the look at a stale socket and the bind, another daemon may have bound; its socket is not stale.
        let _alone = alone(path, LONGEST_HELD).map_err(io_at(path))?;
        clear(path, own)?;
        let listener = StdUnixListener::bind(path).and_then(listening).map_err(io_at(path))?;
        // The folder lets no other user in, so that the moment between the two calls is not seen.
        fs::set_permissions(path, Permissions::from_mode(SOCKET)).map_err(io_at(path))?;
        let bound = fs::symlink_metadata(path).map_err(io_at(path))?;
        Ok(Self {
            listener,
            path: path.to_path_buf(),
            own,
            inode: Some((bound.dev(), bound.ino())),
            is_lost: false,
            other: None,
        })
    }

    /// A socket that a supervisor has bound, and that stays its own. Must be called within a tokio runtime with I/O.
    ///
    /// # Errors
    /// It has no path, its folder is not the user's alone, or the system refuses.
    pub fn handed_over(listener: StdUnixListener) -> Result<Self, BindSocketError> {
        let address = listener.local_addr().map_err(io_at(Path::new("")))?;
        let path = address.as_pathname().map(Path::to_path_buf).unwrap_or_default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.ok_or_else(|| BindSocketError::NoFolder(path.clone()))?;
        let own = private_folder(folder)?;
        let listener = listening(listener).map_err(io_at(&path))?;
        Ok(Self { listener, path, own, inode: None, is_lost: false, other: None })
    }

    /// With another place, to listen at when nothing can be made at the path any more: the folders above may be gone.
    #[must_use]
    pub fn or_at(mut self, other: PathBuf) -> Self {
        self.other = Some(other).filter(|other| *other != self.path);
        self
    }

    /// The next peer of the same user, and the number of its process where the system knows it; others are closed without
    /// an answer. The connection does not block, and is registered with no runtime: that costs more than all else here, and
    /// it may have no room.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// The system cannot accept, for example because the process has too many descriptors.
    pub async fn accept(&self) -> io::Result<(StdUnixStream, Option<u32>)> {
        loop {
            let (stream, _) = self.listener.async_io(Interest::READABLE, StdUnixListener::accept).await?;
            match peer_of(&stream) {
                Ok((user, process)) if user == self.own => {
                    stream.set_nonblocking(true)?;
                    return Ok((stream, process));
                }
                Ok((uid, _)) => tracing::warn!(uid, "refused a connection of another user"),
                Err(error) => tracing::warn!(%error, "refused a connection whose user is unknown"),
            }
        }
    }

    /// Listens anew where nothing is at the path any more, as after a cleaner of temporary folders: clients find the daemon
    /// again. Does nothing where something is there, whatever it is, and for a socket of a supervisor. What fails is logged
    /// once, and tried again by the next call. Waiting for another process that binds keeps no other task waiting.
    ///
    /// Must be called within a tokio runtime with I/O. Cancel safe: a socket that is bound after that is taken away again.
    pub async fn renew(&mut self) {
        let is_absent =
            |error: io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        let is_gone = || fs::symlink_metadata(&self.path).is_err_and(is_absent);
        if self.inode.is_none() || !is_gone() {
            return;
        }
        let (path, other) = (self.path.clone(), self.other.clone());
        let bind = move || {
            let at_other = |error| other.map_or(Err(error), |other| Self::bind(&other));
            Self::bind(&path).or_else(at_other)
        };
        let Ok(bound) = apart(bind).await else { return };
        match bound {
            Ok(socket) => {
                let (path, now) = (self.path.display(), socket.path.display());
                tracing::warn!(%path, %now, "the socket had been removed, and is there again");
                *self = socket;
            }
            Err(error) => {
                if !self.is_lost {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the socket was removed, and cannot be made again yet");
                }
                self.is_lost = true;
            }
        }
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| Some((found.dev(), found.ino())) == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "failed to remove the socket");
        }
    }
}

/// Makes a folder that only its owner can enter, or verifies one. Gives the owner's user id, which is this process's.
///
/// # Errors
/// It cannot be made, is a link or another kind of file, is another user's, or is open to others.
pub fn private_folder(folder: &Path) -> Result<u32, BindSocketError> {
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        // What is above is the user's own affair: `/run/user/1000`, `~/.local/state`.
        fs::create_dir_all(above).map_err(io_at(above))?;
    }
    match DirBuilder::new().mode(FOLDER).create(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(FOLDER)).map_err(io_at(folder))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(source) => return Err(BindSocketError::Io { path: folder.to_path_buf(), source }),
    }
    let found = fs::symlink_metadata(folder).map_err(io_at(folder))?;
    if !found.is_dir() {
        return Err(BindSocketError::NotAFolder(folder.to_path_buf()));
    }
    let own = own_user();
    if found.uid() != own {
        let (path, owner) = (folder.to_path_buf(), found.uid());
        return Err(BindSocketError::ForeignFolder { path, owner, own });
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(BindSocketError::OpenFolder { path: folder.to_path_buf(), mode });
    }
    Ok(own)
}

/// A listener as the runtime has it, in whose context this is called.
#[allow(
    deprecated,
    reason = "deprecated for types whose descriptor can change under the runtime, which a `UnixListener` cannot; \
              the replacement is `unsafe`"
)]
fn listening(listener: StdUnixListener) -> io::Result<AsyncFd<StdUnixListener>> {
    listener.set_nonblocking(true)?;
    AsyncFd::with_interest(listener, Interest::READABLE)
}

/// The user and the number of the process at the other end.
#[cfg(not(target_os = "linux"))]
fn peer_of(stream: &StdUnixStream) -> io::Result<(u32, Option<u32>)> {
    let copy = stream.try_clone()?;
    copy.set_nonblocking(true)?;
    let peer = tokio::net::UnixStream::from_std(copy)?.peer_cred()?;
    Ok((peer.uid(), peer.pid().and_then(|pid| u32::try_from(pid).ok())))
}

/// Lets one process at a time look at a socket and take its place, until the file is dropped. Waits no longer than this:
/// any process of the user can have the lock, also one that was stopped.
fn alone(path: &Path, longest: Duration) -> io::Result<File> {
    let until = Instant::now() + longest;
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(SOCKET).open(name)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(BETWEEN),
            Err(TryLockError::WouldBlock) => {
                let held = "another process holds the lock beside it (its path and `.lock`); end that";
                return Err(io::Error::new(ErrorKind::TimedOut, held));
            }
        }
    }
}

/// Takes a stale socket of this user away.
fn clear(path: &Path, own: u32) -> Result<(), BindSocketError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(BindSocketError::Io { path: path.to_path_buf(), source }),
    };
    if !found.file_type().is_socket() || found.uid() != own {
        return Err(BindSocketError::Occupied(path.to_path_buf()));
    }
    match StdUnixStream::connect(path) {
        Ok(_) => Err(BindSocketError::InUse(path.to_path_buf())),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(io_at(path))
        }
        Err(source) => Err(BindSocketError::Io { path: path.to_path_buf(), source }),
    }
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> BindSocketError {
    let path = path.to_path_buf();
    move |source| BindSocketError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_another_process_keeps_is_not_waited_for_without_end() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("s");
        let held = alone(&path, Duration::ZERO).unwrap();
        assert_eq!(alone(&path, Duration::ZERO).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(held);
        assert!(alone(&path, Duration::ZERO).is_ok());
    }

    #[tokio::test]
    async fn a_socket_whose_folders_are_gone_for_good_is_made_at_the_other_place() {
        let room = tempfile::tempdir().unwrap();
        let (run, other) = (room.path().join("run"), room.path().join("state/s"));
        let mut socket = Socket::bind(&run.join("lineside/s")).unwrap().or_at(other.clone());
        socket.renew().await;
        assert!(!other.exists(), "it is there still");
        fs::remove_dir_all(&run).unwrap();
        // In place of a folder that only root can make.
        fs::write(&run, "").unwrap();
        socket.renew().await;
        assert_eq!(socket.path(), other);
        assert!(StdUnixStream::connect(&other).is_ok());
    }
}
