//! What waits for a collector: bounded in number, the oldest gives way, and what has given way is counted.

use std::collections::VecDeque;

/// How many spans wait, and how many records of logs.
const MOST: usize = 8_192;

/// How many are sent at once.
pub(crate) const BATCH: usize = 512;

/// What has become of spans and records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// How many a collector has taken.
    pub sent: u64,
    /// How many had no room while none did, and how many signals came too fast.
    pub lost: u64,
    /// Why the last ones were not taken, until others are.
    pub trouble: Option<String>,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: VecDeque<T>,
    pub(crate) lost: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), lost: 0 }
    }
}

impl<T: Clone> Queue<T> {
    pub(crate) fn push(&mut self, one: T) {
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
            self.lost += 1;
        }
        self.waiting.push_back(one);
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next ones, which stay until they are [taken away](Self::taken), and how many were lost before them.
    pub(crate) fn next(&self) -> (Vec<T>, u64) {
        (self.waiting.iter().take(BATCH).cloned().collect(), self.lost)
    }

    /// So many that came next when so many were lost have been taken; those that were lost since are not there any more.
    pub(crate) fn taken(&mut self, count: usize, lost_before: u64) {
        let given_way = usize::try_from(self.lost - lost_before).unwrap_or(usize::MAX);
        let rest = count.saturating_sub(given_way);
        self.lost -= count.min(given_way) as u64;
        self.waiting.drain(..rest.min(self.waiting.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way_and_are_counted() {
        let mut queue = Queue::default();
        (0..10 * MOST).for_each(|number| queue.push(number));
        assert_eq!((queue.len(), queue.lost), (MOST, 9 * MOST as u64));
        let (next, lost) = queue.next();
        assert_eq!((next.len(), next[0]), (BATCH, 9 * MOST));
        queue.taken(BATCH, lost);
        assert_eq!(queue.next().0[0], 9 * MOST + BATCH);
    }

    #[test]
    fn what_gives_way_while_it_is_sent_is_not_lost_and_nothing_else_is_taken_for_it() {
        let mut queue = Queue::default();
        (0..MOST).for_each(|number| queue.push(number));
        let (_, lost) = queue.next();
        (0..10).for_each(|number| queue.push(MOST + number));
        queue.taken(BATCH, lost);
        assert_eq!((queue.next().0[0], queue.lost), (BATCH, 0));
    }
}
