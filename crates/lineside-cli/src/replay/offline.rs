//! A replay that runs commands does so without a network, where the system lets a user have none.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::style::tell;

/// What runs a program in a network namespace of its own, which has no way out. The user stays who they are.
const UNSHARE: [&str; 4] = ["unshare", "--user", "--map-current-user", "--net"];

/// What has it be run.
const LIVE: &str = "--live";

/// Starts the command once more, in the place of this process, without a network; comes back where the system does not allow
/// it, which it says.
///
/// # Errors
/// The program cannot be found.
pub(super) fn again() -> Result<()> {
    let [program, arguments @ ..] = UNSHARE;
    let tried =
        Command::new(program).args(arguments).arg("true").stdin(Stdio::null()).stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        tell("note: this system gives no namespace without a network, so what runs may reach yours");
        return Ok(());
    }
    let own = std::env::current_exe().context("failed to find this program")?;
    // Beside the flag, for the words of a query may be anything, and a `--` may stand before them.
    let words = std::env::args_os().skip(1).flat_map(|word| match word == LIVE {
        true => vec![word, "--offline".into()],
        false => vec![word],
    });
    let error = Command::new(program).args(arguments).arg(own).args(words).exec();
    Err(error).context("failed to start without a network")
}
