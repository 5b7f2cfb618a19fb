//! A daemon in the background: started once, waited for until it answers, and without anything of the process that started it.

use std::env;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use lineside_account::connect;
use lineside_daemon::socket::private_folder;

use crate::daemon_paths::DaemonPaths;
use crate::painter::one_line;
use crate::serve::below::Variables;
use crate::style::print;

/// The file in the state folder that is locked while a daemon is started, so that of two starts one waits for the other.
const STARTING: &str = "starting.lock";
/// The first descriptor that is no standard stream.
const FIRST: i32 = 3;

/// Starts the daemon with the arguments of this process, and with this environment if one is given; returns when it answers.
///
/// # Errors
/// It does not start; what it has said of that is on standard error.
pub(super) fn start(paths: &DaemonPaths, environment: Option<Variables>) -> Result<ExitCode> {
    // What this process has inherited goes no further.
    close_fds::set_fds_cloexec(FIRST, &[]);
    private_folder(&paths.state)?;
    let lock = paths.state.join(STARTING);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock);
    let alone = file.and_then(|file| file.lock().map(|()| file));
    let _alone = alone.with_context(|| format!("failed to lock {}", lock.display()))?;
    if connect(&paths.socket).is_ok() {
        return say(&format!("ready: {}", paths.socket.display()));
    }
    let program = env::current_exe().context("failed to find this program")?;
    let arguments = env::args_os().skip(1).filter(|argument| argument != "--detached");
    let mut command = Command::new(program);
    command.args(arguments).arg("--as-detached").stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(environment) = environment {
        command.env_clear().envs(environment).current_dir("/");
    }
    let mut daemon = command.spawn().context("failed to start the daemon")?;
    let mut ready = String::new();
    if let Some(out) = daemon.stdout.take() {
        BufReader::new(out).read_line(&mut ready).context("failed to hear of the daemon")?;
    }
    if !ready.starts_with("ready: ") {
        let status = daemon.wait().context("failed to wait for the daemon")?;
        bail!("the daemon has ended at its start ({status})");
    }
    say(ready.trim_end())
}

/// Leaves the session of the terminal, so that no signal of it comes here.
///
/// # Errors
/// This process leads a process group: it was not started by [`start`].
pub(super) fn leave_the_session() -> Result<()> {
    rustix::process::setsid().context("failed to leave the session; use --detached")?;
    Ok(())
}

/// Lets go of the standard streams, by which the process that started this one has learnt that it answers.
///
/// # Errors
/// There is no null device.
pub(super) fn let_go_of_the_starter() -> Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null");
    let null = null.context("failed to open /dev/null")?;
    rustix::stdio::dup2_stdout(&null).context("failed to let go of standard output")?;
    rustix::stdio::dup2_stderr(&null).context("failed to let go of standard error")?;
    Ok(())
}

fn say(ready: &str) -> Result<ExitCode> {
    print([one_line(ready)]).context("failed to say that the daemon is ready")?;
    Ok(ExitCode::SUCCESS)
}
