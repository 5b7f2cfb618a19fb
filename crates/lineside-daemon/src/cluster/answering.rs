//! What this machine is asked by others: its hooks, for their events, and how its sessions are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use axum::http::StatusCode;
use lineside::bus::Living;
use lineside::core::failure::FailureKind;
use lineside::core::worker::{HookCall, WorkerEnded};
use lineside::core::{Answer, Failure, SessionId};
use lineside::json::{self, Map, Value};
use lineside::points::read_event;
use lineside_nats::{EntryName, Question};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::Here;
use super::jobs::Heard;
use super::joined::Joined;
use super::living::LIVES_HERE;
use super::words::{CALL, Reply, Word, read, written};
use crate::api::shapes::ClusterLogQuery;

/// How many questions are being answered at once; a further one is refused.
const MOST: usize = 4_096;
/// How many of them read the log.
const MOST_LOOKS: usize = 4;
/// How many of them hear what happens.
const MOST_TAPS: usize = 64;
/// How many hear what happens on all machines from here. Each may have an answer of every machine in memory.
const MOST_OWN_TAPS: usize = 16;
/// How many of them take messages, or accept them; one may wait for hooks.
const MOST_TAKEN: usize = 256;

const TOO_MUCH: &str = "it is asked too much at once";

/// The questions that are being answered.
pub(super) struct Answering {
    room: Arc<Semaphore>,
    /// The log is read by so many at once.
    looks: Arc<Semaphore>,
    taps: Arc<Semaphore>,
    /// All logs are asked for by so many at once here, and what happens everywhere is heard by so many.
    pub(super) own_looks: Semaphore,
    pub(super) own_taps: Arc<Semaphore>,
    taken: Arc<Semaphore>,
    /// Calls of hooks, by the machine that asks and its number.
    calls: Mutex<HashMap<(String, u64), CancellationToken>>,
}

impl Default for Answering {
    fn default() -> Self {
        Self {
            room: Arc::new(Semaphore::new(MOST)),
            looks: Arc::new(Semaphore::new(MOST_LOOKS)),
            taps: Arc::new(Semaphore::new(MOST_TAPS)),
            own_looks: Semaphore::new(MOST_LOOKS),
            own_taps: Arc::new(Semaphore::new(MOST_OWN_TAPS)),
            taken: Arc::new(Semaphore::new(MOST_TAKEN)),
            calls: Mutex::default(),
        }
    }
}

impl Answering {
    fn calls(&self) -> MutexGuard<'_, HashMap<(String, u64), CancellationToken>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The room of a question that takes or accepts messages.
    fn room_to_take(
        &self,
        daemon: &Arc<dyn Here>,
        question: Question,
    ) -> Option<(Question, OwnedSemaphorePermit)> {
        with_room(daemon, question, &self.taken, || {
            let detail =
                format!("{TOO_MUCH}: {MOST_TAKEN} questions of other machines take or accept messages");
            (Reply::Refused { status: StatusCode::TOO_MANY_REQUESTS.as_u16(), detail }, String::new())
        })
    }

    /// Answers a question in a task of its own; what needs no answer is done at once.
    pub(super) fn take(&self, joined: &Arc<Joined>, daemon: &Arc<dyn Here>, question: Question) {
        let Some((word, text)) = read::<Word>(&question.text) else {
            tracing::warn!("another machine says what cannot be read");
            return;
        };
        match word {
            Word::Cancel { from, id } => {
                if let Some(call) = self.calls().remove(&(from, id)) {
                    call.cancel();
                }
            }
            Word::Left { from, session } => {
                EntryName::parse(&session).into_iter().for_each(|name| joined.left(&**daemon, &from, name));
            }
            Word::Stands { from, life, session } => {
                let name = EntryName::parse(&session);
                let entry = name.and_then(|name| joined.stands(&**daemon, (&from, life), name)).map(Box::new);
                answer(daemon, question, written(&Reply::Entry { entry }, ""));
            }
            Word::Apply { session, entry } => {
                let Some(name) = EntryName::parse(&session) else { return };
                let reply = match entry {
                    Some(entry) => {
                        let reply = joined.change(&**daemon, name, &entry);
                        joined.look_for_files(daemon, name);
                        reply
                    }
                    None => {
                        joined.end(&**daemon, name);
                        Reply::Applied
                    }
                };
                if question.is_to_be_answered() {
                    answer(daemon, question, written(&reply, ""));
                }
            }
            Word::Collect { session, asked } => {
                let Some((question, room)) = self.room_to_take(daemon, question) else { return };
                let (joined, held) = (Arc::clone(joined), Arc::clone(daemon));
                daemon.tracker().spawn(async move {
                    let answer = joined.collect_for_another(&*held, &session, &asked).await;
                    question.answer(answer.into()).await;
                    drop(room);
                });
            }
            Word::Accept { session, delivery } => {
                let Some((question, room)) = self.room_to_take(daemon, question) else { return };
                let (joined, held) = (Arc::clone(joined), Arc::clone(daemon));
                daemon.tracker().spawn(async move {
                    question
                        .answer(joined.accept_for_another(&*held, &session, &delivery).await.into())
                        .await;
                    drop(room);
                });
            }
            Word::Log { query, most, event } => {
                let full = || {
                    let unable = Some(TOO_MUCH.to_owned());
                    (Reply::Log { lost: 0, left_out: 0, unable }, "[]".to_owned())
                };
                let Some((question, room)) = with_room(daemon, question, &self.looks, full) else { return };
                let asked = ClusterLogQuery { query, most, event };
                let (joined, held) = (Arc::clone(joined), Arc::clone(daemon));
                daemon.tracker().spawn(async move {
                    question.answer(joined.log_for_another(&*held, &asked).await.into()).await;
                    drop(room);
                });
            }
            Word::Signals { query, after } => {
                let full = || {
                    let unable = Some(TOO_MUCH.to_owned());
                    (Reply::Signals { last: String::new(), lost: 0, unable }, "[]".to_owned())
                };
                let Some((question, room)) = with_room(daemon, question, &self.taps, full) else { return };
                let (joined, held) = (Arc::clone(joined), Arc::clone(daemon));
                daemon.tracker().spawn(async move {
                    question
                        .answer(joined.heard_for_another(&*held, &query, after.as_deref()).await.into())
                        .await;
                    drop(room);
                });
            }
            Word::Begin { from, life, job, hook } => {
                joined.begin_for_another(daemon, question, (from, life, job, hook));
            }
            Word::Running { from, job, fence } => {
                joined.heard_of_run(daemon, question, (&from, job, fence), Heard::GoesOn);
            }
            Word::Ran { from, job, fence } => {
                // What cannot be read is as if it had been cancelled.
                let outcome = json::from_slice(text.as_bytes()).unwrap_or_default();
                joined.heard_of_run(daemon, question, (&from, job, fence), Heard::Ended(outcome));
            }
            Word::GiveUp { from, fence, .. } => {
                if let Some(run) = joined.jobs.borrowed().get(&(from, fence)) {
                    run.cancel();
                }
            }
            Word::Call { from, id, session, hook, timeout_ms, tree } => {
                let event = text.to_owned();
                let full = || Reply::of(WorkerEnded::Dropped);
                let Some((question, room)) = with_room(daemon, question, &self.room, full) else { return };
                let timeout = Duration::from_millis(timeout_ms);
                let tree = tree.map(|tree| SessionId::from(tree.as_str()));
                let (joined, held) = (Arc::clone(joined), Arc::clone(daemon));
                let (key, cancelled) = ((from, id), CancellationToken::new());
                self.calls().insert(key.clone(), cancelled.clone());
                let called = async move {
                    let called = call(&joined, &*held, (&session, hook), (event, timeout, tree));
                    let ended = cancelled.run_until_cancelled(called).await;
                    joined.answering.calls().remove(&key);
                    if let Some(ended) = ended {
                        let (reply, text) = Reply::of(ended);
                        question.answer(written(&reply, &text).into()).await;
                    }
                    drop(room);
                };
                // What people wrote is not run where questions are read.
                if hook & LIVES_HERE == 0 {
                    begin(daemon, called);
                } else {
                    daemon.tracker().spawn(called);
                }
            }
        }
    }
}

/// Takes the call of a hook: an agent waits for it, and it waits for no other question. Gives what is none back.
pub(super) fn take_call<H: Here + 'static>(
    joined: &Weak<Joined>,
    daemon: &Weak<H>,
    question: Question,
) -> Option<Question> {
    let (Some(joined), Some(daemon)) = (joined.upgrade(), daemon.upgrade()) else { return Some(question) };
    if !question.text.starts_with(CALL) || daemon.ending().is_cancelled() {
        return Some(question);
    }
    let daemon: Arc<dyn Here> = daemon;
    joined.answering.take(&joined, &daemon, question);
    None
}

pub(super) fn answer(daemon: &Arc<dyn Here>, question: Question, text: Vec<u8>) {
    daemon.tracker().spawn(question.answer(text.into()));
}

/// A question with its room; one for which there is none is answered with this.
fn with_room(
    daemon: &Arc<dyn Here>,
    question: Question,
    room: &Arc<Semaphore>,
    full: impl FnOnce() -> (Reply, String),
) -> Option<(Question, OwnedSemaphorePermit)> {
    if let Ok(room) = Arc::clone(room).try_acquire_owned() {
        return Some((question, room));
    }
    let (reply, text) = full();
    answer(daemon, question, written(&reply, &text));
    None
}

/// Begins something at once, and goes on with it in a task of its own: an agent waits for it, and a task begins later.
fn begin(daemon: &Arc<dyn Here>, work: impl Future<Output = ()> + Send + 'static) {
    let mut work = Box::pin(work);
    // The task polls it again, with a waker of its own.
    if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        daemon.tracker().spawn(work);
    }
}

/// Calls a hook of a program as an event of this machine would.
async fn call(
    joined: &Joined,
    daemon: &dyn Here,
    (session, hook): (&str, u64),
    (event, timeout, tree): (String, Duration, Option<SessionId>),
) -> WorkerEnded {
    let name = EntryName::parse(session);
    let session = name.and_then(|name| joined.own().named(name).map(|own| own.session.clone()));
    let registration = hook & !LIVES_HERE;
    if hook & LIVES_HERE != 0
        && let Some(session) = &session
        && let Some(living) = session.living_of(registration)
    {
        let is_asked_here = joined.living.is_asked_here(session, registration);
        return ask(&living, is_asked_here, &event, timeout).await;
    }
    let seat = session.and_then(|session| daemon.attachments().seat(&session, hook));
    let Some((place, called)) = seat else {
        return failed(FailureKind::Closed, "the hook is not there any more".to_owned(), false);
    };
    // What the hook starts belongs to this machine, and not to the session of the event.
    let environment = daemon.bus().environment();
    place.call(HookCall { hook: called, event, environment, timeout, tree }).await
}

/// Asks a hook of this process, and its condition before it where that is to be asked here.
async fn ask(living: &Living, is_asked_here: bool, event: &str, timeout: Duration) -> WorkerEnded {
    let read = json::from_str::<Map>(event).map_err(|error| error.to_string());
    let event = match read.and_then(|event| read_event(&event, 0).map_err(|error| error.to_string())) {
        Ok(event) => event,
        Err(why) => return failed(FailureKind::Error, why, false),
    };
    if is_asked_here && living.skips(&event) {
        return WorkerEnded::Answered("{}".to_owned());
    }
    match living.ask(&event, timeout).await {
        Ok(said) => WorkerEnded::Answered(Value::Object(Answer::from(said).to_json()).to_string()),
        Err(Failure { kind, detail, started, .. }) => failed(kind, detail.into_owned(), started),
    }
}

fn failed(kind: FailureKind, message: String, started: bool) -> WorkerEnded {
    WorkerEnded::Failed { kind, message, started }
}
