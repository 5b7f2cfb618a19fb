//! Connecting to a socket that no other user can have put there, and to no other user's process.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Why there is no connection that could be believed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nothing listens there.
    Absent,
    /// Another user may listen there, or does.
    Foreign,
    /// The system refuses.
    Io(io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("nothing listens there"),
            Self::Foreign => f.write_str("another user has the socket or its folder, or may enter that"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConnectError {}

/// Connects to a socket of this user, in a folder that they alone can enter, behind which a process of this user listens.
///
/// No byte is sent before all of that is known; what was true of the folder may end the moment after, and the peer does
/// not change then.
///
/// # Errors
/// Nothing listens there, or another user may.
pub fn connect(socket: &Path) -> Result<UnixStream, ConnectError> {
    let own = own_user();
    let folder = socket.parent().ok_or(ConnectError::Foreign)?;
    let found = folder.symlink_metadata().map_err(refused)?;
    if !found.is_dir() {
        // No daemon listens behind a link either.
        return Err(ConnectError::Absent);
    }
    if found.uid() != own || found.permissions().mode() & 0o077 != 0 {
        return Err(ConnectError::Foreign);
    }
    let found = socket.symlink_metadata().map_err(refused)?;
    if !found.file_type().is_socket() || found.uid() != own {
        return Err(ConnectError::Foreign);
    }
    let stream = UnixStream::connect(socket).map_err(refused)?;
    if is_own(&stream) { Ok(stream) } else { Err(ConnectError::Foreign) }
}

fn refused(error: io::Error) -> ConnectError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ConnectError::Absent,
        _ => ConnectError::Io(error),
    }
}

/// Whether the process that listens, or has connected, at the other end of a Unix socket is one of this user.
///
/// On systems that cannot say it without unsafe code the owners of the socket and its folder have to do.
#[must_use]
pub fn is_own(stream: impl AsFd) -> bool {
    #[cfg(target_os = "linux")]
    {
        peer_of(stream).is_ok_and(|(user, _)| user == own_user())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = stream;
        true
    }
}

/// The user of this process.
#[must_use]
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user of the process at the other end of a Unix socket, and the number of that process where it is known here.
///
/// # Errors
/// The system does not say it.
#[cfg(target_os = "linux")]
pub fn peer_of(stream: impl AsFd) -> io::Result<(u32, Option<u32>)> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok((peer.uid.as_raw(), u32::try_from(peer.pid.as_raw_pid()).ok()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_folder_that_others_may_enter_or_a_file_that_is_no_socket_is_not_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert!(matches!(connect(&socket), Err(ConnectError::Absent)));
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        for mode in [0o701, 0o710, 0o755] {
            set(mode);
            assert!(matches!(connect(&socket), Err(ConnectError::Foreign)), "{mode:o}");
        }
        assert!(listener.accept().is_err(), "nothing was connected");
        set(0o700);
        connect(&socket).unwrap();
        drop(listener);
        assert!(matches!(connect(&socket), Err(ConnectError::Absent)), "it is stale");
        fs::remove_file(&socket).unwrap();
        fs::write(&socket, "").unwrap();
        assert!(matches!(connect(&socket), Err(ConnectError::Foreign)));
    }

    /// Listens as another user on a socket that this one has bound, which only root can begin.
    const OTHER: &str = "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.setuid(12345); \
        s.listen(); print('ready', flush=True); sys.stdin.read()";

    #[test]
    #[cfg(target_os = "linux")]
    fn a_listener_of_another_user_is_not_believed_whatever_its_socket_looks_like() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let socket = folder.path().join("s");
        let mut other = Command::new("python3");
        other.args(["-c", OTHER]).arg(&socket).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut other = other.spawn().unwrap();
        let mut ready = [0; 5];
        other.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert!(matches!(connect(&socket), Err(ConnectError::Foreign)));
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
