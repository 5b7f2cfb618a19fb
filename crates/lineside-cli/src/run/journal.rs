//! `--journal`: background work and messages for the context are kept in a folder, and what an earlier run has left
//! there is finished.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use lineside::automation::Automations;
use lineside::automation::engine::Recovered;
use lineside::automation::jobs::{Which, WhichState};
use lineside::automation::machine::JobStatus;
use lineside::core::journal::Durability;
use lineside::{Bus, Durable};

use crate::painter::one_line;
use crate::sessions::Sessions;
use crate::style::{Style, Tone, count, tell};

/// The arguments that say where the work of automations is kept.
#[derive(Debug, Args)]
pub(super) struct JournalArgs {
    /// Keep background work, and messages that no session has read, in this folder, which no other process may use
    /// meanwhile. What a run accepted that was killed is finished by the next run with the same folder and hooks.
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,

    /// What accepted work survives: the end of the process, or the loss of power as well.
    #[arg(long, value_enum, default_value = "disk", requires = "journal", value_name = "WHAT")]
    durability: Survives,
}

/// What accepted work survives.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Survives {
    Process,
    Disk,
}

impl JournalArgs {
    /// Whether there is to be one.
    pub(super) fn is_given(&self) -> bool {
        self.journal.is_some()
    }

    /// A bus, with what keeps its work and its context in the folder.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub(super) fn open(&self, style: Style) -> Result<(Bus, Option<Kept>)> {
        let Some(path) = &self.journal else { return Ok((Bus::new(), None)) };
        let durability = match self.durability {
            Survives::Process => Durability::Process,
            Survives::Disk => Durability::Disk,
        };
        let durable = Durable::open_with(path, durability)?;
        let bus = durable.context(Bus::builder()).build();
        let (automations, recovered) = durable
            .automations(&bus, lineside::automation::machine::Bounds::default())
            .context("failed to take up the work that was kept")?;
        tell_findings(&durable, &recovered, style);
        Ok((bus, Some(Kept { automations, _durable: durable })))
    }
}

fn tell_findings(durable: &Durable, recovered: &Recovered, style: Style) {
    let label = style.paint(Tone::Warning, "warning");
    let path = durable.path().display();
    for finding in durable.findings() {
        tell(&format!("{label}: {}", one_line(&format!("{path}/{finding}"))));
    }
    for finding in &recovered.findings {
        tell(&format!("{label}: {}", one_line(&format!("{path}/jobs: {finding}"))));
    }
    if recovered.live > 0 {
        let note = style.paint(Tone::Bold, "note");
        tell(&format!("{note}: {} of an earlier run to be finished", count(recovered.live, "job")));
    }
}

/// The work of automations that is kept.
pub(super) struct Kept {
    automations: Automations,
    _durable: Durable,
}

impl Kept {
    /// The automations whose work it is.
    pub(super) fn automations(&self) -> &Automations {
        &self.automations
    }

    /// All hooks are there. Tells of jobs whose hooks are, but are not trusted in this run.
    pub(super) fn all_registered(&self, style: Style) {
        self.automations.all_registered();
        let live = self.automations.jobs().list(&Which { state: WhichState::Live, ..Which::default() });
        let off = live.iter().filter(|job| job.standing == JobStatus::Off).count();
        if off > 0 {
            let (note, verb) = (style.paint(Tone::Bold, "note"), if off == 1 { "waits" } else { "wait" });
            let jobs = count(off, "job");
            tell(&format!("{note}: {jobs} of a project that is not trusted {verb} for a run that trusts it"));
        }
    }

    /// Opens the sessions of earlier runs that no event of this one has named and whose hooks have work left: it waits
    /// for them.
    pub(super) fn open_sessions(&self, sessions: &mut Sessions) {
        let left = self.automations.jobs().list(&Which { state: WhichState::Live, ..Which::default() });
        for shown in left {
            // One that has ended in this run has left what it had no more time for.
            sessions.named(shown.session.as_str()).ok();
        }
    }

    /// Waits until everything is done, that of earlier runs as well: no further event will come. What cannot be kept
    /// is reported elsewhere.
    pub(super) async fn all_settled(&self) {
        self.automations.release_all();
        self.automations.all_settled().await.ok();
    }

    /// Leaves what is not done to the next run.
    pub(super) fn leave(&self) {
        self.automations.leave();
    }
}
