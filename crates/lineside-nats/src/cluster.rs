//! A member of a cluster, as its daemon has it.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use async_nats::{Client, Request};
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::unconstrained;
use tokio::time::{Instant, interval_at, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connecting::{self, Told};
use crate::health::{Health, Link};
use crate::joined;
use crate::keys::Keys;
use crate::members::{BEAT, Member, Members};
use crate::questions::{AskMachineError, Question, answer};
use crate::registry::{Entry, EntryName, Registry};
use crate::remembered::Remembered;
use crate::settings::{JoinClusterError, JoinSettings};
use crate::subjects::{Subjects, parts};

/// How many questions wait to be taken; one more is refused.
const MOST_QUESTIONS: usize = 1_024;

/// A member of a cluster. Clones are the same member.
///
/// It connects by itself, and again whenever the connection breaks; everything that it was to have written is written then,
/// and everything that has changed meanwhile is read.
#[derive(Clone)]
pub struct Cluster(pub(crate) Arc<Shared>);

/// What its tasks have of it.
pub(crate) struct Shared {
    pub(crate) settings: JoinSettings,
    pub(crate) subjects: Subjects,
    pub(crate) client: Client,
    pub(crate) registry: Mutex<Registry>,
    pub(crate) members: Mutex<Members>,
    pub(crate) keys: Mutex<Keys>,
    pub(crate) ledger: Mutex<Remembered>,
    /// How many keys were asked for.
    pub(crate) leases: AtomicU64,
    /// How many parts in windows were taken.
    pub(crate) parts: AtomicU64,
    /// The stream of the names of jobs was there.
    pub(crate) has_jobs: AtomicBool,
    pub(crate) health: watch::Sender<Health>,
    /// See [`Cluster::answer_at_once`].
    pub(crate) at_once: OnceLock<Box<AtOnce>>,
    /// Something is to be written.
    pub(crate) to_write: Notify,
    /// Something that is followed has changed.
    pub(crate) changed: Notify,
    pub(crate) ending: CancellationToken,
    tracker: TaskTracker,
}

/// What takes a question, or gives it back.
type AtOnce = dyn Fn(Question) -> Option<Question> + Send + Sync;

/// The questions to a member.
#[derive(Debug)]
pub struct Questions(mpsc::Receiver<Question>);

impl Questions {
    /// The next one; `None` when the member has left. Cancel safe.
    pub async fn next(&mut self) -> Option<Question> {
        self.0.recv().await
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("cluster", &self.0.settings.cluster).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Begins to join; whether and when the server is there is in [`health`](Self::health). The questions are to be taken: a
    /// thousand of them wait, and further ones are refused.
    ///
    /// Must be called within a tokio runtime with I/O and time. Cancel safe.
    ///
    /// # Errors
    /// The addresses are none, or the credentials cannot be read.
    pub async fn join(settings: JoinSettings) -> Result<(Self, Questions), JoinClusterError> {
        let (link, linked) = watch::channel(Told::default());
        let client = connecting::client(&settings, link).await?;
        let away = Link::Away { since: Instant::now(), why: String::new() };
        let (health, _) = watch::channel(Health { link: away, server: None, not_mirrored: 0 });
        let (asked, questions) = mpsc::channel(MOST_QUESTIONS);
        let shared = Arc::new(Shared {
            subjects: Subjects::of(&settings),
            settings,
            client,
            registry: Mutex::default(),
            members: Mutex::default(),
            keys: Mutex::default(),
            ledger: Mutex::default(),
            leases: AtomicU64::default(),
            parts: AtomicU64::default(),
            has_jobs: AtomicBool::default(),
            health,
            at_once: OnceLock::new(),
            to_write: Notify::new(),
            changed: Notify::new(),
            ending: CancellationToken::new(),
            tracker: TaskTracker::new(),
        });
        joined::spawn(&shared, linked, asked);
        Ok((Self(shared), Questions(questions)))
    }

    /// Has this take questions as soon as they are heard, before they wait in [`Questions`]: what it gives back waits there. It
    /// must return soon, as nothing else is heard meanwhile. The first one counts.
    pub fn answer_at_once(&self, take: impl Fn(Question) -> Option<Question> + Send + Sync + 'static) {
        self.0.at_once.set(Box::new(take)).ok();
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &JoinSettings {
        &self.0.settings
    }

    /// How it stands, now and from here on.
    #[must_use]
    pub fn health(&self) -> watch::Receiver<Health> {
        self.0.health.subscribe()
    }

    /// The machines that were heard, by name.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.0.members().list(&self.0.settings.machine, Instant::now())
    }

    /// Since when a machine is away; `None` for one that is there, or was never heard.
    #[must_use]
    pub fn away_since(&self, machine: &str) -> Option<Instant> {
        self.0.members().away_since(machine, Instant::now())
    }

    /// Whether a machine has said that it leaves, and has not come again.
    #[must_use]
    pub fn has_left(&self, machine: &str) -> bool {
        self.0.members().has_left(machine)
    }

    /// This machine has this entry from now on. It is written behind, and again where the bucket has lost it.
    pub fn put(&self, name: EntryName, value: impl Into<Bytes>) {
        self.0.registry().put(name, value.into());
        self.0.to_write.notify_one();
    }

    /// This machine has it no longer.
    pub fn remove(&self, name: EntryName) {
        self.0.registry().remove(name);
        self.0.to_write.notify_one();
    }

    /// How many entries this machine has, and how many of them are to be written.
    #[must_use]
    pub fn own_entries(&self) -> (usize, usize) {
        self.0.registry().own_counts()
    }

    /// How many entries of other machines are in memory.
    #[must_use]
    pub fn mirrored(&self) -> usize {
        self.0.registry().count()
    }

    /// How many entries are followed.
    #[must_use]
    pub fn followed(&self) -> usize {
        self.0.registry().followed()
    }

    /// The entry of another machine, as it was read last.
    #[must_use]
    pub fn get(&self, name: EntryName) -> Option<Entry> {
        self.0.registry().get(name)
    }

    /// The entry of any machine, as the bucket has it, within this time. `None` without one, and without an answer.
    ///
    /// Cancel safe.
    pub async fn look_up(&self, name: EntryName, within: Duration) -> Option<Entry> {
        if !self.0.is_together() {
            return None;
        }
        let subject = self.0.subjects.entries_named(name);
        let looked = async {
            let context = async_nats::jetstream::new(self.0.client.clone());
            let bucket = context.get_stream_no_info(format!("KV_{}", self.0.subjects.bucket())).await.ok()?;
            match bucket.get_last_raw_message_by_subject(&subject).await {
                Ok(message) => Some(message),
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => None,
                Err(error) => {
                    tracing::debug!(%error, "an entry was not looked up");
                    None
                }
            }
        };
        let message = timeout(within, looked).await.ok().flatten()?;
        // A deletion is a message too.
        let is_put = message.headers.get("KV-Operation").is_none();
        let key = message.subject.strip_prefix(&format!("$KV.{}.", self.0.subjects.bucket()))?.to_owned();
        let (machine, life, _) = parts(&key).filter(|_| is_put)?;
        let (machine, life) = (machine.into(), life.into());
        Some(Entry { machine, life, revision: message.sequence, value: message.payload })
    }

    /// Has [`changed`](Self::changed) tell when this entry changes or goes.
    pub fn follow(&self, name: EntryName) {
        self.0.registry().follow(name);
    }

    /// No longer.
    pub fn unfollow(&self, name: EntryName) {
        self.0.registry().unfollow(name);
    }

    /// The followed entries that have changed or gone since the last call; waits until there are some. Cancel safe.
    pub async fn changed(&self) -> Vec<EntryName> {
        loop {
            let later = self.0.changed.notified();
            let changed = self.0.registry().take_changed();
            if !changed.is_empty() {
                return changed;
            }
            later.await;
        }
    }

    /// Asks another machine, and gives its answer.
    ///
    /// Cancel safe: the machine may have been asked, and its answer is not heard.
    ///
    /// # Errors
    /// At once where this machine is not connected, or the other one is known not to be there; when the connection breaks,
    /// or the other machine goes, as soon as that is known; else when the time is over.
    pub async fn ask(&self, machine: &str, text: Bytes, within: Duration) -> Result<Bytes, AskMachineError> {
        let away = || AskMachineError::Away { machine: machine.to_owned() };
        let mut health = self.0.health.subscribe();
        let Some(times) = health.borrow_and_update().link.times() else {
            return Err(AskMachineError::NotConnected);
        };
        if self.away_since(machine).is_some() {
            return Err(away());
        }
        let most = self.0.client.max_payload();
        if text.len() > most {
            return Err(AskMachineError::TooLarge { length: text.len(), most });
        }
        let request = Request::new().payload(text).timeout(Some(within));
        let mut asked = pin!(self.0.client.send_request(self.0.subjects.to(machine), request));
        let mut looks = interval_at(Instant::now() + BEAT, BEAT);
        loop {
            tokio::select! {
                biased;
                answered = &mut asked => {
                    return match answered {
                        Ok(message) => answer(message, machine),
                        Err(error) => Err(match error.kind() {
                            RequestErrorKind::NoResponders => away(),
                            RequestErrorKind::TimedOut => AskMachineError::TimedOut { machine: machine.to_owned() },
                            _ => AskMachineError::NotConnected,
                        }),
                    };
                }
                // No answer comes over a connection that is gone, also where there is another one by now, and a question is
                // asked once.
                changed = health.changed() => {
                    if changed.is_err() || health.borrow_and_update().link.times() != Some(times) {
                        return Err(AskMachineError::NotConnected);
                    }
                }
                // Nor does one of a machine that has gone.
                _ = looks.tick() => if self.away_since(machine).is_some() {
                    return Err(away());
                },
            }
        }
    }

    /// Tells another machine something, without an answer; lost where it cannot be sent at once.
    pub fn tell(&self, machine: &str, text: Bytes) {
        if self.0.is_together() {
            let told = self.0.client.publish(self.0.subjects.to(machine), text);
            if unconstrained(told).now_or_never().is_none() {
                tracing::debug!(machine, "something was not told: the connection is full");
            }
        }
    }

    /// Leaves: the others are notified, and what this machine has written is taken out, within this time. Cancel safe: the
    /// end goes on without a waiter.
    pub async fn leave(&self, within: Duration) {
        self.0.ending.cancel();
        self.0.tracker.close();
        if timeout(within, self.0.tracker.wait()).await.is_err() {
            tracing::warn!("left the cluster without a word to it");
        }
    }
}

impl Shared {
    pub(crate) fn tracker(&self) -> &TaskTracker {
        &self.tracker
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn own_ledger(&self) -> MutexGuard<'_, Remembered> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_together(&self) -> bool {
        self.health.borrow().link.is_together()
    }
}
