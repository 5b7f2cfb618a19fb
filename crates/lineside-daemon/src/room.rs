//! The memory that bodies may take together: while they are read, and as the values that they become.
//!
//! Small bodies have no part in it: there are no more of them at once than connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is small, in bytes.
pub(crate) const SMALL: usize = 64 << 10;

/// What a value costs beside its text, about, with the place that a list keeps for more.
const VALUE: usize = 96;

/// How many times a text is there while its event is decided, about: as it came, as a value, and in the answer.
const COPIES: usize = 3;

/// A unit of room, in bytes.
const UNIT: usize = 1 << 10;

/// Whether the values of a body are small, so that they need no room.
pub(crate) fn is_small(body: &[u8]) -> bool {
    cost(body) <= SMALL
}

/// The room of all bodies of a daemon.
pub(crate) struct Room {
    read: Arc<Semaphore>,
    values: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    most: usize,
}

/// Room that is taken until this is dropped.
#[derive(Default)]
pub(crate) struct Taken(Option<OwnedSemaphorePermit>);

impl Taken {
    /// As much of it as this many bytes need; `None` when it takes none.
    pub(crate) fn shrunk(self, bytes: usize) -> Option<Self> {
        let mut permit = self.0?;
        let more = permit.num_permits().saturating_sub(units(bytes));
        drop(permit.split(more));
        Some(Self(Some(permit)))
    }
}

/// A body that is larger than the whole room once it is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMuch {
    /// What it comes to, in bytes.
    pub(crate) bytes: usize,
}

impl Room {
    /// Room for so many bytes, once for bodies that are read, once for their values, and once for long answers about what
    /// was before.
    pub(crate) fn new(most: usize) -> Self {
        let room = || Arc::new(Semaphore::new(units(most).min(u32::MAX as usize)));
        Self { read: room(), values: room(), answers: room(), most }
    }

    /// Waits for room for a body of this length while it is read, all of it at once: bodies that had a part of their room
    /// each would wait for one another for ever.
    pub(crate) async fn read(&self, length: usize) -> Taken {
        Taken(take(&self.read, length.min(self.most)).await)
    }

    /// Waits for room for an answer of about this length, until its client has read it.
    pub(crate) async fn answer(&self, bytes: usize) -> Taken {
        if bytes <= SMALL {
            return Taken(None);
        }
        Taken(take(&self.answers, bytes.min(self.most)).await)
    }

    /// Waits for room for the values of a body.
    ///
    /// # Errors
    /// They are more than there is room for.
    pub(crate) async fn values(&self, body: &[u8]) -> Result<Taken, TooMuch> {
        let bytes = cost(body);
        if bytes <= SMALL {
            return Ok(Taken(None));
        }
        if bytes > self.most {
            return Err(TooMuch { bytes });
        }
        Ok(Taken(take(&self.values, bytes).await))
    }
}

async fn take(room: &Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    let units = u32::try_from(units(bytes)).unwrap_or(u32::MAX);
    Arc::clone(room).acquire_many_owned(units).await.ok()
}

/// The units of room that so many bytes take.
pub(crate) fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

/// What a body comes to, about: every value has one of these before it, or is the first.
fn cost(body: &[u8]) -> usize {
    let values = body.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b':')).count() + 1;
    body.len() * COPIES + values * VALUE
}

#[cfg(test)]
mod tests {
    use super::{Room, TooMuch, cost};

    #[tokio::test]
    async fn bodies_share_one_room_and_small_ones_need_none() {
        let room = Room::new(1 << 20);
        let text = vec![b'x'; 300 << 10];
        let first = room.values(&text).await.unwrap();
        let mut second = std::pin::pin!(room.values(&text));
        assert!(futures_util::poll!(second.as_mut()).is_pending(), "three of them do not fit");
        assert!(room.values(b"{}").await.is_ok());
        let rest = first.shrunk(100 << 10);
        assert!(second.await.is_ok(), "an answer takes less than its event did");
        let longer = vec![b'x'; 320 << 10];
        let third = room.values(&longer);
        let mut third = std::pin::pin!(third);
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        drop(rest);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn long_answers_share_one_room_that_is_not_that_of_bodies() {
        let room = Room::new(1 << 20);
        let first = room.answer(1 << 30).await;
        assert!(room.values(&vec![b'x'; 300 << 10]).await.is_ok());
        let small = room.answer(1 << 10).await;
        let mut second = std::pin::pin!(room.answer(100 << 10));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop((first, small));
        second.await;
    }

    #[tokio::test]
    async fn what_blows_up_when_it_is_read_is_refused_before() {
        let room = Room::new(256 << 20);
        let zeros = format!("[{}0]", "0,".repeat(16 << 20));
        let bytes = cost(zeros.as_bytes());
        assert!(bytes > 256 << 20);
        assert!(
            matches!(room.values(zeros.as_bytes()).await, Err(TooMuch { bytes: found }) if found == bytes)
        );
        assert!(room.values(&vec![b'x'; 64 << 20]).await.is_ok());
    }
}
