//! The registry as a member has it in memory: what this machine has to write, what others have written, and which of
//! that is followed. How it is read and written is for `joined`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// The name of an entry: random, so that no two machines have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryName(pub u64);

impl EntryName {
    /// The name that these 16 hexadecimal digits are.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_one = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| u64::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// An entry of another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Whose it is.
    pub machine: Arc<str>,
    /// In which life it has written it.
    pub life: Arc<str>,
    /// The revision of the bucket.
    pub revision: u64,
    /// What was written.
    pub value: Bytes,
}

/// How many bytes entries of others may take in memory, with 64 bytes for each.
const MOST_BYTES: usize = 256 << 20;
/// What an entry takes beside its value.
const BESIDE: usize = 64;
/// How many names are remembered that two machines have written.
const MOST_CONTESTED: usize = 4_096;

/// A life of a machine.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    machine: Arc<str>,
    life: Arc<str>,
}

#[derive(Debug)]
struct Kept {
    owner: Arc<Owner>,
    revision: u64,
    value: Box<[u8]>,
}

impl Kept {
    fn entry(&self) -> Entry {
        let Owner { machine, life } = &*self.owner;
        let value = Bytes::copy_from_slice(&self.value);
        Entry { machine: Arc::clone(machine), life: Arc::clone(life), revision: self.revision, value }
    }
}

/// Everything of it.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    others: HashMap<EntryName, Kept>,
    bytes: usize,
    /// Names that two machines have written: it is not known whose they are.
    contested: HashSet<EntryName>,
    pub(crate) not_mirrored: usize,
    /// Who has entries, and who has had some until lately; the one whose entry was taken last stands last.
    owners: Vec<Arc<Owner>>,
    /// What this machine has to have written.
    own: HashMap<EntryName, Bytes>,
    /// Whose entries differ from that in the bucket, or may do.
    dirty: HashSet<EntryName>,
    followed: HashSet<EntryName>,
    /// Those of them that have changed since they were asked for.
    changed: HashSet<EntryName>,
}

/// What is to be written next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Put(EntryName, Bytes),
    Delete(EntryName),
}

impl Registry {
    /// This machine is to have this entry.
    pub(crate) fn put(&mut self, name: EntryName, value: Bytes) {
        self.own.insert(name, value);
        self.dirty.insert(name);
    }

    /// This machine is to have it no longer.
    pub(crate) fn remove(&mut self, name: EntryName) {
        if self.own.remove(&name).is_some() {
            self.dirty.insert(name);
        }
    }

    /// Whether this machine is to have this value; any other one in the bucket is written again.
    pub(crate) fn found_own(&mut self, name: EntryName, value: &[u8]) {
        if self.own.get(&name).is_none_or(|own| own != value) {
            self.dirty.insert(name);
        }
    }

    /// Everything that this machine has, apart from these, is to be written again.
    pub(crate) fn write_all_but(&mut self, found: &HashSet<EntryName>) {
        self.dirty.extend(self.own.keys().filter(|name| !found.contains(name)));
    }

    /// These are all that the bucket has.
    pub(crate) fn found_all(&mut self, found: &HashSet<EntryName>) {
        self.keep_only(found);
        self.write_all_but(found);
    }

    /// Something that is to be written and is not under way.
    pub(crate) fn next_write(&mut self, under_way: &HashSet<EntryName>) -> Option<Write> {
        let name = *self.dirty.iter().find(|name| !under_way.contains(name))?;
        self.dirty.remove(&name);
        let own = self.own.get(&name).cloned();
        Some(own.map_or(Write::Delete(name), |value| Write::Put(name, value)))
    }

    pub(crate) fn not_written(&mut self, name: EntryName) {
        self.dirty.insert(name);
    }

    /// How many entries this machine has, and how many of them are not written yet.
    pub(crate) fn own_counts(&self) -> (usize, usize) {
        (self.own.len(), self.dirty.len())
    }

    /// Another machine has written this. A name that two of them have written counts for nothing: names are random, so that one of
    /// the two has taken that of the other.
    pub(crate) fn take(
        &mut self,
        name: EntryName,
        (machine, life): (&str, &str),
        revision: u64,
        value: &[u8],
    ) {
        let is_of_other = self.others.get(&name).is_some_and(|kept| *kept.owner.machine != *machine);
        if is_of_other && self.contested.len() < MOST_CONTESTED {
            tracing::warn!(%name, machine, "two machines have written an entry of the registry, which counts for nothing");
            self.contested.insert(name);
            self.drop_one(name);
            return self.change(name);
        }
        if is_of_other || self.contested.contains(&name) {
            return;
        }
        self.drop_one(name);
        if self.bytes + value.len() + BESIDE > MOST_BYTES {
            self.not_mirrored += 1;
        } else {
            self.bytes += value.len() + BESIDE;
            let owner = self.owner(machine, life);
            self.others.insert(name, Kept { owner, revision, value: value.into() });
        }
        self.change(name);
    }

    /// One owner for all its entries: they come together.
    fn owner(&mut self, machine: &str, life: &str) -> Arc<Owner> {
        let is_it = |owner: &Arc<Owner>| *owner.machine == *machine && *owner.life == *life;
        let owner = match self.owners.iter().rposition(is_it) {
            Some(place) => self.owners.swap_remove(place),
            None => Arc::new(Owner { machine: machine.into(), life: life.into() }),
        };
        if self.owners.len() == self.owners.capacity() {
            self.owners.retain(|owner| Arc::strong_count(owner) > 1);
        }
        self.owners.push(Arc::clone(&owner));
        owner
    }

    /// Another machine has deleted this, which is its own.
    pub(crate) fn gone(&mut self, name: EntryName, machine: &str) {
        if self.others.get(&name).is_some_and(|kept| *kept.owner.machine == *machine) {
            self.drop_one(name);
            self.change(name);
        }
    }

    fn drop_one(&mut self, name: EntryName) {
        let before = self.others.remove(&name);
        self.bytes -= before.map_or(0, |kept| kept.value.len() + BESIDE);
    }

    /// Drops what other machines have that this says of a machine and its life.
    pub(crate) fn drop_all(&mut self, leaves: impl Fn(&str, &str) -> bool) {
        // Each machine says every few seconds that it is there, and there may be very many entries.
        if !self.owners.iter().any(|owner| leaves(&owner.machine, &owner.life)) {
            return;
        }
        self.owners.retain(|owner| !leaves(&owner.machine, &owner.life));
        let leaves = |_: &EntryName, kept: &mut Kept| leaves(&kept.owner.machine, &kept.owner.life);
        let names: Vec<_> =
            self.others.extract_if(leaves).map(|(name, kept)| (name, kept.value.len())).collect();
        for (name, length) in names {
            self.bytes -= length + BESIDE;
            self.change(name);
        }
    }

    /// Drops what other machines have and was not found in the bucket.
    fn keep_only(&mut self, found: &HashSet<EntryName>) {
        let names: Vec<_> = self.others.keys().filter(|name| !found.contains(name)).copied().collect();
        for name in names {
            self.drop_one(name);
            self.change(name);
        }
    }

    /// A machine has come, or come back: what it has may be other, also where its entries are as they were.
    pub(crate) fn came(&mut self, machine: &str) {
        let is_of =
            |name: &&EntryName| self.others.get(name).is_some_and(|kept| *kept.owner.machine == *machine);
        let names: Vec<_> = self.followed.iter().filter(is_of).copied().collect();
        self.changed.extend(names);
    }

    fn change(&mut self, name: EntryName) {
        if self.followed.contains(&name) {
            self.changed.insert(name);
        }
    }

    pub(crate) fn get(&self, name: EntryName) -> Option<Entry> {
        self.others.get(&name).map(Kept::entry)
    }

    pub(crate) fn count(&self) -> usize {
        self.others.len()
    }

    pub(crate) fn followed(&self) -> usize {
        self.followed.len()
    }

    pub(crate) fn follow(&mut self, name: EntryName) {
        self.followed.insert(name);
    }

    pub(crate) fn unfollow(&mut self, name: EntryName) {
        self.followed.remove(&name);
        self.changed.remove(&name);
    }

    pub(crate) fn take_changed(&mut self) -> Vec<EntryName> {
        self.changed.drain().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: EntryName = EntryName(1);
    const TWO: EntryName = EntryName(2);

    #[test]
    fn a_name_is_16_digits() {
        assert_eq!(EntryName::parse(&EntryName(0xfe).to_string()), Some(EntryName(0xfe)));
        for wrong in ["", "fe", "00000000000000fg", "+0000000000000fe", "000000000000000fe"] {
            assert_eq!(EntryName::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_to_be_written_is_the_last_value_and_one_at_a_time() {
        let (mut registry, mut under_way) = (Registry::default(), HashSet::new());
        registry.put(ONE, Bytes::from_static(b"a"));
        registry.put(ONE, Bytes::from_static(b"b"));
        assert_eq!(registry.next_write(&under_way), Some(Write::Put(ONE, Bytes::from_static(b"b"))));
        under_way.insert(ONE);
        registry.remove(ONE);
        assert_eq!(registry.next_write(&under_way), None, "the one before is under way");
        under_way.clear();
        assert_eq!(registry.next_write(&under_way), Some(Write::Delete(ONE)));
        registry.remove(ONE);
        assert_eq!(registry.next_write(&under_way), None, "there is nothing of it");
    }

    #[test]
    fn what_is_in_the_bucket_and_is_not_to_be_there_is_written_again() {
        let mut registry = Registry::default();
        registry.put(ONE, Bytes::from_static(b"a"));
        registry.next_write(&HashSet::new());
        registry.found_own(ONE, b"a");
        assert_eq!(registry.own_counts(), (1, 0));
        registry.found_own(ONE, b"b");
        registry.found_own(TWO, b"x");
        assert_eq!(registry.own_counts(), (1, 2));
        let mut registry = Registry::default();
        registry.put(ONE, Bytes::from_static(b"a"));
        registry.next_write(&HashSet::new());
        registry.write_all_but(&HashSet::from([ONE]));
        assert_eq!(registry.own_counts(), (1, 0));
        registry.write_all_but(&HashSet::new());
        assert_eq!(registry.own_counts(), (1, 1));
    }

    #[test]
    fn followed_entries_that_change_or_go_are_told_once() {
        let mut registry = Registry::default();
        registry.take(ONE, ("m", "1"), 7, b"a");
        assert!(registry.take_changed().is_empty());
        registry.follow(ONE);
        registry.take(ONE, ("m", "1"), 8, b"b");
        registry.take(TWO, ("m", "2"), 9, b"b");
        assert_eq!(registry.take_changed(), [ONE]);
        assert_eq!(registry.get(ONE).unwrap().revision, 8);
        registry.drop_all(|machine, life| machine == "m" && life != "2");
        assert_eq!((registry.take_changed(), registry.count()), (vec![ONE], 1));
        registry.take(ONE, ("m", "2"), 10, b"c");
        registry.keep_only(&HashSet::from([TWO]));
        assert_eq!((registry.take_changed(), registry.get(ONE)), (vec![ONE], None));
        registry.take(ONE, ("m", "2"), 11, b"d");
        registry.take_changed();
        registry.came("other");
        assert!(registry.take_changed().is_empty());
        registry.came("m");
        assert_eq!(registry.take_changed(), [ONE]);
        registry.came("m");
        registry.unfollow(ONE);
        assert!(registry.take_changed().is_empty());
        assert_eq!(registry.bytes, 2 * BESIDE + 2);
    }

    #[test]
    fn a_name_that_two_machines_have_written_counts_for_nothing_and_no_machine_deletes_what_is_not_its_own() {
        let mut registry = Registry::default();
        registry.take(ONE, ("a", "1"), 7, b"a");
        registry.gone(ONE, "b");
        assert_eq!(registry.get(ONE).unwrap().revision, 7);
        registry.take(ONE, ("a", "2"), 8, b"a");
        assert_eq!(registry.get(ONE).unwrap().revision, 8, "it may have another life");
        registry.follow(ONE);
        registry.take(ONE, ("b", "1"), 9, b"b");
        assert_eq!((registry.get(ONE), registry.take_changed()), (None, vec![ONE]));
        registry.take(ONE, ("b", "1"), 10, b"b");
        registry.take(ONE, ("a", "2"), 11, b"a");
        assert_eq!((registry.get(ONE), registry.bytes), (None, 0));
    }

    #[test]
    fn what_a_machine_says_of_itself_costs_nothing_for_the_entries_of_others() {
        let mut registry = Registry::default();
        let (lives, names) = (10, 20_000);
        for name in 0..names {
            let machine = (name % lives).to_string();
            registry.take(EntryName(name), (&machine, "1"), name, b"");
        }
        assert_eq!(registry.owners.len() as u64, lives);
        let before = std::time::Instant::now();
        registry.drop_all(|machine, life| machine == "3" && life == "2");
        (0..100_000).for_each(|_| registry.drop_all(|machine, life| machine == "3" && life != "1"));
        // A walk through all of them takes more than 50 µs.
        assert!(before.elapsed().as_secs() < 2, "{:?}", before.elapsed());
        registry.drop_all(|machine, life| machine == "3" && life != "2");
        assert_eq!(registry.count() as u64, names - names / lives);
        assert_eq!(registry.owners.len() as u64, lives - 1);
        registry.keep_only(&HashSet::new());
        for life in 0..1_000 {
            registry.take(ONE, ("m", &life.to_string()), life, b"");
        }
        assert!(registry.owners.len() < 50, "those without entries are not kept");
    }

    #[test]
    fn what_does_not_fit_is_counted_and_not_kept() {
        let mut registry = Registry { bytes: MOST_BYTES - BESIDE - 1, ..Registry::default() };
        registry.take(ONE, ("m", "1"), 1, b"ab");
        assert_eq!((registry.count(), registry.not_mirrored), (0, 1));
        registry.take(ONE, ("m", "1"), 2, b"a");
        assert_eq!((registry.count(), registry.bytes), (1, MOST_BYTES));
    }
}
