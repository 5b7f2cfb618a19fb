//! Changing a job: the journal is opened for it alone, so nobody else may have it open.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use lineside::automation::Automations;
use lineside::automation::machine::Bounds;
use lineside::journal::OpenJournalError;
use lineside::{Bus, Durable};

use super::job::Job;
use crate::style::tell;

/// Takes a dead job up again.
///
/// # Errors
/// The journal cannot be opened, or does not keep the change.
pub(super) async fn retry(path: &Path, job: &Job) -> Result<ExitCode> {
    let number = job.shown.job;
    change(path, |automations| {
        if automations.jobs().retry(number) {
            Ok(format!("job {number} is taken up again, and runs when its automation is there"))
        } else {
            Err(format!("job {number} is {}, and only a dead one is taken up again", job.state.as_str()))
        }
    })
    .await
}

/// Drops a job.
///
/// # Errors
/// The journal cannot be opened, or does not keep the change.
pub(super) async fn drop(path: &Path, job: &Job) -> Result<ExitCode> {
    let number = job.shown.job;
    change(path, |automations| {
        if automations.jobs().drop(number) {
            Ok(format!("job {number} is dropped; it was {}", job.state.as_str()))
        } else {
            Err(format!("job {number} is {}, and is not dropped any more", job.state.as_str()))
        }
    })
    .await
}

async fn change(
    path: &Path,
    change: impl FnOnce(&Automations) -> Result<String, String>,
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
    match change(&automations) {
        Ok(done) => {
            automations.kept().await.context("it is not known whether the change was kept")?;
            writeln!(std::io::stdout(), "{done}")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => {
            tell(&format!("lineside: {why}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// A process that has the journal open.
pub(super) fn who(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}
