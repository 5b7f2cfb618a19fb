//! What is remembered by a name that a host chooses: the latest few, each of a name that is short.

use lineside_core::envelope::Source;

/// How many are remembered.
pub(super) const MOST: usize = 128;

/// The longest name, in bytes: that of a session, and of a subagent in it.
const LONGEST: usize = 2 * Source::LONGEST_NAME + 64;

/// The latest entries, the oldest of them first.
#[derive(Debug)]
pub(super) struct Recent<V>(Vec<(Box<str>, V)>);

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Recent<V> {
    pub(super) fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// Remembers a value as the latest; the oldest gives way to one too many. A name that is too long is not remembered.
    pub(super) fn insert(&mut self, name: &str, value: V) {
        self.remove(name);
        if name.len() > LONGEST {
            return;
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push((name.into(), value));
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<V> {
        let place = self.0.iter().position(|(known, _)| **known == *name)?;
        Some(self.0.remove(place).1)
    }

    /// Whether a value is remembered under this name without another one giving way to it.
    pub(super) fn has_room_for(&self, name: &str) -> bool {
        name.len() <= LONGEST && (self.0.len() < MOST || self.get(name).is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &V)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// About how many bytes it takes, where a value takes so many beside its own size.
    pub(super) fn weight(&self, of: impl Fn(&V) -> usize) -> usize {
        self.0.iter().map(|(name, value)| size_of::<(Box<str>, V)>() + name.len() + of(value)).sum()
    }
}
