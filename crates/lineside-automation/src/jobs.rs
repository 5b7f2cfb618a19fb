//! The jobs of automations, for those who ask: which there are, why each of them stands where it does, and what has
//! become of it. A dead one can be taken up again, and any one dropped.

use std::collections::BTreeMap;

use lineside_core::{EventId, SessionId};

use crate::engine::Automations;
use crate::hook_id::name_of;
use crate::machine::job::{AutomationId, Job, JobId, Settled, State};
use crate::machine::{Announcement, Input, JobStatus, JobSummary, Machine, Occurrence as _};
use crate::offered::Offered;

/// The jobs of a bus.
///
/// ```
/// use lineside_automation::jobs::Which;
/// use lineside_automation::{Automate as _, Automations, Report};
/// use lineside_bus::Bus;
/// use lineside_points::AfterToolBatch;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let session = bus.session("s1").open().await?;
/// session.automate::<AfterToolBatch>("lint").run(async |_batch, _cx| Ok(Report::success("ok")))?;
/// session.publish(AfterToolBatch::new(vec![], vec![])).await?;
///
/// let jobs = Automations::of(&bus)?.jobs();
/// let listed = jobs.list(&Which { automation: Some("lint".to_owned()), ..Which::default() });
/// assert_eq!(listed.len(), 1);
/// assert_eq!(jobs.show(listed[0].job).map(|shown| shown.session), Some("s1".into()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Jobs {
    automations: Automations,
}

/// Which jobs are wanted.
///
/// ```
/// use lineside_automation::Automations;
/// use lineside_automation::jobs::{Which, WhichState};
/// use lineside_bus::Bus;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jobs = Automations::of(&Bus::new())?.jobs();
/// let last_dead = Which { state: WhichState::Dead, most: Some(10), ..Which::default() };
/// assert!(jobs.list(&last_dead).is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// Of this automation.
    pub automation: Option<String>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// In this state.
    pub state: WhichState,
    /// At most this many, the latest; all by default.
    pub most: Option<usize>,
}

/// In which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhichState {
    /// Any.
    #[default]
    Any,
    /// Not settled.
    Live,
    /// Dead.
    Dead,
}

impl Automations {
    /// Their jobs.
    #[must_use]
    pub fn jobs(&self) -> Jobs {
        Jobs { automations: self.clone() }
    }
}

impl Jobs {
    /// The jobs, in the order in which their first events came. Of those that came to a good end or were cancelled
    /// only the last are known.
    #[must_use]
    pub fn list(&self, which: &Which) -> Vec<JobSummary> {
        let wanted = |automation: &str, job: &Job<Offered>| {
            let of_automation = which
                .automation
                .as_deref()
                .is_none_or(|name| automation == name || is_named(automation, name));
            let of_session = which.session.as_ref().is_none_or(|session| job.last().session() == session);
            of_automation && of_session && is_in(&job.state, which.state)
        };
        self.automations.engine.ask(|machine| machine.list(wanted, which.most.unwrap_or(usize::MAX)))
    }

    /// How many jobs are in this state; costs the same however many there are.
    ///
    /// ```
    /// use lineside_automation::jobs::WhichState;
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let automations = Automations::of(&bus)?;
    /// assert_eq!(automations.jobs().count(WhichState::Live), 1);
    /// automations.all_settled().await?;
    /// assert_eq!(automations.jobs().count(WhichState::Live), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn count(&self, state: WhichState) -> usize {
        self.automations.engine.ask(|machine| match state {
            WhichState::Any => machine.known(),
            WhichState::Live => machine.live(),
            WhichState::Dead => machine.dead_letters().count(),
        })
    }

    /// How many jobs are in each state, by its word as [`list`](Self::list) shows it; states without a job are absent. Costs
    /// a step for each job that is known.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let automations = Automations::of(&bus)?;
    /// automations.all_settled().await?;
    /// assert_eq!(automations.jobs().by_state().into_iter().collect::<Vec<_>>(), [("done", 1)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn by_state(&self) -> BTreeMap<&'static str, usize> {
        self.automations.engine.ask(Machine::by_state)
    }

    /// Everything that is known of a job: where it stands and why, and its attempts. `None` when there is no such job,
    /// or no longer.
    #[must_use]
    pub fn show(&self, job: JobId) -> Option<JobSummary> {
        self.automations.engine.ask(|machine| machine.show(job))
    }

    /// The jobs that an event has come into, each with its automation, in the order in which they accepted it.
    ///
    /// ```
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// let decision = session.publish(OnIdle::new()).await?;
    /// let jobs = Automations::of(&bus)?.jobs().of_event(decision.id());
    /// assert_eq!(&*jobs[0].0, "on_idle/tidy");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn of_event(&self, event: EventId) -> Vec<(AutomationId, JobId)> {
        let engine = &self.automations.engine;
        if let Some(recent) = engine.recent.of(event) {
            return recent;
        }
        engine.ask(|machine| {
            let of_event = machine.list(|_, job| job.all_ids().contains(&event), usize::MAX);
            of_event.into_iter().map(|shown| (shown.automation, shown.job)).collect()
        })
    }

    /// Why a job does not run. `None` as for [`show`](Self::show).
    ///
    /// ```
    /// use lineside_automation::machine::JobStatus;
    /// use lineside_automation::machine::job::JobId;
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// let decision = session.publish(OnIdle::new()).await?;
    /// let automations = Automations::of(&bus)?;
    /// let (_, job) = automations.jobs().of_event(decision.id())[0].clone();
    /// automations.all_settled().await?;
    /// assert!(matches!(automations.jobs().why(job), Some(JobStatus::Settled { .. })));
    /// assert_eq!(automations.jobs().why(JobId(job.0 + 1)), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn why(&self, job: JobId) -> Option<JobStatus> {
        self.automations.engine.ask(|machine| machine.why(job))
    }

    /// Takes a dead job up again, with all its attempts before it. `false` when it is not dead.
    ///
    /// ```
    /// use lineside_automation::jobs::{Which, WhichState};
    /// use lineside_automation::{Automate, Automations};
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("backup").try_run(async |_idle, _cx| Err("the disk is full"))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let automations = Automations::of(&bus)?;
    /// automations.all_settled().await?;
    ///
    /// let jobs = automations.jobs();
    /// let dead = &jobs.list(&Which { state: WhichState::Dead, ..Which::default() })[0];
    /// assert!(jobs.retry(dead.job));
    /// automations.all_settled().await?;
    /// assert_eq!(jobs.show(dead.job).map(|shown| shown.attempts.len()), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "a job that is not dead is not taken up again"]
    pub fn retry(&self, job: JobId) -> bool {
        self.step_if(job, |own| is_in(own, WhichState::Dead), Input::Revive(job))
    }

    /// Drops a job: it is cancelled, or forgotten if it is dead. `false` when there is no such job, it has come to a good
    /// end, or what it found is being handed over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_automation::jobs::{Which, WhichState};
    /// use lineside_automation::{Automate, Automations, Report};
    /// use lineside_bus::Bus;
    /// use lineside_core::flow::Debounce;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// bus.automate::<OnIdle>("remind")
    ///     .debounce(Debounce::quiet(Duration::from_secs(600)))
    ///     .run(async |_idle, _cx| Ok(Report::success("reminded")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// let jobs = Automations::of(&bus)?.jobs();
    /// let held = &jobs.list(&Which::default())[0];
    /// assert!(jobs.drop(held.job));
    /// assert_eq!(jobs.count(WhichState::Live), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "a job that is over cannot be dropped"]
    pub fn drop(&self, job: JobId) -> bool {
        self.step_if(job, may_be_dropped, Input::Drop(job))
    }

    /// Does something to a job in such a state, in one step: it does not come to its end in between.
    fn step_if(&self, job: JobId, may: impl FnOnce(&State) -> bool, input: Input<Offered>) -> bool {
        self.automations.engine.step_if(input, |machine| machine.state(job).is_some_and(may))
    }

    /// How many dead letters were thrown away so far, the oldest first, because there were more than there may be.
    #[must_use]
    pub fn forgotten_so_far(&self) -> u64 {
        self.automations.engine.ask(Machine::forgotten)
    }

    /// The last events that never became jobs, each with the reason, oldest first.
    #[must_use]
    pub fn refused(&self) -> Vec<Announcement> {
        self.automations.engine.ask(|machine| machine.refused().cloned().collect())
    }

    /// How many events never became jobs so far.
    #[must_use]
    pub fn refused_so_far(&self) -> u64 {
        self.automations.engine.refused() + self.automations.engine.ask(Machine::refused_so_far)
    }
}

/// Whether an automation has this name, wherever it is registered.
///
/// ```
/// use lineside_automation::jobs::is_named;
///
/// assert!(is_named("s1/on_idle/tidy", "tidy"));
/// assert!(!is_named("s1/on_idle/tidy", "on_idle"));
/// ```
#[must_use]
pub fn is_named(automation: &str, name: &str) -> bool {
    name_of(automation) == name
}

/// Whether dropping a job in this state keeps it from its end, or it is dead.
fn may_be_dropped(own: &State) -> bool {
    let is_live = !own.is_at_rest() && !matches!(own, State::Delivering(_));
    is_live || is_in(own, WhichState::Dead)
}

fn is_in(own: &State, state: WhichState) -> bool {
    match state {
        WhichState::Any => true,
        WhichState::Live => !own.is_at_rest(),
        WhichState::Dead => matches!(own, State::Rests(settled, _) if matches!(**settled, Settled::Dead(_))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::job::Why;
    use crate::report::Handover;
    use crate::unix_micros::UnixMicros;

    #[test]
    fn a_job_that_has_run_is_not_dropped_while_what_it_found_is_handed_over() {
        let found = Handover::Append("found".to_owned());
        assert!(!may_be_dropped(&State::Delivering(Box::new((found, Settled::Done)))));
        let at = UnixMicros::default();
        assert!(may_be_dropped(&State::Delayed(at)));
        assert!(may_be_dropped(&State::Rests(Box::new(Settled::Dead(Why::HookGone)), at)));
        assert!(!may_be_dropped(&State::Rests(Box::new(Settled::Done), at)));
    }

    #[test]
    fn an_automation_is_known_by_its_name_wherever_it_is_registered() {
        assert!(is_named("after_tool_batch/lint", "lint"));
        assert!(is_named("s%2F1/after_tool_batch/a%2Fb", "a/b"));
        assert!(!is_named("s%2F1/after_tool_batch/a%2Fb", "b"));
        assert!(!is_named("after_tool_batch/relint", "lint"));
        assert!(is_named("foreign:chord:0af9:3:/p/hooks.yaml/after_tool/a%2Fb", "a/b"));
        assert!(!is_named("foreign:chord:0af9:3:/p/hooks.yaml/after_tool/a%2Fb", "b"));
    }
}
