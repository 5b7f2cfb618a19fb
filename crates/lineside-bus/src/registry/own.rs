//! What is registered at one place: changed under a lock of its own, read without any.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use lineside_core::PointInfo;

use super::registered::{Added, Registered};
use super::table::{AtPoint, From, Table, bit};

/// The registrations of one place.
pub(crate) struct Own<I, O> {
    /// The points at which there may be something in the table, so that most events need not look.
    mask: AtomicU64,
    table: ArcSwap<Table<I, O>>,
    state: Mutex<State<I, O>>,
    /// The digest of all hooks in force that was computed last, for each point of view, and after how many changes.
    covered: Mutex<Vec<(From, u64, Arc<str>)>>,
}

/// Which registrations are taken away.
pub(crate) type Leaves<'a, I, O> = &'a dyn Fn(&Registered<I, O>) -> bool;

struct State<I, O> {
    registered: Vec<Registered<I, O>>,
    /// The formats whose hooks are switched off here.
    off: HashSet<&'static str>,
}

impl<I, O> Default for Own<I, O> {
    fn default() -> Self {
        Self {
            mask: AtomicU64::new(0),
            table: ArcSwap::default(),
            state: Mutex::new(State { registered: Vec::new(), off: HashSet::new() }),
            covered: Mutex::default(),
        }
    }
}

impl<I: Clone, O: Clone> Own<I, O> {
    /// Whether there may be hooks at a point.
    pub(crate) fn hears(&self, point: &PointInfo) -> bool {
        self.mask.load(Ordering::Acquire) & bit(point) != 0
    }

    /// The hooks at a point.
    pub(crate) fn at(&self, point: &PointInfo, from: From) -> Option<Arc<AtPoint<I, O>>> {
        if !self.hears(point) {
            return None;
        }
        self.table.load().at(point, from).cloned()
    }

    /// The hooks at all points.
    pub(crate) fn table(&self) -> Arc<Table<I, O>> {
        self.table.load_full()
    }

    /// Takes hooks away; gives how many there were.
    pub(crate) fn remove(&self, leaves: Leaves<'_, I, O>) -> usize {
        let replaced = self.replace(|| true, Some(leaves), Vec::new(), &AtomicU64::default());
        replaced.map_or(0, |(_, gone)| gone)
    }

    /// Takes hooks away and adds others. No event sees a state in between. Gives the numbers of those that were added,
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
        let mut table = Table::clone(&self.table.load());
        let mut gone = Vec::new();
        if let Some(leaves) = leaves {
            gone.extend(state.registered.extract_if(.., |registered| leaves(registered)));
            gone.iter().for_each(|registered| table.remove(registered));
        }
        if state.registered.is_empty() {
            // Most places have one hook, and there may be many places.
            state.registered.reserve_exact(added.len());
        }
        let mut given = Vec::with_capacity(added.len());
        for one in added {
            let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
            let registered = one.numbered(number);
            table.insert(&registered, &state.off);
            state.registered.push(registered);
            given.push(number);
        }
        let before = self.publish(table);
        drop(guard);
        // What users have put into hooks is dropped without the lock: it may use the bus.
        let count = gone.len();
        drop((before, gone));
        Some((given, count))
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
        for registered in state.registered.iter().filter(|registered| registered.hook.dialect == dialect) {
            table.remove(registered);
            table.insert(registered, &state.off);
        }
        let before = self.publish(table);
        drop(guard);
        drop(before);
    }

    /// Whether the hooks of a format are switched off.
    pub(crate) fn is_off(&self, dialect: &'static str) -> bool {
        self.lock().off.contains(dialect)
    }

    /// All registrations, in the order of their hooks.
    pub(crate) fn registered(&self) -> Vec<Registered<I, O>> {
        let mut registered = self.lock().registered.clone();
        registered.sort_by_key(|registered| registered.hook.order());
        registered
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
