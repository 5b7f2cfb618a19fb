//! The automations of a life: each is paced in another way, does something, and writes down when it does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use lineside::automation::automate::Automating;
use lineside::automation::jobs::{Which, WhichState};
use lineside::automation::machine::JobStatus;
use lineside::automation::{Automations, Format};
use lineside::core::envelope::Envelope;
use lineside::core::payload::Point;
use lineside::core::{Failure, FailureKind};
use lineside::prelude::*;
use tokio::time::sleep;

use crate::contract;
use crate::log::{How, Label, Line, Log, Start};
use crate::place::Place;

/// What all runs of a life share.
pub(crate) struct Crew {
    log: Log,
    place: Place,
    /// Set before the first automation is registered.
    automations: OnceLock<Automations>,
    runs: AtomicU64,
}

/// What an automation is called, and the key that its template gives an event.
#[derive(Clone, Copy)]
struct Duty(&'static str, fn(&Envelope) -> Option<String>);

/// So much of a turn is the number within a life.
const LIFE: u64 = 1_000_000;

/// The turn that says which event of its publisher an event is.
pub(crate) fn turn(label: &Label) -> u64 {
    u64::from(label.life) * LIFE + u64::from(label.number)
}

impl Crew {
    pub(crate) fn new(log: Log, place: Place) -> Arc<Self> {
        Arc::new(Self { log, place, automations: OnceLock::new(), runs: AtomicU64::new(0) })
    }

    /// Writes a line, or ends the life: without its log it proves nothing.
    pub(crate) fn say(&self, line: &Line) {
        if let Err(error) = self.log.say(line) {
            eprintln!("the log cannot be written: {error}");
            std::process::exit(3);
        }
    }

    /// Registers all automations.
    ///
    /// # Errors
    /// One of them cannot be registered.
    pub(crate) fn register(self: &Arc<Self>, bus: &Bus, automations: &Automations) -> Result<()> {
        self.automations.get_or_init(|| automations.clone());
        let silent = ResultRule { when: ResultWhen::Ignore, ..ResultRule::default() };
        let batches = |name: &'static str| bus.automate::<AfterToolBatch>(name).result(silent);
        let tools =
            |name: &'static str, of: &str| bus.automate::<AfterTool>(name).matching(tool(of)).result(silent);
        let pace = Debounce::quiet(millis(8)).at_most(millis(40));
        let tell = ResultRule { when: ResultWhen::AppendAlways, format: Format::Summary, ..silent };
        self.run(
            Duty("lint", |envelope| of_project("lint", envelope)),
            batches("lint")
                .debounce(pace)
                .concurrency("lint:{project_root}")
                .retry(Retry::exponential(3, millis(2))),
            changed,
        )?;
        self.run(
            Duty("gather", |_| None),
            batches("gather")
                .batch(Batch { count: 10, within: millis(120) })
                .retry(Retry::constant(4, millis(1))),
            changed,
        )?;
        self.run(
            Duty("index", |envelope| of_project("index", envelope)),
            batches("index")
                .concurrency("index:{project_root}")
                .on_busy(OnBusy::Coalesce)
                .retry(Retry::constant(2, millis(2))),
            changed,
        )?;
        self.run(
            Duty("build", |envelope| of_project("build", envelope)),
            batches("build")
                .concurrency("build:{project_root}")
                .on_busy(OnBusy::Restart)
                .retry(Retry::constant(3, millis(1))),
            changed,
        )?;
        // Two automations, one key.
        self.run(
            Duty("deploy", |envelope| of_project("tree", envelope)),
            tools("deploy", SHELL)
                .concurrency("tree:{project_root}")
                .timeout(OVERDUE)
                .retry(Retry::constant(4, millis(1))),
            named,
        )?;
        self.run(
            Duty("migrate", |envelope| of_project("tree", envelope)),
            tools("migrate", SHELL)
                .priority(5)
                .concurrency("tree:{project_root}")
                .timeout(OVERDUE)
                .retry(Retry::exponential(3, millis(4))),
            named,
        )?;
        self.run(
            Duty("format", |_| None),
            tools("format", EDIT)
                .rate(Rate::new(10, millis(20)).per("{session}"))
                .retry(Retry::constant(2, millis(1))),
            named,
        )?;
        self.run(
            Duty("notes", |envelope| Some(format!("notes:{}", envelope.source.session))),
            tools("notes", READ)
                .concurrency("notes:{session}")
                .retry(Retry::constant(5, millis(1)))
                .result(tell),
            named,
        )
    }

    fn run<P: Point>(
        self: &Arc<Self>,
        duty: Duty,
        automation: Automating<P>,
        labels: fn(&P) -> Vec<Label>,
    ) -> Result<()> {
        let crew = Arc::clone(self);
        automation.run(move |event: Event<P>, _cx| {
            let (crew, labels) = (Arc::clone(&crew), labels(&event));
            async move { crew.work(duty, event.envelope(), labels).await }
        })?;
        Ok(())
    }

    async fn work(
        self: Arc<Self>,
        duty: Duty,
        envelope: &Envelope,
        labels: Vec<Label>,
    ) -> Result<Report, Failure> {
        let start = self.start(duty, envelope, labels);
        let mut running = Running { crew: Arc::clone(&self), run: start.run, key: None, how: How::Cut };
        let (last, attempt) = (start.last.clone(), start.attempt);
        let labels = start.labels.clone();
        let key = start.key.clone();
        self.say(&Line::Started(start));
        if let Some(key) = key {
            if !self.place.mark(&key).map_err(|error| broken(&error))? {
                self.say(&Line::Clash { key: key.clone(), run: running.run });
            }
            running.key = Some(key);
        }
        if contract::of(duty.0).is_some_and(|contract| contract.files) {
            for label in &labels {
                self.place.work(label).map_err(|error| broken(&error))?;
            }
        }
        let fate = Fate::of(&last, attempt);
        sleep(fate.takes).await;
        running.how = if fate.fails { How::Badly } else { How::Well };
        drop(running);
        if fate.fails {
            return Err(Failure::new(FailureKind::Error, format!("{last} went wrong")));
        }
        Ok(Report::success(last.to_string()))
    }

    /// What is written down of a run when it begins. Only its job, the number of its attempt and its fence are what
    /// the automations say.
    fn start(&self, Duty(name, key): Duty, envelope: &Envelope, labels: Vec<Label>) -> Start {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let which = Which { automation: Some(name.to_owned()), state: WhichState::Live, ..Which::default() };
        let jobs = self.automations.get().map(|automations| automations.jobs().list(&which));
        let own = jobs.unwrap_or_default().into_iter().rev().filter(|job| job.events.contains(&envelope.id));
        let own = own.filter(|job| matches!(job.standing, JobStatus::Running { .. }));
        // One that is being cancelled may have the event as well.
        let own = own.min_by_key(|job| matches!(job.standing, JobStatus::Running { cancelling: true, .. }));
        let (job, attempt, fence) = own.map_or((0, 0, 0), |job| {
            let attempt = u32::try_from(job.attempts.len()).unwrap_or(u32::MAX);
            (job.job.0, attempt, job.attempts.last().map_or(0, |attempt| attempt.fence.0))
        });
        let publisher = labels.first().map(|label| label.publisher.clone()).unwrap_or_default();
        let part = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let turn = envelope.turn.unwrap_or_default();
        let last = Label { publisher, life: part(turn / LIFE), number: part(turn % LIFE) };
        let (automation, key, event) = (name.to_owned(), key(envelope), envelope.id.to_string());
        Start { run, automation, job, attempt, fence, key, labels, last, event }
    }
}

/// A run under way. It is over when this is dropped.
struct Running {
    crew: Arc<Crew>,
    run: u64,
    /// The key whose mark it has put up.
    key: Option<String>,
    how: How,
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that was not there is the reported clash.
        self.key.take().and_then(|key| self.crew.place.unmark(&key).err());
        self.crew.say(&Line::Ended { run: self.run, how: self.how });
    }
}

pub(crate) const SHELL: &str = "Shell";
pub(crate) const EDIT: &str = "Edit";
pub(crate) const READ: &str = "Read";

/// How long an attempt may take that may not take long.
const OVERDUE: std::time::Duration = millis(8);

/// What becomes of an attempt, the same whenever it is made.
struct Fate {
    takes: std::time::Duration,
    fails: bool,
}

impl Fate {
    fn of(label: &Label, attempt: u32) -> Self {
        let name = label.publisher.bytes().fold(turn(label), |sum, byte| sum * 31 + u64::from(byte));
        // Some never succeed, and of the others some attempts fail or take too long.
        let poisoned = fastrand::Rng::with_seed(name).u32(..100) < 3;
        let mut rng = fastrand::Rng::with_seed(name * 31 + u64::from(attempt));
        let micros = if rng.u32(..100) < 4 { 20_000 } else { rng.u64(..2_000) };
        let fails = poisoned || rng.u32(..100) < 12;
        Self { takes: std::time::Duration::from_micros(micros), fails }
    }
}

fn changed(batch: &AfterToolBatch) -> Vec<Label> {
    batch.changed_files.iter().filter_map(|file| Label::read(&file.path)).collect()
}

fn named(tool: &AfterTool) -> Vec<Label> {
    tool.tool_output.as_str().and_then(Label::read).into_iter().collect()
}

fn of_project(what: &str, envelope: &Envelope) -> Option<String> {
    Some(format!("{what}:{}", envelope.source.project_root.as_deref().unwrap_or_default()))
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(FailureKind::Error, format!("its place is broken: {error}"))
}
