//! What a hook declares, its name and points apart.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::control::{Control, Rules};
use lineside_core::exchange::Addresses;
use lineside_core::hook::Mode;
use lineside_core::invocation::{Inherit, Program};
use lineside_core::payload::Point as _;
use lineside_core::secret::Secret;
use lineside_core::worker::WorkerStart;
use lineside_core::{Matcher, OnFailure, Part, PointInfo};
use lineside_guards::{Limit, Ruling};
use lineside_points::AfterSession;

use super::places::Seat;

/// The timeout of a hook that does not say otherwise.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// What the process of a hook may take beyond its own timeout until its end is known. The exact deadline is that of the
/// invocation.
pub(super) const MARGIN: Duration = Duration::from_millis(1500);

/// A hook, its name and points apart.
#[derive(Debug)]
pub(super) struct Definition {
    /// What it runs.
    pub(super) run: Run,
    /// When it runs; always, when absent.
    pub(super) matcher: Option<Matcher>,
    /// Greater runs first.
    pub(super) priority: i32,
    /// How long it may take.
    pub(super) timeout: Duration,
    /// What its failure means, if it says so.
    pub(super) on_failure: Option<OnFailure>,
    /// Whether the hook is not waited for.
    pub(super) is_async: bool,
    /// Whether it may change the payload.
    pub(super) amends: bool,
    /// Whether it counts.
    pub(super) mode: Mode,
    /// Whether it does nothing but answer, from its input alone.
    pub(super) is_pure: bool,
    /// What it is as an automation, if it is one.
    pub(super) automate: Option<Automated>,
    /// Whether events are refused that it cannot be started for, whatever its failure means otherwise.
    pub(super) required: bool,
}

/// What a hook declares as an automation.
#[derive(Debug, Clone)]
pub(super) struct Automated {
    /// Its settings.
    pub(super) control: Arc<Control>,
    /// Its rules at each of its points.
    pub(super) rules: Vec<(&'static PointInfo, Arc<Rules>)>,
    /// The events that cancel its waiting work.
    pub(super) cancelled_by: Vec<(&'static PointInfo, Option<Matcher>)>,
}

/// What a hook runs.
#[derive(Debug)]
pub(super) enum Run {
    /// A process for each event.
    Command(Program, Room),
    /// A process that is kept.
    Worker(Warm, Room),
    /// A request.
    Post(Target),
    /// A call of a program that attaches.
    Attached(Seat),
    /// Nothing: the answer is known.
    Rule(Box<Ruling>),
}

/// What a process is started with.
#[derive(Clone, Default)]
pub(super) struct Room {
    /// Its directory, relative to the root of the project; that root, when absent.
    pub(super) directory: Option<PathBuf>,
    /// What it inherits of our environment.
    pub(super) inherit: Inherit,
    /// Further variables.
    pub(super) variables: Vec<(String, String)>,
}

impl fmt::Debug for Room {
    /// The names of the variables and not their values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("Room")
            .field("directory", &self.directory)
            .field("inherit", &self.inherit)
            .field("variables", &names)
            .finish()
    }
}

/// A process that is kept.
#[derive(Debug, Clone)]
pub(super) struct Warm {
    /// Program and arguments.
    pub(super) program: Vec<String>,
    /// When it is started.
    pub(super) start: WorkerStart,
    /// After how long without calls it is ended; as workers usually are, when absent.
    pub(super) idle: Option<Duration>,
}

/// Where a post goes.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The URL.
    pub(super) url: String,
    /// What it may reach.
    pub(super) addresses: Addresses,
    /// Names and filled values of headers.
    pub(super) headers: Vec<(String, Secret)>,
}

impl Definition {
    /// How often it may happen before it says something.
    pub(super) fn limit(&self) -> Option<&Limit> {
        match &self.run {
            Run::Rule(ruling) => ruling.limit.as_ref(),
            Run::Command(..) | Run::Worker(..) | Run::Post(_) | Run::Attached(_) => None,
        }
    }

    /// The points that end what it counts at these, and those of sessions.
    pub(super) fn ends(&self, points: &[&'static PointInfo]) -> Vec<&'static PointInfo> {
        if !self.limit().is_some_and(Limit::hears_ends) {
            return Vec::new();
        }
        let mut ends = vec![AfterSession::INFO];
        for end in points.iter().flat_map(|point| lineside_points::ends(point)) {
            if !ends.contains(end) {
                ends.push(end);
            }
        }
        ends
    }

    /// Whether it has a say at this point.
    pub(super) fn judges(&self, point: &PointInfo) -> bool {
        !self.is_async && self.automate.is_none() && point.phase.may_intercept()
    }

    /// Whether there are events of this point that it runs for.
    pub(super) fn can_match(&self, point: &PointInfo) -> bool {
        let Some(draft) = self.matcher.as_ref().map(Matcher::draft) else { return true };
        draft.filters().all(|filter| filter.has_candidates(point))
            && draft.conditions().all(|condition| condition.has_candidates(point))
    }

    /// What it takes part in at this point.
    pub(super) fn part(&self, point: &PointInfo) -> Part {
        match () {
            () if self.automate.is_some() => Part::PostDecision,
            () if self.is_async => Part::Detached,
            () if !self.judges(point) => Part::PostDecision,
            () if self.amends => Part::Amender,
            () => Part::Gate,
        }
    }
}
