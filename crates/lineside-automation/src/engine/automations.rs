//! The automations of a bus, as a program has them: opened once, with what an earlier life has left.

use std::collections::BTreeSet;
use std::sync::Arc;

use lineside_bus::Bus;
use lineside_core::journal::{Durability, Journal, Sequence, Unavailable};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::job_store::KeptBy;
use super::recovered::{Earlier, Recovered};
use super::{Engine, driver, until};
use crate::adopted::HookJobRegistry;
use crate::machine::{Bounds, Input};
use crate::offered::Offered;
use crate::record::Entry;

/// The automations of a bus. Clones are the same automations.
///
/// ```
/// use lineside_automation::Automations;
/// use lineside_bus::Bus;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// assert!(Automations::of(&bus)?.jobs().list(&Default::default()).is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Automations {
    pub(crate) engine: Arc<Engine>,
    /// Ends the driver when the bus is gone.
    _end: Arc<DropGuard>,
}

/// The folder in which an agent worked, and its project, as far as it has said them.
pub type WorkPlace = (Option<Arc<str>>, Option<Arc<str>>);

/// Why automations cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The bus has automations already.
    #[error(
        "the bus has automations already; open them before the first one is registered and before hooks are loaded"
    )]
    Already,
    /// There is nothing to drive them.
    #[error("automations need a tokio runtime")]
    NoRuntime,
}

impl Automations {
    /// The automations of a bus; what they accept is in memory, unless they were opened otherwise before.
    ///
    /// ```
    /// use lineside_automation::{Automations, Durability, OpenError};
    /// use lineside_bus::Bus;
    ///
    /// let bus = Bus::new();
    /// // A runtime drives them.
    /// assert_eq!(Automations::of(&bus).err(), Some(OpenError::NoRuntime));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main_with(bus: Bus) -> Result<(), Box<dyn std::error::Error>> {
    /// assert_eq!(Automations::of(&bus)?.durability()?, Durability::Memory);
    /// # Ok(())
    /// # }
    /// # main_with(bus)?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no tokio runtime.
    pub fn of(bus: &Bus) -> Result<Self, OpenError> {
        Self::runtime()?;
        Ok((*bus
            .extension(|| Self::start(bus, None, Bounds::default(), Earlier::nothing(Bounds::default()))))
        .clone())
    }

    /// Opens the automations of a bus, with the journal that keeps their records and with what that has of an earlier
    /// life, in its order. Work that was accepted then goes on as soon as its automation is registered.
    ///
    /// # Errors
    /// The bus has automations already, or there is no tokio runtime.
    pub fn open(
        bus: &Bus,
        bounds: Bounds,
        journal: Arc<dyn Journal>,
        earlier: impl IntoIterator<Item = (Sequence, Entry)>,
    ) -> Result<(Self, Recovered), OpenError> {
        Self::runtime()?;
        let mut recovered = None;
        let automations = bus.extension(|| {
            let (earlier, report) = Earlier::read(bounds, &mut earlier.into_iter());
            recovered = Some(report);
            Self::start(bus, Some(journal), bounds, earlier)
        });
        match recovered {
            Some(recovered) => Ok(((*automations).clone(), recovered)),
            None => Err(OpenError::Already),
        }
    }

    fn runtime() -> Result<(), OpenError> {
        tokio::runtime::Handle::try_current().map(drop).map_err(|_| OpenError::NoRuntime)
    }

    fn start(bus: &Bus, journal: Option<Arc<dyn Journal>>, bounds: Bounds, earlier: Earlier) -> Self {
        let engine = Engine::new(bus, journal, bounds, earlier);
        // There is none yet: these are the first automations of the bus.
        let _is_first = bus.set_job_store(Arc::new(KeptBy(Arc::clone(&engine))));
        let end = CancellationToken::new();
        engine.tasks.spawn(driver::drive(Arc::clone(&engine), end.clone()));
        Self { engine, _end: Arc::new(end.drop_guard()) }
    }

    /// The hooks of the bus whose runs are jobs.
    #[must_use]
    pub fn hook_jobs(&self) -> HookJobRegistry {
        HookJobRegistry::of(Arc::clone(&self.engine))
    }

    /// The folders in which agents worked whose work rests for automations that are not there, each once: a caller that
    /// loads automations with the folder that they are for does so before [`all_registered`](Self::all_registered). Of an agent
    /// that has said both, the one in which it worked and its project, it is the pair. Costs a step for each job.
    #[must_use]
    pub fn absent_in(&self) -> BTreeSet<WorkPlace> {
        self.engine.ask(|machine| {
            let event = |offered: &Offered| offered.event().ok();
            let places = machine.orphans().filter_map(event).map(|event| {
                let source = &event.envelope().source;
                (source.cwd.clone(), source.project_root.clone())
            });
            places.collect()
        })
    }

    /// Says that every automation that there will be is there. What an earlier life has left for others goes to the dead
    /// letters, which is announced; until this is called it rests, for as long as it takes. What is left for one that a file
    /// declares and that is switched off, as those of a project that is not trusted are, waits for another life.
    pub fn all_registered(&self) {
        self.engine.step(Input::AllRegistered);
    }

    /// Runs at once for whatever is held: no further event will come.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_core::flow::Debounce;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy")
    ///     .debounce(Debounce::quiet(Duration::from_secs(600)))
    ///     .run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let automations = Automations::of(&bus)?;
    /// automations.release_all();
    /// automations.all_settled().await?;
    /// assert_eq!(automations.jobs().by_state().get("done"), Some(&1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn release_all(&self) {
        self.engine.step(Input::ReleaseAll);
    }

    /// Waits until every job is settled, including those of earlier processes. Not waited for is what a job has for
    /// a session that is not open: it is handed over when the session is opened, in this life or a later one. Neither is
    /// the work of hooks, for which the end of their sessions waits.
    ///
    /// Work for automations that are not there rests until [`all_registered`](Self::all_registered). Cancel safe.
    ///
    /// # Errors
    /// Records are no longer kept, and nothing is started.
    pub async fn all_settled(&self) -> Result<(), Unavailable> {
        let rests = until(&self.engine.done, || {
            let core = self.engine.core();
            if let Some(failed) = &core.failed {
                return Some(Err(failed.clone()));
            }
            let waiting = core.absent.values().map(Vec::len).sum::<usize>()
                + core.machine.of_hooks()
                + core.machine.switched_off_jobs();
            let is_done = core.outbox.has_done(core.outbox.wanted());
            (core.machine.live() <= waiting && is_done).then_some(Ok(()))
        });
        rests.await.unwrap_or_else(|| Err(Unavailable::because("the automations are gone")))
    }

    /// Leaves everything as it is to the next life: nothing is accepted or started any longer, what happens from now on is
    /// not recorded, and waiters for jobs are released. What has happened up to now is still recorded.
    /// Runs under way are cancelled; they count as attempts. Without a journal, unsettled jobs are lost.
    pub fn leave(&self) {
        self.engine.leave();
    }

    /// What jobs survive that are accepted now; an error when none are.
    ///
    /// # Errors
    /// Records are no longer kept, for this reason.
    pub fn durability(&self) -> Result<Durability, Unavailable> {
        match &self.engine.core().failed {
            Some(failed) => Err(failed.clone()),
            None => Ok(self.engine.durability),
        }
    }

    /// Waits until everything that was offered up to now is kept, and says what it survives.
    ///
    /// Cancel safe.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Durability, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// // With a journal on a disk, this waits for the disk.
    /// assert_eq!(Automations::of(&bus)?.kept().await?, Durability::Memory);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Records are no longer kept; what was offered since then runs in no life.
    pub async fn kept(&self) -> Result<Durability, Unavailable> {
        self.engine.kept().await
    }
}
