//! The entries of an object, in order.

use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::value::Value;

/// The entries of an object, in the order in which their keys came. Equality ignores the order.
///
/// ```
/// use lineside_core::json::Map;
///
/// let mut map = Map::new();
/// map.insert("z".to_owned(), 1.into());
/// map.insert("a".to_owned(), "two".into());
/// assert_eq!(map.keys().collect::<Vec<_>>(), ["z", "a"]);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Map(IndexMap<String, Value>);

impl Map {
    /// One without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One without entries that has room for that many.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(IndexMap::with_capacity(capacity))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// Whether there is an entry of that key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets the value of a key and returns the one before. A key that is there keeps its place, a new one is the last.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        self.0.insert(key, value)
    }

    /// Takes an entry out; those after it move up.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    /// The entry of a key, there or not.
    pub fn entry(&mut self, key: impl Into<String>) -> Entry<'_, String, Value> {
        self.0.entry(key.into())
    }

    /// Keeps the entries for which it holds, in their order.
    pub fn retain(&mut self, mut holds: impl FnMut(&String, &mut Value) -> bool) {
        self.0.retain(|key, value| holds(key, value));
    }

    /// The entries, in order.
    pub fn iter(&self) -> indexmap::map::Iter<'_, String, Value> {
        self.0.iter()
    }

    /// The entries, in order, to change their values.
    pub fn iter_mut(&mut self) -> indexmap::map::IterMut<'_, String, Value> {
        self.0.iter_mut()
    }

    /// The keys, in order.
    pub fn keys(&self) -> indexmap::map::Keys<'_, String, Value> {
        self.0.keys()
    }

    /// The values, in order.
    pub fn values(&self) -> indexmap::map::Values<'_, String, Value> {
        self.0.values()
    }

    /// The values, in order, to change them.
    pub fn values_mut(&mut self) -> indexmap::map::ValuesMut<'_, String, Value> {
        self.0.values_mut()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl std::ops::Index<&str> for Map {
    type Output = Value;

    /// The value of a key; `null` if there is none.
    fn index(&self, key: &str) -> &Value {
        static NULL: Value = Value::Null;
        self.get(key).unwrap_or(&NULL)
    }
}

impl std::ops::IndexMut<&str> for Map {
    /// The value of a key, which is added as `null` if there is none.
    fn index_mut(&mut self, key: &str) -> &mut Value {
        self.entry(key).or_insert(Value::Null)
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<const N: usize> From<[(String, Value); N]> for Map {
    fn from(entries: [(String, Value); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Extend<(String, Value)> for Map {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a mut Map {
    type Item = (&'a String, &'a mut Value);
    type IntoIter = indexmap::map::IterMut<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}
