//! `lineside demo`: a recorded session of three agents plays over a real bus, and each decision is shown as it falls.
//!
//! The agents are a recording; the hooks are not: shell scripts in the Agent Hooks format run as processes, closures
//! and an actor run in this program, and every verdict on the screen is what they said. It needs no set-up, no network
//! and no agent, and leaves nothing behind.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use lineside::Assembly;
use lineside::prelude::*;
use tokio::time::{Instant, sleep};

use crate::page::Page;
use crate::style::print;

use account::Account;
pub(crate) use screen::{Pace, Screen};
use stage::Stage;

mod host;
mod session;
mod stage;

mod native;
mod dashboard;

mod account;
mod opening;
mod screen;
mod summary;

/// The rest after an event, and what each line about it adds, so that a person sees the session play.
const BEAT: Duration = Duration::from_millis(60);
const BEAT_PER_LINE: Duration = Duration::from_millis(16);

/// How long the bus may take to come to its end.
const DRAIN: Duration = Duration::from_secs(2);

pub(crate) use dashboard::run as on_dashboard;
pub(crate) use host::run as of_host;

/// Plays the demo; dropping it ends its hooks and removes its stage.
///
/// # Errors
/// The stage cannot be set, a hook of the demo does not load, or the output cannot be written.
pub(crate) async fn run(screen: Screen) -> Result<ExitCode> {
    let recorded = session::recorded()?;
    let stage = Stage::set()?;
    let (assembly, missing) = assemble(&stage).await?;
    let played = play(&screen, &recorded, &stage, &assembly, missing).await;
    if played.is_err() {
        // What runs still writes into the stage, which is to be removed.
        drop(assembly.drain(DRAIN).await);
    }
    played
}

async fn play(
    screen: &Screen,
    recorded: &[session::Recorded],
    stage: &Stage,
    assembly: &Assembly,
    missing: Vec<String>,
) -> Result<ExitCode> {
    let bus = assembly.bus().clone();
    let tally = native::on_bus(&bus)?;
    let project = stage.project().to_string_lossy().into_owned();
    let page = Page::new(screen.columns, screen.style, &project).of_agents(session::agents(recorded));
    let mut account = Account::default();
    let mut sessions = Vec::new();

    let Some(first) = recorded.first() else { bail!("the recording is empty") };
    let main = first.open(&bus, &project).await?;
    native::on_session(&main)?;
    let mut hooks = main.hooks();
    // How the worker of a format is looked after is not the story.
    hooks.retain(|(point, _)| *point != "on_service_stop");
    print(page.opening(recorded.len(), &hooks))?;
    print(missing)?;

    let start = Instant::now();
    for event in recorded {
        let session = event.open(&bus, &project).await?;
        if sessions.iter().all(|known: &Session| known.id() != session.id()) {
            sessions.push(session.clone());
        }
        let receipt = event.publication(&session).publish_any().await?;
        account.decided(&receipt);
        let mut lines = page.decision(start.elapsed(), &receipt);
        if event.is::<BeforeModel>() {
            let messages = session.collect().before_next_model().await.accept();
            account.delivered(&messages);
            lines.extend(page.delivery(&messages));
        }
        let beat = BEAT + BEAT_PER_LINE * u32::try_from(lines.len()).unwrap_or_default();
        print(lines)?;
        if screen.pace == Pace::Played {
            sleep(beat).await;
        }
    }

    account.covered(&sessions);
    let report = assembly.drain(DRAIN).await;
    account.drained(&bus, &report, &tally, stage.edits().len());
    print(page.summary(&account))?;
    Ok(ExitCode::SUCCESS)
}

/// A bus with the hooks of the project, of every format that there is.
async fn assemble(stage: &Stage) -> Result<(Assembly, Vec<String>)> {
    let assembly = Assembly::new(Bus::new()).environment(stage.environment());
    let report = assembly.load(&stage.places()).await?;
    let mut missing = Vec::new();
    for diagnostic in &report.diagnostics {
        // The one thing that a machine may lack; its hooks are left out, and nothing else.
        if !diagnostic.text.contains("needs Node") {
            bail!("a hook of the demo does not load as it should: {diagnostic}");
        }
        missing.push(diagnostic.text.clone());
    }
    Ok((assembly, missing))
}
