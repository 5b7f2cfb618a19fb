//! What is registered at one place: changed under a lock of its own, read without any.
//!
//! What is added goes into the table when it is read next, so that one after another costs as little as all at once.
//! What is taken away leaves the table at once, so that nothing of it is kept by a place where no event comes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, Guard};
use lineside_core::PointInfo;

use super::registered::{Added, Registered};
use super::table::{From, Table, bit};

/// The registrations of one place.
pub(crate) struct Own<I, O> {
    /// The points at which something may be registered, so that most events need not look, and [`BEHIND`].
    mask: AtomicU64,
    table: ArcSwap<Table<I, O>>,
    state: Mutex<State<I, O>>,
    /// How often something has changed here.
    changes: AtomicU64,
    /// The digest of all hooks in force that was computed last, for each point of view, and after how many changes here
    /// and above.
    covered: Mutex<Vec<(From, u64, Arc<str>)>>,
}

/// The hooks of one place at all points, as they were when they were looked up. Costs no reference count; to be let go of
/// soon, since a thread can have few at a time.
pub(crate) type Borrowed<I, O> = Guard<Arc<Table<I, O>>>;

/// What is done once the hooks of a place are released.
pub(crate) type Then = Box<dyn FnOnce() + Send>;

/// Which registrations are taken away.
pub(crate) type Leaves<'a, I, O> = &'a dyn Fn(&Registered<I, O>) -> bool;

struct State<I, O> {
    /// In the order of their numbers.
    registered: Vec<Registered<I, O>>,
    /// How many of them are in the table; the later ones are not.
    in_table: usize,
    /// The formats whose hooks are switched off here.
    off: HashSet<&'static str>,
    /// What is done once they are released.
    then: Vec<Then>,
}

impl<I, O> Default for Own<I, O> {
    fn default() -> Self {
        Self {
            mask: AtomicU64::new(0),
            table: ArcSwap::default(),
            state: Mutex::new(State {
                registered: Vec::new(),
                in_table: 0,
                off: HashSet::new(),
                then: Vec::new(),
            }),
            changes: AtomicU64::new(0),
            covered: Mutex::default(),
        }
    }
}

/// Says in the mask that not everything is in the table.
const BEHIND: u64 = 1 << 62;

impl<I: Clone, O: Clone> Own<I, O> {
    /// Whether there may be hooks at a point.
    #[inline]
    pub(crate) fn hears(&self, point: &PointInfo) -> bool {
        self.mask.load(Ordering::Acquire) & bit(point) != 0
    }

    /// The hooks at all points, if there may be some at this one.
    #[inline]
    pub(crate) fn borrow(&self, point: &PointInfo) -> Option<Borrowed<I, O>> {
        let mask = self.mask.load(Ordering::Acquire);
        if mask & bit(point) == 0 {
            return None;
        }
        if mask & BEHIND != 0 {
            self.catch_up();
        }
        Some(self.table.load())
    }

    /// The hooks at all points.
    pub(crate) fn table(&self) -> Arc<Table<I, O>> {
        if self.mask.load(Ordering::Acquire) & BEHIND != 0 {
            self.catch_up();
        }
        self.table.load_full()
    }

    /// Puts into the table what is not in it.
    #[cold]
    fn catch_up(&self) {
        let mut state = self.lock();
        let mut table = Table::clone(&self.table.load());
        state.fill(&mut table);
        let before = self.publish(table);
        drop(state);
        drop(before);
    }

    /// Removes hooks; returns how many there were.
    pub(crate) fn remove(&self, leaves: Leaves<'_, I, O>) -> usize {
        let replaced = self.replace(|| true, Some(leaves), Vec::new(), &AtomicU64::default());
        replaced.map_or(0, |(_, gone)| gone)
    }

    /// Removes hooks and adds others. No event sees a state in between. Gives the numbers of those that were added,
    /// which follow `numbers`, and how many were taken away; `None` when the place is not `open` any more.
    pub(crate) fn replace(
        &self,
        open: impl FnOnce() -> bool,
        leaves: Option<Leaves<'_, I, O>>,
        added: Vec<Added<I, O>>,
        numbers: &AtomicU64,
    ) -> Option<(Vec<u64>, usize)> {
        let mut guard = self.lock();
        if !open() {
            // What is not added is dropped without the lock.
            drop(guard);
            drop(added);
            return None;
        }
        let state = &mut *guard;
        let mut gone = Vec::new();
        let mut changed = None;
        if let Some(leaves) = leaves {
            let mut table = Table::clone(&self.table.load());
            state.fill(&mut table);
            gone.extend(state.registered.extract_if(.., |registered| leaves(registered)));
            gone.iter().for_each(|registered| table.remove(registered));
            state.in_table = state.registered.len();
            changed = Some(table);
        }
        if state.registered.is_empty() {
            // Most places have one hook, and there may be many places.
            state.registered.reserve_exact(added.len());
        }
        let mut given = Vec::with_capacity(added.len());
        let mut mask = BEHIND;
        for one in added {
            let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
            let registered = one.numbered(number);
            mask |= bit(registered.point);
            state.registered.push(registered);
            given.push(number);
        }
        let before = changed.map(|mut table| {
            state.fill(&mut table);
            self.publish(table)
        });
        if before.is_none() {
            self.mask.fetch_or(mask, Ordering::Release);
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        drop(guard);
        // What users have put into hooks is dropped without the lock: it may use the bus.
        let count = gone.len();
        drop((before, gone));
        Some((given, count))
    }

    /// Keeps what is done once the hooks are released; gives it back when they are.
    pub(crate) fn keep(&self, is_released: impl FnOnce() -> bool, then: Then) -> Option<Then> {
        let mut state = self.lock();
        if is_released() {
            return Some(then);
        }
        state.then.push(then);
        None
    }

    /// Takes all hooks away, for good.
    pub(crate) fn release(&self) {
        self.remove(&|_| true);
        let then = std::mem::take(&mut self.lock().then);
        then.into_iter().for_each(|then| then());
    }

    /// Switches the hooks of a format off or on.
    pub(crate) fn switch(&self, dialect: &'static str, off: bool) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let changed = if off { state.off.insert(dialect) } else { state.off.remove(dialect) };
        if !changed {
            return;
        }
        let mut table = Table::clone(&self.table.load());
        state.fill(&mut table);
        for registered in state.registered.iter().filter(|registered| registered.hook.dialect == dialect) {
            table.remove(registered);
            table.insert(registered, &state.off);
        }
        let before = self.publish(table);
        self.changes.fetch_add(1, Ordering::AcqRel);
        drop(guard);
        drop(before);
    }

    /// Whether the hooks of a format are switched off.
    pub(crate) fn is_off(&self, dialect: &'static str) -> bool {
        self.lock().off.contains(dialect)
    }

    /// How often something has changed here.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// All registrations, in the order of their hooks.
    pub(crate) fn registered(&self) -> Vec<Registered<I, O>> {
        let mut registered = self.lock().registered.clone();
        registered.sort_by_key(|registered| registered.hook.order());
        registered
    }

    /// Visits all registrations under the lock.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&Registered<I, O>)) {
        self.lock().registered.iter().for_each(visit);
    }

    /// The hook of this registration, where the numbers of all are their own.
    pub(crate) fn registration(&self, number: u64) -> Option<Registered<I, O>> {
        let state = self.lock();
        let found = state.registered.binary_search_by_key(&number, |registered| registered.hook.registration);
        found.ok().and_then(|index| state.registered.get(index).cloned())
    }

    /// The digest of all hooks in force, computed at most once for each number of changes.
    pub(crate) fn coverage(&self, from: From, changes: u64, compute: impl FnOnce() -> String) -> Arc<str> {
        let known = |covered: &[(From, u64, Arc<str>)]| {
            let found = covered.iter().find(|(whose, after, _)| (*whose, *after) == (from, changes));
            found.map(|(.., digest)| Arc::clone(digest))
        };
        if let Some(digest) = known(&self.covered()) {
            return digest;
        }
        let digest: Arc<str> = compute().into();
        let mut covered = self.covered();
        covered.retain(|(whose, ..)| *whose != from);
        covered.push((from, changes, Arc::clone(&digest)));
        digest
    }

    /// The table first: an event that sees the bit of a point finds its hooks.
    fn publish(&self, table: Table<I, O>) -> Arc<Table<I, O>> {
        let mask = table.mask();
        let before = self.table.swap(Arc::new(table));
        self.mask.store(mask, Ordering::Release);
        before
    }

    fn lock(&self) -> MutexGuard<'_, State<I, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn covered(&self) -> MutexGuard<'_, Vec<(From, u64, Arc<str>)>> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Clone, O: Clone> State<I, O> {
    /// Puts into the table what is not in it.
    fn fill(&mut self, table: &mut Table<I, O>) {
        for registered in self.registered.iter().skip(self.in_table) {
            table.insert(registered, &self.off);
        }
        self.in_table = self.registered.len();
    }
}
