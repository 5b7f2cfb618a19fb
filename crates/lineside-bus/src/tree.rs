//! The tree of sessions, and who is under which hooks. Changed under one lock; read without any.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwap;
use lineside_core::plan::CompilePlanError;
use lineside_core::{Reach, SessionId, Source};

use crate::background::Background;
use crate::mailbox::{Log, Mailbox, WAITING};
use crate::observer::Listener;
use crate::stop_limit::StopLimit;
use crate::table::{Registered, Runs, Table};

/// One session.
pub(crate) struct Node {
    pub(crate) source: Arc<Source>,
    pub(crate) parent: Option<Arc<Node>>,
    pub(crate) tables: ArcSwap<Tables>,
    pub(crate) seq: AtomicU64,
    state: AtomicU8,
    mailbox: OnceLock<Arc<Mailbox>>,
    stops: OnceLock<Box<StopLimit>>,
    background: OnceLock<Arc<Background>>,
    /// Guarded by the lock of the tree.
    branch: Mutex<Branch>,
}

/// What hangs on a session: its own hooks and its children.
#[derive(Default)]
struct Branch {
    own: Vec<Registered>,
    children: Vec<Weak<Node>>,
    /// How many children are open or have something open below them.
    alive: usize,
    /// The formats whose hooks are switched off here.
    off: HashSet<&'static str>,
}

/// What a session and its children are under.
pub(crate) struct Tables {
    pub(crate) own: Table,
    /// What a child without hooks of its own is under, where that is something else.
    for_children: Option<Arc<Tables>>,
}

impl Tables {
    fn of_child(this: &Arc<Self>) -> Arc<Self> {
        this.for_children.as_ref().map_or_else(|| Arc::clone(this), Arc::clone)
    }
}

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
/// Closed, and nothing of it goes on.
const OVER: u8 = 2;

impl Node {
    fn new(source: Source, parent: Option<Arc<Node>>, tables: Arc<Tables>) -> Self {
        Self {
            source: Arc::new(source),
            parent,
            tables: ArcSwap::new(tables),
            seq: AtomicU64::new(0),
            state: AtomicU8::new(OPEN),
            mailbox: OnceLock::new(),
            stops: OnceLock::new(),
            background: OnceLock::new(),
            branch: Mutex::new(Branch::default()),
        }
    }

    /// A session that is over and stands in no tree.
    pub(crate) fn over(source: Source) -> Self {
        let node = Self::new(source, None, Arc::new(Tables { own: Table::default(), for_children: None }));
        node.state.store(OVER, Ordering::Release);
        node
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// The next sequence number; the first is 1.
    pub(crate) fn next_seq(&self) -> u64 {
        self.seq.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        self.mailbox.get_or_init(|| Arc::new(Mailbox::new(WAITING)))
    }

    pub(crate) fn stops(&self) -> &StopLimit {
        self.stops.get_or_init(Box::default)
    }

    /// The counts of blocked stops, if there ever was one.
    pub(crate) fn stops_so_far(&self) -> Option<&StopLimit> {
        self.stops.get().map(|stops| &**stops)
    }

    pub(crate) fn background(&self) -> &Arc<Background> {
        self.background.get_or_init(Arc::default)
    }

    /// The background work, if any was ever started.
    pub(crate) fn background_so_far(&self) -> Option<&Background> {
        self.background.get().map(|background| &**background)
    }

    fn branch(&self) -> MutexGuard<'_, Branch> {
        self.branch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its hooks have been released: it is over, and nothing below it needs them.
    fn is_released(&self) -> bool {
        self.state.load(Ordering::Acquire) == OVER && self.branch().alive == 0
    }

    /// The session at the root of its tree.
    fn root(this: &Arc<Self>) -> Arc<Self> {
        let mut node = this;
        while let Some(parent) = &node.parent {
            node = parent;
        }
        Arc::clone(node)
    }

    /// The session and its ancestors, each with its distance.
    fn lineage(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0..).zip(std::iter::successors(Some(self), |node| node.parent.as_deref()))
    }
}

impl Drop for Node {
    /// Lets go of one ancestor after another: each in the drop of the one below it would need a stack as long as the line.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(node) = above {
            above = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}

/// What has been taken out under the lock of the tree. It is dropped when the lock has been given back, because hooks
/// are values of others, who may call the bus then.
#[derive(Default)]
struct Gone {
    hooks: Vec<Registered>,
    tables: Vec<Arc<Tables>>,
    node: Option<Arc<Node>>,
}

/// All sessions, and the hooks of the bus itself.
pub(crate) struct Tree {
    inner: Mutex<Inner>,
}

struct Inner {
    root_hooks: Vec<Registered>,
    /// The formats whose hooks of the bus are switched off.
    root_off: HashSet<&'static str>,
    root_tables: Arc<Tables>,
    sessions: HashMap<SessionId, Arc<Node>>,
    registrations: u64,
    /// What sessions are under whose hooks have been released.
    nothing: Arc<Tables>,
}

/// Why a session is not added.
pub(crate) enum AddSessionError {
    /// There is an open one of its id.
    Taken,
    /// Its parent is closed.
    ParentClosed,
}

/// Why hooks are not changed at a place.
pub(crate) enum ChangeHooksError {
    /// It is a session that is closed, where no hook is added.
    Closed(SessionId),
    /// There are too many.
    Plan(CompilePlanError),
}

impl From<CompilePlanError> for ChangeHooksError {
    fn from(error: CompilePlanError) -> Self {
        Self::Plan(error)
    }
}

/// On what hooks are registered.
#[derive(Clone)]
pub(crate) enum Place {
    Bus,
    Session(Arc<Node>),
}

impl Tree {
    pub(crate) fn new() -> Self {
        let empty = Arc::new(Tables { own: Table::default(), for_children: None });
        Self {
            inner: Mutex::new(Inner {
                root_hooks: Vec::new(),
                root_off: HashSet::new(),
                root_tables: Arc::clone(&empty),
                sessions: HashMap::new(),
                registrations: 0,
                nothing: empty,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session.
    pub(crate) fn open(
        &self,
        source: Source,
        parent: Option<Arc<Node>>,
        context: Option<&Arc<Log>>,
    ) -> Result<Arc<Node>, AddSessionError> {
        let mut tree = self.lock();
        let id = source.session.clone();
        if tree.sessions.contains_key(&id) {
            return Err(AddSessionError::Taken);
        }
        let tables = match &parent {
            // Seen under the lock: the hooks of a session that is closed may be gone.
            Some(parent) if !parent.is_open() => return Err(AddSessionError::ParentClosed),
            Some(parent) => Tables::of_child(&parent.tables.load()),
            None => Tables::of_child(&tree.root_tables),
        };
        let mut node = Node::new(source, parent, tables);
        if let Some(log) = context {
            node.mailbox = OnceLock::from(log.mailbox(&id));
        }
        let node = Arc::new(node);
        if let Some(parent) = &node.parent {
            let mut branch = parent.branch();
            if branch.children.len() == branch.children.capacity() {
                branch.children.retain(|child| child.strong_count() > 0);
            }
            branch.children.push(Arc::downgrade(&node));
            branch.alive += 1;
        }
        tree.sessions.insert(id, Arc::clone(&node));
        Ok(node)
    }

    /// Takes a session out; its events are refused from now on.
    pub(crate) fn close(&self, node: &Node) {
        let mut gone = Gone::default();
        let mut tree = self.lock();
        // One that was closed before is not in the tree: under its id stands a later session, or none.
        if node.state.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            gone.node = tree.sessions.remove(&node.source.session);
        }
    }

    /// A closed session has come to its end: its hooks are released, except those that something open below it is under,
    /// which go when that has come to its end too. `false` when it had come to its end before.
    pub(crate) fn end(&self, node: &Node) -> bool {
        let mut gone = Gone::default();
        let tree = self.lock();
        if node.state.swap(OVER, Ordering::AcqRel) == OVER {
            return false;
        }
        {
            let mut branch = node.branch();
            let (below, itself) =
                std::mem::take(&mut branch.own).into_iter().partition(|own| own.hook.reach.covers(1));
            (branch.own, gone.hooks) = (below, itself);
            gone.tables.push(node.tables.swap(Tables::of_child(&node.tables.load())));
        }
        let mut released = Some(node);
        while let Some(node) = released.filter(|node| node.is_released()) {
            gone.hooks.append(&mut node.branch().own);
            gone.tables.push(node.tables.swap(Arc::clone(&tree.nothing)));
            released = node.parent.as_deref();
            if let Some(parent) = released {
                parent.branch().alive -= 1;
            }
        }
        true
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Node>> {
        self.lock().sessions.get(id).cloned()
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Node>> {
        self.lock().sessions.values().cloned().collect()
    }

    /// All observers that an open session is under.
    pub(crate) fn listeners(&self) -> Vec<Arc<dyn Listener>> {
        let tree = self.lock();
        let of = |all: &[Registered]| -> Vec<Arc<dyn Listener>> {
            all.iter()
                .filter_map(|registered| match &registered.runs {
                    Runs::Observer(listener) => Some(Arc::clone(listener)),
                    Runs::Interceptor(_) => None,
                })
                .collect()
        };
        let mut listeners = of(&tree.root_hooks);
        let mut seen = HashSet::new();
        for node in tree.sessions.values() {
            // Those of a session that is closed are heard by what is open below it.
            let above = std::iter::successors(Some(&**node), |node| node.parent.as_deref());
            for node in above.take_while(|node| seen.insert(std::ptr::from_ref::<Node>(node))) {
                listeners.extend(of(&node.branch().own));
            }
        }
        listeners
    }

    /// The hooks that are registered at one place, in their order.
    pub(crate) fn registered(&self, place: &Place) -> Vec<Registered> {
        let tree = self.lock();
        let mut registered = match place {
            Place::Bus => tree.root_hooks.clone(),
            Place::Session(node) => node.branch().own.clone(),
        };
        registered.sort_by_key(|registered| registered.hook.order());
        registered
    }

    /// Whether the hooks of a format are switched off at one place.
    pub(crate) fn is_off(&self, place: &Place, dialect: &'static str) -> bool {
        let tree = self.lock();
        match place {
            Place::Bus => tree.root_off.contains(dialect),
            Place::Session(node) => node.branch().off.contains(dialect),
        }
    }

    /// Switches the hooks of a format off or on at one place.
    pub(crate) fn switch(&self, place: &Place, dialect: &'static str, off: bool) {
        let change = |all: &mut HashSet<&'static str>| {
            if off { all.insert(dialect) } else { all.remove(dialect) }
        };
        let mut tree = self.lock();
        let changed = match place {
            Place::Bus => change(&mut tree.root_off),
            Place::Session(node) => change(&mut node.branch().off),
        };
        drop(tree);
        if changed {
            // As many hooks as before always compile.
            let _same = self.change(place, |_| false, Vec::new());
        }
    }

    /// Takes away and adds hooks at one place and compiles every plan below anew. Nobody sees a state in between.
    ///
    /// Gives the numbers of the added registrations and how many were taken away.
    pub(crate) fn change(
        &self,
        place: &Place,
        leaves: impl Fn(&Registered) -> bool,
        added: Vec<Registered>,
    ) -> Result<(Vec<u64>, usize), ChangeHooksError> {
        let mut gone = Gone::default();
        let mut tree = self.lock();
        if let Place::Session(node) = place
            && !added.is_empty()
            && !node.is_open()
        {
            return Err(ChangeHooksError::Closed(node.source.session.clone()));
        }
        let previous = tree.put(place, Vec::new());
        let mut own: Vec<_> = previous.iter().filter(|registered| !leaves(registered)).cloned().collect();
        let taken_away = previous.len() - own.len();
        let mut numbers = Vec::with_capacity(added.len());
        let mut next = tree.registrations;
        for mut registered in added {
            next += 1;
            let mut hook = (*registered.hook).clone();
            hook.registration = next;
            registered.hook = Arc::new(hook);
            numbers.push(next);
            own.push(registered);
        }
        tree.put(place, own);
        let compiled = match place {
            Place::Bus => tree.compile_all().map(|(root, compiled)| (Some(root), compiled)),
            Place::Session(node) => {
                tree.compile_below(node, &tree.above(node)).map(|compiled| (None, compiled))
            }
        };
        let (root, compiled) = match compiled {
            Ok(compiled) => compiled,
            Err(error) => {
                gone.hooks = tree.put(place, previous);
                return Err(error.into());
            }
        };
        gone.hooks = previous;
        gone.tables.extend(root.map(|root| std::mem::replace(&mut tree.root_tables, root)));
        gone.tables.extend(compiled.into_iter().map(|(node, tables)| node.tables.swap(tables)));
        tree.registrations = next;
        Ok((numbers, taken_away))
    }
}

/// New plans for sessions; nothing has changed until they are stored.
type Compiled = Vec<(Arc<Node>, Arc<Tables>)>;

impl Inner {
    /// Puts hooks in the place of those that are registered at one place; gives those.
    fn put(&mut self, place: &Place, hooks: Vec<Registered>) -> Vec<Registered> {
        match place {
            Place::Bus => std::mem::replace(&mut self.root_hooks, hooks),
            Place::Session(node) => std::mem::replace(&mut node.branch().own, hooks),
        }
    }

    /// The hooks of the bus as they are compiled.
    fn root_hooks(&self) -> Vec<Registered> {
        self.root_hooks.iter().map(|registered| registered.clone().unless_off(&self.root_off)).collect()
    }

    /// What a session without hooks of its own is under.
    fn above(&self, node: &Node) -> Arc<Tables> {
        match &node.parent {
            Some(parent) => Tables::of_child(&parent.tables.load()),
            None => Tables::of_child(&self.root_tables),
        }
    }

    /// The plans of every session, as they follow from the hooks of the bus.
    fn compile_all(&self) -> Result<(Arc<Tables>, Compiled), CompilePlanError> {
        let root_tables = Arc::new(Tables { own: Table::compile(&self.root_hooks())?, for_children: None });
        // A root that is closed may have open sessions below it.
        let mut roots: Vec<Arc<Node>> = self.sessions.values().map(Node::root).collect();
        roots.sort_unstable_by_key(Arc::as_ptr);
        roots.dedup_by_key(|root| Arc::as_ptr(root));
        let mut compiled = Vec::new();
        for root in &roots {
            compiled.extend(self.compile_below(root, &root_tables)?);
        }
        Ok((root_tables, compiled))
    }

    /// The plans of a session and of everything below it, as they follow from what is above it.
    fn compile_below(&self, node: &Arc<Node>, above: &Arc<Tables>) -> Result<Compiled, CompilePlanError> {
        let mut compiled = Vec::new();
        let mut waiting = vec![(Arc::clone(node), Arc::clone(above))];
        while let Some((node, above)) = waiting.pop() {
            if node.is_released() {
                continue;
            }
            let tables = if node.branch().own.is_empty() { above } else { Arc::new(self.compile(&node)?) };
            let for_children = Tables::of_child(&tables);
            let children = node.branch().children.iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
            waiting.extend(children.into_iter().map(|child| (child, Arc::clone(&for_children))));
            compiled.push((node, tables));
        }
        Ok(compiled)
    }

    fn compile(&self, node: &Node) -> Result<Tables, CompilePlanError> {
        let only_subtree = node.branch().own.iter().all(|own| own.hook.reach == Reach::Subtree);
        let for_children = if only_subtree {
            None
        } else {
            Some(Arc::new(Tables { own: self.table(node, 1)?, for_children: None }))
        };
        Ok(Tables { own: self.table(node, 0)?, for_children })
    }

    /// The table of a session that stands `below` levels below `node` and has no hooks of its own there.
    fn table(&self, node: &Node, below: u32) -> Result<Table, CompilePlanError> {
        let mut all = self.root_hooks();
        for (levels, ancestor) in node.lineage() {
            let branch = ancestor.branch();
            let own = branch.own.iter().filter(|own| own.hook.reach.covers(levels + below)).cloned();
            all.extend(own.map(|own| own.unless_off(&branch.off)));
        }
        Table::compile(&all)
    }
}
