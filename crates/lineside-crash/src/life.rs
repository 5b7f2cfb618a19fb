//! One life: everything is opened, what an earlier life has left goes on, and then it is killed.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use fastrand::Rng;
use lineside::automation::Automations;
use lineside::automation::jobs::{Which, WhichState};
use lineside::automation::machine::job::{Settled, Why};
use lineside::automation::machine::{Bounds, JobStatus, JobSummary};
use lineside::durable::{Durable, JOBS};
use lineside::journal::{EmbeddedJournal, Finding};
use lineside::prelude::*;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::agents::{self, Publisher, SESSIONS};
use crate::crew::Crew;
use crate::log::{Line, Log, Rest};
use crate::place::{JOURNAL, LOG, Place};

/// What a life is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// To work until it is killed.
    Work,
    /// To bring everything to rest.
    Drain,
}

/// So small that lines form, settled jobs are forgotten, and the journal is compacted many times in a life.
const BOUNDS: Bounds = Bounds {
    jobs: 10_000,
    bytes: 1 << 30,
    running: 12,
    finished: 32,
    dead: 100_000,
    remembered: 16_384,
    rates: 64 << 20,
    records: 100,
};

/// Lives. One that works returns only when something is wrong.
///
/// # Errors
/// Something cannot be opened, or is not kept any more.
pub(crate) async fn live(folder: &Path, life: u32, seed: u64, task: Task) -> Result<()> {
    let log = Log::open(&folder.join(LOG))?;
    log.say(&Line::Born { life })?;
    let crew = Crew::new(log, Place::open(folder)?);
    // A kill during recovery waits for this, and for the other word to kill it while it works.
    writeln!(std::io::stdout(), "opening")?;
    let journal = folder.join(JOURNAL);
    let durable = Durable::open(&journal)?;
    let bus = durable.context(Bus::builder()).build();
    let (automations, recovered) = durable.automations(&bus, BOUNDS)?;
    // A kill may cut the last group short, and does no other damage.
    let files = durable.findings().iter().filter(|finding| !matches!(finding.what, Finding::TornTail { .. }));
    let records = recovered.findings.iter().map(ToString::to_string);
    let of_context = bus.context_recovered();
    let lost = (of_context.unreadable + of_context.given_up > 0).then(|| format!("{of_context:?}"));
    crew.say(&Line::Opened { findings: files.map(ToString::to_string).chain(records).chain(lost).collect() });

    let mut sessions = BTreeMap::new();
    for (name, project, _) in SESSIONS {
        sessions.insert(name, bus.session(name).project_root(project).open().await?);
    }
    crew.register(&bus, &automations)?;
    writeln!(std::io::stdout(), "open")?;
    match task {
        Task::Work => work(&crew, &automations, &sessions, life, seed).await,
        Task::Drain => drain(&crew, &automations, &sessions, &journal).await,
    }
}

async fn work(
    crew: &Arc<Crew>,
    automations: &Automations,
    sessions: &BTreeMap<&'static str, Session>,
    life: u32,
    seed: u64,
) -> Result<()> {
    let mut rng = Rng::with_seed(seed.wrapping_mul(31).wrapping_add(u64::from(life)));
    let enough = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    let pace = agents::pace(Arc::clone(crew), automations.clone(), Arc::clone(&enough));
    tasks.spawn(async move {
        pace.await;
        Ok(())
    });
    for (name, _, publishers) in SESSIONS {
        let Some(session) = sessions.get(name) else { continue };
        tasks.spawn(agents::collect(Arc::clone(crew), session.clone(), rng.fork()));
        for name in publishers {
            let publisher = Publisher {
                crew: Arc::clone(crew),
                automations: automations.clone(),
                session: session.clone(),
                name,
                life,
                rng: rng.fork(),
                enough: Arc::clone(&enough),
            };
            tasks.spawn(publisher.publish());
        }
    }
    // None of them ends by itself unless something is wrong.
    tasks.join_next().await.context("there is nobody")??
}

async fn drain(
    crew: &Arc<Crew>,
    automations: &Automations,
    sessions: &BTreeMap<&'static str, Session>,
    journal: &Path,
) -> Result<()> {
    let live = Which { state: WhichState::Live, ..Which::default() };
    loop {
        let left = automations.jobs().list(&live).len();
        // Asked after, so that what the last job told is there.
        let mut told = 0;
        for session in sessions.values() {
            told += agents::take(crew, session, true).await?;
        }
        if left + told == 0 {
            break;
        }
        sleep(millis(2)).await;
    }
    automations.kept().await?;
    for job in automations.jobs().list(&Which::default()) {
        crew.say(&rests(&job));
    }
    let reading = EmbeddedJournal::read(journal.join(JOBS))?;
    let after = reading.records.iter().map(|(sequence, _)| sequence.0);
    let sequences = after.filter(|sequence| *sequence > reading.up_to.0).collect();
    crew.say(&Line::Drained { up_to: reading.up_to.0, sequences });
    Ok(())
}

/// How a job rests.
pub(crate) fn rests(job: &JobSummary) -> Line {
    let how = match &job.standing {
        JobStatus::Settled { settled: Settled::Done, .. } => Rest::Done,
        JobStatus::Settled { settled: Settled::Dead(_), .. } => Rest::Dead,
        JobStatus::Settled { settled: Settled::Cancelled(Why::Coalesced(_) | Why::Restarted(_)), .. } => {
            Rest::Replaced
        }
        other => Rest::Otherwise(other.to_string()),
    };
    let automation = job.automation.rsplit('/').next().unwrap_or_default().to_owned();
    let attempts = u32::try_from(job.attempts.len()).unwrap_or(u32::MAX);
    let events = job.events.iter().map(ToString::to_string).collect();
    Line::Rests { job: job.job.0, automation, events, how, attempts }
}
