//! Cases at the same time, a bounded number of them: each is a task of the crew, and ends with it. A case that bounds
//! how long a step takes runs alone.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use lineside::dialects::Dialect;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::case_run::{self, Keeping};
use super::outcome::{CaseOutcome, Fault, Mismatch, Status};
use super::suite::Case;
use crate::progress::Progress;

/// A case to be run.
pub(super) struct Job {
    pub(super) case: Arc<Case>,
    pub(super) dialect: Option<&'static dyn Dialect>,
}

/// Runs cases.
pub(super) struct Crew {
    size: usize,
    keeping: Keeping,
    /// Told to the cases that run when they are to end before their time.
    dismissed: watch::Sender<bool>,
    environment: Arc<BTreeMap<String, String>>,
    running: JoinSet<(usize, CaseOutcome)>,
}

impl Crew {
    /// A crew of at most `size` cases at the same time.
    pub(super) fn new(size: usize, keeping: Keeping, environment: Arc<BTreeMap<String, String>>) -> Self {
        let (dismissed, running) = (watch::Sender::new(false), JoinSet::new());
        Self { size: size.max(1), keeping, dismissed, environment, running }
    }

    /// Runs all of them; the outcomes come in the order of the jobs. `progress` is shown how far the `suite` is.
    pub(super) async fn run(
        &mut self,
        suite: &str,
        jobs: Vec<Job>,
        progress: &mut Progress,
    ) -> Vec<CaseOutcome> {
        let all = jobs.len();
        let mut outcomes: Vec<(usize, CaseOutcome)> = Vec::with_capacity(all);
        let mut failed = 0;
        let mut waiting = jobs.into_iter().enumerate().peekable();
        let mut is_timed = false;
        loop {
            let room = |running: usize, is_timed: bool, job: &Job| {
                running == 0 || (running < self.size && !is_timed && !job.case.is_timed())
            };
            while let Some((index, job)) = waiting.next_if(|(_, job)| room(self.running.len(), is_timed, job))
            {
                is_timed = job.case.is_timed();
                let environment = Arc::clone(&self.environment);
                let (keeping, dismissed) = (self.keeping, self.dismissed.subscribe());
                self.running.spawn(async move { (index, run(&job, keeping, &environment, dismissed).await) });
            }
            progress.show(|| format!("{suite}: {} of {all}, {failed} failed", outcomes.len()));
            match self.running.join_next().await {
                None => break,
                // What panics in a case is its outcome; nothing else cancels one.
                Some(Err(_)) => {}
                Some(Ok(outcome)) => {
                    failed += usize::from(!matches!(outcome.1.status, Status::Passed));
                    outcomes.push(outcome);
                }
            }
        }
        progress.clear();
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Ends what runs, and waits until its hooks have ended and its directories are gone.
    pub(super) async fn dismiss(mut self) {
        self.dismissed.send_replace(true);
        while self.running.join_next().await.is_some() {}
    }
}

async fn run(
    job: &Job,
    keeping: Keeping,
    environment: &BTreeMap<String, String>,
    dismissed: watch::Receiver<bool>,
) -> CaseOutcome {
    let started = Instant::now();
    let running = case_run::run(&job.case, job.dialect, keeping, environment, dismissed);
    AssertUnwindSafe(running).catch_unwind().await.unwrap_or_else(|_| panicked(&job.case, started.elapsed()))
}

/// A case must never bring the others down; one that panics has found a fault of lineside.
fn panicked(case: &Case, took: Duration) -> CaseOutcome {
    let mismatch = Mismatch {
        what: "error".to_owned(),
        expected: None,
        got: "lineside panicked, which is a fault of its own".to_owned(),
    };
    let status = Status::Failed(vec![Fault { step: None, mismatch }]);
    CaseOutcome { id: case.id.clone(), title: case.title.clone(), from: case.from.clone(), status, took }
}
