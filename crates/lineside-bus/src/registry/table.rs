//! The hooks of one place at all points: immutable, and cheap to make a changed copy of.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use lineside_core::hook::{Hook, Order};
use lineside_core::plan::Candidates;
use lineside_core::point::Slot;
use lineside_core::roster::{Named, Parts};
use lineside_core::{AnyEvent, PointInfo, Roster};
use smallvec::SmallVec;

use super::own::Borrowed;
use super::registered::{Registered, Runs};

/// The hooks of one place at one point.
pub(crate) struct AtPoint<I, O> {
    pub(crate) point: &'static PointInfo,
    pub(crate) interceptors: Roster<I>,
    pub(crate) observers: Roster<O>,
}

/// The hooks of one place at all points.
pub(crate) struct Table<I, O> {
    /// Those that the events of the place itself meet.
    here: Points<I, O>,
    /// Those that the events below it meet, where these are others.
    below: Option<Box<Points<I, O>>>,
}

struct Points<I, O> {
    /// One bit for each point of the catalogue that has hooks.
    mask: u64,
    /// One for each bit, in the order of the bits.
    catalogue: Vec<Arc<AtPoint<I, O>>>,
    declared: Vec<Arc<AtPoint<I, O>>>,
}

/// The bit of the points that vendors have declared, in a mask.
const DECLARED: u64 = 1 << 63;
const _: () =
    assert!(lineside_points::COUNT <= 62, "a mask has 64 bits, two of which are for something else");

/// The bit of a point in a mask.
#[inline]
pub(crate) fn bit(point: &PointInfo) -> u64 {
    match point.slot {
        Slot::Catalogue(number) => 1 << number,
        Slot::Declared => DECLARED,
    }
}

/// From how far below the place of a table one looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// From the place itself.
    Here,
    /// From a place below it.
    Below,
}

impl<I: Clone, O: Clone> Table<I, O> {
    /// Adds a registration, with its hook as it is in force.
    pub(crate) fn insert(&mut self, registered: &Registered<I, O>, off: &HashSet<&'static str>) {
        let hook = registered.in_force(off);
        let reach = registered.hook.reach;
        let (here, below) = (reach.covers(0), reach.covers(1));
        if here != below && self.below.is_none() {
            self.below = Some(Box::new(self.here.clone()));
        }
        if here {
            self.here.insert(&hook, registered);
        }
        if let Some(points) = &mut self.below
            && below
        {
            points.insert(&hook, registered);
        }
    }

    /// Takes a registration away.
    pub(crate) fn remove(&mut self, registered: &Registered<I, O>) {
        self.here.remove(registered);
        if let Some(points) = &mut self.below {
            points.remove(registered);
        }
    }

    /// The points that have hooks, for callers outside the registry.
    pub(crate) fn mask(&self) -> u64 {
        self.here.mask() | self.below.as_ref().map_or(0, |below| below.mask())
    }

    /// The hooks at a point.
    #[inline]
    pub(crate) fn at(&self, point: &PointInfo, from: From) -> Option<&Arc<AtPoint<I, O>>> {
        self.points(from).at(point)
    }

    /// The hooks at each point that has some.
    pub(crate) fn all(&self, from: From) -> impl Iterator<Item = &Arc<AtPoint<I, O>>> {
        let points = self.points(from);
        points.catalogue.iter().chain(&points.declared)
    }

    #[inline]
    fn points(&self, from: From) -> &Points<I, O> {
        match (from, &self.below) {
            (From::Below, Some(below)) => below,
            (From::Here | From::Below, _) => &self.here,
        }
    }
}

impl<I: Clone, O: Clone> Points<I, O> {
    fn insert(&mut self, hook: &Arc<Hook>, Registered { point, runs, .. }: &Registered<I, O>) {
        let at = Arc::make_mut(self.at_or_new(point));
        match runs {
            Runs::Interceptor(run) => at.interceptors.insert(point, hook, run),
            Runs::Observer(run) => at.observers.insert(point, hook, run),
        }
    }

    fn remove(&mut self, Registered { hook, point, runs, .. }: &Registered<I, O>) {
        if self.at(point).is_none() {
            return;
        }
        let at = Arc::make_mut(self.at_or_new(point));
        match runs {
            Runs::Interceptor(_) => at.interceptors.remove(point, hook),
            Runs::Observer(_) => at.observers.remove(point, hook),
        }
        if at.interceptors.is_empty() && at.observers.is_empty() {
            self.catalogue.retain(|at| at.point != *point);
            self.declared.retain(|at| at.point != *point);
            if let Slot::Catalogue(_) = point.slot {
                self.mask &= !bit(point);
            }
        }
    }

    fn mask(&self) -> u64 {
        if self.declared.is_empty() { self.mask } else { self.mask | DECLARED }
    }

    fn at(&self, point: &PointInfo) -> Option<&Arc<AtPoint<I, O>>> {
        match point.slot {
            Slot::Catalogue(_) if self.mask & bit(point) == 0 => None,
            Slot::Catalogue(_) => self.catalogue.get(self.index(point)),
            Slot::Declared => self.declared.iter().find(|at| at.point == point),
        }
    }

    fn at_or_new(&mut self, point: &'static PointInfo) -> &mut Arc<AtPoint<I, O>> {
        let (list, index, known) = match point.slot {
            Slot::Catalogue(_) => {
                let (index, known) = (self.index(point), self.mask & bit(point) != 0);
                self.mask |= bit(point);
                (&mut self.catalogue, index, known)
            }
            Slot::Declared => {
                let found = self.declared.binary_search_by_key(&point.name, |at| at.point.name);
                (&mut self.declared, found.unwrap_or_else(|index| index), found.is_ok())
            }
        };
        if !known {
            if list.is_empty() {
                // Most places have hooks at one point, and there may be many places.
                list.reserve_exact(1);
            }
            list.insert(index, Arc::new(AtPoint::new(point)));
        }
        &mut list[index]
    }

    /// Where a point of the catalogue stands among those that have hooks.
    #[inline]
    fn index(&self, point: &PointInfo) -> usize {
        (self.mask & (bit(point) - 1)).count_ones() as usize
    }
}

impl<I, O> AtPoint<I, O> {
    fn new(point: &'static PointInfo) -> Self {
        Self { point, interceptors: Roster::default(), observers: Roster::default() }
    }
}

impl<I: Clone, O: Clone> Clone for AtPoint<I, O> {
    fn clone(&self) -> Self {
        let (interceptors, observers) = (self.interceptors.clone(), self.observers.clone());
        Self { point: self.point, interceptors, observers }
    }
}

impl<I, O> Clone for Points<I, O> {
    fn clone(&self) -> Self {
        let (catalogue, declared) = (self.catalogue.clone(), self.declared.clone());
        Self { mask: self.mask, catalogue, declared }
    }
}

impl<I, O> Clone for Table<I, O> {
    fn clone(&self) -> Self {
        Self { here: self.here.clone(), below: self.below.clone() }
    }
}

impl<I, O> Default for Table<I, O> {
    fn default() -> Self {
        Self { here: Points { mask: 0, catalogue: Vec::new(), declared: Vec::new() }, below: None }
    }
}

/// The tables of the places whose hooks an event may meet.
pub(crate) struct Tables<I, O>(SmallVec<[(From, Borrowed<I, O>); 2]>);

impl<I: Clone, O: Clone> Tables<I, O> {
    pub(crate) fn none() -> Self {
        Self(SmallVec::new())
    }

    /// Adds the table of one more place.
    #[inline]
    pub(crate) fn add(&mut self, from: From, table: Option<Borrowed<I, O>>) {
        if let Some(table) = table {
            self.0.push((from, table));
        }
    }

    /// What is in force at a point.
    #[inline]
    pub(crate) fn at(&self, point: &PointInfo) -> InForce<'_, I, O> {
        let mut in_force = InForce(SmallVec::new());
        for (from, table) in &self.0 {
            if let Some(at) = table.at(point, *from) {
                in_force.0.push(at);
            }
        }
        in_force
    }
}

/// What is in force for one session at one point: the hooks of each place that has some there.
pub(crate) struct InForce<'a, I, O>(SmallVec<[&'a Arc<AtPoint<I, O>>; 2]>);

impl<'a, I, O> FromIterator<&'a Arc<AtPoint<I, O>>> for InForce<'a, I, O> {
    #[inline]
    fn from_iter<T: IntoIterator<Item = &'a Arc<AtPoint<I, O>>>>(at: T) -> Self {
        Self(at.into_iter().collect())
    }
}

/// The same for an event that has to be waited for.
pub(crate) struct KeptInForce<I, O>(SmallVec<[Arc<AtPoint<I, O>>; 2]>);

impl<I, O> KeptInForce<I, O> {
    pub(crate) fn borrow(&self) -> InForce<'_, I, O> {
        self.0.iter().collect()
    }
}

impl<'a, I: Clone, O: Clone> InForce<'a, I, O> {
    /// Adds the hooks of one more place.
    pub(crate) fn add(&mut self, at: &'a Arc<AtPoint<I, O>>) {
        self.0.push(at);
    }

    pub(crate) fn keep(&self) -> KeptInForce<I, O> {
        KeptInForce(self.0.iter().copied().map(Arc::clone).collect())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The interceptors that may run for an event.
    #[inline]
    pub(crate) fn interceptors(&self, event: &AnyEvent) -> Candidates<'a, I> {
        let mut parts = Parts::new();
        self.0.iter().for_each(|at| at.interceptors.parts(event, &mut parts));
        Candidates::of(&parts)
    }

    /// The observers that may hear an event; `None` where there are none.
    #[inline]
    pub(crate) fn observers(&self, event: &AnyEvent) -> Option<Candidates<'a, O>> {
        let mut parts = Parts::new();
        self.0.iter().for_each(|at| at.observers.parts(event, &mut parts));
        (!parts.is_empty()).then(|| Candidates::of(&parts))
    }

    /// All interceptors, in their order.
    pub(crate) fn all_interceptors(&self) -> BTreeMap<Order, (Arc<Hook>, &'a I)> {
        let mut all = BTreeMap::new();
        self.0.iter().for_each(|at| at.interceptors.all(&mut all));
        all
    }

    /// All interceptors and all observers, in their order.
    pub(crate) fn hooks(&self) -> [Vec<Arc<Hook>>; 2] {
        let mut observers = BTreeMap::new();
        self.0.iter().for_each(|at| at.observers.all(&mut observers));
        let interceptors = self.all_interceptors().into_values().map(|(hook, _)| hook);
        let observers = observers.into_values().map(|(hook, _)| hook);
        [interceptors.collect(), observers.collect()]
    }

    /// The interceptors that name their tools.
    #[inline]
    pub(crate) fn named(&self) -> Vec<Named> {
        let named = self.0.iter().map(|at| at.interceptors.named()).filter(|named| named.is_some());
        if named.clone().next().is_none() {
            return Vec::new();
        }
        named.cloned().collect()
    }
}
