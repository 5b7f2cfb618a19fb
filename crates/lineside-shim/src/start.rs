//! Starting a daemon that outlives this process and takes nothing of the host along.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::environment::Environment;
use crate::full_command::FullCommand;

/// Has the full command start a daemon, and waits until one answers; `false` when none does.
///
/// What is started here ends once the daemon answers. It is in a process group of its own, so that a host that ends the
/// group of its hook does not end a start that others may wait for.
pub(crate) fn start(full: &FullCommand, environment: &Environment) -> bool {
    let Some(program) = full.path(environment) else { return false };
    let mut command = Command::new(program);
    command.args(["serve", "--detached"]).env_clear().envs(environment.of_a_daemon()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.status().is_ok_and(|status| status.success())
}
