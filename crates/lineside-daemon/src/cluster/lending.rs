//! Jobs of this machine that run on others: begun when another machine asks, ended when it says how, and failed where it says
//! nothing for ten seconds.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use lineside::automation::engine::LentRun;
use lineside::automation::machine::Ended;
use lineside::core::failure::FailureKind;
use lineside_nats::Question;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::Here;
use super::answering::answer;
use super::jobs::{Heard, Lent};
use super::joined::Joined;
use super::words::{Reply, Word, written};

/// How long a run goes on here of which nothing is heard.
pub(super) const LAPSE: Duration = Duration::from_secs(10);
/// How often it is looked whether its machine has left.
const LOOK: Duration = Duration::from_secs(1);
/// How many words about one run wait.
const MOST_WORDS: usize = 8;

fn over() -> Vec<u8> {
    written(&Reply::Over, "")
}

impl Joined {
    /// Another machine wants to run a job of this one: its attempt is counted, and on record before the answer.
    pub(super) fn begin_for_another(
        self: &Arc<Self>,
        daemon: &Arc<dyn Here>,
        question: Question,
        (from, life, job, hook): (String, String, u64, String),
    ) {
        if life != self.cluster().settings().life.as_str() || daemon.ending().is_cancelled() {
            return answer(daemon, question, over());
        }
        let Ok(room) = Arc::clone(&self.jobs.room).try_acquire_owned() else {
            let status = StatusCode::TOO_MANY_REQUESTS.as_u16();
            let detail = "too many of its jobs run on other machines".to_owned();
            return answer(daemon, question, written(&Reply::Refused { status, detail }, ""));
        };
        let (joined, held) = (Arc::clone(self), Arc::clone(daemon));
        daemon.tracker().spawn(async move {
            let longest = joined.longest_event();
            let Some(mut run) = held.automations().lend_within(job, &hook, longest).await else {
                return question.answer(over().into()).await;
            };
            let (words, heard) = mpsc::channel(MOST_WORDS);
            let fence = run.fence();
            joined.jobs.lent().insert(job, Lent { machine: from.clone(), fence, words });
            let begun = Reply::Begun { fence, attempt: run.attempt, events: run.events };
            question.answer(written(&begun, &std::mem::take(&mut run.event)).into()).await;
            joined.see_to(&*held, run, (&from, job), heard).await;
            let mut lent = joined.jobs.lent();
            if lent.get(&job).is_some_and(|lent| lent.fence == fence) {
                lent.remove(&job);
            }
            drop((lent, room));
        });
    }

    /// Sees to a run on another machine until it is over.
    async fn see_to(
        &self,
        daemon: &dyn Here,
        run: LentRun,
        (machine, job): (&str, u64),
        mut heard: mpsc::Receiver<(Heard, Question)>,
    ) {
        let mut until = Instant::now() + LAPSE;
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (fence, mut is_given_up) = (run.fence(), false);
        let failed = |why: &str| {
            let detail = format!("machine `{machine}`, on which it ran, {why}");
            Ended::With(Err((FailureKind::Closed, detail)))
        };
        let ended = loop {
            tokio::select! {
                biased;
                Some((what, question)) = heard.recv() => match what {
                    Heard::GoesOn => {
                        until = Instant::now() + LAPSE;
                        let reply = if is_given_up { Reply::Over } else { Reply::GoesOn };
                        question.answer(written(&reply, "").into()).await;
                    }
                    Heard::Ended(outcome) => {
                        let ended = outcome.map_or(Ended::Cancelled, Ended::With);
                        // The other machine has it until it is on record here.
                        if run.ended(ended).await.is_ok() {
                            question.answer(written(&Reply::Kept, "").into()).await;
                        }
                        return;
                    }
                },
                () = run.cancelled(), if !is_given_up => {
                    is_given_up = true;
                    let from = self.ways.machine().to_owned();
                    self.cluster().tell(machine, written(&Word::GiveUp { from, job, fence }, "").into());
                }
                () = daemon.ending().cancelled(), if is_given_up => break Ended::Cancelled,
                () = sleep_until(until) => {
                    break if is_given_up { Ended::Cancelled } else { failed("was not heard for 10 s") };
                }
                _ = looks.tick() => if self.cluster().has_left(machine) {
                    break if is_given_up { Ended::Cancelled } else { failed("has left the cluster") };
                },
            }
        };
        if let Err(error) = run.ended(ended).await {
            tracing::debug!(%error, "the end of a run on another machine is not on record");
        }
    }

    /// Something is said of a run on another machine: it is over where this machine knows nothing of it, or has given it up.
    pub(super) fn heard_of_run(
        &self,
        daemon: &Arc<dyn Here>,
        question: Question,
        (from, job, fence): (&str, u64, u64),
        what: Heard,
    ) {
        let words = {
            let lent = self.jobs.lent();
            let lent = lent.get(&job).filter(|lent| lent.fence == fence && lent.machine == from);
            lent.map(|lent| lent.words.clone())
        };
        let Some(words) = words else { return answer(daemon, question, over()) };
        // What does not fit is asked again.
        if let Err(mpsc::error::TrySendError::Closed((_, question))) = words.try_send((what, question)) {
            answer(daemon, question, over());
        }
    }
}

/// Waits for this until then.
pub(super) async fn before<T>(until: Instant, what: impl Future<Output = T>) -> Option<T> {
    timeout_at(until, what).await.ok()
}
