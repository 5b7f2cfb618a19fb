//! `lineside demo --dashboard`: the recorded agents live in a private daemon, twelve times over, until this program is
//! interrupted. Its folders, its daemon and what its hooks have started go with it.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::future::try_join_all;
use lineside::dialects::native::{ApprovalSettings, WhoseAsks};
use lineside_daemon::{Server, Settings};
use tokio::time::sleep;

use super::native;
use super::session::{Recorded, recorded};
use super::stage::Stage;
use crate::daemon_paths::DaemonPaths;
use crate::dashboard::{invited, open};
use crate::interrupt::Interrupt;
use crate::style::tell;

/// How many times the recording plays at once.
const TREES: u32 = 12;

/// Plays until it is interrupted.
///
/// # Errors
/// The stage cannot be set, or the daemon does not start.
pub(crate) async fn run(is_printed: bool) -> Result<ExitCode> {
    let (stage, recorded) = (Stage::set()?, recorded()?);
    let mut interrupt = Interrupt::watch()?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let paths = DaemonPaths { socket: folder.path().join("run/socket"), state: folder.path().join("state") };
    let mut settings = Settings::new(paths.socket.clone(), paths.state.clone(), stage.places());
    settings.approvals = Some(ApprovalSettings { of: WhoseAsks::All, ..ApprovalSettings::default() });
    let server = Server::start(settings).await?;
    native::on_bus(server.bus())?;
    open(&invited(&paths).await?, is_printed)?;
    tell("the agents are a recording, the hooks are not; Ctrl-C ends it");
    let project = stage.project().to_string_lossy().into_owned();
    let trees = (0..TREES).map(|tree| play(&server, &recorded, &project, tree));
    let played = interrupt.before(try_join_all(trees)).await;
    server.end().await;
    match played {
        Ok(played) => played.map(|_| ExitCode::SUCCESS),
        Err(_) => Ok(ExitCode::SUCCESS),
    }
}

/// One tree of agents: the recording again and again, each time in sessions of its own.
async fn play(server: &Server, recorded: &[Recorded], project: &str, tree: u32) -> Result<()> {
    // Each in a pace of its own, so that they are at different places.
    let pace = Duration::from_millis(400) + Duration::from_millis(170) * (tree % 7);
    sleep(pace * (tree % 5)).await;
    for round in 1_u64.. {
        let name = |session: &str| format!("{session}-{}.{round}", tree + 1);
        let mut sessions = Vec::new();
        for event in recorded {
            let (session, is_new) = event.open_as(server.bus(), project, &name).await?;
            if is_new {
                if sessions.is_empty() {
                    native::on_session(&session)?;
                }
                sessions.push(session.clone());
            }
            // A question is not waited for: the recording goes on.
            let _decided = event.publication(&session).publish_any().await?;
            if event.is::<lineside::prelude::BeforeModel>() {
                session.collect().before_next_model().await.accept();
            }
            sleep(pace).await;
        }
        sleep(pace * 8).await;
        for session in sessions.iter().rev() {
            session.close().await;
        }
    }
    Ok(())
}
