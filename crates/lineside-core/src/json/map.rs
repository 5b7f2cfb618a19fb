//! The entries of an object, in order.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::slice;
use std::vec;

use hashbrown::HashTable;

use super::value::Value;

/// How many entries are looked at one after another to find a key. More have an index.
const FEW: usize = 16;

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
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<(String, Value)>,
    /// Made when there are more than a few entries for the first time.
    index: Option<Box<Places>>,
}

/// The places of the entries by the hashes of their keys, which are seeded, so that keys cannot be chosen to collide.
#[derive(Clone, Default)]
struct Places {
    table: HashTable<usize>,
    hasher: RandomState,
}

impl Places {
    fn of(entries: &[(String, Value)]) -> Self {
        let mut places = Self::default();
        (0..entries.len()).for_each(|place| places.add(entries, place));
        places
    }

    fn get(&self, entries: &[(String, Value)], key: &str) -> Option<usize> {
        self.table.find(self.hasher.hash_one(key), |place| entries[*place].0 == key).copied()
    }

    fn add(&mut self, entries: &[(String, Value)], place: usize) {
        let hash = |place: &usize| self.hasher.hash_one(entries[*place].0.as_str());
        self.table.insert_unique(hash(&place), place, hash);
    }
}

type Iter<'a> =
    std::iter::Map<slice::Iter<'a, (String, Value)>, fn(&'a (String, Value)) -> (&'a String, &'a Value)>;

type IterMut<'a> = std::iter::Map<
    slice::IterMut<'a, (String, Value)>,
    fn(&'a mut (String, Value)) -> (&'a String, &'a mut Value),
>;

impl Map {
    /// One without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One without entries that has room for that many.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), index: None }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where a key stands.
    fn place(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(places) => places.get(&self.entries, key),
            None => self.entries.iter().position(|(other, _)| other == key),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(self.place(key)?).map(|(_, value)| value)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let place = self.place(key)?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// Whether there is an entry of that key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    /// Sets the value of a key and returns the one before. A key that is there keeps its place, a new one is the last.
    ///
    /// ```
    /// use lineside_core::json::{Map, json};
    ///
    /// let mut map = Map::new();
    /// assert_eq!(map.insert("command".to_owned(), json!("ls")), None);
    /// assert_eq!(map.insert("command".to_owned(), json!("ls -l")), Some(json!("ls")));
    /// assert_eq!(map.len(), 1);
    /// ```
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        if let Some(before) = self.get_mut(&key) {
            return Some(std::mem::replace(before, value));
        }
        self.add(key, value);
        None
    }

    /// Adds the value of a key that is not there.
    pub(super) fn add(&mut self, key: String, value: Value) -> &mut Value {
        let place = self.entries.len();
        self.entries.push((key, value));
        match &mut self.index {
            Some(places) => places.add(&self.entries, place),
            None if place < FEW => {}
            None => self.index = Some(Box::new(Places::of(&self.entries))),
        }
        &mut self.entries[place].1
    }

    /// Takes an entry out; those after it move up.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.place(key)?;
        if let Some(places) = &mut self.index {
            places.table.retain(|other| {
                let stays = *other != place;
                *other -= usize::from(*other > place);
                stays
            });
        }
        Some(self.entries.remove(place).1)
    }

    /// The value of a key, which is made where there is none.
    ///
    /// ```
    /// use lineside_core::json::{Map, json};
    ///
    /// let mut map = Map::new();
    /// *map.get_or_insert_with("count", || json!(0)) = json!(1);
    /// assert_eq!(map["count"], json!(1));
    /// ```
    pub fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> Value) -> &mut Value {
        match self.place(key) {
            Some(place) => &mut self.entries[place].1,
            None => self.add(key.to_owned(), make()),
        }
    }

    /// Keeps the entries for which it holds, in their order.
    ///
    /// ```
    /// use lineside_core::json::{Map, Value, json};
    ///
    /// let mut map = Map::from([("path".to_owned(), json!("a")), ("mode".to_owned(), Value::Null)]);
    /// map.retain(|_, value| !value.is_null());
    /// assert_eq!(map.keys().collect::<Vec<_>>(), ["path"]);
    /// ```
    pub fn retain(&mut self, mut holds: impl FnMut(&String, &mut Value) -> bool) {
        self.entries.retain_mut(|(key, value)| holds(key, value));
        self.index = (self.len() > FEW).then(|| Box::new(Places::of(&self.entries)));
    }

    /// The entries, in order.
    pub fn iter(&self) -> Iter<'_> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The entries, in order, to change their values.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &String> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The values, in order, to change them.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Value> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl Eq for Map {}

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
        self.get_or_insert_with(key, || Value::Null)
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<const N: usize> From<[(String, Value); N]> for Map {
    fn from(entries: [(String, Value); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Extend<(String, Value)> for Map {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Map {
    type Item = (&'a String, &'a mut Value);
    type IntoIter = IterMut<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is done to a map: to which key, and what.
    type Change = (u8, u8);

    fn of(length: usize) -> Map {
        (0..length).map(|number| (number.to_string(), number.into())).collect()
    }

    #[test]
    fn only_more_than_a_few_entries_have_an_index() {
        for length in [0, 1, FEW - 1, FEW, FEW + 1, FEW + 2, 3 * FEW] {
            let has_index = length > FEW;
            assert_eq!(of(length).index.is_some(), has_index, "{length}");
            let mut shrunk = of(4 * FEW);
            shrunk.retain(|_, value| value.as_u64() < Some(length as u64));
            assert_eq!((shrunk.len(), shrunk.index.is_some()), (length, has_index));
            assert_eq!(shrunk, of(length));
        }
    }

    #[test]
    fn a_map_with_room_takes_entries_without_moving() {
        let mut map = Map::with_capacity(FEW);
        assert!(map.is_empty());
        let room = map.entries.as_ptr();
        map.extend(of(FEW));
        assert_eq!((map.entries.as_ptr(), map), (room, of(FEW)));
    }

    proptest! {
        #[test]
        fn a_map_of_any_size_is_a_list_of_pairs(changes in prop::collection::vec((0..60u8, 0..8u8), 0..200)) {
            let (mut map, mut list) = (Map::new(), Vec::<(String, Value)>::new());
            for (number, what) in changes as Vec<Change> {
                let (key, value) = (number.to_string(), Value::from(what));
                let place = list.iter().position(|(other, _)| *other == key);
                match what {
                    0 => {
                        prop_assert_eq!(map.remove(&key), place.map(|place| list.remove(place).1));
                    }
                    1 => {
                        map.retain(|key, _| *key != number.to_string() && key.len() < 3);
                        list.retain(|(other, _)| *other != key);
                    }
                    2 => {
                        map.get_or_insert_with(&key, || value.clone());
                        if place.is_none() {
                            list.push((key.clone(), value));
                        }
                    }
                    _ => {
                        let before = place.map(|place| std::mem::replace(&mut list[place].1, value.clone()));
                        if before.is_none() {
                            list.push((key.clone(), value.clone()));
                        }
                        prop_assert_eq!(map.insert(key.clone(), value), before);
                    }
                }
                let expected = list.iter().find(|(other, _)| *other == key).map(|(_, value)| value);
                prop_assert_eq!(map.get(&key), expected);
            }
            prop_assert!(list.iter().all(|(key, value)| map.get(key) == Some(value)));
            prop_assert_eq!(map.clone(), list.iter().rev().cloned().collect::<Map>());
            prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), list);
        }
    }
}
