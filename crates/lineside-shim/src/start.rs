//! Starting a daemon that outlives this process and takes nothing of the host along.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lineside_account::{Account, Named, Places};

use crate::full_command::FullCommand;

/// Where a daemon that is started here, and hooks that inherit it, look for programs: what the system has, then what the
/// user has put below their home.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin";
const AT_HOME: [&str; 2] = [".local/bin", ".cargo/bin"];

/// The environment of a login of an account with this home, which a daemon that a call starts begins with.
#[must_use]
pub fn login(account: &Account, home: &Path) -> Vec<(&'static str, OsString)> {
    let folders = [PathBuf::from(PATH)].into_iter().chain(AT_HOME.map(|below| home.join(below)));
    let folders: Vec<_> = folders.map(PathBuf::into_os_string).collect();
    let path = folders.join(":".as_ref());
    let fixed = [("HOME", home.as_os_str().to_owned()), ("LANG", "C.UTF-8".into()), ("PATH", path)];
    let of_account = [("USER", &account.name), ("LOGNAME", &account.name), ("SHELL", &account.shell)];
    let of_account = of_account.into_iter().filter(|(_, value)| !value.is_empty());
    let runtime = account.runtime().map(|runtime| ("XDG_RUNTIME_DIR", runtime.into_os_string()));
    fixed.into_iter().chain(of_account.map(|(name, value)| (name, value.into()))).chain(runtime).collect()
}

/// Has the full command start a daemon, and waits until one answers; `false` when none does.
///
/// What is started here ends once the daemon answers. It is in a process group of its own, so that a host that ends the
/// group of its hook does not end a start that others may wait for. Its environment is that of a login of the account.
pub(crate) fn start(full: FullCommand, account: &Account, places: &Places, named: &Named) -> bool {
    let Some(program) = full.path() else { return false };
    let mut command = Command::new(program);
    command.args(["serve", "--detached"]).args(named.arguments()).env_clear().current_dir("/");
    command.envs(login(account, &places.home));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.status().is_ok_and(|status| status.success())
}
