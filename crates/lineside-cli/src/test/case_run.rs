//! One case from its empty directory to its outcome: laid out, loaded, published, judged, taken away.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use futures_util::future::join_all;
use lineside::automation::machine::Bounds;
use lineside::bus::Signals;
use lineside::core::Receipt;
use lineside::dialects::{DIALECTS, Dialect, Places};
use lineside::durable::Durable;
use lineside::hosts::{CallOrigin, HostCall, HostReply, Hosts, unreachable};
use lineside::json::Map;
use lineside::wire::{EventDraft, Vocabulary, publication};
use lineside::{Assembly, Bus};
use tokio::sync::watch;

use super::gaps;
use super::judge::judge;
use super::layout::{Directory, HOME, PROJECT};
use super::observed::{Background, Observed};
use super::outcome::{CaseOutcome, Fault, Mismatch, Status};
use super::step::{Act, Step};
use super::suite::{Case, Script};
use crate::sessions::Sessions;

/// What is kept of the background hooks of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// Nothing.
    Nothing,
    /// Their runs are jobs in a journal.
    Journal,
}

/// The folder of the journal of a case, beside its home and its project.
const JOURNAL: &str = "journal";

/// How long background hooks may still run after the last step.
const DRAIN: Duration = Duration::from_millis(500);

/// What cases inherit of the environment: nothing that says where the user's own hooks and settings are. A case takes
/// nothing from a registry, so that it comes out the same everywhere.
pub(super) fn inherited(mut environment: BTreeMap<String, String>) -> BTreeMap<String, String> {
    environment
        .retain(|name, _| name != "HOME" && !name.starts_with("XDG_") && !name.starts_with("LINESIDE_"));
    environment.insert("npm_config_offline".to_owned(), "true".to_owned());
    environment
}

/// Runs a case, or as much of it as there is until it is dismissed.
pub(super) async fn run(
    case: &Case,
    dialect: Option<&'static dyn Dialect>,
    keeping: Keeping,
    environment: &BTreeMap<String, String>,
    dismissed: watch::Receiver<bool>,
) -> CaseOutcome {
    let started = Instant::now();
    let status = match in_directory(case, dialect, keeping, environment, dismissed).await {
        Ok(status) => status,
        Err(error) => Status::Failed(vec![Fault { step: None, mismatch: Mismatch::error(&error) }]),
    };
    let (id, title, from) = (case.id.clone(), case.title.clone(), case.from.clone());
    CaseOutcome { id, title, from, status, took: started.elapsed() }
}

async fn in_directory(
    case: &Case,
    dialect: Option<&'static dyn Dialect>,
    keeping: Keeping,
    environment: &BTreeMap<String, String>,
    mut dismissed: watch::Receiver<bool>,
) -> Result<Status> {
    let directory = Directory::new()?;
    let path = directory.path().to_str().context("the path of the directory of the case is not UTF-8")?;
    let script = case.script(path)?;
    if dialect.is_none() && !script.steps.iter().any(|step| matches!(step.act, Act::Host(..))) {
        return Ok(Status::Unsupported("this build has no hooks in files of this format".to_owned()));
    }
    directory.lay_out(&script.files)?;
    let mut play = Play::new(&script, dialect, keeping, directory.path(), environment)?;
    let faults = tokio::select! {
        faults = play.steps(&script, directory.path()) => faults,
        _ = dismissed.wait_for(|dismissed| *dismissed) => {
            vec![Fault { step: None, mismatch: Mismatch::error(&anyhow!("interrupted")) }]
        }
    };
    // What is lost here was not waited for by any step, so it is not missed.
    let _lost = play.assembly.drain(DRAIN).await;
    directory.remove()?;
    Ok(if faults.is_empty() { Status::Passed } else { Status::Failed(faults) })
}

/// A case while it runs.
struct Play {
    assembly: Assembly,
    places: Places,
    vocabulary: Vocabulary,
    sessions: Sessions,
    hosts: Hosts,
    /// The variables of the case.
    env: BTreeMap<String, String>,
    signals: Signals,
    /// What has happened in the background and no step has waited for yet.
    background: Background,
}

impl Play {
    fn new(
        script: &Script,
        dialect: Option<&'static dyn Dialect>,
        keeping: Keeping,
        directory: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let at = |child: &str| directory.join(child);
        let text = |child: &str| at(child).to_string_lossy().into_owned();
        let mut environment = environment.clone();
        environment.insert("HOME".to_owned(), text(HOME));
        environment.insert("XDG_CONFIG_HOME".to_owned(), text("home/.config"));
        environment.extend(script.env.clone());
        let bus = Bus::new();
        if keeping == Keeping::Journal {
            let durable = Durable::open(directory.join(JOURNAL))?;
            durable.automations(&bus, Bounds::default())?;
        }
        // A host is served with the hooks of every format.
        let serves = script.steps.iter().any(|step| matches!(step.act, Act::Host(..)));
        let dialects: Vec<&'static dyn Dialect> =
            if serves { DIALECTS.to_vec() } else { dialect.into_iter().collect() };
        let vocabulary = Vocabulary::new(&dialects);
        let assembly = Assembly::new(bus).only(dialects).environment(environment.clone());
        Ok(Self {
            places: Places {
                environment,
                project_root: Some(at(PROJECT)),
                cwd: at(PROJECT),
                trust: script.trust,
            },
            vocabulary,
            hosts: Hosts::new(assembly.bus().clone()),
            env: script.env.clone(),
            sessions: Sessions::new(assembly.bus(), &Arc::from(text(PROJECT))),
            signals: assembly.bus().signals(),
            assembly,
            background: Background::default(),
        })
    }

    /// Runs step after step until one is not as expected.
    async fn steps(&mut self, script: &Script, directory: &Path) -> Vec<Fault> {
        let fault = |step, mismatch| Fault { step, mismatch };
        // A later load is a reload.
        if !matches!(script.steps.first(), Some(Step { act: Act::Load, .. }))
            && let Err(error) = self.load().await
        {
            return vec![fault(None, Mismatch::error(&error))];
        }
        for (number, step) in (1..).zip(&script.steps) {
            let mismatches = match self.act(&step.act).await {
                Ok(observed) => judge(&step.expect, &observed, directory),
                Err(error) => vec![Mismatch::error(&error)],
            };
            if !mismatches.is_empty() {
                let place = || Some((number, step.act.describe()));
                return mismatches.into_iter().map(|mismatch| fault(place(), mismatch)).collect();
            }
        }
        Vec::new()
    }

    async fn act(&mut self, act: &Act) -> Result<Observed> {
        let started = Instant::now();
        let mut observed = Observed::default();
        match act {
            Act::Load => observed.loaded = Some(self.load().await?),
            Act::Publish(event) => {
                let publishing = self.prepare(event).await?;
                observed.receipts.push(publishing.await?);
            }
            Act::PublishAll(events) => {
                let mut publishing = Vec::new();
                for event in events {
                    publishing.push(self.prepare(event).await?);
                }
                observed.receipts = join_all(publishing).await.into_iter().collect::<Result<_>>()?;
            }
            Act::Subagent { parent, session, agent } => {
                self.sessions.subagent(parent, session, agent.as_ref())?;
            }
            Act::Advance(time) => tokio::time::sleep(*time).await,
            Act::Collect { session, joins } => {
                let session = self.sessions.named(session)?;
                let collect = session.collect();
                let delivery = if *joins { collect.before_next_model().await } else { collect.ready() };
                observed.collected = delivery.accept().into_iter().map(|message| message.text).collect();
            }
            Act::Close { session } => {
                let session = self.sessions.named(session)?;
                self.sessions.closed(&session);
                session.close().await;
            }
            Act::Host(call, environment) => self.host(call.clone(), environment, &mut observed).await?,
        }
        observed.took = started.elapsed();
        self.in_background(act, &mut observed)?;
        Ok(observed)
    }

    async fn load(&self) -> Result<lineside::LoadReport> {
        self.assembly.load(&self.places).await.context("failed to load hooks")
    }

    /// An event in its session, about to be published.
    async fn prepare(&mut self, event: &Map) -> Result<impl Future<Output = Result<Arc<Receipt>>> + use<>> {
        let mut event = event.clone();
        gaps::fill(&mut event, &self.vocabulary);
        let line = EventDraft::read(event, &self.vocabulary)?;
        let session = self.sessions.of(&line)?;
        let publication = publication(&session, line);
        Ok(async move { Ok(publication.publish_any().await?) })
    }

    /// What comes of a call of `lineside hook`. Where another runtime than that of the case is named, it is asked.
    async fn host(
        &mut self,
        call: HostCall,
        environment: &BTreeMap<String, String>,
        observed: &mut Observed,
    ) -> Result<()> {
        let variable = |name: &str| environment.get(name).or_else(|| self.env.get(name));
        if let Some(socket) = variable("LINESIDE_SOCKET") {
            anyhow::ensure!(
                std::os::unix::net::UnixStream::connect(socket).is_err(),
                "a runtime answers at {socket}; a case has its own, or names one that is not there"
            );
            observed.answer = Some(unreachable(call));
            return Ok(());
        }
        let mut origin = CallOrigin::default();
        origin.parent = variable("LINESIDE_SESSION").and_then(|parent| self.assembly.bus().find(parent));
        let HostReply { answer, receipts, afterwards } = self.hosts.answer_from(call, &origin).await?;
        observed.answer = Some(answer);
        observed.receipts = receipts;
        afterwards.run().await?;
        Ok(())
    }

    /// A publisher does not wait for background hooks, so what they do belongs to the next step that lets time pass.
    fn in_background(&mut self, act: &Act, observed: &mut Observed) -> Result<()> {
        let lost = self.background.take_in(&mut self.signals);
        anyhow::ensure!(lost == 0, "{lost} signals of the bus were lost");
        if matches!(act, Act::Advance(_) | Act::Collect { .. } | Act::Close { .. }) {
            observed.background = std::mem::take(&mut self.background);
        }
        Ok(())
    }
}
