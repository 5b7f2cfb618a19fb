//! Changing a job: the journal is opened for it alone, so no other process may have it open; that of the running daemon is
//! changed by the daemon.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use lineside::automation::Automations;
use lineside::automation::machine::Bounds;
use lineside::client::RequestError;
use lineside::journal::OpenJournalError;
use lineside::json::Map;
use lineside::{Bus, Durable};

use super::job::Job;
use crate::control::ask;
use crate::daemon_paths::DaemonPaths;
use crate::style::{print, tell};

/// Who changes the job.
pub(super) enum At<'a> {
    /// This process, in a journal that no process has open.
    Journal(&'a Path),
    /// The daemon.
    Daemon(&'a DaemonPaths),
}

impl<'a> At<'a> {
    pub(super) fn of(journal: &'a Path, daemon: Option<&'a DaemonPaths>) -> Self {
        daemon.map_or(Self::Journal(journal), Self::Daemon)
    }
}

/// Takes a dead job up again.
///
/// # Errors
/// The journal cannot be opened, or does not keep the change.
pub(super) async fn retry(at: &At<'_>, job: &Job) -> Result<ExitCode> {
    let number = job.shown.job;
    let done = format!("job {number} is taken up again, and runs when its automation is there");
    let not = format!("job {number} is {}, and only a dead one is taken up again", job.state.as_str());
    match at {
        At::Journal(path) => change(path, |automations| automations.jobs().retry(number), done, not).await,
        At::Daemon(paths) => {
            let path = format!("/v1/jobs/{number}/retry");
            let answer = ask(paths, async |client| client.post::<Map>(&path, &Map::new()).await).await;
            answered(answer, &done, &not)
        }
    }
}

/// Drops a job.
///
/// # Errors
/// The journal cannot be opened, or does not keep the change.
pub(super) async fn drop(at: &At<'_>, job: &Job) -> Result<ExitCode> {
    let number = job.shown.job;
    let done = format!("job {number} is dropped; it was {}", job.state.as_str());
    let not = format!("job {number} is {}, and is not dropped any more", job.state.as_str());
    match at {
        At::Journal(path) => change(path, |automations| automations.jobs().drop(number), done, not).await,
        At::Daemon(paths) => {
            let path = format!("/v1/jobs/{number}");
            let answer = ask(paths, async |client| client.delete::<Map>(&path).await).await;
            answered(answer, &done, &not)
        }
    }
}

/// What the daemon has made of it: a refusal says that the job stands elsewhere.
fn answered(answer: Result<Map>, done: &str, not: &str) -> Result<ExitCode> {
    match answer {
        Ok(_) => {
            print([done])?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => match error.downcast_ref::<RequestError>() {
            Some(RequestError::Refused { status: 404 | 409, .. }) => {
                tell(&format!("lineside: {not}"));
                Ok(ExitCode::FAILURE)
            }
            _ => Err(error),
        },
    }
}

async fn change(
    path: &Path,
    change: impl FnOnce(&Automations) -> bool,
    done: String,
    not: String,
) -> Result<ExitCode> {
    let bus = Bus::new();
    let durable = match Durable::open(path) {
        Ok(durable) => durable,
        Err(error) => {
            let OpenJournalError::Locked { holder, .. } = &error.source else {
                return Err(error).context("nothing was changed");
            };
            let who = who(*holder);
            tell(&format!(
                "lineside: {who} has the journal open, so nothing was changed; end it, and try again"
            ));
            return Ok(ExitCode::FAILURE);
        }
    };
    // Nothing is forgotten or compacted by the way: those are decisions of the programme whose jobs they are.
    let all = Bounds {
        finished: usize::MAX,
        dead: usize::MAX,
        bytes: usize::MAX,
        records: usize::MAX,
        ..Bounds::default()
    };
    let (automations, _) = durable.automations(&bus, all)?;
    if !change(&automations) {
        tell(&format!("lineside: {not}"));
        return Ok(ExitCode::FAILURE);
    }
    automations.kept().await.context("it is not known whether the change was kept")?;
    print([done])?;
    Ok(ExitCode::SUCCESS)
}

/// A process that has the journal open.
pub(super) fn who(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}
