//! What is known of a hook apart from how it is run: its name, place in the order, part, and what it declares.
//!
//! The functions that replace its fields are in `build`.

mod build;
mod tighten;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::millis;
use crate::diagnostic::Origin;
use crate::ensemble::Ensemble;
use crate::event::AnyEvent;
use crate::failure::{Failure, OnFailure, drop_payload};
use crate::json::{Map, Value, json};
use crate::outcome::SkipReason;
use crate::point::PointInfo;
use crate::verdict::Verdict;

pub use tighten::Tighter;

/// Where a hook comes from. A lower layer adds restrictions and never lifts one.
///
/// ```
/// use lineside_core::{Hook, Layer, Part};
///
/// let user = Hook::native("user", Part::Gate).layer(Layer::User);
/// let managed = Hook::native("managed", Part::Gate).layer(Layer::Managed);
/// // At one priority, the hooks of the administrator run first.
/// assert!(managed.order() < user.order());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The machine's administrator.
    Managed,
    /// The user.
    User,
    /// The project.
    Project,
    /// The session, from the root down.
    Session,
}

impl Layer {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which sessions a hook that is registered on a session hears.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The session and everything below it.
    #[default]
    Subtree,
    /// The session alone.
    #[serde(rename = "self")]
    Itself,
    /// What is below the session, but not itself.
    Children,
}

impl Reach {
    /// Whether a hook registered `levels` above a session hears that session's events.
    ///
    /// ```
    /// use lineside_core::Reach;
    ///
    /// assert!(Reach::Subtree.covers(0) && Reach::Subtree.covers(2));
    /// assert!(Reach::Itself.covers(0) && !Reach::Itself.covers(1));
    /// assert!(!Reach::Children.covers(0) && Reach::Children.covers(1));
    /// ```
    #[must_use]
    pub fn covers(self, levels: u32) -> bool {
        match self {
            Self::Subtree => true,
            Self::Itself => levels == 0,
            Self::Children => levels > 0,
        }
    }
}

/// What a hook takes part in.
///
/// ```
/// use lineside_core::Part;
///
/// let awaited: Vec<_> = [Part::Gate, Part::Amender, Part::Detached, Part::Observer]
///     .into_iter()
///     .filter(|part| part.is_awaited())
///     .collect();
/// assert_eq!(awaited, [Part::Gate, Part::Amender]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Judges; runs together with the gates beside it that have the same priority.
    Gate,
    /// Judges, and waits for the one before it even if that has the same priority.
    LoneGate,
    /// May change the payload too; runs alone.
    Amender,
    /// Is started in its order and not waited for; has no authority, and its answer is not read.
    Detached,
    /// Runs once the event is decided, with the decided payload, unless the event was refused; is not waited for and
    /// has no authority. Its messages for the context and the user are delivered when they are ready.
    PostDecision,
    /// Receives the event and its outcome.
    Observer,
}

impl Part {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate | Self::LoneGate => "gate",
            Self::Amender => "amender",
            Self::Detached => "detached",
            Self::PostDecision => "post_decision",
            Self::Observer => "observer",
        }
    }

    /// Whether an event waits for its answer.
    #[must_use]
    pub fn is_awaited(self) -> bool {
        self.is_gate() || self == Self::Amender
    }

    /// Whether it judges and therefore judges once more when the payload has changed since.
    #[must_use]
    pub fn is_gate(self) -> bool {
        matches!(self, Self::Gate | Self::LoneGate)
    }
}

/// Whether what a hook says counts.
///
/// A hook in shadow is admitted at its place, with the event as it stands there, and runs for that once the event is
/// decided. What it says, changes and gives is reported when it ends, and goes nowhere else.
///
/// ```
/// use lineside_core::hook::Mode;
/// use lineside_core::{Hook, Part};
///
/// let tried = Hook::native("new-policy", Part::Gate).mode(Mode::Shadow);
/// assert!(tried.is_shadow() && tried.is_judging_shadow());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It counts.
    #[default]
    Enforced,
    /// It is recorded, and counts for nothing.
    Shadow,
}

impl Mode {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Shadow => "shadow",
        }
    }
}

/// Whether a hook still runs after an earlier one has blocked the event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterBlock {
    /// It is skipped.
    #[default]
    Skip,
    /// It runs if the block came from a hook of its own dialect, whose page promises that all of them run.
    RunWithinDialect,
}

/// Whether detached hooks of a dialect run beside one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Each on its own.
    #[default]
    Own,
    /// Those of one dialect run one after another for each event.
    Shared,
}

/// Whether the agent's next model call waits for the context message of a post-decision hook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// It does not: what is ready by then is taken.
    #[default]
    Background,
    /// It does.
    BeforeNextModel,
}

/// Whether a hook can run at all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Standby {
    /// It runs when it is selected.
    Ready,
    /// It is switched off, or was never trusted; it is reported with this reason wherever it would have run.
    Off(SkipReason),
    /// It could not be loaded, for this reason; the receipts of all events for which it may have run tell it.
    NotLoaded(Arc<str>),
}

/// Whether a hook runs for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selected {
    /// It runs.
    Runs,
    /// It runs because its condition could not be decided, for this reason, which the receipt tells.
    InDoubt(Cow<'static, str>),
    /// It does not run.
    Skipped(SkipReason),
}

/// Decides whether a hook runs for an event.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_core::hook::{Select, Selected};
/// use lineside_core::{AnyEvent, Hook, Part, SkipReason};
///
/// /// Runs for the first events of a session alone.
/// struct First(u64);
///
/// impl Select for First {
///     fn select(&self, event: &AnyEvent) -> Selected {
///         if event.envelope().seq <= self.0 { Selected::Runs } else { Selected::Skipped(SkipReason::Filter) }
///     }
///
///     fn describe(&self) -> String {
///         format!("first={}", self.0)
///     }
/// }
///
/// let hook = Hook::native("welcome", Part::Gate).when(Some(Arc::new(First(1))));
/// assert_eq!(hook.select.map(|select| select.describe()).as_deref(), Some("first=1"));
/// ```
pub trait Select: Send + Sync {
    /// Whether it runs for this event as it stands. A panic leaves it in doubt.
    fn select(&self, event: &AnyEvent) -> Selected;

    /// The only tools for whose events it can run, where it names them exactly; `None` when it may run for any.
    ///
    /// For the events of other tools it is not asked, so that hooks for other tools cost an event nothing.
    fn tools(&self) -> Option<&[String]> {
        None
    }

    /// Whether it is for a hook that runs only where the condition is known to hold, for example because it allows: what was
    /// not looked at to its end keeps the event out.
    fn is_certain(&self) -> bool {
        false
    }

    /// The condition for people to read, e.g. `tool=Shell`.
    fn describe(&self) -> String;

    /// The condition as the mapping `match` of lineside's own format, where that can say it.
    fn declared(&self) -> Option<Map> {
        None
    }

    /// What of an event that it lets through made it do so, for people to read, where it can say so in a word.
    fn fit(&self, _event: &AnyEvent) -> Option<String> {
        None
    }

    /// The part of the condition that keeps this event out, for people to read; all of it where its parts are not known.
    fn misfit(&self, _event: &AnyEvent) -> String {
        self.describe()
    }
}

/// The dialect of hooks that the program registers itself.
pub const NATIVE: &str = "native";

/// The priority of hooks that run after everything else, but before those of agent programs, which begin at
/// -1,000,000,000 (HO-49).
pub const LAST: i32 = -999_999_999;

/// The longest time of a hook in lineside's own format, in milliseconds.
const LONGEST: u64 = 600_000;

/// The place of a hook in the declared order: priority (greater first), layer, session from the root down, registration.
pub type Order = (Reverse<i32>, Layer, u32, u64);

/// A hook, apart from how it is run.
///
/// It begins as [`Hook::native`] or [`Hook::foreign`], and each function of the same name as a field replaces that field;
/// further fields may be added.
///
/// ```
/// use std::time::Duration;
/// use lineside_core::{Hook, Layer, Part};
///
/// let hook = Hook::native("budget", Part::Gate).layer(Layer::User).priority(10).timeout(Duration::from_secs(1));
/// assert_eq!((&*hook.name, hook.layer, hook.priority), ("budget", Layer::User, 10));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Hook {
    /// Its name, as its file or its registration gives it.
    pub name: Arc<str>,
    /// Who registered it, for removal by source; empty for the program itself.
    pub source: Arc<str>,
    /// The format it was written for; `native` for hooks of the program.
    pub dialect: &'static str,
    /// The file and line that declare it.
    pub origin: Option<Origin>,
    /// Its layer.
    pub layer: Layer,
    /// The depth of the session that it was registered on; 0 for every layer but `session`.
    pub depth: u32,
    /// Its number among all registrations.
    pub registration: u64,
    /// Greater runs first.
    pub priority: i32,
    /// What it takes part in.
    pub part: Part,
    /// Whether what it says counts.
    pub mode: Mode,
    /// What its failure means.
    pub on_failure: OnFailure,
    /// Whether what it has a say in is refused when it cannot be started, whatever its failure means otherwise.
    pub required: bool,
    /// Its own timeout, from before its start to its answer.
    pub timeout: Duration,
    /// Which sessions it hears.
    pub reach: Reach,
    /// Whether it runs after a block.
    pub after_block: AfterBlock,
    /// Whether it runs beside others, if it is detached.
    pub lane: Lane,
    /// Whether the next model call waits for it, if it is a post-decision hook.
    pub join: Join,
    /// How long the end of its session waits for it at most, if it is detached; as long as it takes, when
    /// absent.
    pub drain: Option<Duration>,
    /// Whether it can run.
    pub standby: Standby,
    /// When it runs; always, when absent.
    pub select: Option<Arc<dyn Select>>,
    /// With which hooks its answer counts; on its own, when absent.
    pub ensemble: Option<Arc<dyn Ensemble>>,
}

impl Hook {
    /// Returns a hook of the program itself with the defaults of its part: layer session, priority 0, 30 s, subtree;
    /// gates block on failure, the others continue.
    ///
    /// ```
    /// use lineside_core::{Hook, OnFailure, Part};
    ///
    /// assert_eq!(Hook::native("no-push", Part::Gate).on_failure, OnFailure::Block);
    /// assert_eq!(Hook::native("locked-tests", Part::Amender).on_failure, OnFailure::Continue);
    /// ```
    pub fn native(name: impl Into<Arc<str>>, part: Part) -> Self {
        Self {
            name: name.into(),
            source: Arc::default(),
            dialect: NATIVE,
            origin: None,
            layer: Layer::Session,
            depth: 0,
            registration: 0,
            priority: 0,
            part,
            mode: Mode::Enforced,
            on_failure: if part.is_gate() { OnFailure::Block } else { OnFailure::Continue },
            required: false,
            timeout: Duration::from_secs(30),
            reach: Reach::Subtree,
            after_block: AfterBlock::Skip,
            lane: Lane::Own,
            join: Join::Background,
            drain: None,
            standby: Standby::Ready,
            select: None,
            ensemble: None,
        }
    }

    /// Returns a hook of another format, with the defaults of its part; the name of the format is its source as well.
    pub fn foreign(dialect: &'static str, name: impl Into<Arc<str>>, part: Part) -> Self {
        Self { source: Arc::from(dialect), dialect, ..Self::native(name, part) }
    }

    /// The declared order: priority (greater first), layer, session from the root down, registration.
    ///
    /// ```
    /// use lineside_core::{Hook, Part};
    ///
    /// let first = Hook::native("urgent", Part::Gate).priority(900).registration(2);
    /// let second = Hook::native("early", Part::Gate).registration(1);
    /// assert!(first.order() < second.order());
    /// ```
    #[must_use]
    pub fn order(&self) -> Order {
        (Reverse(self.priority), self.layer, self.depth, self.registration)
    }

    /// Whether its answer counts together with that of another one.
    #[must_use]
    pub fn counts_with(&self, other: &Self) -> bool {
        match (&self.ensemble, &other.ensemble) {
            (Some(own), Some(theirs)) => Arc::ptr_eq(own, theirs),
            _ => false,
        }
    }

    /// What a failure of it is taken for.
    ///
    /// ```
    /// use lineside_core::{Failure, FailureKind, Hook, Part, Verdict};
    ///
    /// let failure = Failure::new(FailureKind::Exit, "exit status 1");
    /// let gate = Hook::native("no-push", Part::Gate);
    /// assert_eq!(gate.taken_for(&failure), Verdict::block("hook \"no-push\" failed: exit status 1"));
    /// let amender = Hook::native("locked-tests", Part::Amender);
    /// assert_eq!(amender.taken_for(&failure), Verdict::Continue);
    /// ```
    #[must_use]
    pub fn taken_for(&self, failure: &Failure) -> Verdict {
        if self.required && !failure.started && self.part.is_awaited() {
            let Self { name, .. } = self;
            return Verdict::block(format!("hook \"{name}\" is required and cannot run: {}", failure.detail));
        }
        self.on_failure.verdict(&self.name, failure)
    }

    /// Whether it is registered on a session above the border of a session.
    #[inline]
    #[must_use]
    pub fn is_beyond(&self, border: u32) -> bool {
        self.depth < border && self.layer == Layer::Session
    }

    /// Whether it runs at the same time as the one after it in plan order: both are gates of one priority, and each
    /// counts alone. A shadow parts no gates, for it keeps none waiting.
    ///
    /// ```
    /// use lineside_core::{Hook, Part};
    ///
    /// let gate = |name, priority| Hook::native(name, Part::Gate).priority(priority);
    /// assert!(gate("no-rm", 500).goes_beside(&gate("no-push", 500)));
    /// assert!(!gate("no-rm", 500).goes_beside(&gate("audit", 0)));
    /// ```
    #[must_use]
    pub fn goes_beside(&self, next: &Self) -> bool {
        let is_gate =
            |hook: &Self| hook.is_judging_shadow() || hook.part == Part::Gate && hook.ensemble.is_none();
        is_gate(self) && is_gate(next) && self.priority == next.priority
    }

    /// Whether it is in shadow: nothing that it says or gives counts.
    #[inline]
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.mode == Mode::Shadow
    }

    /// Whether it would have a say if it were not in shadow.
    #[inline]
    #[must_use]
    pub fn is_judging_shadow(&self) -> bool {
        self.is_shadow() && (self.part.is_gate() || self.part == Part::Amender)
    }

    /// Whether it runs once the event is decided.
    #[inline]
    #[must_use]
    pub fn runs_after_decision(&self) -> bool {
        self.part == Part::PostDecision || self.is_judging_shadow()
    }

    /// Whether it runs for this event as it stands.
    #[inline]
    #[must_use]
    pub fn select(&self, event: &AnyEvent) -> Selected {
        match (&self.standby, &self.select) {
            (Standby::Off(why), _) => Selected::Skipped(*why),
            (Standby::NotLoaded(_), _) => Selected::Skipped(SkipReason::NotLoaded),
            // What users write may panic, and the publisher must not; a hook that may refuse is safer run than left out.
            (Standby::Ready, Some(select)) => catch_unwind(AssertUnwindSafe(|| select.select(event)))
                .unwrap_or_else(|panic| {
                    drop_payload(panic);
                    if select.is_certain() {
                        return Selected::Skipped(SkipReason::Filter);
                    }
                    Selected::InDoubt(Cow::Borrowed("its condition panicked; it runs"))
                }),
            (Standby::Ready, None) => Selected::Runs,
        }
    }

    /// What a file of lineside's own format would say of an interceptor of the program, apart from what it runs, and from a
    /// condition that it has no words for. Its time is at most the ten minutes of that format.
    #[must_use]
    pub fn declared(&self, point: &PointInfo) -> Map {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        put("name", json!(self.name));
        put("on", json!(point.name));
        if let Some(filters) = self.select.as_ref().and_then(|select| select.declared()) {
            put("match", Value::Object(filters));
        }
        put("priority", json!(self.priority));
        put("on_failure", json!(self.on_failure));
        put("timeout", json!(millis(self.timeout).clamp(1, LONGEST)));
        put("amends", json!(self.part == Part::Amender));
        if self.is_shadow() {
            put("mode", json!(self.mode));
        }
        entry
    }

    /// What the receipt tells of a hook that could not be loaded.
    #[must_use]
    pub fn not_loaded(&self) -> Option<&str> {
        match &self.standby {
            Standby::NotLoaded(why) => Some(why),
            Standby::Ready | Standby::Off(_) => None,
        }
    }

    /// Why it does not run for this event; `None` when it does.
    #[inline]
    #[must_use]
    pub fn skip(&self, event: &AnyEvent) -> Option<SkipReason> {
        match self.select(event) {
            Selected::Skipped(why) => Some(why),
            Selected::Runs | Selected::InDoubt(_) => None,
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("name", &self.name)
            .field("dialect", &self.dialect)
            .field("layer", &self.layer)
            .field("priority", &self.priority)
            .field("part", &self.part)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
