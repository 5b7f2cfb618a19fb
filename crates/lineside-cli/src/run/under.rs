//! `lineside run -- COMMAND`: any program under a session of its own, of the running daemon.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};

use anyhow::{Context as _, Result, bail};
use lineside::Client;
use lineside::client::{RequestError, Session};
use lineside::hosts::Host;
use lineside::json::{Map, Value};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::timeout;

use crate::control::PATIENCE;
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::interrupt::{Interrupt, Interrupted};
use crate::painter::one_line;
use crate::places::{Ground, PlaceArgs};
use crate::project;
use crate::style::tell;

/// What a shell gives for a program that is not there, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// What is wrong when an agent program has run and none of its calls has come from below the run.
const NOTHING_BELOW: &str = "lineside: no call of an agent program came from below this run, so its hooks have held for none; \
    a server that was running before may have made them (`codex --no-daemon` uses none), or its entries are not \
    installed: lineside doctor";

/// How many names are tried for the session.
const MOST: usize = 100;

/// Runs the program and passes its exit status on. The session is open from before its start until after its end.
///
/// # Errors
/// There is no daemon, or it opens no session; the program is not started then.
pub(super) async fn run(command: &[OsString], daemon: &DaemonArgs, places: &PlaceArgs) -> Result<ExitCode> {
    let Some((program, arguments)) = command.split_first() else { bail!("there is no command after `--`") };
    let mut interrupt = Interrupt::watch()?;
    let session = match interrupt.before(open(daemon, places)).await {
        Ok(session) => session?,
        Err(signal) => return Ok(ExitCode::from(signal.exit_status())),
    };
    let mut command = match &session {
        Some((_, session)) => session.command(program),
        None => Command::new(program),
    };
    let code = match command.args(arguments).spawn() {
        Ok(child) => exit_status(ended(child, &mut interrupt).await?),
        Err(error) => {
            tell(&format!("lineside: failed to start {}: {error}", program.display()));
            if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
        }
    };
    if let Some((client, session)) = session {
        if Host::named(&Path::new(program).file_name().unwrap_or_default().to_string_lossy()).is_some()
            && has_no_children(&client, &session).await
        {
            tell(NOTHING_BELOW);
        }
        tokio::select! {
            closed = session.close() => {
                if let Err(error) = closed {
                    tell(&format!("lineside: failed to close session `{}`: {error}", session.id()));
                }
            }
            _ = interrupt.next() => {}
        }
    }
    Ok(ExitCode::from(code))
}

/// Whether nothing was opened below the session; not where the daemon does not answer at once.
async fn has_no_children(client: &Client, session: &Session) -> bool {
    let path = format!("/v1/sessions/{}", session.id());
    let look = timeout(PATIENCE, client.get::<Map>(&path)).await;
    look.is_ok_and(|look| look.is_ok_and(|look| look.get("children").and_then(Value::as_u64) == Some(0)))
}

/// A session in the daemon: below the one that this process was started under, if any. None while hooks are off and
/// there is no daemon.
async fn open(daemon: &DaemonArgs, places: &PlaceArgs) -> Result<Option<(Client, Session)>> {
    let paths = daemon.paths()?;
    let client = if daemon.is_named() { Client::new(&paths.socket) } else { Client::from_environment()? };
    let ground = places.ground()?;
    let cwd = std::env::current_dir().context("failed to read the working directory")?;
    if places.names_a_project() {
        insist(&ground, &paths)?;
    }
    let opened = async |id: String| {
        let opening = client.session(id).project_root(&*ground.project).cwd(cwd.to_string_lossy());
        opening.host("lineside run").open().await
    };
    let opened = async {
        let id = format!("run-{}", std::process::id());
        let mut result = opened(id.clone()).await;
        // One that was killed has left its session open, and a later process may have its number.
        for again in 2..=MOST {
            if !matches!(&result, Err(RequestError::Refused { kind, .. }) if kind.ends_with(":session-open"))
            {
                break;
            }
            result = opened(format!("{id}-{again}")).await;
        }
        result
    };
    let late =
        || format!("the daemon does not answer within {} s; the command was not started", PATIENCE.as_secs());
    match timeout(PATIENCE, opened).await.with_context(late)? {
        Ok(session) => Ok(Some((client, session))),
        Err(error) if error.is_no_daemon() && paths.switch().is_off() => {
            tell("lineside: hooks are off and no daemon runs; the command runs without a session");
            Ok(None)
        }
        Err(error) if error.is_no_daemon() => bail!(
            "{error}, or have the system start it: `lineside serve --install-unit`; the command was not started"
        ),
        Err(error) => Err(error).context("failed to open a session; the command was not started"),
    }
}

/// Has the hooks of a named project hold, which are the daemon's to run.
///
/// # Errors
/// They are not trusted as they are now.
fn insist(ground: &Ground, paths: &DaemonPaths) -> Result<()> {
    let Some(found) = project::find(Path::new(&*ground.project), &ground.places, paths) else {
        return Ok(());
    };
    match found.wrong().filter(|_| !paths.switch().is_off()) {
        Some((what, remedy)) => {
            bail!("{}; {}; the command was not started", one_line(&what), one_line(&remedy))
        }
        None => Ok(()),
    }
}

/// Waits for the end of a program, and hands signals on to it.
async fn ended(mut child: Child, interrupt: &mut Interrupt) -> Result<ExitStatus> {
    let handle = handle(&child);
    let mut waiting = tokio::task::spawn_blocking(move || child.wait());
    loop {
        tokio::select! {
            ended = &mut waiting => return ended?.context("failed to wait for the command"),
            came = interrupt.next() => {
                if let Some(handle) = handle.as_ref().filter(|_| !has_it_already(came)) {
                    // It may have ended just now; then there is no process to notify.
                    pidfd_send_signal(handle, signal(came)).ok();
                }
            }
        }
    }
}

/// Names the process, and no later one with its number.
fn handle(child: &Child) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Whether the terminal has sent the signal to the program as well: it sends those of its keys to the whole group of
/// processes in its foreground.
fn has_it_already(came: Interrupted) -> bool {
    matches!(came, Interrupted::Interrupt | Interrupted::Quit) && is_in_foreground().unwrap_or_default()
}

fn is_in_foreground() -> Option<bool> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in brackets and may hold anything; behind it: state, parent, group, session, terminal,
    // group in the foreground of that.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(2);
    let group = fields.next()?;
    Some(fields.nth(2)? == group)
}

fn signal(came: Interrupted) -> Signal {
    match came {
        Interrupted::Interrupt => Signal::INT,
        Interrupted::Terminate => Signal::TERM,
        Interrupted::HangUp => Signal::HUP,
        Interrupted::Quit => Signal::QUIT,
    }
}

/// As a shell has it.
fn exit_status(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
