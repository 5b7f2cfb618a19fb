//! What waits for a collector: bounded in number and in bytes, the oldest gives way, and what has given way is counted.

use std::collections::VecDeque;

/// How many spans wait, and how many records of logs, and what each of the two weighs, in bytes.
const MOST: usize = 8_192;
const MOST_BYTES: usize = 32 << 20;

/// How many are sent at once, and how many bytes; one that is longer is sent by itself.
pub(crate) const BATCH: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

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
    /// Each with what it weighs.
    waiting: VecDeque<(usize, T)>,
    bytes: usize,
    pub(crate) lost: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, lost: 0 }
    }
}

impl<T: Clone> Queue<T> {
    /// Takes one in that weighs this.
    pub(crate) fn push(&mut self, weight: usize, one: T) {
        self.bytes += weight;
        self.waiting.push_back((weight, one));
        while self.waiting.len() > MOST || self.bytes > MOST_BYTES {
            self.remove(1);
            self.lost += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next ones, at most so many, which stay until they are [taken away](Self::taken), and how many were lost before
    /// them.
    pub(crate) fn next(&self, most: usize) -> (Vec<T>, u64) {
        let (mut bytes, mut next) = (0, Vec::new());
        for (weight, one) in self.waiting.iter().take(most) {
            bytes += weight;
            if bytes > BATCH_BYTES && !next.is_empty() {
                break;
            }
            next.push(one.clone());
        }
        (next, self.lost)
    }

    /// So many that came next when so many were lost have been taken; those that were lost since are not there any more.
    pub(crate) fn taken(&mut self, count: usize, lost_before: u64) {
        let given_way = self.given_way(count, lost_before);
        self.lost -= given_way as u64;
        self.remove(count - given_way);
    }

    /// So many that came next when so many were lost will not be taken ever.
    pub(crate) fn refused(&mut self, count: usize, lost_before: u64) {
        let rest = count - self.given_way(count, lost_before);
        self.lost += self.remove(rest) as u64;
    }

    fn given_way(&self, count: usize, lost_before: u64) -> usize {
        usize::try_from(self.lost - lost_before).unwrap_or(usize::MAX).min(count)
    }

    fn remove(&mut self, count: usize) -> usize {
        let gone = self.waiting.drain(..count.min(self.waiting.len()));
        let gone = gone.map(|(weight, _)| weight);
        let (count, bytes) = gone.fold((0, 0), |(count, bytes), weight| (count + 1, bytes + weight));
        self.bytes -= bytes;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way_and_are_counted() {
        let mut queue = Queue::default();
        (0..10 * MOST).for_each(|number| queue.push(1, number));
        assert_eq!((queue.len(), queue.lost), (MOST, 9 * MOST as u64));
        let (next, lost) = queue.next(BATCH);
        assert_eq!((next.len(), next[0]), (BATCH, 9 * MOST));
        queue.taken(BATCH, lost);
        assert_eq!(queue.next(BATCH).0[0], 9 * MOST + BATCH);
    }

    #[test]
    fn what_gives_way_while_it_is_sent_is_not_lost_and_nothing_else_is_taken_for_it() {
        let mut queue = Queue::default();
        (0..MOST).for_each(|number| queue.push(1, number));
        let (_, lost) = queue.next(BATCH);
        (0..10).for_each(|number| queue.push(1, MOST + number));
        queue.taken(BATCH, lost);
        assert_eq!((queue.next(BATCH).0[0], queue.lost), (BATCH, 0));
    }
    #[test]
    fn the_oldest_give_way_to_what_is_long() {
        let mut queue = Queue::default();
        let long = MOST_BYTES / 16;
        (0..160).for_each(|number| queue.push(long, number));
        assert_eq!((queue.len(), queue.bytes, queue.lost), (16, MOST_BYTES, 144));
        assert_eq!(queue.next(BATCH).0, [144], "one that is longer than a batch goes alone");
        queue.push(2 * MOST_BYTES, 160);
        assert_eq!((queue.len(), queue.bytes, queue.lost), (0, 0, 161));
    }

    #[test]
    fn what_is_refused_is_lost() {
        let mut queue = Queue::default();
        (0..MOST).for_each(|number| queue.push(1, number));
        let (_, lost) = queue.next(4);
        (0..3).for_each(|number| queue.push(1, MOST + number));
        queue.refused(4, lost);
        assert_eq!((queue.next(1).0[0], queue.lost), (4, 4), "three of them had given way");
    }
}
