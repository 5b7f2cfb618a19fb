//! Jobs of other machines that run here: a name is taken where there is a turn and the hook is here, the machine of the job is
//! asked to begin it, and hears how it has ended. Nothing of it is on record here.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lineside::automation::engine::{Borrowed, BorrowedTurn};
use lineside::automation::machine::{Ended, Outcome};
use lineside::core::control::Assignment;
use lineside::core::failure::FailureKind;
use lineside::json;
use lineside_nats::{AskMachineError, JobName, TakenName, Token};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Here;
use super::joined::Joined;
use super::lending::{LAPSE, before};
use super::words::{Reply, Word, read, written};

/// How many hooks of this machine run jobs of others.
const MOST_HOOKS: usize = 256;
/// How many contents of projects are looked for at once, and how often it is looked for which there are jobs.
const MOST_CONTENTS: usize = 64;
const LOOK: Duration = Duration::from_secs(3);
/// How much earlier a run is given up here than at the machine of its job, and how often that hears that it goes on.
const EARLIER: Duration = Duration::from_secs(1);
const RENEWED: Duration = Duration::from_secs(3);
/// How long that machine may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How often the server hears that a name is still this machine's.
const HOLD: Duration = Duration::from_secs(10);
/// After how long a name is given out again: of which this machine has no turn for, of whose machine cannot be asked now, and of
/// whose machine is away.
const NO_TURN: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_secs(1);
const AWAY: Duration = Duration::from_secs(10);
/// The pause after the server could not be asked, and between two attempts to say how a run has ended.
const PAUSE: Duration = Duration::from_millis(300);
/// How much of a report is said where all of it does not fit into a message.
const SHORTER: usize = 64 << 10;

/// What a name has of this machine.
enum Room {
    Turn(BorrowedTurn),
    /// It waits for a key first.
    Awaiting(OwnedSemaphorePermit),
}

/// What has become of a name.
enum Came {
    /// Its machine does not want the job to be run.
    Over,
    /// It cannot be begun now.
    Later(Duration),
    Ran(Ran),
}

/// A run that is over here.
struct Ran {
    fence: u64,
    outcome: Option<Outcome>,
    /// Until when its machine waits for that for certain.
    until: Instant,
}

impl Joined {
    /// Takes names of jobs for the hooks that are here, until the machine leaves.
    pub(super) async fn take_jobs(self: &Arc<Self>, daemon: &Arc<dyn Here>) {
        let automations = daemon.automations();
        let mut changes = automations.everywhere_changes();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pulling: HashMap<Arc<str>, DropGuard> = HashMap::new();
        loop {
            changes.mark_unchanged();
            let here: Vec<_> = automations.everywhere().into_iter().take(MOST_HOOKS).collect();
            pulling.retain(|hook, _| here.contains(hook));
            for hook in here {
                pulling.entry(Arc::clone(&hook)).or_insert_with(|| {
                    let (joined, held, over) =
                        (Arc::clone(self), Arc::clone(daemon), daemon.ending().child_token());
                    let ends = over.clone();
                    daemon.tracker().spawn(async move {
                        over.run_until_cancelled(joined.pull(&held, &hook)).await;
                    });
                    ends.drop_guard()
                });
            }
            tokio::select! {
                () = daemon.ending().cancelled() => return,
                () = self.draining.begun() => return,
                _ = changes.changed() => {}
                _ = looks.tick() => self.look_for_hooks(&**daemon).await,
            }
        }
    }

    /// Loads the projects of whose content there are jobs, where a person has trusted that here.
    async fn look_for_hooks(&self, daemon: &dyn Here) {
        if !self.cluster().health().borrow().link.is_together() {
            return;
        }
        let hooks = self.cluster().hooks_with_jobs().await;
        let contents: BTreeSet<_> = hooks.iter().filter_map(|hook| hook.split_once('.')).collect();
        for (content, _) in contents.into_iter().take(MOST_CONTENTS) {
            daemon.projects().find_trusted(content).await;
        }
    }

    /// Takes the names of jobs of one hook, as long as there are turns.
    async fn pull(self: &Arc<Self>, daemon: &Arc<dyn Here>, hook: &Arc<str>) {
        let mut health = self.cluster().health();
        let mut queue = self.cluster().job_queue(hook);
        loop {
            // The sender is held by the cluster.
            health.wait_for(|health| health.link.is_together()).await.ok();
            daemon.automations().spare_turn().await;
            let taken = match queue.next().await {
                Ok(taken) => taken,
                Err(why) => {
                    tracing::debug!(why, "no jobs of other machines are taken");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let Some(taken) = taken else { continue };
            let room = match &taken.name.key {
                None => daemon.automations().take_turn().map(Room::Turn),
                Some(_) => Arc::clone(&self.jobs.awaiting).try_acquire_owned().ok().map(Room::Awaiting),
            };
            let Some(room) = room.filter(|_| !self.draining.has_begun()) else {
                taken.back(NO_TURN).await;
                continue;
            };
            let (joined, held, hook) = (Arc::clone(self), Arc::clone(daemon), Arc::clone(hook));
            daemon.tracker().spawn(async move { joined.run_taken(&*held, &hook, taken, room).await });
        }
    }

    /// Runs a job of another machine, under the key that it needs, and says how that has ended.
    async fn run_taken(&self, daemon: &dyn Here, hook: &str, taken: TakenName, room: Room) {
        let name = taken.name.clone();
        let begun = Mutex::new(None);
        let came = async {
            let Some(key) = &name.key else {
                return self.begin_and_run(daemon, hook, &name, (None, room), &begun).await;
            };
            let Ok(key) = Token::new(key.clone()) else { return Came::Over };
            let (has_key, had) = oneshot::channel();
            let run = |fence| {
                has_key.send(()).ok();
                self.begin_and_run(daemon, hook, &name, (Some(fence), room), &begun)
            };
            let mut under = std::pin::pin!(self.cluster().under(&key, run));
            let under = tokio::select! {
                biased;
                Ok(()) = had => under.await,
                () = self.draining.begun() => return Came::Later(NO_TURN),
                () = daemon.ending().cancelled() => return Came::Later(NO_TURN),
                under = &mut under => under,
            };
            under.unwrap_or_else(|lost| {
                let begun = *begun.lock().unwrap_or_else(PoisonError::into_inner);
                let Some((fence, until)) = begun else { return Came::Later(SOON) };
                let why = format!("the key was lost while this ran: {lost}");
                Came::Ran(Ran { fence, outcome: Some(Err((FailureKind::Closed, why))), until })
            })
        };
        match beside(came, || taken.hold()).await {
            Came::Over => taken.done().await,
            Came::Later(after) => taken.back(after).await,
            Came::Ran(ran) => {
                let fence = ran.fence;
                self.say_how(daemon, &name, ran).await;
                self.jobs.borrowed().remove(&(name.machine.clone(), fence));
                taken.done().await;
            }
        }
    }

    /// Has the machine of a job begin it, and runs it here until it ends or that machine gives it up.
    async fn begin_and_run(
        &self,
        daemon: &dyn Here,
        hook: &str,
        name: &JobName,
        (fence, room): (Option<u64>, Room),
        begun: &Mutex<Option<(u64, Instant)>>,
    ) -> Came {
        let automations = daemon.automations();
        let _turn = match room {
            Room::Turn(turn) => turn,
            // Its attempt counts when it has a turn as well.
            Room::Awaiting(_room) => loop {
                if let Some(turn) = automations.take_turn() {
                    break turn;
                }
                tokio::select! {
                    () = automations.spare_turn() => {}
                    () = self.draining.begun() => return Came::Later(NO_TURN),
                    () = daemon.ending().cancelled() => return Came::Later(NO_TURN),
                }
            },
        };
        let sent = Instant::now();
        let word = Word::Begin {
            from: self.ways.machine().to_owned(),
            life: name.life.clone(),
            job: name.job,
            hook: hook.to_owned(),
        };
        let answered = match self.cluster().ask(&name.machine, written(&word, "").into(), ANSWER).await {
            Ok(answered) => answered,
            Err(AskMachineError::Away { .. }) => return Came::Later(AWAY),
            Err(_) => return Came::Later(SOON),
        };
        let (run, attempt, events, event) = match read::<Reply>(&answered) {
            Some((Reply::Begun { fence, attempt, events }, event)) => (fence, attempt, events, event),
            Some((Reply::Refused { .. }, _)) => return Came::Later(SOON),
            _ => return Came::Over,
        };
        let until = Mutex::new(sent + LAPSE - EARLIER);
        let until_now = || *until.lock().unwrap_or_else(PoisonError::into_inner);
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = Some((run, until_now()));
        let (given_up, cancel) = (CancellationToken::new(), CancellationToken::new());
        self.jobs.borrowed().insert((name.machine.clone(), run), given_up.clone());
        let assignment = Assignment { job: name.job, attempt, events, fence };
        let mut ran = std::pin::pin!(automations.borrow(Borrowed { hook, event, assignment }, &cancel));
        let ended = tokio::select! {
            biased;
            ended = &mut ran => ended,
            () = self.is_given_up(name, run, &until) => { cancel.cancel(); ran.await }
            () = given_up.cancelled() => { cancel.cancel(); ran.await }
            () = daemon.ending().cancelled() => { cancel.cancel(); ran.await }
        };
        let outcome = match ended {
            Some(Ended::With(outcome)) => Some(outcome),
            Some(_) => None,
            None => Some(Err((FailureKind::Closed, "the hook is not there any more".to_owned()))),
        };
        Came::Ran(Ran { fence: run, outcome, until: until_now() })
    }

    /// Tells the machine of a job that its run goes on, until that has given it up or has not answered for too long.
    async fn is_given_up(&self, name: &JobName, fence: u64, until: &Mutex<Instant>) {
        let mut next = Instant::now() + RENEWED;
        loop {
            let limit = *until.lock().unwrap_or_else(PoisonError::into_inner);
            sleep_until(next.min(limit)).await;
            let sent = Instant::now();
            if sent >= limit {
                return;
            }
            let word = Word::Running { from: self.ways.machine().to_owned(), job: name.job, fence };
            match before(limit, self.origin(name, &word, "")).await {
                Some(Ok(Reply::Over)) => return,
                Some(Ok(_)) => {
                    *until.lock().unwrap_or_else(PoisonError::into_inner) = sent + LAPSE - EARLIER;
                    next = sent + RENEWED;
                }
                Some(Err(_)) => next = Instant::now() + PAUSE,
                None => return,
            }
        }
    }

    /// Says how a run has ended, until that is on record or too late.
    async fn say_how(&self, daemon: &dyn Here, name: &JobName, ran: Ran) {
        let Ran { fence, mut outcome, until } = ran;
        let word = Word::Ran { from: self.ways.machine().to_owned(), job: name.job, fence };
        loop {
            let text = json::to_string(&outcome).unwrap_or_default();
            match self.origin(name, &word, &text).await {
                Ok(_) => return,
                Err(AskMachineError::TooLarge { .. }) if text.len() > SHORTER => shorten(&mut outcome),
                Err(_) if daemon.ending().is_cancelled() || Instant::now() + PAUSE >= until => return,
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Tells the machine of a job something, and gives its answer.
    async fn origin(&self, name: &JobName, word: &Word, text: &str) -> Result<Reply, AskMachineError> {
        let answered = self.cluster().ask(&name.machine, written(word, text).into(), RENEWED).await?;
        Ok(read::<Reply>(&answered).map_or(Reply::Over, |(reply, _)| reply))
    }
}

/// Does work, and says this as often as the server wants to hear it: beside the work, which waits for none of it.
async fn beside<T, F: Future<Output = ()>>(work: impl Future<Output = T>, say: impl Fn() -> F) -> T {
    tokio::select! {
        biased;
        done = work => done,
        never = again_and_again(say) => match never {},
    }
}

async fn again_and_again<F: Future<Output = ()>>(say: impl Fn() -> F) -> Infallible {
    let mut holds = interval(HOLD);
    holds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        holds.tick().await;
        say().await;
    }
}

/// As much of the end of what a run has said as fits into any message.
fn shorten(outcome: &mut Option<Outcome>) {
    let end = |text: &mut String| {
        let from = text.len().saturating_sub(SHORTER / 8);
        *text = text.split_off(text.ceil_char_boundary(from));
    };
    match outcome {
        Some(Ok(report)) => [&mut report.summary, &mut report.body].into_iter().for_each(end),
        Some(Err((_, detail))) => end(detail),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use lineside::automation::Report;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_goes_on_while_the_server_does_not_hear_that_its_name_is_held() {
        let said = std::cell::Cell::new(0);
        let say = || {
            said.set(said.get() + 1);
            std::future::pending()
        };
        let work = async {
            sleep(3 * HOLD).await;
            "done"
        };
        assert_eq!(timeout(9 * HOLD, beside(work, say)).await, Ok("done"));
        assert_eq!(said.get(), 1, "it is still being said");
    }

    #[test]
    fn what_does_not_fit_into_a_message_is_cut_to_its_end() {
        let body = format!("{}ä end", "x".repeat(1 << 20));
        let mut outcome = Some(Ok(Report::failure("2 errors").body(body)));
        shorten(&mut outcome);
        let Some(Ok(report)) = &outcome else { unreachable!() };
        assert!(report.summary == "2 errors" && report.body.ends_with("ä end"));
        assert!(json::to_string(&outcome).unwrap().len() <= SHORTER);
    }
}
