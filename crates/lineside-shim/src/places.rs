//! Where the daemon of this user listens, and whether hooks are switched off: by the rules of the full command.

use std::path::PathBuf;

use crate::environment::Environment;

/// The socket of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) path: PathBuf,
    pub(crate) chosen: Chosen,
}

/// Who chose a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// `LINESIDE_SOCKET`: the process that set it has a daemon there, and none is started.
    ByName,
    /// The default of the user, at which a daemon may be started.
    ByDefault,
}

/// The socket; none where the environment names no folder at all.
pub(crate) fn socket(environment: &Environment) -> Option<Socket> {
    if let Some(path) = environment.path("LINESIDE_SOCKET") {
        return Some(Socket { path, chosen: Chosen::ByName });
    }
    let of_user = environment.path("XDG_RUNTIME_DIR").map(|folder| folder.join("lineside/lineside.sock"));
    let path = of_user.or_else(|| Some(state(environment)?.join("lineside.sock")))?;
    Some(Socket { path, chosen: Chosen::ByDefault })
}

/// Whether hooks are switched off: whatever is at the path of the switch counts.
pub(crate) fn is_off(environment: &Environment) -> bool {
    state(environment).is_some_and(|state| state.join("off").symlink_metadata().is_ok())
}

fn state(environment: &Environment) -> Option<PathBuf> {
    let home = || Some(environment.path("HOME")?.join(".local/state"));
    Some(environment.path("XDG_STATE_HOME").or_else(home)?.join("lineside"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket_of(variables: &[(&str, &str)]) -> Option<(String, Chosen)> {
        let environment = variables.iter().copied().collect();
        socket(&environment).map(|socket| (socket.path.to_str().unwrap().to_owned(), socket.chosen))
    }

    #[test]
    fn the_socket_is_where_the_full_command_has_it() {
        let home = ("HOME", "/home/a");
        let all =
            [("LINESIDE_SOCKET", "/s"), ("XDG_RUNTIME_DIR", "/run/a"), ("XDG_STATE_HOME", "/state"), home];
        let found = |from: usize| socket_of(&all[from..]);
        let by_default = |path: &str| Some((path.to_owned(), Chosen::ByDefault));
        assert_eq!(found(0), Some(("/s".to_owned(), Chosen::ByName)));
        assert_eq!(found(1), by_default("/run/a/lineside/lineside.sock"));
        assert_eq!(found(2), by_default("/state/lineside/lineside.sock"));
        assert_eq!(found(3), by_default("/home/a/.local/state/lineside/lineside.sock"));
        assert_eq!(found(4), None);
        assert_eq!(socket_of(&[("LINESIDE_SOCKET", "relative"), home]), found(3));
    }
}
