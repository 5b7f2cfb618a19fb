//! A memory of what happened lately, bounded, for what is done once or so often.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The latest values by key; of too many the oldest is forgotten.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    kept: Mutex<Kept<K, V>>,
    most: usize,
}

#[derive(Debug)]
struct Kept<K, V> {
    values: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Mutex::new(Kept { values: HashMap::new(), order: VecDeque::new() }), most }
    }

    fn lock(&self) -> MutexGuard<'_, Kept<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the value of a key, which is new if it was forgotten.
    pub(super) fn with<R>(&self, key: K, new: impl FnOnce() -> V, change: impl FnOnce(&mut V) -> R) -> R {
        let mut kept = self.lock();
        if !kept.values.contains_key(&key) {
            while kept.order.len() >= self.most {
                match kept.order.pop_front() {
                    Some(oldest) => drop(kept.values.remove(&oldest)),
                    None => break,
                }
            }
            kept.order.push_back(key.clone());
        }
        change(kept.values.entry(key).or_insert_with(new))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &K) -> Option<V>
    where
        V: Clone,
    {
        self.lock().values.get(key).cloned()
    }

    /// Forgets a key.
    pub(super) fn take(&self, key: &K) -> Option<V> {
        let mut kept = self.lock();
        let value = kept.values.remove(key)?;
        kept.order.retain(|other| other != key);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn of_too_many_the_oldest_is_forgotten() {
        let recent = Recent::new(2);
        for key in ["a", "b", "a", "c"] {
            recent.with(key, || 0, |count| *count += 1);
        }
        assert_eq!((recent.get(&"a"), recent.get(&"b"), recent.get(&"c")), (None, Some(1), Some(1)));
        assert_eq!((recent.take(&"b"), recent.get(&"b")), (Some(1), None));
    }

    #[test]
    fn one_that_is_taken_leaves_its_place_to_the_next() {
        let recent = Recent::new(2);
        let add = |key: &'static str| recent.with(key, || 0, |_| ());
        add("a");
        add("b");
        assert_eq!(recent.take(&"a"), Some(0));
        add("c");
        assert_eq!((recent.get(&"b"), recent.get(&"c")), (Some(0), Some(0)));
        add("d");
        assert_eq!((recent.get(&"b"), recent.get(&"c"), recent.get(&"d")), (None, Some(0), Some(0)));
    }
}
