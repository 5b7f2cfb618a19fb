//! What a process has inherited: which daemon, and the grant of the session that it was started under.
//!
//! The one place of the crate that reads the environment.

use std::env;
use std::path::PathBuf;

use lineside_core::propagation::{GRANT, SOCKET};

use crate::client::Client;

/// Why the environment names no daemon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEnvironmentError {
    /// No variable names a socket, nor a folder in which there may be one.
    #[error(
        "cannot tell where the daemon is: none of LINESIDE_SOCKET, XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME holds an \
         absolute path"
    )]
    NoSocket,
    /// The grant cannot be sent.
    #[error(
        "LINESIDE_GRANT does not hold a grant; unset it to be a root session, or start the process again"
    )]
    NotAGrant,
}

impl Client {
    /// A client of the daemon that the environment names, with the rights that it gives.
    ///
    /// A process that was started under a session has the variables `LINESIDE_SOCKET`, `LINESIDE_SESSION` and
    /// `LINESIDE_GRANT`: the sessions that this client opens are children of that one, under its hooks, and it can reach
    /// nothing else. Without a grant it is a client of the user. Nothing is connected yet.
    ///
    /// The socket is `LINESIDE_SOCKET`, else `lineside/lineside.sock` in `XDG_RUNTIME_DIR`, else `lineside/lineside.sock`
    /// in `XDG_STATE_HOME` or `~/.local/state`. A variable that does not hold an absolute path counts as not set.
    ///
    /// # Errors
    /// No socket can be named, or the grant is not a text that can be sent. A grant of a session that is over is refused
    /// by the daemon, and never taken for none.
    pub fn from_environment() -> Result<Self, ReadEnvironmentError> {
        let client = Self::new(default_socket().ok_or(ReadEnvironmentError::NoSocket)?);
        match inherited_grant()? {
            Some(grant) => Ok(client.granted(grant)),
            None => Ok(client),
        }
    }
}

/// The socket of the daemon that the environment names.
#[must_use]
pub fn default_socket() -> Option<PathBuf> {
    let path = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = || path("XDG_STATE_HOME").or_else(|| Some(path("HOME")?.join(".local/state")));
    let of_user = || Some(path("XDG_RUNTIME_DIR").or_else(state)?.join("lineside/lineside.sock"));
    path(SOCKET).or_else(of_user)
}

fn inherited_grant() -> Result<Option<String>, ReadEnvironmentError> {
    match env::var(GRANT) {
        Err(env::VarError::NotPresent) => Ok(None),
        Ok(grant) if grant.is_empty() => Ok(None),
        Ok(grant) if grant.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(grant)),
        Ok(_) | Err(env::VarError::NotUnicode(_)) => Err(ReadEnvironmentError::NotAGrant),
    }
}
