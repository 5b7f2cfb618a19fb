//! Questions of hooks that no agent program puts to a person: they wait here until a person answers, or their time is over.
//!
//! A question waits in the future of its event: it has no thread, no task and no lock. What is kept of it here is a view of
//! bounded length and the way by which the answer goes. Who may answer is for [`caller`](crate::caller); how a question
//! comes here for [`call`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::Bus;
use lineside::core::event::digest_of;
use lineside::core::{Approval, ApprovalScope, Timestamp, Verdict};
use lineside::dialects::native::{ApprovalSettings, Unanswered};
use lineside::json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::settings::Settings;
use crate::shares::{Share, Shares, Tree};

pub(crate) mod call;
pub(crate) mod granted;
mod notifier;
mod recorded;
pub(crate) mod view;

use granted::{Granted, Rule};
use notifier::Notifier;
use recorded::{Answer, Record, Recorded};
use view::View;

/// How many questions wait at once; what an agent has started has an eighth of that.
pub(crate) const MOST: usize = 256;
/// Of how many questions that are over it is remembered what became of them.
const OVER: usize = 256;

/// The questions of a daemon.
pub(crate) struct Approvals {
    settings: Option<ApprovalSettings>,
    kept: Mutex<Kept>,
    granted: Granted,
    recorded: Recorded,
    shares: Shares,
    notifier: Notifier,
    bus: Bus,
    ending: CancellationToken,
}

#[derive(Default)]
struct Kept {
    waiting: BTreeMap<Arc<str>, Pending>,
    /// The ids of those that are over, the oldest first, each with what became of it.
    over: VecDeque<(Arc<str>, &'static str)>,
}

/// A question that waits.
struct Pending {
    view: View,
    until: Instant,
    record: Option<Record>,
    /// What an answer for more than this question is remembered by.
    of: granted::Of,
    answer: oneshot::Sender<Answer>,
    /// Its part of what its tree of processes has.
    _share: Option<Share>,
}

/// A question that was taken, for the future that waits for its answer.
struct Taken {
    id: Arc<str>,
    answer: oneshot::Receiver<Answer>,
    call: Option<Arc<str>>,
    /// When it was asked first, in milliseconds since 1970.
    asked: i64,
    until: Instant,
}

/// What a person says.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) is_allowed: bool,
    pub(crate) scope: ApprovalScope,
    pub(crate) pattern: Option<String>,
    /// Why, for the agent.
    pub(crate) reason: Option<String>,
    /// Who it is.
    pub(crate) by: String,
}

/// Why an answer counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerQuestionError {
    #[error("no question `{0}` waits; `lineside approvals` lists those that do")]
    Unknown(String),
    #[error("question `{id}` is over: {how}")]
    Over { id: String, how: &'static str },
    #[error("{0}")]
    Pattern(String),
}

/// Why there is no place for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Approvals {
    /// Those that a state folder has records of, as far as they are for questions that may be asked again.
    pub(crate) fn of(
        settings: &Settings,
        bus: &Bus,
        (tracker, ending): (&TaskTracker, &CancellationToken),
    ) -> Self {
        let (folder, settings) = (settings.state.join("approvals"), settings.approvals.clone());
        Self {
            notifier: Notifier::of(settings.as_ref(), tracker, ending),
            settings,
            kept: Mutex::default(),
            granted: Granted::of(&folder),
            recorded: Recorded::of(&folder, bus.wall_clock()),
            shares: Shares::of(MOST),
            bus: bus.clone(),
            ending: ending.clone(),
        }
    }

    /// What the user has set; `None` where no question waits.
    pub(crate) fn settings(&self) -> Option<&ApprovalSettings> {
        self.settings.as_ref()
    }

    /// Takes a question, which waits until then. `call` is what its call is known by when it comes again to another daemon:
    /// one that has asked the same there has its id, and what was answered meanwhile.
    fn take(
        &self,
        mut view: View,
        of: granted::Of,
        call: Option<&Arc<str>>,
        (until, tree): (Instant, Option<Tree>),
    ) -> Result<Result<Taken, Box<Approval>>, NoRoom> {
        let now = self.bus.wall_clock();
        let left = until.saturating_duration_since(Instant::now());
        let key = call.map(|call| key(call, &view, &of));
        let before = call.zip(key.as_ref()).and_then(|(call, key)| self.recorded.take(call, key, now));
        if let Some(Record { answer: Some(answer), id, asked, .. }) = before {
            return Ok(Err(Box::new(self.approval(id.into(), answer, asked, now))));
        }
        let share = tree.map(|tree| self.shares.take(tree, 1).ok_or(NoRoom)).transpose()?;
        let id: Arc<str> = {
            let kept = self.kept();
            if kept.waiting.len() >= MOST {
                return Err(NoRoom);
            }
            match &before {
                Some(record) if !kept.waiting.contains_key(&*record.id) => record.id.as_str().into(),
                _ => kept.new_id(),
            }
        };
        // What has waited before counts.
        let ends =
            before.as_ref().map_or(now.as_millisecond().saturating_add(millis(left)), |record| record.until);
        let left =
            left.min(Duration::from_millis(u64::try_from(ends - now.as_millisecond()).unwrap_or_default()));
        let asked = before.as_ref().map_or(now.as_millisecond(), |record| record.asked);
        view.set((&id, asked));
        let record = key.map(|key| Record { id: id.to_string(), key, asked, until: ends, answer: None });
        // The disk is written without the lock, and before anything can be answered.
        if let (Some(call), Some(record)) = (call, &record) {
            self.recorded.put(call, record);
        }
        let (sender, receiver) = oneshot::channel();
        let until = Instant::now() + left;
        let shown = view.clone();
        let pending = Pending { view, until, record, of, answer: sender, _share: share };
        if !self.kept().add(&id, pending) {
            call.into_iter().for_each(|call| self.recorded.remove(call));
            return Err(NoRoom);
        }
        self.notifier.tell(&shown, left);
        Ok(Ok(Taken { id, answer: receiver, call: call.cloned(), asked, until }))
    }

    /// A person has answered. The first answer counts.
    ///
    /// # Errors
    /// Nothing of that id waits, or the answer cannot be remembered as it is to be.
    pub(crate) fn answer(&self, id: &str, said: &Said) -> Result<View, AnswerQuestionError> {
        let over = |how| AnswerQuestionError::Over { id: id.to_owned(), how };
        let pending = {
            let mut kept = self.kept();
            let Some(pending) = kept.waiting.get(id) else {
                let how = kept.over.iter().rev().find(|(known, _)| &**known == id).map(|(_, how)| *how);
                return Err(
                    how.map_or_else(|| AnswerQuestionError::Unknown(id.chars().take(64).collect()), over)
                );
            };
            if let Some(pattern) = said.pattern.as_deref().filter(|_| said.scope == ApprovalScope::Pattern) {
                pending.of.check(pattern).map_err(AnswerQuestionError::Pattern)?;
            }
            match kept.end(id, "it was answered") {
                Some(pending) => pending,
                None => return Err(over("it was answered")),
            }
        };
        let Pending { view, record, of, answer, .. } = pending;
        let given = Answer {
            is_allowed: said.is_allowed,
            by: said.by.clone(),
            at: self.bus.wall_clock().as_millisecond(),
            scope: said.scope,
            reason: said.reason.clone(),
        };
        if let (Some(call), Some(record)) = (view.call(), record) {
            // On record before it is said to have been taken: a kill of the daemon at any later moment does not lose it.
            self.recorded.put(&call, &Record { answer: Some(given.clone()), ..record });
        }
        if answer.send(given.clone()).is_err() {
            // The same call is asked about anew, unless it waits for the next daemon.
            if let Some(call) = view.call().filter(|_| !self.ending.is_cancelled()) {
                self.recorded.remove(&call);
            }
            return Err(over("its agent no longer waits"));
        }
        self.granted.grant(id, &of, said, &given);
        Ok(view)
    }

    /// What waits, the oldest first, each with the time that is left.
    pub(crate) fn list(&self) -> Vec<(View, Duration)> {
        let now = Instant::now();
        let kept = self.kept();
        let view = |pending: &Pending| (pending.view.clone(), pending.until.saturating_duration_since(now));
        let mut all: Vec<_> = kept.waiting.values().map(view).collect();
        drop(kept);
        all.sort_by_key(|(view, _)| view.asked());
        all
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.kept().waiting.len()
    }

    /// The answers for patterns.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        self.granted.rules()
    }

    /// Takes an answer for a pattern back; whether there was one.
    pub(crate) fn forget_rule(&self, id: &str) -> bool {
        self.granted.forget_rule(id)
    }

    /// A session is over, and the answers for it.
    pub(crate) fn forget(&self) {
        self.granted.forget();
    }

    /// A question that was answered before, for the session or a pattern.
    fn granted(&self, of: &granted::Of) -> Option<Approval> {
        let (id, answer) = self.granted.find(of)?;
        let now = self.bus.wall_clock();
        let mut approval = self.approval(id, answer, now.as_millisecond(), now);
        approval.by = format!("an earlier answer of {}", approval.by).into();
        Some(approval)
    }

    fn approval(&self, id: Arc<str>, answer: Answer, asked: i64, now: Timestamp) -> Approval {
        let Answer { is_allowed, by, at, scope, reason } = answer;
        let verdict = if is_allowed {
            Verdict::allow_because(reason.unwrap_or_else(|| format!("approved by {by}")))
        } else {
            Verdict::block(reason.map_or_else(
                || "a person has denied this".to_owned(),
                |reason| format!("a person has denied this: {reason}"),
            ))
        };
        let waited = u64::try_from(now.as_millisecond().saturating_sub(asked)).unwrap_or_default();
        let at = Timestamp::from_millisecond(at).unwrap_or(now);
        Approval { id, verdict, by: by.into(), at, scope, waited: Duration::from_millis(waited) }
    }

    /// A question that is not put, for this reason.
    fn refused(&self, why: &'static str) -> Approval {
        let (by, at) = ("no one: it was not put".into(), self.bus.wall_clock());
        let (id, scope) = ("".into(), ApprovalScope::Once);
        Approval { id, verdict: Verdict::block(why), by, at, scope, waited: Duration::ZERO }
    }

    /// No answer has come.
    fn unanswered(&self, id: Arc<str>, waited: Duration) -> Approval {
        let default = self.settings.as_ref().map_or(Unanswered::Block, |settings| settings.default);
        let seconds = waited.as_secs();
        let verdict = match default {
            Unanswered::Block => Verdict::block(format!(
                "a person has to approve this, and no answer came within {seconds} s, so it was denied; while the call is \
                 made again, a person answers with: lineside approvals"
            )),
            Unanswered::Ask => Verdict::ask(format!("no answer came within {seconds} s")),
        };
        let (by, at) = ("no one: its time was over".into(), self.bus.wall_clock());
        Approval { id, verdict, by, at, scope: ApprovalScope::Once, waited }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn new_id(&self) -> Arc<str> {
        loop {
            let id: Arc<str> = format!("{:08x}", Uuid::new_v4().as_fields().0).into();
            if !self.waiting.contains_key(&id) && self.over.iter().all(|(known, _)| *known != id) {
                return id;
            }
        }
    }

    /// A further one, where there is room.
    fn add(&mut self, id: &Arc<str>, pending: Pending) -> bool {
        let has_room = self.waiting.len() < MOST;
        if has_room {
            self.waiting.insert(Arc::clone(id), pending);
        }
        has_room
    }

    fn end(&mut self, id: &str, how: &'static str) -> Option<Pending> {
        let (id, pending) = self.waiting.remove_entry(id)?;
        while self.over.len() >= OVER {
            self.over.pop_front();
        }
        self.over.push_back((id, how));
        Some(pending)
    }
}

/// What a question is known by when its call comes again: the call, and everything that the answer is about.
fn key(call: &str, view: &View, of: &granted::Of) -> String {
    let whole = json!({
        "call": call, "session": view.text("session"), "point": view.text("point"), "payload": of.digest(),
        "hooks": of.hooks().map(|hook| json!([hook.name, hook.file])).collect::<Vec<Value>>(),
    });
    whole.as_object().map(digest_of).unwrap_or_default()
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
