//! Whose turn it is: those that wait, each in the queue of its kind, and one of each kind after the other.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// What waits for its turn, by kind. A kind of which nothing waits is not kept.
pub(crate) struct Turns<K, T> {
    waiting: HashMap<K, VecDeque<T>>,
    /// The kinds, the one whose turn is next first.
    order: VecDeque<K>,
}

impl<K, T> Default for Turns<K, T> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash, T> Turns<K, T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Puts one behind all others of its kind.
    pub(crate) fn wait(&mut self, kind: K, one: T) {
        let queue = self.waiting.entry(kind).or_insert_with(|| {
            self.order.push_back(kind);
            VecDeque::new()
        });
        queue.push_back(one);
    }

    /// Takes the one whose turn it is.
    pub(crate) fn next(&mut self) -> Option<T> {
        let kind = self.order.pop_front()?;
        let queue = self.waiting.get_mut(&kind)?;
        let next = queue.pop_front();
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
        let mut turns = Turns::default();
        (0..1_000).for_each(|number| turns.wait("many", number));
        turns.wait("few", 1_000);
        assert_eq!(turns.next(), Some(0));
        turns.wait("new", 2_000);
        let next: Vec<_> = (0..4).filter_map(|_| turns.next()).collect();
        assert_eq!(next, [1_000, 1, 2_000, 2]);
        assert!(turns.waiting.len() == 1 && std::iter::from_fn(|| turns.next()).eq(3..1_000));
        assert!(turns.is_empty() && turns.waiting.is_empty());
    }
}
