//! The memory that bodies may take together: while they are read, and as the values that they become.
//!
//! Small bodies have no part in it: there are no more of them at once than connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::shares::{Share, Shares, Tree};

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
    read: Part,
    values: Part,
    answers: Part,
    begun: Part,
    most: usize,
}

/// The room for one purpose, and what each tree of processes has of it.
struct Part {
    all: Arc<Semaphore>,
    shares: Shares,
}

/// Room that is taken until this is dropped.
#[derive(Default)]
pub(crate) struct Taken(Option<(OwnedSemaphorePermit, Option<Share>)>);

impl Taken {
    /// As much of it as this many bytes need; `None` when it takes none.
    pub(crate) fn shrunk(self, bytes: usize) -> Option<Self> {
        let (mut permit, mut share) = self.0?;
        let more = permit.num_permits().saturating_sub(units(bytes));
        drop(permit.split(more));
        share.iter_mut().for_each(|share| share.shrink(units(bytes)));
        Some(Self(Some((permit, share))))
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
    /// was before; and for half of that in lines of programs that have no end yet.
    pub(crate) fn new(most: usize) -> Self {
        let units = units(most).min(u32::MAX as usize);
        let part = |units| Part { all: Arc::new(Semaphore::new(units)), shares: Shares::of(units) };
        let room = || part(units);
        Self { read: room(), values: room(), answers: room(), begun: part(units / 2), most }
    }

    /// Waits for room for a body of this length while it is read, all of it at once: bodies that had a part of their room
    /// each would wait for one another for ever.
    pub(crate) async fn read(&self, length: usize, tree: Option<Tree>) -> Taken {
        self.read.take(length.min(self.most), tree).await
    }

    /// Waits for room for an answer of about this length, until its client has read it.
    pub(crate) async fn answer(&self, bytes: usize, tree: Option<Tree>) -> Taken {
        if bytes <= SMALL {
            return Taken(None);
        }
        self.answers.take(bytes.min(self.most), tree).await
    }

    /// Room for an answer of this length now, until its client has read it; `None` where there is none.
    pub(crate) fn answer_now(&self, bytes: usize, tree: Option<Tree>) -> Option<Taken> {
        self.answers.take_now(bytes.min(self.most), tree)
    }

    /// Room for this much more of a line that has no end yet; `None` where there is none.
    pub(crate) fn begun_now(&self, bytes: usize, tree: Option<Tree>) -> Option<Taken> {
        self.begun.take_now(bytes, tree)
    }

    /// Waits for room for the values of a body.
    ///
    /// # Errors
    /// They are more than there is room for.
    pub(crate) async fn values(
        &self,
        body: &[u8],
        tree: impl FnOnce() -> Option<Tree>,
    ) -> Result<Taken, TooMuch> {
        let bytes = cost(body);
        if bytes <= SMALL {
            return Ok(Taken(None));
        }
        if bytes > self.most {
            return Err(TooMuch { bytes });
        }
        Ok(self.values.take(bytes, tree()).await)
    }
}

impl Part {
    fn take_now(&self, bytes: usize, tree: Option<Tree>) -> Option<Taken> {
        let units = units(bytes);
        let share = match tree {
            Some(tree) => Some(self.shares.take(tree, units.min(self.shares.most(tree)))?),
            None => None,
        };
        let permit = Arc::clone(&self.all).try_acquire_many_owned(u32::try_from(units).ok()?).ok()?;
        Some(Taken(Some((permit, share))))
    }

    /// Waits for the share of the tree first: what it has too much of does not stand in line before others.
    async fn take(&self, bytes: usize, tree: Option<Tree>) -> Taken {
        let units = units(bytes);
        let share = match tree {
            Some(tree) => self.shares.wait(tree, units).await,
            None => None,
        };
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.all).acquire_many_owned(units).await.ok();
        Taken(permit.map(|permit| (permit, share)))
    }
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
    use crate::lineage::Process;
    use crate::shares::Tree;

    #[tokio::test]
    async fn bodies_share_one_room_and_small_ones_need_none() {
        let room = Room::new(1 << 20);
        let text = vec![b'x'; 300 << 10];
        let first = room.values(&text, || None).await.unwrap();
        let mut second = std::pin::pin!(room.values(&text, || None));
        assert!(futures_util::poll!(second.as_mut()).is_pending(), "three of them do not fit");
        assert!(room.values(b"{}", || None).await.is_ok());
        let rest = first.shrunk(100 << 10);
        assert!(second.await.is_ok(), "an answer takes less than its event did");
        let longer = vec![b'x'; 320 << 10];
        let third = room.values(&longer, || None);
        let mut third = std::pin::pin!(third);
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        drop(rest);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn bodies_of_one_tree_hold_up_none_of_another() {
        let room = Room::new(8 << 20);
        let [one, other] = [std::process::id(), std::os::unix::process::parent_id()]
            .map(|pid| Some(Tree::Agent(Process::of(pid).unwrap())));
        let text = vec![b'x'; 300 << 10];
        // A body that is larger than the share is taken alone.
        let first = room.values(&text, || one).await.unwrap();
        let mut waits: Vec<_> = (0..20).map(|_| Box::pin(room.values(&text, || one))).collect();
        for second in &mut waits {
            assert!(futures_util::poll!(second.as_mut()).is_pending());
        }
        for _ in 0..2 {
            assert!(room.values(&text, || other).await.is_ok() && room.values(&text, || None).await.is_ok());
        }
        assert!(
            room.read(1 << 20, one).await.shrunk(0).is_some() && room.answer(1 << 20, one).await.0.is_some()
        );
        drop(first);
        assert!(waits.swap_remove(0).await.is_ok());
    }

    #[tokio::test]
    async fn long_answers_share_one_room_that_is_not_that_of_bodies() {
        let room = Room::new(1 << 20);
        let first = room.answer(1 << 30, None).await;
        assert!(room.values(&vec![b'x'; 300 << 10], || None).await.is_ok());
        let small = room.answer(1 << 10, None).await;
        let mut second = std::pin::pin!(room.answer(100 << 10, None));
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
            matches!(room.values(zeros.as_bytes(), || None).await, Err(TooMuch { bytes: found }) if found == bytes)
        );
        assert!(room.values(&vec![b'x'; 64 << 20], || None).await.is_ok());
    }
}
