//! Whose turn it is: those that wait, each in the queue of its kind, and one of each kind after the other.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// What waits for its turn, by kind. A kind of which nothing waits is not kept.
pub(crate) struct Turns<K, T> {
    waiting: HashMap<K, VecDeque<T>>,
    /// The kinds, the one whose turn is next first.
    order: VecDeque<K>,
    /// How many wait, and at most.
    count: usize,
    most: usize,
}

impl<K: Copy + Eq + Hash, T> Turns<K, T> {
    /// With room for this many.
    pub(crate) fn of(most: usize) -> Self {
        Self { waiting: HashMap::new(), order: VecDeque::new(), count: 0, most }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Puts one behind all others of its kind. Gives the one whose turn was next, where there is no room for both.
    pub(crate) fn wait(&mut self, kind: K, one: T) -> Option<T> {
        let queue = self.waiting.entry(kind).or_insert_with(|| {
            self.order.push_back(kind);
            VecDeque::new()
        });
        queue.push_back(one);
        self.count += 1;
        if self.count > self.most { self.next() } else { None }
    }

    /// Takes the one whose turn it is.
    pub(crate) fn next(&mut self) -> Option<T> {
        let kind = self.order.pop_front()?;
        let queue = self.waiting.get_mut(&kind)?;
        let next = queue.pop_front();
        self.count -= usize::from(next.is_some());
        if queue.is_empty() {
            self.waiting.remove(&kind);
        } else {
            self.order.push_back(kind);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_comes_late_waits_for_one_of_each_other_kind() {
        let mut turns = Turns::of(1_001);
        assert!((0..1_000).all(|number| turns.wait("many", number).is_none()));
        assert_eq!(turns.wait("few", 1_000), None);
        assert_eq!(turns.next(), Some(0));
        assert_eq!(turns.wait("new", 2_000), None);
        assert_eq!(turns.wait("more", 3_000), Some(1_000), "there is no room for both");
        let next: Vec<_> = (0..4).filter_map(|_| turns.next()).collect();
        assert_eq!(next, [1, 2_000, 3_000, 2]);
        assert!(turns.waiting.len() == 1 && std::iter::from_fn(|| turns.next()).eq(3..1_000));
        assert!(turns.is_empty() && turns.waiting.is_empty());
    }
}
