//! `lineside dashboard`: asks the daemon for an address that is worth something once, and has a browser open it.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::json::{Map, Value};

use crate::control::{NO_DAEMON, ask, is_no_daemon};
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::style::{print, tell};

/// Open the pages of the daemon in a browser: agents, decisions, hooks, questions.
///
/// The address is worth something once, and for a minute. What stands below an agent gets none.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it was opened, or printed
  2  nothing could be done
  3  there is no daemon")]
pub(crate) struct DashboardArgs {
    /// Print the address instead of opening a browser.
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    daemon: DaemonArgs,
}

impl DashboardArgs {
    pub(crate) fn daemon(&self) -> &DaemonArgs {
        &self.daemon
    }
}

/// Runs the command.
///
/// # Errors
/// The daemon refuses, or the output cannot be written.
pub(crate) async fn run(args: &DashboardArgs) -> Result<ExitCode> {
    match invited(&args.daemon.paths()?).await {
        Ok(url) => open(&url, args.print)?,
        Err(error) if is_no_daemon(&error) => {
            tell(&format!("lineside: {error:#}; `lineside serve --detached` starts one"));
            return Ok(ExitCode::from(NO_DAEMON));
        }
        Err(error) => return Err(error),
    }
    Ok(ExitCode::SUCCESS)
}

/// An address of the dashboard of this daemon.
///
/// # Errors
/// There is none, or it refuses.
pub(crate) async fn invited(paths: &DaemonPaths) -> Result<String> {
    let invited = ask(paths, async |client| client.post::<Map>("/v1/dashboard", &Map::new()).await).await?;
    let url = invited.get("url").and_then(Value::as_str).context("the daemon has given no address")?;
    Ok(url.to_owned())
}

/// Has the browser of this person open an address, or prints it where there is none.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn open(url: &str, is_printed: bool) -> Result<()> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The browser goes on without this program.
    if !is_printed && command.spawn().is_ok() {
        tell("the dashboard opens in your browser; --print prints its address instead");
        return Ok(());
    }
    Ok(print([url])?)
}
