//! Connections that wait for the next post to the same place, and how many posts a place gets at once.
//!
//! A place is scheme, host, port and what may be reached: a connection that one hook was allowed is not another's.
//! An idle connection is not watched. It is checked when it is taken, and those that have waited too long are
//! closed at the next post to any place, or at a drain.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_core::exchange::Addresses;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::target::{Host, Target};
use super::wire::Wire;

/// The default number of simultaneous posts to one place.
const AT_ONCE: usize = 16;
/// How many connections to one place wait.
const WAITING: usize = 4;
/// How many wait altogether.
const WAITING_ALTOGETHER: usize = 64;
/// How old what was looked up may be, for a connection to be used once more: after that the name is asked again.
const PINNED: Duration = Duration::from_secs(60);

/// Where posts go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    tls: bool,
    host: Host,
    port: u16,
    allowed: Addresses,
}

/// The places.
pub(super) struct Pool {
    places: Mutex<Places>,
    at_once: usize,
}

struct Places {
    by_key: HashMap<Key, Place>,
    /// Whether connections are kept.
    keeps: bool,
}

struct Place {
    permits: Arc<Semaphore>,
    /// Posts under way or waiting for a permit.
    leases: usize,
    /// The latest last.
    waiting: Vec<Waiting>,
}

struct Waiting {
    wire: Wire,
    until: Instant,
}

impl Default for Pool {
    fn default() -> Self {
        Self::new(AT_ONCE)
    }
}

impl Pool {
    pub(super) fn new(at_once: usize) -> Self {
        Self { places: Mutex::new(Places { by_key: HashMap::new(), keeps: true }), at_once }
    }

    /// One post's place, once there are fewer than the most of them. Cancel safe.
    pub(super) async fn lease(self: &Arc<Self>, target: &Target, allowed: Addresses) -> Lease {
        let key = Key { tls: target.tls, host: target.host.clone(), port: target.port, allowed };
        let permits = {
            let mut places = self.lock();
            places.forget(Instant::now());
            let place = places.by_key.entry(key.clone()).or_insert_with(|| Place {
                permits: Arc::new(Semaphore::new(self.at_once)),
                leases: 0,
                waiting: Vec::new(),
            });
            place.leases += 1;
            Arc::clone(&place.permits)
        };
        let mut lease = Lease { pool: Arc::clone(self), key, permit: None };
        // It stays open.
        lease.permit = permits.acquire_owned().await.ok();
        lease
    }

    /// Closes what waits, and keeps nothing from now on.
    pub(super) fn close(&self) {
        let mut places = self.lock();
        places.keeps = false;
        for place in places.by_key.values_mut() {
            place.waiting.clear();
        }
        places.by_key.retain(|_, place| place.leases > 0);
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    /// Closes what has waited too long.
    fn forget(&mut self, now: Instant) {
        self.by_key.retain(|_, place| {
            place.waiting.retain(|waiting| waiting.until > now);
            place.leases > 0 || !place.waiting.is_empty()
        });
    }
}

/// The right of one post to go to a place.
pub(super) struct Lease {
    pool: Arc<Pool>,
    key: Key,
    permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    /// A connection that waits, and whose other side still has it.
    pub(super) async fn take(&self) -> Option<Wire> {
        loop {
            let mut waiting = self.pool.lock().by_key.get_mut(&self.key)?.waiting.pop()?;
            if waiting.until > Instant::now() && waiting.wire.is_open().await {
                return Some(waiting.wire);
            }
        }
    }

    /// Has a connection wait, for so long at most.
    pub(super) async fn keep(&self, mut wire: Wire, most: Duration) {
        if !wire.is_open().await {
            return;
        }
        let until = (Instant::now() + most).min(wire.resolved + PINNED);
        let mut places = self.pool.lock();
        let altogether: usize = places.by_key.values().map(|place| place.waiting.len()).sum();
        if !places.keeps || altogether >= WAITING_ALTOGETHER {
            return;
        }
        if let Some(place) = places.by_key.get_mut(&self.key)
            && place.waiting.len() < WAITING
        {
            place.waiting.push(Waiting { wire, until });
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Before another post that finds no place creates one with permits of its own.
        self.permit = None;
        let mut places = self.pool.lock();
        if let Some(place) = places.by_key.get_mut(&self.key) {
            place.leases -= 1;
            if place.leases == 0 && place.waiting.is_empty() {
                places.by_key.remove(&self.key);
            }
        }
    }
}
