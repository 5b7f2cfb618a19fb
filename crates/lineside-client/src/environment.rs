//! What a process has inherited: which daemon, and the grant of the session that it was started under.
//!
//! The one place of the crate that reads the environment.

use std::env;
use std::path::PathBuf;

use lineside_account::{Account, Named, Places};
use lineside_core::propagation::GRANT;

use crate::client::Client;

/// Why the environment names no daemon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEnvironmentError {
    /// No variable names a socket, nor a folder in which there may be one.
    #[error(
        "cannot tell where the daemon is: the system knows no home of this user, and none of LINESIDE_SOCKET, \
         XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME holds an absolute path"
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
    /// in `XDG_STATE_HOME` or in the state folder of another `HOME` than the account's, else where the account has it. A
    /// variable that does not hold an absolute path counts as not set.
    ///
    /// ```no_run
    /// use lineside_client::Client;
    /// use lineside_points::OnIdle;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// // In a process that a session has started, this opens a child of that session.
    /// let client = Client::from_environment()?;
    /// let session = client.session("s2").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// # Ok(())
    /// # }
    /// ```
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
    let named = Named::default().or_variables(|name| env::var_os(name));
    // Without a home there may be a socket all the same.
    let account = || Places::of(&Account::own(), &named).map(|places| places.socket);
    named.socket.clone().or_else(account)
}

fn inherited_grant() -> Result<Option<String>, ReadEnvironmentError> {
    match env::var(GRANT) {
        Err(env::VarError::NotPresent) => Ok(None),
        Ok(grant) if grant.is_empty() => Ok(None),
        Ok(grant) if grant.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(grant)),
        Ok(_) | Err(env::VarError::NotUnicode(_)) => Err(ReadEnvironmentError::NotAGrant),
    }
}
