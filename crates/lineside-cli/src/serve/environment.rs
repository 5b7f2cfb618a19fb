//! The environment of a daemon: what its process was given, and what its arguments and the user's `config.yaml` set.
//!
//! Hooks inherit what this process has. Another environment is had by starting the same program in its own place.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use lineside::core::Diagnostic;
use lineside::dialects::native::{DaemonSettings, daemon_settings};
use lineside::dialects::{Managed, Places, Trust};
use lineside_account::Named;

use crate::on_path::joined;
use crate::serve::below::Variables;

/// Settles the environment, which is that of this process when this returns; gives what is set, and what is wrong
/// with that.
///
/// # Errors
/// This program cannot be started again.
pub(super) fn settle(named: &Named) -> Result<(DaemonSettings, Vec<Diagnostic>)> {
    let mut wanted: Vec<(OsString, Option<OsString>)> = Vec::new();
    let mut set = |name: &str, value: Option<&PathBuf>| {
        wanted.push((name.into(), value.map(|path| path.clone().into_os_string())));
    };
    if named.home.is_some() {
        // A home that is named stands for all places that are not.
        set("HOME", named.home.as_ref());
        set("XDG_STATE_HOME", None);
        set("XDG_CONFIG_HOME", named.config.as_ref());
    } else if named.config.is_some() {
        set("XDG_CONFIG_HOME", named.config.as_ref());
    }
    let mut environment = crate::places::environment();
    for (name, value) in &wanted {
        let name = name.to_string_lossy().into_owned();
        match value {
            Some(value) => environment.insert(name, value.to_string_lossy().into_owned()),
            None => environment.remove(&name),
        };
    }
    let places = Places { environment, project_root: None, cwd: "/".into(), trust: Trust::Withheld };
    let (settings, findings) = daemon_settings(&places, &Managed::default());
    let variables = settings.environment.iter();
    wanted.extend(variables.map(|(name, value)| (name.into(), Some(value.into()))));
    if !settings.path.is_empty() {
        wanted.push(("PATH".into(), Some(with_first(&settings.path)?)));
    }
    wanted.retain(|(name, value)| env::var_os(name) != *value);
    if wanted.is_empty() {
        return Ok((settings, findings));
    }
    let own = env::current_exe().context("failed to find this program")?;
    let mut again = Command::new(own);
    again.args(env::args_os().skip(1));
    for (name, value) in wanted {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    bail!("failed to start this program with the environment of the daemon: {}", again.exec())
}

/// Refuses an environment with more in it than a login has and the user's settings say.
///
/// # Errors
/// There is more: a process below an agent has started this one.
pub(super) fn refuse_more(mut login: Variables, settings: &DaemonSettings) -> Result<()> {
    if let Some((_, path)) = login.iter_mut().find(|(name, _)| *name == "PATH") {
        *path = joined(&settings.path, path)?;
    }
    let is_known = |name: &OsString, value: &OsString| {
        let of_settings = settings.environment.iter().find(|(known, _)| **name == **known);
        let of_login = login.iter().find(|(known, _)| name == known);
        // The system of a Mac sets one of its own.
        name == "__CF_USER_TEXT_ENCODING"
            || of_settings.map_or_else(
                || of_login.is_some_and(|(_, known)| known == value),
                |(_, known)| **value == **known,
            )
    };
    match env::vars_os().find(|(name, value)| !is_known(name, value)) {
        None => Ok(()),
        Some((name, _)) => bail!(
            "{} is set, and a daemon that starts below an agent begins with the environment of a login; a person does it in a \
             terminal that no agent has started",
            name.display()
        ),
    }
}

/// The `PATH` of this process with these folders before the others.
fn with_first(folders: &[PathBuf]) -> Result<OsString> {
    joined(folders, &env::var_os("PATH").unwrap_or_default())
}
