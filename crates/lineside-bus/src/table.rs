//! The plans of one session: immutable, shared by every session that is under the same hooks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use lineside_core::hook::{Hook, Standby};
use lineside_core::plan::{CompilePlanError, coverage};
use lineside_core::point::Slot;
use lineside_core::{Part, Plan, PointInfo, SkipReason};
use lineside_points::CATALOGUE;

use crate::bus::Installed;
use crate::interceptor::Interceptor;
use crate::observer::Listener;
use crate::register::RegisterHookError;

/// What a registration runs.
#[derive(Clone)]
pub(crate) enum Runs {
    Interceptor(Arc<dyn Interceptor>),
    Observer(Arc<dyn Listener>),
}

/// One registration at one point.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) hook: Arc<Hook>,
    pub(crate) point: &'static PointInfo,
    pub(crate) runs: Runs,
    /// Under which name it was installed, for being replaced.
    pub(crate) installed: Option<Arc<str>>,
}

impl Registered {
    /// An interceptor whose point is known only at run time.
    ///
    /// # Errors
    /// An interceptor at a fact.
    pub(crate) fn of(hook: Installed, installed: Option<Arc<str>>) -> Result<Self, RegisterHookError> {
        let Installed { point, hook, run } = hook;
        if !point.phase.may_intercept() && !matches!(hook.part, Part::Detached | Part::Told) {
            return Err(RegisterHookError::no_authority(point));
        }
        Ok(Self { hook: Arc::new(hook), point, runs: Runs::Interceptor(run), installed })
    }

    /// Itself, as it is compiled where the hooks of these formats are switched off.
    pub(crate) fn unless_off(mut self, off: &HashSet<&'static str>) -> Self {
        if off.contains(self.hook.dialect) {
            let mut hook = (*self.hook).clone();
            hook.standby = Standby::Off(SkipReason::Disabled);
            self.hook = Arc::new(hook);
        }
        self
    }
}

/// The hooks of one session at one point.
pub(crate) struct PointPlan {
    pub(crate) interceptors: Plan<Arc<dyn Interceptor>>,
    pub(crate) observers: Plan<Arc<dyn Listener>>,
    /// Whether any of the interceptors is told of the decision instead of asked.
    pub(crate) tells: bool,
}

/// The plans of a session at all points.
#[derive(Default)]
pub(crate) struct Table {
    /// One bit for each point of the catalogue that has a plan.
    mask: u64,
    catalogue: Vec<Option<Arc<PointPlan>>>,
    declared: HashMap<&'static str, Arc<PointPlan>>,
    coverage: OnceLock<Arc<str>>,
}

const _: () = assert!(CATALOGUE_FITS, "the mask of a table has 64 bits");
const CATALOGUE_FITS: bool = lineside_points::COUNT <= 64;

impl Table {
    /// Compiles the plans of a set of registrations.
    pub(crate) fn compile<'a>(
        all: impl IntoIterator<Item = &'a Registered>,
    ) -> Result<Self, CompilePlanError> {
        let mut by_point: BTreeMap<&'static str, (&'static PointInfo, Vec<&Registered>)> = BTreeMap::new();
        for registered in all {
            let point = registered.point;
            by_point.entry(point.name).or_insert_with(|| (point, Vec::new())).1.push(registered);
        }
        let mut table = Self { catalogue: vec![None; CATALOGUE.len()], ..Self::default() };
        for (name, (point, registered)) in by_point {
            let plan = Arc::new(PointPlan::compile(&registered)?);
            match point.slot {
                Slot::Catalogue(number) => {
                    table.mask |= 1 << number;
                    if let Some(place) = table.catalogue.get_mut(usize::from(number)) {
                        *place = Some(plan);
                    }
                }
                Slot::Declared => {
                    table.declared.insert(name, plan);
                }
            }
        }
        Ok(table)
    }

    /// The plan of a point, if any hook listens there.
    pub(crate) fn plan(&self, point: &PointInfo) -> Option<&Arc<PointPlan>> {
        match point.slot {
            Slot::Catalogue(number) if self.mask & (1 << number) == 0 => None,
            Slot::Catalogue(number) => self.catalogue.get(usize::from(number))?.as_ref(),
            Slot::Declared => self.declared.get(point.name),
        }
    }

    /// The plans by point, in the order of the catalogue, then by name.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (&'static str, &Arc<PointPlan>)> {
        let mut declared: Vec<_> = self.declared.iter().map(|(name, plan)| (*name, plan)).collect();
        declared.sort_unstable_by_key(|(name, _)| *name);
        let of_catalogue =
            |(point, plan): (&&'static PointInfo, _)| Some((point.name, Option::as_ref(plan)?));
        CATALOGUE.iter().zip(&self.catalogue).filter_map(of_catalogue).chain(declared)
    }

    /// The digest of all hooks in force, interceptors and observers.
    pub(crate) fn coverage(&self) -> &Arc<str> {
        self.coverage.get_or_init(|| {
            let lists = self.plans().flat_map(|(point, plan)| {
                [(point, &**plan.interceptors.hooks()), (point, &**plan.observers.hooks())]
            });
            coverage(lists).into()
        })
    }
}

impl PointPlan {
    fn compile(registered: &[&Registered]) -> Result<Self, CompilePlanError> {
        let mut interceptors = Vec::new();
        let mut observers = Vec::new();
        for Registered { hook, runs, .. } in registered {
            match runs {
                Runs::Interceptor(run) => interceptors.push((Arc::clone(hook), Arc::clone(run))),
                Runs::Observer(run) => observers.push((Arc::clone(hook), Arc::clone(run))),
            }
        }
        let tells = interceptors.iter().any(|(hook, _): &(Arc<Hook>, _)| hook.part == Part::Told);
        let (interceptors, observers) = (Plan::compile(interceptors)?, Plan::compile(observers)?);
        Ok(Self { interceptors, observers, tells })
    }
}
