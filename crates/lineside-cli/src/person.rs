//! Whether a person asks: what stands below an agent takes off no guard, by no command.
//!
//! It is one question for all commands that do. The daemon answers it; what it has written down answers it without one. What
//! a person agrees to is typed at a terminal.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{BufRead as _, IsTerminal as _, stdin};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use lineside::client::RequestError;
use lineside::core::propagation::GRANT;
use lineside::hosts::SERVED;
use lineside::hosts::install::Level;
use lineside::json::Map;
use lineside_account::{Account, Named, Places as Daemon};
use lineside_daemon::guarded::{agent_above, are_elsewhere, why_of_an_agent};

use crate::control::ask;
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::hosts::machine;
use crate::past_places;
use crate::places::environment;
use crate::project::of_user;
use crate::style::tell;

/// Refuses what stands below an agent of this daemon, of one that has a place in common with it, or of one that the entries of
/// agent programs name: which daemon an agent is under is not for the agent to choose.
///
/// # Errors
/// This process stands below an agent, or it is not known whether it does.
pub(crate) async fn refuse_agents(named: &DaemonArgs) -> Result<()> {
    refuse_seen(named).await?;
    let daemons = daemons(named, past_places::listening())?;
    let states: Vec<&Path> = daemons.iter().map(|daemon| &*daemon.state).collect();
    if are_elsewhere(&states) {
        bail!(
            "this runs in other namespaces than agents of the daemon, so that it is not known whether it stands below one; {INSTEAD}"
        );
    }
    Ok(())
}

/// The same, but for what is not known: agents of other namespaces, as of a container that was there before, may be gone.
///
/// # Errors
/// This process stands below an agent.
pub(crate) async fn refuse_seen(named: &DaemonArgs) -> Result<()> {
    if std::env::var_os(GRANT).is_some_and(|grant| !grant.is_empty()) {
        bail!(
            "{GRANT} is set, so this stands below an agent, which does not take off its own guards; {INSTEAD}"
        );
    }
    let daemons = daemons(named, past_places::listening())?;
    let states: Vec<&Path> = daemons.iter().map(|daemon| &*daemon.state).collect();
    if let Some(agent) = agent_above(std::process::id(), &states) {
        bail!("{}", agent.refusal());
    }
    for daemon in &daemons {
        let stands_in = std::fs::symlink_metadata(&daemon.socket).is_ok_and(|found| {
            let kind = found.file_type();
            !kind.is_socket() && !kind.is_symlink()
        });
        if stands_in {
            bail!("{} is no socket, so that the daemon cannot be asked; {INSTEAD}", daemon.socket.display());
        }
        let asked = ask(daemon, async |client| client.get::<Map>("/v1/person").await).await;
        if let Err(error) = asked
            && let Some(RequestError::Refused { status: 403, detail, .. }) = error.downcast_ref()
        {
            bail!("{detail}");
        }
    }
    // Where no daemon is, or one that has lost what it knew.
    why_of_an_agent(std::process::id(), &states).map_or(Ok(()), |why| bail!("{why}"))
}

/// Whether the person at the terminal types this word, which is asked for to do what `purpose` says. What comes from a pipe is
/// no answer: a program may have written it.
///
/// # Errors
/// There is no terminal, for which `elsewhere` says what to do, or it cannot be read.
pub(crate) fn types(word: &str, purpose: &str, elsewhere: &dyn Display) -> Result<bool> {
    if !stdin().is_terminal() {
        bail!("{elsewhere}");
    }
    tell(&format!("To {purpose}, type {word}:"));
    let mut line = String::new();
    stdin().lock().read_line(&mut line).context("failed to read the answer")?;
    Ok(line.trim() == word)
}

const INSTEAD: &str = "a person does it in a terminal that no agent has started";

/// The daemon that is meant, those near it, be they the usual ones or among these others, those that entries name, and those
/// that were last at the sockets of all these.
///
/// # Errors
/// As [`DaemonArgs::paths`].
pub(crate) fn daemons(named: &DaemonArgs, others: Vec<Daemon>) -> Result<Vec<DaemonPaths>> {
    // The switch may stand in either folder, and hooks are in that of the settings, however the path to them is written.
    let folders = |daemon: &Daemon| {
        let found = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        [Some(&*daemon.state), daemon.socket.parent(), Some(&*daemon.config)].map(|folder| folder.map(found))
    };
    let paths = |daemon: Daemon| DaemonPaths { socket: daemon.socket, state: daemon.state };
    let named = named.places(Named::default())?;
    let of_named = folders(&named);
    let is_near = |daemon: &Daemon| {
        folders(daemon).iter().flatten().any(|one| of_named.iter().flatten().any(|other| one == other))
    };
    let usual = DaemonArgs::default().places(Named::default())?;
    let own = Daemon::of(&Account::own(), &Named::default());
    let near = [Some(usual), own].into_iter().flatten().chain(others).filter(is_near).map(paths);
    let named = paths(named);
    let places = of_user(environment());
    let recorded = SERVED.into_iter().filter_map(|host| machine::recorded(host, Level::User, &places));
    let recorded = recorded.map(|daemon| DaemonPaths { socket: daemon.socket, state: daemon.state });
    let mut all: BTreeSet<DaemonPaths> = [named.clone()].into_iter().chain(near).chain(recorded).collect();
    // A state folder is as soon named as a home; the one of the daemon that was last at the socket counts as well.
    let last = |daemon: &DaemonPaths| {
        let state = past_places::at(&daemon.socket)?.state;
        Some(DaemonPaths { socket: daemon.socket.clone(), state })
    };
    let last: Vec<_> = all.iter().filter_map(last).collect();
    all.extend(last);
    Ok(all.into_iter().collect())
}
