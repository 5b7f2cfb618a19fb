//! Where the daemon of this user lies: its socket and its state folder, from the arguments and the environment.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use lineside_account::{Account, Named, Places};
use lineside_daemon::switch::Switch;

/// The arguments that say which daemon is meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DaemonArgs {
    /// The socket. Without it `$LINESIDE_SOCKET`, else `lineside/lineside.sock` in `$XDG_RUNTIME_DIR` or, for the account's own
    /// state, in `/run/user/UID`, else `lineside.sock` in the state folder.
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DaemonPaths {
    pub(crate) socket: PathBuf,
    pub(crate) state: PathBuf,
}

impl DaemonPaths {
    /// Those of the daemon that is meant where none is named.
    ///
    /// # Errors
    /// As [`DaemonArgs::paths`].
    pub(crate) fn usual() -> Result<Self> {
        DaemonArgs { socket: None, state: None }.paths()
    }

    /// The switch of this user.
    pub(crate) fn switch(&self) -> Switch {
        Switch::of(&self.state).or_beside(&self.socket)
    }
}

impl DaemonArgs {
    /// The daemon with this state folder, or the usual one.
    pub(crate) fn of_state(state: Option<PathBuf>) -> Self {
        Self { socket: None, state }
    }

    /// The daemon at these paths.
    pub(crate) fn at(DaemonPaths { socket, state }: &DaemonPaths) -> Self {
        Self { socket: Some(socket.clone()), state: Some(state.clone()) }
    }

    /// The daemon that has everything within this folder.
    pub(crate) fn within(folder: &Path) -> Self {
        Self { socket: Some(folder.join("lineside.sock")), state: Some(folder.join("state")) }
    }

    /// Whether a daemon is named, so that what the process has inherited does not count.
    pub(crate) fn is_named(&self) -> bool {
        self.socket.is_some() || self.state.is_some()
    }

    /// The paths.
    ///
    /// # Errors
    /// The system knows no home of this user, and neither arguments nor the environment name one.
    pub(crate) fn paths(&self) -> Result<DaemonPaths> {
        let Places { socket, state, .. } = self.places(Named::default())?;
        Ok(DaemonPaths { socket, state })
    }

    /// All places of the daemon, of which some may be named by other arguments.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub(crate) fn places(&self, named: Named) -> Result<Places> {
        let absolute = |path: &Option<PathBuf>| path.as_deref().map(absolute).transpose();
        let named = Named { state: absolute(&self.state)?, socket: absolute(&self.socket)?, ..named };
        let named = named.or_variables(|name| std::env::var_os(name));
        Places::of(&Account::own(), &named)
            .context("the system knows no home of this user; set HOME to an absolute path")
    }

    /// The places of a daemon that an entry with these arguments names, whatever the environment says; none where the system
    /// knows no home.
    ///
    /// # Errors
    /// A path is none.
    pub(crate) fn of_entry(&self, named: &Named) -> Result<Option<Places>> {
        let absolute = |path: &Option<PathBuf>| path.as_deref().map(absolute).transpose();
        let named = Named { state: absolute(&self.state)?, socket: absolute(&self.socket)?, ..named.clone() };
        Ok(Places::of(&Account::own(), &named))
    }

    /// What a person should know who looks at another account's daemon by mistake, as under `sudo` with the `HOME` of before.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub(crate) fn of_other_account(&self) -> Result<Option<String>> {
        let home = self.places(Named::default())?.home;
        let owner = home.metadata().map(|found| found.uid());
        Ok(owner.ok().and_then(|owner| other_account(&home, owner, Account::own().uid)))
    }

    /// What an entry has to name so that its daemon is this one.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub(crate) fn recorded(&self) -> Result<Named> {
        Ok(self.places(Named::default())?.named(&Account::own()))
    }
}

/// That a home is another account's. Those of the system are not: they are in the place of one that an account has not.
fn other_account(home: &Path, owner: u32, own: u32) -> Option<String> {
    (owner != own && owner != 0).then(|| {
        format!(
            "{} is the home of another account (user {owner}), and this runs as user {own}, whose daemon is another one: \
             run it as that user, or with a `HOME` of this one, as `sudo -H` does",
            home.display()
        )
    })
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is not a path", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_of_another_account_is_named_and_one_of_the_system_is_not() {
        let home = Path::new("/home/me");
        let said = other_account(home, 1000, 0).unwrap();
        assert!(
            said.starts_with("/home/me is the home of another account (user 1000), and this runs as user 0")
        );
        assert_eq!([other_account(home, 1000, 1000), other_account(home, 0, 1000)], [None, None]);
    }
}
