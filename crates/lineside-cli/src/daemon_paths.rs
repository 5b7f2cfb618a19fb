//! Where the daemon of this user lies: its socket and its state folder, from the arguments and the environment.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

/// The arguments that say which daemon is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct DaemonArgs {
    /// The socket. Without it `$LINESIDE_SOCKET`, else `lineside/lineside.sock` in `$XDG_RUNTIME_DIR`, else
    /// `lineside.sock` in the state folder.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,

    /// The state folder, with journals, the token and the switch. Without it `lineside` in `$XDG_STATE_HOME`, else
    /// `~/.local/state/lineside`.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Whether the running daemon is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskArgs {
    /// Ask the running daemon, whose hooks and jobs are in force for all agent programs of this user.
    #[arg(long)]
    daemon: bool,

    /// Its socket, where that is another one than usual.
    #[arg(long, value_name = "PATH", requires = "daemon")]
    socket: Option<PathBuf>,
}

impl AskArgs {
    /// The paths of the daemon, if it is to be asked.
    ///
    /// # Errors
    /// As [`DaemonArgs::paths`].
    pub(crate) fn paths(&self) -> Result<Option<DaemonPaths>> {
        if self.daemon { self.of_daemon().map(Some) } else { Ok(None) }
    }

    /// The paths of the daemon, for a command that asks it unless something else is named.
    ///
    /// # Errors
    /// As [`DaemonArgs::paths`].
    pub(crate) fn of_daemon(&self) -> Result<DaemonPaths> {
        DaemonArgs { socket: self.socket.clone(), state: None }.paths()
    }
}

/// The two paths, absolute.
#[derive(Debug, Clone)]
pub(crate) struct DaemonPaths {
    pub(crate) socket: PathBuf,
    pub(crate) state: PathBuf,
}

impl DaemonArgs {
    /// Whether a daemon is named, so that what the process has inherited does not count.
    pub(crate) fn is_named(&self) -> bool {
        self.socket.is_some() || self.state.is_some()
    }

    /// The paths.
    ///
    /// # Errors
    /// No state folder is named, and the environment names neither `XDG_STATE_HOME` nor `HOME`.
    pub(crate) fn paths(&self) -> Result<DaemonPaths> {
        let state = match &self.state {
            Some(state) => state.clone(),
            None => state_folder().context(
                "cannot tell where the state folder is: neither XDG_STATE_HOME nor HOME is set; name one with --state",
            )?,
        };
        let of_user = || variable("XDG_RUNTIME_DIR").map(|runtime| runtime.join("lineside/lineside.sock"));
        let named = self.socket.clone().or_else(|| variable("LINESIDE_SOCKET"));
        let socket = named.or_else(of_user).unwrap_or_else(|| state.join("lineside.sock"));
        Ok(DaemonPaths { socket: absolute(&socket)?, state: absolute(&state)? })
    }
}

/// By the XDG base directory specification: a path that is not absolute counts as not set.
fn state_folder() -> Option<PathBuf> {
    let named = variable("XDG_STATE_HOME");
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    Some(named.or_else(home)?.join("lineside"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is not a path", path.display()))
}
