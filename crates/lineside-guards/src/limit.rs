//! How often something may happen before the verdict of a hook is given.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lineside_core::control::KeyTemplate;
use lineside_core::payload::Point as _;
use lineside_core::{AnyEvent, EventId, Phase, SessionId, Timestamp};
use lineside_points::AfterSession;

/// The most events of one key that a limit may let pass.
pub const MOST: u32 = 1_000;

/// For how many keys events are counted at the same time.
const KEYS: usize = 1_024;

/// The longest key, in bytes; of a longer one its beginning counts.
const LONGEST: usize = 256;

/// How long a call counts as under way at most, of which no end was heard.
pub const LONGEST_CALL: Duration = Duration::from_secs(60 * 60);

/// So many events in so long a time, or so many calls at once, for each key. What passes it is what the verdict is about.
///
/// The time of an event is its own, so a machine under load decides the same. Events that were counted are forgotten when
/// the time has passed; a key for which there is no room counts as one that is past its limit.
#[derive(Debug)]
pub struct Limit {
    most: usize,
    per: Duration,
    key: KeyTemplate,
    counts: Counts,
    /// Made by the first event, unless it goes on with that of an earlier one.
    passed: OnceLock<Arc<Mutex<ByKey>>>,
}

/// What was counted, by key.
type ByKey = HashMap<String, VecDeque<Passed>>;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Events,
    /// Events of which the end has not been heard.
    Calls,
}

/// An event that was counted.
#[derive(Debug)]
struct Passed {
    at: Timestamp,
    event: EventId,
    session: SessionId,
    call: Call,
}

/// What a call is known by: the host's id, and the tool.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    id: Option<Box<str>>,
    tool: Option<Box<str>>,
}

impl Call {
    fn of(event: &AnyEvent) -> Self {
        let text = |field| event.payload().text(field).map(Box::from);
        Self { id: text("tool_call_id"), tool: text("tool_name") }
    }

    /// Whether an end can be that of this call.
    fn ends_with(&self, end: &Self) -> bool {
        match (&self.id, &end.id) {
            (Some(own), Some(other)) => own == other,
            _ => self.tool == end.tool,
        }
    }
}

impl Limit {
    /// At most so many events, and [`MOST`], in this time, for each key.
    #[must_use]
    pub fn new(most: u32, per: Duration, key: KeyTemplate) -> Self {
        let most = most.min(MOST) as usize;
        Self { most, per, key, counts: Counts::Events, passed: OnceLock::new() }
    }

    /// At most so many calls, and [`MOST`], at once, for each key: from the event before one to the one that
    /// [ends](lineside_points::ends) it, to the end of its session, or for so long.
    #[must_use]
    pub fn at_once(most: u32, longest: Duration, key: KeyTemplate) -> Self {
        Self { counts: Counts::Calls, ..Self::new(most, longest, key) }
    }

    /// Goes on with what an earlier one has counted, if it is the same limit, and this one has counted nothing yet: both count
    /// together from then on. So a limit does not begin anew when its file is loaded again.
    pub fn go_on_from(&self, earlier: &Self) {
        let Self { most, per, key, counts, passed } = self;
        if (most, per, key, counts) == (&earlier.most, &earlier.per, &earlier.key, &earlier.counts) {
            // One that has counted already is the earlier one itself, or goes on with another.
            passed.set(Arc::clone(earlier.shared())).ok();
        }
    }

    /// Whether it has to hear how calls end.
    #[must_use]
    pub fn hears_ends(&self) -> bool {
        self.counts == Counts::Calls
    }

    /// Whether an event is one too many; else it is counted. One that is asked about once more, because it was amended,
    /// counts once.
    #[must_use]
    pub fn is_past(&self, event: &AnyEvent) -> bool {
        let mut key = String::new();
        self.key.render(event, &mut key);
        key.truncate(key.floor_char_boundary(LONGEST));
        let (now, id) = (event.envelope().time, event.envelope().id);
        let mut passed = self.passed();
        if !passed.contains_key(&key) && passed.len() >= KEYS {
            passed.retain(|_, events| events.back().is_some_and(|last| self.counts_at(last.at, now)));
            if passed.len() >= KEYS {
                return true;
            }
        }
        let events = passed.entry(key).or_default();
        if events.iter().any(|counted| counted.event == id) {
            return false;
        }
        while events.front().is_some_and(|first| !self.counts_at(first.at, now)) {
            events.pop_front();
        }
        if events.len() >= self.most {
            return true;
        }
        let session = event.envelope().source.session.clone();
        events.push_back(Passed { at: now, event: id, session, call: Call::of(event) });
        false
    }

    /// Whether an event ends a call, or its session and all calls of it, and is no call itself. The call that it ends no
    /// longer counts.
    pub(crate) fn hears_end(&self, event: &AnyEvent) -> bool {
        if !self.hears_ends() || event.point().phase == Phase::Before {
            return false;
        }
        let (session, end) = (&event.envelope().source.session, Call::of(event));
        let mut passed = self.passed();
        if event.point() == AfterSession::INFO {
            let_go(&mut passed, |call| call.session != *session);
            return true;
        }
        let is_it = |call: &Passed| call.session == *session && call.call.ends_with(&end);
        let ended = passed.values().flatten().filter(|call| is_it(call)).min_by_key(|call| call.at);
        if let Some(ended) = ended.map(|call| call.event) {
            let_go(&mut passed, |call| call.event != ended);
        }
        true
    }

    /// Lets go of the calls of sessions that are no longer open.
    pub fn forget(&self, is_open: &dyn Fn(&SessionId) -> bool) {
        if self.hears_ends() {
            let_go(&mut self.passed(), |call| is_open(&call.session));
        }
    }

    fn shared(&self) -> &Arc<Mutex<ByKey>> {
        self.passed.get_or_init(Arc::default)
    }

    fn passed(&self) -> MutexGuard<'_, ByKey> {
        self.shared().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an event of then counts now.
    fn counts_at(&self, then: Timestamp, now: Timestamp) -> bool {
        let since = now.as_millisecond().saturating_sub(then.as_millisecond());
        i128::from(since) < i128::try_from(self.per.as_millis()).unwrap_or(i128::MAX)
    }
}

fn let_go(passed: &mut ByKey, stays: impl Fn(&Passed) -> bool) {
    passed.retain(|_, calls| {
        calls.retain(|call| stays(call));
        !calls.is_empty()
    });
}
