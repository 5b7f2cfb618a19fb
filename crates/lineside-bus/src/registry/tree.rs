//! The tree of sessions, and which hooks an event of a session meets: those of the session, of its ancestors, and of
//! the bus. Sessions are added and taken out under one lock; what is in force is read without any.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lineside_core::hook::Hook;
use lineside_core::plan::{Generation, coverage};
use lineside_core::{PointInfo, SessionId, Source};

use super::own::{Leaves, Own, Then};
use super::registered::{Added, Registered, Runs};
use super::scopes::Scopes;
use super::share::{Most, PART, Share, weight};
use super::table::{From, InForce, Tables, bit};

/// One session.
pub(crate) struct Node<I, O, S> {
    pub(crate) source: Arc<Source>,
    pub(crate) parent: Option<Arc<Self>>,
    /// The number of its opening.
    pub(crate) number: u64,
    /// The hooks that are registered on it, made when the first one is.
    own: OnceLock<Box<Own<I, O>>>,
    /// The scopes that it was put into, whose hooks it is under with everything below it.
    scopes: Scopes<I, O>,
    phase: AtomicU8,
    /// How many children are open or have something open below them, and how many bequests it has. Changed under the lock
    /// of the tree.
    alive: AtomicUsize,
    /// How many bequests it has: with one, sessions are opened below it when it is closed too. Changed under the same lock.
    bequests: AtomicUsize,
    /// How many children were opened so far.
    children: AtomicU64,
    /// What it takes, and what is below it.
    share: Arc<Share>,
    /// What it has beside hooks.
    pub(crate) state: S,
}

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
/// Closed, and nothing of it goes on.
const OVER: u8 = 2;

impl<I: Clone, O: Clone, S> Node<I, O, S> {
    fn new(
        number: u64,
        source: Source,
        parent: Option<Arc<Self>>,
        scope: Option<Arc<Own<I, O>>>,
        share: Arc<Share>,
        state: S,
    ) -> Self {
        Self {
            source: Arc::new(source),
            parent,
            number,
            share,
            own: OnceLock::new(),
            scopes: Scopes::of(scope),
            phase: AtomicU8::new(OPEN),
            alive: AtomicUsize::new(0),
            bequests: AtomicUsize::new(0),
            children: AtomicU64::new(0),
            state,
        }
    }

    /// A session that is over and stands in no tree.
    pub(crate) fn over(source: Source, state: S) -> Self {
        let node = Self::new(0, source, None, None, Share::of(PART, None), state);
        node.phase.store(OVER, Ordering::Release);
        node
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Whether its hooks have been released: it is over, and nothing below it needs them.
    #[inline]
    pub(crate) fn is_released(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OVER && self.alive.load(Ordering::Acquire) == 0
    }

    /// How many children it has had so far.
    pub(crate) fn children(&self) -> u64 {
        self.children.load(Ordering::Relaxed)
    }

    /// Whether that session is one of its ancestors.
    pub(crate) fn is_below(&self, above: &Node<I, O, S>) -> bool {
        self.lineage().skip(1).any(|(_, node)| std::ptr::eq(node, above))
    }

    /// The scopes that it was put into itself, in that order.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &Arc<Own<I, O>>> {
        self.scopes.iter()
    }

    /// The scopes that it and its ancestors were put into.
    pub(crate) fn all_scopes(&self) -> impl Iterator<Item = &Arc<Own<I, O>>> {
        self.lineage().flat_map(|(_, node)| node.scopes.iter())
    }

    /// Whether it or an ancestor was put into such a scope.
    pub(crate) fn is_in(&self, is_meant: impl Fn(&Arc<Own<I, O>>) -> bool) -> bool {
        self.all_scopes().any(is_meant)
    }

    /// Puts it into a scope, once; `false` when it is in one already.
    pub(crate) fn enter(&self, scope: Arc<Own<I, O>>) -> bool {
        self.scopes.begin(scope)
    }

    /// Puts it into a scope beside those that it is in; `false` when it is in that one.
    pub(crate) fn enter_too(&self, scope: Arc<Own<I, O>>) -> bool {
        self.scopes.add(scope)
    }

    /// What is registered on the session, on its ancestors, and in the scopes that these are in, each once, the nearest
    /// first; with each how it is looked at from the session.
    #[inline]
    fn places(&self) -> impl Iterator<Item = (From, &Own<I, O>)> {
        self.lineage().flat_map(|(from, node)| {
            let own = node.own.get().map(|own| (from, &**own));
            own.into_iter().chain(node.own_scopes().map(|scope| (From::Below, scope)))
        })
    }

    /// The scopes that it was put into, but those that an ancestor is in.
    #[inline]
    fn own_scopes(&self) -> impl Iterator<Item = &Own<I, O>> {
        let is_above = |scope: &Arc<Own<I, O>>| {
            self.lineage().skip(1).any(|(_, node)| node.scopes.iter().any(|above| Arc::ptr_eq(above, scope)))
        };
        self.scopes.iter().filter(move |scope| !is_above(scope)).map(|scope| &**scope)
    }

    /// The session and its ancestors, each with how it is looked at from the session.
    #[inline]
    fn lineage(&self) -> impl Iterator<Item = (From, &Self)> {
        let ancestors = std::iter::successors(self.parent.as_deref(), |node| node.parent.as_deref());
        std::iter::once((From::Here, self)).chain(ancestors.map(|node| (From::Below, node)))
    }
}

/// The sessions that nothing needs any more, from this one up, which take nothing from here on. Under the lock of the tree.
fn give_back<I: Clone, O: Clone, S>(node: &Node<I, O, S>) -> Vec<&Node<I, O, S>> {
    let mut released = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next.filter(|node| node.is_released()) {
        released.push(node);
        node.share.give_back(weight(&node.source));
        next = node.parent.as_deref();
        if let Some(parent) = next {
            parent.alive.fetch_sub(1, Ordering::AcqRel);
        }
    }
    released
}

/// Releases the hooks of sessions, without the lock of the tree.
fn release<I: Clone, O: Clone, S>(released: &[&Node<I, O, S>]) {
    released.iter().filter_map(|node| node.own.get()).for_each(|own| own.release());
}

/// Why a session is not added.
pub(crate) enum AddSessionError {
    /// There is an open one of its id.
    Taken,
    /// Its parent is closed.
    ParentClosed,
    /// The tree takes no further session.
    Draining,
    /// As many are open as there may be.
    TooMany,
}

/// The session is closed, and no hook is added there.
pub(crate) struct SessionIsClosed(pub(crate) SessionId);

type Sessions<I, O, S> = HashMap<SessionId, Arc<Node<I, O, S>>>;

/// All sessions, and the hooks of the bus itself.
pub(crate) struct Tree<I, O, S> {
    sessions: Mutex<Sessions<I, O, S>>,
    /// Changed under the lock of the sessions.
    draining: AtomicBool,
    /// How many sessions were opened. Changed under the same lock.
    opened: AtomicU64,
    bus: Own<I, O>,
    /// The number of the last registration.
    registrations: AtomicU64,
    most: Option<Most>,
    share: Arc<Share>,
}

/// On what hooks are registered.
pub(crate) enum Place<I, O, S> {
    Bus,
    Scope(Arc<Own<I, O>>),
    Session(Arc<Node<I, O, S>>),
}

impl<I, O, S> Clone for Place<I, O, S> {
    fn clone(&self) -> Self {
        match self {
            Self::Bus => Self::Bus,
            Self::Scope(scope) => Self::Scope(Arc::clone(scope)),
            Self::Session(node) => Self::Session(Arc::clone(node)),
        }
    }
}

impl<I: Clone, O: Clone, S> Tree<I, O, S> {
    pub(crate) fn new(most: Option<Most>) -> Self {
        Self {
            sessions: Mutex::default(),
            draining: AtomicBool::new(false),
            opened: AtomicU64::new(0),
            bus: Own::default(),
            registrations: AtomicU64::new(0),
            most,
            share: Share::of(1, None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions<I, O, S>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What several trees of sessions may have together.
    pub(crate) fn quota(&self, part: usize) -> Arc<Share> {
        Share::of(part, Some(Arc::clone(&self.share)))
    }

    /// Adds a session, in a scope or in none but those of its ancestors, a root within a quota or not, with what it has
    /// beside hooks.
    pub(crate) fn open(
        &self,
        source: Source,
        parent: Option<Arc<Node<I, O, S>>>,
        scope: Option<Arc<Own<I, O>>>,
        quota: Option<Arc<Share>>,
        state: impl FnOnce(&SessionId) -> S,
    ) -> Result<Arc<Node<I, O, S>>, AddSessionError> {
        let mut sessions = self.lock();
        // Seen under the lock: a drain knows every session that was let in.
        if self.is_draining() {
            return Err(AddSessionError::Draining);
        }
        let id = source.session.clone();
        if sessions.contains_key(&id) {
            return Err(AddSessionError::Taken);
        }
        if let Some(parent) = &parent {
            // Seen under the lock: the hooks of a session that is closed may be gone.
            if !parent.is_open() && parent.bequests.load(Ordering::Acquire) == 0 {
                return Err(AddSessionError::ParentClosed);
            }
        }
        let bytes = weight(&source);
        let share = match &parent {
            Some(parent) => parent.share.below(),
            None => Share::of(PART, Some(quota.unwrap_or_else(|| Arc::clone(&self.share)))),
        };
        if self.most.is_some_and(|most| !share.has_room(bytes, most)) {
            return Err(AddSessionError::TooMany);
        }
        if let Some(parent) = &parent {
            parent.alive.fetch_add(1, Ordering::AcqRel);
            parent.children.fetch_add(1, Ordering::Relaxed);
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let node = Arc::new(Node::new(number, source, parent, scope, share, state(&id)));
        node.share.take(bytes);
        sessions.insert(id, Arc::clone(&node));
        Ok(node)
    }

    /// Takes a session out.
    pub(crate) fn close(&self, node: &Node<I, O, S>) {
        let mut sessions = self.lock();
        // One that was closed before is not in the tree: under its id stands a later session, or none.
        let closed = node.phase.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        let gone = closed.then(|| sessions.remove(&node.source.session));
        drop(sessions);
        // Dropped without the lock, as everything that may hold what users have made.
        drop(gone);
    }

    /// A closed session has come to its end: its hooks are released, and it takes nothing any more, unless something open
    /// below it is under it; then that happens when this has come to its end too. `false` when it had come to its end before.
    pub(crate) fn end(&self, node: &Node<I, O, S>) -> bool {
        let sessions = self.lock();
        if node.phase.swap(OVER, Ordering::AcqRel) == OVER {
            return false;
        }
        let released = give_back(node);
        drop(sessions);
        if let Some(own) = node.own.get() {
            own.remove(&|registered| !registered.hook.reach.covers(1));
        }
        release(&released);
        true
    }

    /// Keeps the hooks of a session for what is opened below it, when it has ended too; `false` when they are released.
    pub(crate) fn bequeath(&self, node: &Node<I, O, S>) -> bool {
        let _sessions = self.lock();
        if node.is_released() {
            return false;
        }
        node.alive.fetch_add(1, Ordering::AcqRel);
        node.bequests.fetch_add(1, Ordering::AcqRel);
        true
    }

    /// One bequest of a session is over.
    pub(crate) fn end_bequest(&self, node: &Node<I, O, S>) {
        let sessions = self.lock();
        node.bequests.fetch_sub(1, Ordering::AcqRel);
        node.alive.fetch_sub(1, Ordering::AcqRel);
        let released = give_back(node);
        drop(sessions);
        release(&released);
    }

    /// Has something done once the hooks of a session are released; gives it back when they are.
    pub(crate) fn at_release(&self, node: &Node<I, O, S>, then: Then) -> Option<Then> {
        self.own_of(node).keep(|| node.is_released(), then)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Node<I, O, S>>> {
        self.lock().get(id).cloned()
    }

    /// What is registered on the bus itself.
    pub(crate) fn of_bus(&self) -> Vec<Registered<I, O>> {
        self.bus.registered()
    }

    /// Whether no further session is let in.
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Lets in no further session, and returns those that are open.
    pub(crate) fn close_to_sessions(&self) -> Vec<Arc<Node<I, O, S>>> {
        let sessions = self.lock();
        self.draining.store(true, Ordering::Release);
        drop(sessions);
        self.sessions()
    }

    /// All open sessions, in the order in which they lie in memory: there may be very many, and in the order of the map
    /// each visit would wait for the memory.
    pub(crate) fn sessions(&self) -> Vec<Arc<Node<I, O, S>>> {
        let mut sessions: Vec<_> = self.lock().values().cloned().collect();
        sessions.sort_unstable_by_key(|node| Arc::as_ptr(node).addr());
        sessions
    }

    /// All observers that these sessions are under.
    pub(crate) fn listeners(&self, sessions: &[Arc<Node<I, O, S>>]) -> Vec<O> {
        let mut seen = HashSet::new();
        let mut places = vec![self.bus.registered()];
        for node in sessions {
            // Those of a session that is closed are heard by what is open below it.
            let own = node.places().map(|(_, own)| own);
            let new = own.filter(|own| seen.insert(std::ptr::from_ref::<Own<I, O>>(own)));
            places.extend(new.map(Own::registered));
        }
        let observers = places.into_iter().flatten().filter_map(|registered| match registered.runs {
            Runs::Observer(listener) => Some(listener),
            Runs::Interceptor(_) => None,
        });
        observers.collect()
    }

    /// What an event of a session meets, if there may be hooks at its point.
    #[inline]
    pub(crate) fn tables(&self, node: &Node<I, O, S>, point: &PointInfo) -> Tables<I, O> {
        let mut tables = Tables::none();
        if !node.is_released() {
            for (from, node) in node.lineage() {
                tables.add(from, node.own.get().and_then(|own| own.borrow(point)));
                for scope in node.own_scopes() {
                    tables.add(From::Below, scope.borrow(point));
                }
            }
            tables.add(From::Below, self.bus.borrow(point));
        }
        tables
    }

    /// Whether an event of a session may meet a hook at its point.
    pub(crate) fn hears(&self, node: &Node<I, O, S>, point: &PointInfo) -> bool {
        let own = |node: &Node<I, O, S>| node.own.get().is_some_and(|own| own.hears(point));
        let scope = |node: &Node<I, O, S>| node.scopes.iter().any(|scope| scope.hears(point));
        self.bus.hears(point) || node.lineage().any(|(_, node)| own(node) || scope(node))
    }

    /// Everything that a session is under, interceptors and observers in their orders, by point: those of the catalogue
    /// in its order, then the others by name.
    fn all_in_force(&self, node: &Node<I, O, S>) -> Vec<(&'static str, [Vec<Arc<Hook>>; 2])> {
        if node.is_released() {
            return Vec::new();
        }
        let own = node.places().map(|(from, own)| (from, own.table()));
        let tables: Vec<_> = own.chain([(From::Below, self.bus.table())]).collect();
        let mut points = BTreeMap::new();
        for at in tables.iter().flat_map(|(from, table)| table.all(*from)) {
            let key = (bit(at.point), at.point.name);
            points.entry(key).or_insert_with(|| InForce::from_iter([])).add(at);
        }
        points.into_iter().map(|((_, name), in_force)| (name, in_force.hooks())).collect()
    }

    /// The hooks that a session is under, by point, in the order in which they run; interceptors first.
    pub(crate) fn hooks(&self, node: &Node<I, O, S>) -> Vec<(&'static str, Arc<Hook>)> {
        let hooks = self.all_in_force(node).into_iter().flat_map(|(point, [interceptors, observers])| {
            interceptors.into_iter().chain(observers).map(move |hook| (point, hook))
        });
        hooks.collect()
    }

    /// Which hooks a session is under now.
    pub(crate) fn generation(&self, node: &Node<I, O, S>) -> Generation {
        // Each of these numbers only grows, so their sum does with any of them.
        let own = node.places().map(|(_, own)| own.changes());
        Generation { session: node.number, changes: own.sum::<u64>() + self.bus.changes() }
    }

    /// The digest of all hooks that a session is under.
    pub(crate) fn coverage(&self, node: &Node<I, O, S>) -> Arc<str> {
        // Read first: what changes meanwhile is not taken for covered.
        let changes = self.generation(node).changes;
        let compute = || {
            let lists = self.all_in_force(node);
            coverage(lists.iter().flat_map(|(point, lists)| lists.iter().map(|hooks| (*point, &**hooks))))
        };
        if node.is_released() {
            return compute().into();
        }
        // It is kept at a place above which all sessions that have it nearest have the same.
        let own = node.lineage().find_map(|(from, node)| Some((from, &**node.own.get()?)));
        let scopes = || node.lineage().flat_map(|(_, node)| node.scopes.iter());
        let scope = scopes().next();
        let is_only = |scope| scopes().all(|other| Arc::ptr_eq(other, scope));
        match (own, scope) {
            (Some((from, own)), scope) if from == From::Here || scope.is_none() => {
                own.coverage(from, changes, compute)
            }
            (None, None) => self.bus.coverage(From::Below, changes, compute),
            (None, Some(scope)) if is_only(scope) => scope.coverage(From::Below, changes, compute),
            _ => compute().into(),
        }
    }

    /// What is registered on a session. It is made under the lock, so that the end of the session finds it.
    fn own_of<'a>(&self, node: &'a Node<I, O, S>) -> &'a Own<I, O> {
        node.own.get().unwrap_or_else(|| {
            let _sessions = self.lock();
            node.own.get_or_init(Box::default)
        })
    }

    /// What is registered at one place; `None` when nothing ever was.
    pub(crate) fn own<'a>(&'a self, place: &'a Place<I, O, S>) -> Option<&'a Own<I, O>> {
        match place {
            Place::Bus => Some(&self.bus),
            Place::Scope(scope) => Some(scope),
            Place::Session(node) => Some(node.own.get()?),
        }
    }

    /// Whether hooks are registered on a session itself.
    pub(crate) fn has_own(&self, node: &Node<I, O, S>) -> bool {
        node.own.get().is_some_and(|own| !own.registered().is_empty())
    }

    /// The hooks that are registered at one place, in their order.
    pub(crate) fn registered(&self, place: &Place<I, O, S>) -> Vec<Registered<I, O>> {
        self.own(place).map(Own::registered).unwrap_or_default()
    }

    /// Whether the hooks of a format are switched off at one place.
    pub(crate) fn is_off(&self, place: &Place<I, O, S>, dialect: &'static str) -> bool {
        self.own(place).is_some_and(|own| own.is_off(dialect))
    }

    /// Switches the hooks of a format off or on at one place.
    pub(crate) fn switch(&self, place: &Place<I, O, S>, dialect: &'static str, off: bool) {
        match place {
            Place::Bus => self.bus.switch(dialect, off),
            Place::Scope(scope) => scope.switch(dialect, off),
            Place::Session(node) => self.own_of(node).switch(dialect, off),
        }
    }

    /// Removes hooks at one place; returns how many there were.
    pub(crate) fn remove(&self, place: &Place<I, O, S>, leaves: Leaves<'_, I, O>) -> usize {
        self.own(place).map_or(0, |own| own.remove(leaves))
    }

    /// Removes hooks and adds others at one place, at once: no event sees a state in between. Gives the numbers of
    /// those that were added.
    ///
    /// # Errors
    /// A session that is closed, where no hook is added.
    pub(crate) fn replace(
        &self,
        place: &Place<I, O, S>,
        leaves: Option<Leaves<'_, I, O>>,
        added: Vec<Added<I, O>>,
    ) -> Result<Vec<u64>, SessionIsClosed> {
        let numbers = match place {
            Place::Bus => self.bus.replace(|| true, leaves, added, &self.registrations),
            Place::Scope(scope) => scope.replace(|| true, leaves, added, &self.registrations),
            Place::Session(node) => {
                // Seen under the lock of the place, under which the hooks of a session that ends are released.
                self.own_of(node).replace(|| node.is_open(), leaves, added, &self.registrations)
            }
        };
        match (numbers, place) {
            (Some((numbers, _)), _) => Ok(numbers),
            (None, Place::Session(node)) => Err(SessionIsClosed(node.source.session.clone())),
            (None, Place::Bus | Place::Scope(_)) => Ok(Vec::new()),
        }
    }
}
