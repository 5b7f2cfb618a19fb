//! Keys of which one machine of a cluster has each at a time: leases in a bucket whose entries go by themselves when they are
//! not renewed. Who has a key is who has written the last revision of its entry, and the revision of the first is the fencing
//! token: no run before it had one as great.
//!
//! A holder counts its time from before each writing was sent, so that it gives up before the server lets another one in.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::Subscriber;
use async_nats::jetstream::kv::{Operation, Store, UpdateErrorKind};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::cluster::{Cluster, Shared};
use crate::joined::{Bucket, bucket};
use crate::settings::Token;

/// How long the bucket keeps what is not renewed, and how much earlier its holder gives up.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
pub(crate) const EARLIER: Duration = Duration::from_secs(1);
/// How often a key is renewed, and the pause after that could not be done.
const RENEWED: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(300);
/// How often it is looked whether a key is free that nothing is heard of.
const LOOK: Duration = Duration::from_secs(1);
/// How long the server may take to have a key given back.
const GIVEN_BACK: Duration = Duration::from_secs(2);
/// How many revisions are remembered, of keys that were given back.
const MOST: usize = 4_096;

/// A key may have been another machine's before its run had ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LostKeyError {
    /// It could not be renewed in time.
    #[error("it could not be renewed for {} s", (LEASE - EARLIER).as_secs())]
    NotRenewed,
    /// The server has it no longer as this machine's.
    #[error("the server has it no longer as this machine's")]
    Taken,
}

/// What a member remembers of keys.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bucket: Option<Store>,
    /// How many it has.
    held: usize,
    /// The revisions of those that it has given back.
    last: HashMap<Token, u64>,
}

impl Keys {
    fn remember(&mut self, key: &Token, revision: u64) {
        if self.last.len() >= MOST {
            self.last.clear();
        }
        self.last.insert(key.clone(), revision);
    }
}

/// How an entry stands.
enum Standing {
    /// Free at this revision.
    Free(u64),
    /// This machine's, written by this lease.
    Own(u64),
    /// Another lease's, which has written this.
    Held(Bytes),
}

impl Cluster {
    /// Waits for a key, for as long as it takes, has this run with its fencing token, and gives the key back. A machine that
    /// dies has a key for ten seconds more at most.
    ///
    /// Dropping the future gives up what runs; the key is given back behind.
    ///
    /// # Errors
    /// The key was lost: what ran was given up, or what it came to is not to count.
    pub async fn under<T, F>(&self, key: &Token, run: impl FnOnce(u64) -> F) -> Result<T, LostKeyError>
    where
        F: Future<Output = T>,
    {
        let mut lease = Lease::take(&self.0, key).await;
        let mut run = pin!(run(lease.revision));
        let came = tokio::select! {
            biased;
            came = &mut run => came,
            lost = lease.kept() => return Err(lost),
        };
        lease.give_back().await.map(|()| came)
    }

    /// How many keys this machine has.
    #[must_use]
    pub fn keys_held(&self) -> usize {
        self.0.keys().held
    }
}

/// A key that this machine has.
struct Lease {
    shared: Arc<Shared>,
    store: Store,
    key: Token,
    /// What stands in the entry as long as it is this lease's.
    own: Bytes,
    revision: u64,
    /// Until when it is this machine's for certain, by the clock that counts all time.
    until: Duration,
    is_over: bool,
}

const FREE: &[u8] = b"free";

impl Lease {
    async fn take(shared: &Arc<Shared>, key: &Token) -> Self {
        let number = shared.leases.fetch_add(1, Ordering::Relaxed);
        let own = Bytes::from(format!("{} {} {number}", shared.settings.machine, shared.settings.life));
        let mut health = shared.health.subscribe();
        let mut expected = shared.keys().last.get(key).copied().unwrap_or_default();
        let mut heard = None;
        loop {
            // The sender is held by what is shared.
            health.wait_for(|health| health.link.is_together()).await.ok();
            let Some(store) = store(shared).await else {
                sleep(PAUSE).await;
                continue;
            };
            let until = shared.settings.clock.now() + LEASE - EARLIER;
            match store.update(key.as_str(), own.clone(), expected).await {
                Ok(revision) => {
                    let (shared, key) = (Arc::clone(shared), key.clone());
                    shared.keys().held += 1;
                    return Self { shared, store, key, own, revision, until, is_over: false };
                }
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => {
                    tracing::debug!(%error, "a key was not taken");
                    shared.keys().bucket = None;
                    sleep(PAUSE).await;
                }
            }
            if heard.is_none() {
                heard = shared.client.subscribe(shared.subjects.key_entry(key)).await.ok();
            }
            match standing(&store, key, &own).await {
                // What was written is this lease's, and its answer was lost: it is written again, for its time.
                Some(Standing::Free(revision) | Standing::Own(revision)) => expected = revision,
                Some(Standing::Held(holder)) => freed(heard.as_mut(), &holder).await,
                None => sleep(PAUSE).await,
            }
        }
    }

    /// Renews it, until it is lost.
    async fn kept(&mut self) -> LostKeyError {
        let mut next = self.now() + RENEWED;
        loop {
            passed(&self.shared, next.min(self.until)).await;
            let sent = self.now();
            if sent >= self.until {
                self.is_over = true;
                return LostKeyError::NotRenewed;
            }
            let (shared, until) = (Arc::clone(&self.shared), self.until);
            let written = tokio::select! {
                written = self.written(self.own.clone()) => written,
                () = passed(&shared, until) => continue,
            };
            next = match written {
                Ok(()) => {
                    self.until = sent + LEASE - EARLIER;
                    sent + RENEWED
                }
                Err(Unwritten::Taken) => {
                    self.is_over = true;
                    return LostKeyError::Taken;
                }
                Err(Unwritten::Unknown) => self.now() + PAUSE,
            };
        }
    }

    fn now(&self) -> Duration {
        self.shared.settings.clock.now()
    }

    /// Gives it back. Where the server cannot be asked it goes by itself, and was this machine's until here, unless its time
    /// was over: what runs may have kept its thread, or the machine may have stood still.
    async fn give_back(mut self) -> Result<(), LostKeyError> {
        self.is_over = true;
        let left = self.until.saturating_sub(self.now());
        if left.is_zero() {
            return Err(LostKeyError::NotRenewed);
        }
        match timeout(left.min(GIVEN_BACK), self.written(Bytes::from_static(FREE))).await {
            Ok(Ok(())) => {
                self.shared.keys().remember(&self.key, self.revision);
                Ok(())
            }
            Ok(Err(Unwritten::Taken)) => Err(LostKeyError::Taken),
            Ok(Err(Unwritten::Unknown)) | Err(_) => Ok(()),
        }
    }

    /// Writes its entry, where that is this lease's still.
    async fn written(&mut self, value: Bytes) -> Result<(), Unwritten> {
        loop {
            match self.store.update(self.key.as_str(), value.clone(), self.revision).await {
                Ok(revision) => {
                    self.revision = revision;
                    return Ok(());
                }
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(_) => return Err(Unwritten::Unknown),
            }
            match standing(&self.store, &self.key, &self.own).await {
                // An earlier writing has come, and its answer was lost.
                Some(Standing::Own(revision)) if revision > self.revision => self.revision = revision,
                Some(Standing::Own(_)) | None => return Err(Unwritten::Unknown),
                Some(Standing::Free(_) | Standing::Held(_)) => return Err(Unwritten::Taken),
            }
        }
    }
}

/// Why something is not written.
enum Unwritten {
    Taken,
    Unknown,
}

impl Drop for Lease {
    /// A run that was given up gives its key back behind.
    fn drop(&mut self) {
        let is_over = std::mem::replace(&mut self.is_over, true);
        self.shared.keys().held -= 1;
        if !is_over {
            let Self { shared, store, key, own, revision, until, .. } = &*self;
            let (shared, store, key, own) = (Arc::clone(shared), store.clone(), key.clone(), own.clone());
            shared.keys().held += 1;
            // Over from its beginning: where the runtime ends, what is spawned is dropped at once.
            let lease = Self { shared, store, key, own, revision: *revision, until: *until, is_over: true };
            let tracker = lease.shared.tracker().clone();
            tracker.spawn(lease.give_back());
        }
    }
}

/// Waits until the clock that counts all time stands there: a sleep is longer by what the machine is suspended for.
async fn passed(shared: &Shared, until: Duration) {
    let left = || until.saturating_sub(shared.settings.clock.now());
    while !left().is_zero() {
        sleep(left().min(LOOK)).await;
    }
}

/// The bucket, which the first that needs it makes.
async fn store(shared: &Shared) -> Option<Store> {
    if let Some(store) = shared.keys().bucket.clone() {
        return Some(store);
    }
    let wanted = Bucket {
        name: shared.subjects.keys_bucket(),
        description: "concurrency keys of a lineside cluster",
        kept: LEASE,
    };
    match bucket(shared, wanted).await {
        Ok(store) => {
            shared.keys().bucket = Some(store.clone());
            Some(store)
        }
        Err(why) => {
            tracing::warn!(why, "runs that need a key of the cluster wait");
            None
        }
    }
}

/// How the entry of a key stands for a lease; `None` where the server does not say.
async fn standing(store: &Store, key: &Token, own: &Bytes) -> Option<Standing> {
    let entry = store.entry(key.as_str()).await.ok()?;
    Some(match entry {
        None => Standing::Free(0),
        Some(entry) if entry.operation != Operation::Put || entry.value == FREE => {
            Standing::Free(entry.revision)
        }
        Some(entry) if entry.value == *own => Standing::Own(entry.revision),
        Some(entry) => Standing::Held(entry.value),
    })
}

/// Waits until a key is given back, or for a while: as long as its holder is heard to renew it the server is not asked.
async fn freed(heard: Option<&mut Subscriber>, holder: &Bytes) {
    let mut until = Instant::now() + LOOK;
    if let Some(heard) = heard {
        // What is refused is heard as well.
        while let Ok(Some(message)) = timeout_at(until, heard.next()).await {
            if message.payload == FREE {
                return;
            }
            if message.payload == *holder {
                until = Instant::now() + RENEWED + LOOK;
            }
        }
    }
    sleep_until(until).await;
}
