//! The place of a connection at its door: as one of those that are let in, or as a stranger.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::shares::Share;
use crate::strangers::Stranger;

/// The room that a connection takes at its door, and its part in the count.
pub(crate) struct Place {
    daemon: Arc<Daemon>,
    door: Arc<Semaphore>,
    standing: Mutex<Standing>,
    /// Its part of what its tree of processes has.
    _share: Option<Share>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

/// What a connection is at its door.
struct Standing {
    /// Its part of the room, once it has one.
    room: Option<OwnedSemaphorePermit>,
    stranger: Option<Stranger>,
    /// Whether that is one of the last, which are for the calls of agent programs alone.
    is_reserved: bool,
}

impl Place {
    pub(crate) fn new(
        daemon: &Arc<Daemon>,
        door: Arc<Semaphore>,
        room: Option<OwnedSemaphorePermit>,
        stranger: Option<Stranger>,
        (is_reserved, share): (bool, Option<Share>),
    ) -> Self {
        daemon.counts.connections.fetch_add(1, Ordering::Relaxed);
        let standing = Mutex::new(Standing { room, stranger, is_reserved });
        Self { daemon: Arc::clone(daemon), door, standing, _share: share }
    }

    /// Cancelled when it gives way to others as a stranger; `None` for one that is none.
    pub(crate) fn gives_way(&self) -> Option<CancellationToken> {
        self.standing().stranger.as_ref().map(|stranger| stranger.gives_way.clone())
    }

    /// It has shown who it is, with a request for this path.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn known(&self, path: &str) -> Result<(), Problem> {
        let mut standing = self.standing();
        let is_for_others = standing.is_reserved && !path.starts_with("/v1/hosts/");
        // One of the last may have been taken when there was no other, long before this request.
        if standing.room.is_none() || is_for_others {
            let room =
                Arc::clone(&self.door).try_acquire_owned().map_err(|_| Problem::no_room_at_the_door())?;
            *standing = Standing { room: Some(room), stranger: None, is_reserved: false };
        }
        Ok(())
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.daemon.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
