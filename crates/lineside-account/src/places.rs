//! Where the daemon of an account is and what it reads: the account's own places, and others that were named.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::peer::own_user;

/// Below the runtime folder of a user.
const IN_RUNTIME: &str = "lineside/lineside.sock";
/// Below the state folder.
const IN_STATE: &str = "lineside.sock";

/// Places that a person has named, in the entry of an agent program, in arguments, or in their environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// The home, for `--home`.
    pub home: Option<PathBuf>,
    /// The folder in which programs keep their settings, for `--config`.
    pub config: Option<PathBuf>,
    /// The state folder of lineside, for `--state`.
    pub state: Option<PathBuf>,
    /// The socket, for `--socket`.
    pub socket: Option<PathBuf>,
}

impl Named {
    /// The place behind an option; nothing for another argument.
    pub fn option(&mut self, name: &str) -> Option<&mut Option<PathBuf>> {
        match name {
            "--home" => Some(&mut self.home),
            "--config" => Some(&mut self.config),
            "--state" => Some(&mut self.state),
            "--socket" => Some(&mut self.socket),
            _ => None,
        }
    }

    /// These, and for each that is not named what a person's environment says: `HOME`, `XDG_CONFIG_HOME`,
    /// `XDG_STATE_HOME`, `LINESIDE_SOCKET` and `XDG_RUNTIME_DIR`, where they hold absolute paths.
    ///
    /// Where a home is named it stands for all of them.
    #[must_use]
    pub fn or_variables(self, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        if self.home.is_some() {
            return self;
        }
        let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let of_runtime = || Some(path("XDG_RUNTIME_DIR")?.join(IN_RUNTIME));
        let of_state = || Some(path("XDG_STATE_HOME")?.join("lineside"));
        let socket = self.socket.or_else(|| path("LINESIDE_SOCKET")).or_else(of_runtime);
        Self {
            home: path("HOME"),
            config: self.config.or_else(|| path("XDG_CONFIG_HOME")),
            state: self.state.or_else(of_state),
            socket,
        }
    }

    /// As arguments, each with its option before it.
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let all = [
            ("--home", &self.home),
            ("--config", &self.config),
            ("--state", &self.state),
            ("--socket", &self.socket),
        ];
        let named = all
            .into_iter()
            .filter_map(|(option, path)| Some([OsStr::new(option), path.as_deref()?.as_os_str()]));
        named.flatten().map(OsStr::to_owned).collect()
    }
}

/// The name of the switch.
const SWITCH: &str = "off";

/// All places, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The home.
    pub home: PathBuf,
    /// The folder in which programs keep their settings.
    pub config: PathBuf,
    /// The state folder of lineside.
    pub state: PathBuf,
    /// The socket of the daemon.
    pub socket: PathBuf,
}

impl Places {
    /// The places of an account, with those that are named in the place of its own.
    ///
    /// The daemon of the account's own state listens in the account's runtime folder where there is one; that of another
    /// state within that. None where the account has no home and none is named.
    ///
    /// ```
    /// use lineside_account::{Account, Named, Places};
    ///
    /// let named = Named { home: Some("/h".into()), ..Named::default() };
    /// let places = Places::of(&Account::default(), &named).unwrap();
    /// assert_eq!(places.socket.to_str(), Some("/h/.local/state/lineside/lineside.sock"));
    /// ```
    #[must_use]
    pub fn of(account: &Account, named: &Named) -> Option<Self> {
        let home = named.home.clone().or_else(|| account.home.clone())?;
        let state_in = |home: PathBuf| home.join(".local/state/lineside");
        let config = named.config.clone().unwrap_or_else(|| home.join(".config"));
        let state = named.state.clone().unwrap_or_else(|| state_in(home.clone()));
        let is_own = account.home.clone().map(state_in).as_ref() == Some(&state);
        let of_runtime = || Some(account.runtime().filter(|_| is_own)?.join(IN_RUNTIME));
        let socket = named.socket.clone().or_else(of_runtime).unwrap_or_else(|| state.join(IN_STATE));
        Some(Self { home, config, state, socket })
    }

    /// The other place at which the daemon of the account may listen: the runtime folder may have come or gone since that
    /// was started. None where the socket is at neither of the two.
    #[must_use]
    pub fn other_socket(&self, account: &Account) -> Option<PathBuf> {
        let own = account.home.as_ref()?.join(".local/state/lineside");
        let both = [account.runtime_folder().join(IN_RUNTIME), own.join(IN_STATE)];
        let is_one = self.state == own && both.contains(&self.socket);
        both.into_iter().find(|place| is_one && *place != self.socket)
    }

    /// Whether hooks are switched off: whatever is at the path of the switch in the state folder counts, or beside the
    /// socket, where it is when that folder cannot be written, as far as [no other user can have put it there](is_of_own).
    #[must_use]
    pub fn is_off(&self) -> bool {
        is_of_own(&self.state.join(SWITCH)) || is_of_own(&self.socket.with_file_name(SWITCH))
    }

    /// What has to be named for an account to come to these places.
    #[must_use]
    pub fn named(&self, account: &Account) -> Named {
        let mut named = Named::default();
        let mut differs = |place: fn(&Self) -> &PathBuf, option: &str| {
            let found = Self::of(account, &named);
            if found.as_ref().map(place) != Some(place(self))
                && let Some(named) = named.option(option)
            {
                *named = Some(place(self).clone());
            }
        };
        differs(|places| &places.home, "--home");
        differs(|places| &places.config, "--config");
        differs(|places| &places.state, "--state");
        differs(|places| &places.socket, "--socket");
        named
    }
}

/// Whether something is at a path that no other user can have put there: it is this user's, and so is its folder, in which
/// no other user may write, and none can have another folder stand in the place of that.
#[must_use]
pub fn is_of_own(path: &Path) -> bool {
    let own = own_user();
    // There is mostly nothing.
    let Some(parent) =
        path.parent().filter(|_| path.symlink_metadata().is_ok_and(|found| found.uid() == own))
    else {
        return false;
    };
    parent.metadata().is_ok_and(|folder| folder.uid() == own && folder.mode() & 0o022 == 0)
        && parent.ancestors().all(|above| is_held(above, own))
        && fs::canonicalize(parent).is_ok_and(|real| real.ancestors().all(|above| is_held(above, own)))
}

/// Whether what a name leads to is for this user or the system alone to change: the folder or link is of one of them, and
/// in a folder no other user writes, or renames what is not theirs.
fn is_held(place: &Path, own: u32) -> bool {
    let Ok(found) = place.symlink_metadata() else { return place.as_os_str().is_empty() };
    let (mode, group) = (found.mode(), rustix::process::getegid().as_raw());
    let is_open = mode & 0o002 != 0 || mode & 0o020 != 0 && found.gid() != group;
    let is_sticky = mode & 0o1000 != 0;
    [own, 0].contains(&found.uid()) && (found.is_symlink() || !is_open || is_sticky)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn account() -> Account {
        Account { uid: u32::MAX, home: Some("/home/a".into()), ..Account::default() }
    }

    fn of(variables: &[(&str, &str)]) -> Places {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        Places::of(&account(), &Named::default().or_variables(variable)).unwrap()
    }

    #[test]
    fn a_switch_counts_where_no_other_user_can_have_put_it() {
        use std::fs::{Permissions, create_dir, set_permissions, write};
        use std::os::unix::fs::{PermissionsExt as _, chown};
        let room = tempfile::tempdir().unwrap();
        let named =
            Named { home: Some("/h".into()), state: Some(room.path().join("state")), ..Named::default() };
        let named = Named { socket: Some(room.path().join("run/s")), ..named };
        let places = Places::of(&account(), &named).unwrap();
        for folder in ["state", "run"] {
            let (folder, switch) = (room.path().join(folder), room.path().join(folder).join(SWITCH));
            create_dir(&folder).unwrap();
            assert!(!places.is_off());
            write(&switch, "").unwrap();
            for (mode, counts) in
                [(0o700, true), (0o755, true), (0o775, false), (0o777, false), (0o1777, false)]
            {
                set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
                assert_eq!(places.is_off(), counts, "{mode:o}");
            }
            set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
            // Only root can make files and folders of others.
            if chown(&switch, Some(65_534), None).is_ok() {
                assert!(!places.is_off());
                chown(&switch, Some(0), None).unwrap();
                chown(&folder, Some(65_534), None).unwrap();
                assert!(!places.is_off());
                chown(&folder, Some(0), None).unwrap();
            }
            std::fs::remove_file(switch).unwrap();
        }
    }

    #[test]
    fn a_person_names_places_by_variables_and_arguments_and_each_names_what_is_below_it() {
        let all = [
            ("LINESIDE_SOCKET", "/s"),
            ("XDG_RUNTIME_DIR", "/run/a"),
            ("XDG_STATE_HOME", "/state"),
            ("HOME", "/h"),
        ];
        let socket = |from: usize| of(&all[from..]).socket.to_str().unwrap().to_owned();
        assert_eq!(socket(0), "/s");
        assert_eq!(socket(1), "/run/a/lineside/lineside.sock");
        assert_eq!(socket(2), "/state/lineside/lineside.sock");
        assert_eq!(socket(3), "/h/.local/state/lineside/lineside.sock");
        assert_eq!(socket(4), "/home/a/.local/state/lineside/lineside.sock");
        assert_eq!(of(&[("LINESIDE_SOCKET", "relative"), ("HOME", "")]), of(&[]));
        let named = Named { home: Some("/other".into()), ..Named::default() };
        assert_eq!(
            named.clone().or_variables(|_| Some("/v".into())),
            named,
            "a home that is named stands for all"
        );
    }

    #[test]
    fn the_daemon_of_an_account_may_be_at_either_of_two_places_and_another_is_where_it_was_named() {
        let [in_runtime, in_state] =
            ["/run/user/4294967295/lineside/lineside.sock", "/home/a/.local/state/lineside/lineside.sock"];
        let other = |socket: &str, state: Option<&str>| {
            let (socket, state) = (Some(socket.into()), state.map(PathBuf::from));
            let places = Places::of(&account(), &Named { socket, state, ..Named::default() }).unwrap();
            places.other_socket(&account())
        };
        assert_eq!(other(in_runtime, None).as_deref(), Some(Path::new(in_state)));
        assert_eq!(other(in_state, None).as_deref(), Some(Path::new(in_runtime)));
        assert_eq!(other("/elsewhere", None), None);
        assert_eq!(other(in_runtime, Some("/another")), None);
    }

    #[test]
    fn what_differs_from_the_places_of_the_account_is_named_and_nothing_else() {
        let arguments = |variables: &[(&str, &str)]| {
            let places = of(variables);
            let named = places.named(&account());
            assert_eq!(Places::of(&account(), &named), Some(places));
            named.arguments().join(OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(arguments(&[("HOME", "/home/a"), ("XDG_CONFIG_HOME", "/home/a/.config")]), "");
        assert_eq!(arguments(&[("HOME", "/h")]), "--home /h");
        assert_eq!(arguments(&[("XDG_STATE_HOME", "/x")]), "--state /x/lineside");
        assert_eq!(
            arguments(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("LINESIDE_SOCKET", "/s")]),
            "--home /h --config /c --socket /s"
        );
        let nobody = Account { home: None, ..account() };
        assert_eq!(Places::of(&nobody, &Named::default()), None);
        assert_eq!(of(&[]).named(&nobody).home.as_deref(), account().home.as_deref());
    }

    #[test]
    fn what_another_user_could_have_exchanged_is_not_ones_own() {
        let top = tempfile::tempdir().unwrap();
        let above = top.path().join("above");
        let state = above.join("state");
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("off"), "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&state, 0o700);
        for (bits, expected) in [(0o755, true), (0o777, false), (0o1777, true)] {
            mode(&above, bits);
            assert_eq!(is_of_own(&state.join("off")), expected, "{bits:o}");
        }
        // A link to a folder of one's own, where others could have put it.
        mode(&above, 0o777);
        std::os::unix::fs::symlink(&state, above.join("other")).unwrap();
        assert!(!is_of_own(&above.join("other/off")));
    }
}
