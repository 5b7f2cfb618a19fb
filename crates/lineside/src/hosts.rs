//! Agent programs that run `lineside hook HOST` as their hook command: their events on a bus, and its decisions in their
//! words.

mod afterwards;
mod opened;
mod origin;
mod read_call;
mod subagents;
mod waiting;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use lineside_bus::publish::{PublishError, StopBound};
use lineside_bus::session::{OpenSession, OpenSessionError};
use lineside_bus::{Bus, DeferredMessage, Session};
use lineside_core::budget::after;
use lineside_core::envelope::Cause;
use lineside_core::{Append, EventId, Point as _, Receipt, Strength};
use lineside_dialects::hosts::serve::{
    self, CallId, Coming, Derived, Incoming, NextStep, Outcome, Publishing, Reading,
};
use lineside_points::BeforePrompt;
use tokio::sync::Notify;

pub use afterwards::Afterwards;
use opened::{Join, Opened, Prepare, fits, heard_from, whose, within_reach};
use subagents::Subagents;
use waiting::Waiting;

pub use lineside_dialects::hosts::serve::{Holds, HostAnswer, HostCall, silent, unreachable};
pub use lineside_dialects::hosts::{ChangeFate, HOSTS, Host, SERVED, change_fate, install};
#[cfg(feature = "claude")]
pub use lineside_dialects::hosts::{NamePluginError, hooks_in_front_matter, name_plugin};
pub use opened::PrepareSessionError;
pub use origin::{CallOrigin, Confinement, Ownership, WhichAsks};
pub use read_call::ReadCall;

/// Serves agent programs from one bus. Cloning it costs one reference count; all clones know the same sessions.
///
/// ```
/// use lineside::hosts::{Host, HostCall, Hosts};
/// use lineside::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// bus.intercept::<BeforeTool>("no-rm").matching(tool("Shell")).gate(async |_, _cx| Verdict::block("no"))?;
///
/// let stdin = json!({
///     "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/repo",
///     "tool_name": "Bash", "tool_input": {"command": "rm -rf ."},
/// });
/// let call = HostCall {
///     host: Host::Claude,
///     event: None,
///     stdin: stdin.to_string().into_bytes(),
/// };
/// let reply = Hosts::new(bus).answer(call).await?;
/// assert!(reply.answer.stdout.contains(r#""permissionDecision":"deny""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Hosts {
    bus: Bus,
    inner: Arc<Inner>,
    prepare: Option<Arc<Prepare>>,
    join: Option<Arc<Join>>,
}

#[derive(Default)]
struct Inner {
    served: serve::Served,
    opened: Opened,
    subagents: Subagents,
    /// Something was settled or given up.
    changed: Notify,
}

/// A call that was answered.
pub struct HostReply {
    /// What the process prints, and how it exits.
    pub answer: HostAnswer,
    /// The receipts of its events, the first that of the call itself; none for a call that is no event of its own.
    pub receipts: Vec<Arc<Receipt>>,
    /// The work that is left, without a waiter.
    pub afterwards: Afterwards,
}

/// Why a host could not be served. Its gates are closed then, as without a runtime.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeHostError {
    /// Its session cannot be opened.
    #[error(transparent)]
    Session(#[from] OpenSessionError),
    /// Its session cannot be opened as it is to be.
    #[error("failed to prepare the session: {0}")]
    Prepare(#[from] PrepareSessionError),
    /// Its event was not published.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The session that it names is open and not below the one whose process has started it.
    #[error("session `{session}` is not below session `{parent}`, under which the host was started")]
    NotBelow {
        /// The session.
        session: String,
        /// The session whose process has started the host.
        parent: String,
    },
    /// The session that it names, or that of its subagent, is another program's.
    #[error("session `{0}` was opened by another program, and this one does not end it; begin a new session")]
    OfOther(String),
    /// A name in its document is too long to be kept.
    #[error("`{name}` of the host's session has {length} bytes, at most {most} are possible")]
    TooLong {
        /// What it names.
        name: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The longest one.
        most: usize,
    },
}

impl Hosts {
    /// Serves from this bus.
    #[must_use]
    pub fn new(bus: Bus) -> Self {
        lineside_dialects::hosts::declare_points();
        Self { bus, inner: Arc::default(), prepare: None, join: None }
    }

    /// Has every session of a host pass through this before it is opened, with where the process of its call works. Where it fails, the session is not opened and
    /// the gates of the call are closed.
    ///
    /// ```
    /// use lineside::hosts::{Host, HostCall, Hosts};
    /// use lineside::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let hosts = Hosts::new(bus).preparing(async |opening, _work| Ok(opening.project_root("/repo")));
    /// let stdin = json!({
    ///     "hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": "/repo/src", "prompt": "hello",
    /// });
    /// let call = HostCall { host: Host::Claude, event: None, stdin: stdin.to_string().into_bytes() };
    /// let reply = hosts.answer(call).await?;
    /// let session = reply.afterwards.session().expect("its session is open");
    /// assert_eq!(session.source().project_root.as_deref(), Some("/repo"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn preparing<F>(
        mut self,
        prepare: impl Fn(OpenSession, Option<PathBuf>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<OpenSession, PrepareSessionError>> + Send + 'static,
    {
        self.prepare = Some(Arc::new(move |opening, work| Box::pin(prepare(opening, work))));
        self
    }

    /// Has a session of a host pass through this before each of its events, with the folders from which it is heard. Where it
    /// fails, the gates of the call are closed.
    #[must_use]
    pub fn joining<F>(mut self, join: impl Fn(Session, Vec<PathBuf>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), PrepareSessionError>> + Send + 'static,
    {
        self.join = Some(Arc::new(move |session, folders| Box::pin(join(session, folders))));
        self
    }

    /// Answers a call: opens its session, publishes its event, waits for the decision and puts it into the host's
    /// words. A second arrival of one call waits for the first and gets its decision.
    ///
    /// Dropping the future leaves the event undecided; the host has no answer then.
    ///
    /// # Errors
    /// Those of [`ServeHostError`]. [`unreachable()`] is the answer then.
    pub async fn answer(&self, call: HostCall) -> Result<HostReply, ServeHostError> {
        self.answer_from(call, &CallOrigin::default()).await
    }

    /// As [`answer`](Self::answer), with what is known of the call beside its document.
    ///
    /// ```
    /// use lineside::hosts::{CallOrigin, Host, HostCall, Hosts};
    /// use lineside::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let parent = bus.session("outer").open().await?;
    /// let stdin = json!({
    ///     "hook_event_name": "UserPromptSubmit", "session_id": "inner", "cwd": "/repo", "prompt": "hello",
    /// });
    /// let call = HostCall { host: Host::Claude, event: None, stdin: stdin.to_string().into_bytes() };
    /// let mut origin = CallOrigin::default();
    /// origin.parent = Some(parent.clone());
    /// let reply = Hosts::new(bus).answer_from(call, &origin).await?;
    /// let session = reply.afterwards.session().expect("its session is open");
    /// assert!(session.is_below(&parent));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub async fn answer_from(
        &self,
        call: impl Into<ReadCall> + Send,
        origin: &CallOrigin,
    ) -> Result<HostReply, ServeHostError> {
        let arrival = match call.into().0 {
            Reading::Answer(answer) => return Ok(HostReply::of(answer)),
            Reading::Event(arrival) => arrival,
        };
        // What is known of a session of others is not touched.
        if origin.confined == Confinement::ToParent
            && let Some(session) = self.bus.find(&arrival.root())
        {
            within_reach(session, origin)?;
        }
        // It counts while the call waits for one that came before, too.
        let until = origin.within.map(|within| after(tokio::time::Instant::now(), within));
        let mut coming = Coming::from(arrival).held(origin.holds.clone());
        if let Some(parent) = &origin.parent {
            coming = coming.in_tree(parent.source().root_session.as_str().into());
        }
        fits(coming.incoming())?;
        loop {
            let changed = self.inner.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // What changes between the look and the wait is not missed.
            changed.as_mut().enable();
            match self.arrive(self.under(coming)) {
                NextStep::Answer(answer) => return Ok(HostReply::of(answer)),
                NextStep::Publish(publishing) => return self.publish(*publishing, origin, until).await,
                NextStep::Later(again) => coming = *again,
            }
            changed.await;
        }
    }

    /// What holds a session of a host, of whose subagents it is too; `None` where nothing is known of it.
    #[must_use]
    pub fn holds(&self, root: &str) -> Option<Holds> {
        self.inner.served.holds(root)
    }

    /// How many sessions of hosts are remembered, and about how many bytes they take.
    #[must_use]
    pub fn kept(&self) -> (usize, usize) {
        self.inner.served.kept()
    }

    /// Forgets the sessions of hosts that were silent for a day, or are held and were silent for 30 days; calls do so as
    /// well.
    pub fn expire(&self) {
        self.inner.served.expire(Instant::now());
    }

    /// Lets a call pass without any hook, as while hooks are switched off. Gives the answer, and the session of the bus
    /// that the host ends by this call; closing it is left to the caller.
    ///
    /// ```
    /// use lineside::hosts::{Host, HostCall, Hosts};
    /// use lineside::prelude::*;
    ///
    /// let stdin = json!({
    ///     "hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": "/repo", "prompt": "hello",
    /// });
    /// let call = HostCall { host: Host::Claude, event: None, stdin: stdin.to_string().into_bytes() };
    /// let (answer, ended) = Hosts::new(Bus::new()).pass(call);
    /// assert!(answer.exit == 0 && ended.is_none());
    /// ```
    #[must_use]
    pub fn pass(&self, call: HostCall) -> (HostAnswer, Option<Session>) {
        let answer = silent(call.clone());
        let ended = match serve::read(call) {
            Reading::Event(arrival) if arrival.is_end() => match self.arrive(arrival) {
                NextStep::Publish(publishing) => {
                    let session = publishing.session.clone();
                    let settled = self.inner.served.settle(*publishing, &Outcome::default(), &[]);
                    self.inner.changed.notify_waiters();
                    settled.ends.then_some(session)
                }
                NextStep::Answer(_) | NextStep::Later(_) => None,
            },
            _ => None,
        };
        (answer, ended.and_then(|session| self.bus.find(&session)))
    }

    /// Ends a session of a host, and those of its subagents with it. What they run in the background has its own time.
    ///
    /// Cancel safe: all of them are closed at the first poll.
    pub async fn end(&self, session: &Session) {
        self.inner.subagents.end(session).await;
    }

    fn arrive(&self, coming: impl Into<Coming>) -> NextStep {
        self.inner.served.arrive(coming, Instant::now())
    }

    /// A call that may have come before, with the hooks that its session is under.
    fn under(&self, coming: Coming) -> Coming {
        let session = self.bus.find(&coming.incoming().session());
        coming.under(session.map(|session| session.generation()))
    }

    async fn publish(
        &self,
        mut publishing: Publishing,
        origin: &CallOrigin,
        until: Option<tokio::time::Instant>,
    ) -> Result<HostReply, ServeHostError> {
        let guard = Undecided { inner: &self.inner, what: Some(publishing.if_abandoned()) };
        let session = self.session(&publishing, origin).await?;
        if let Some(join) = &self.join {
            if let Some(root) = self.bus.find(&publishing.incoming.root)
                && !origin.projects.is_empty()
            {
                join(root, origin.projects.clone()).await?;
            }
            join(session.clone(), heard_from(&publishing.incoming, origin)).await?;
        }
        // Read before the event is under them: a hook that is registered meanwhile may not have judged it.
        publishing.under = Some(session.generation());
        let asks =
            origin.asks.as_ref().filter(|(_, which)| *which == WhichAsks::All || !publishing.can_ask());
        let answered = |event: AnyPublication| match asks {
            Some((approver, _)) => event.answered_by(Arc::clone(approver)),
            None => event,
        };
        // The host is answered as the hooks have decided; what becomes of that there is in the receipt.
        let (refused, decided) = (publishing.refused(), Arc::new(OnceLock::new()));
        let kept = Arc::clone(&decided);
        let event = answered(self.event(&session, &publishing)).carried_out(Arc::new(move |receipt| {
            let is_plain = receipt.changes.is_empty() && receipt.verdict.strength() != Strength::Ask;
            (!is_plain).then(|| refused(kept.get_or_init(|| Outcome::of(receipt))))?
        }));
        let receipt = timed(event, origin, until).publish_any().await?;
        let mut outcome = decided.get().cloned().unwrap_or_else(|| Outcome::of(&receipt));
        let mut receipts = vec![receipt];
        if let Some(derived) = publishing.folded(&outcome)
            && let Some(payload) = payload(&derived)
        {
            let cause = Cause { event: receipts[0].event.envelope().id, depth: 0 };
            let folded = answered(session.any_event(payload).cause(cause));
            let folded = timed(folded, origin, until).publish_any().await?;
            outcome.fold(Outcome::of(&folded));
            receipts.push(folded);
        }
        let own: Vec<EventId> = receipts.iter().map(|receipt| receipt.event.envelope().id).collect();
        let is_prompt = publishing.incoming.point.name == BeforePrompt::INFO.name;
        let results = &receipts[0].results;
        let waiting = Waiting::of(&session, publishing.host(), &own, is_prompt, results);
        outcome.context = waiting.own.clone();
        let settled = guard.settle(|served| served.settle(publishing, &outcome, &waiting.earlier));
        for line in &settled.log {
            tracing::info!(session = %session.id(), "{line}");
        }
        waiting.end(settled.context, &own);
        if settled.is_blocked && !results.is_empty() {
            // They are in the answer now, and are not delivered once more. Those of a subagent wait in its own mailbox.
            let child = receipts[0].event.payload().text("child_session").map(|child| self.bus.find(child));
            let stops = child.flatten().unwrap_or_else(|| session.clone());
            waiting::accept(&stops, |message| results.contains(&message.id));
        }
        if let Some(receipt) = receipts.first() {
            self.wait_on(&session, receipt, settled.waits);
        }
        let afterwards = Afterwards {
            session: Some((self.clone(), session)),
            derived: settled.after,
            cause: own.first().copied(),
            ends: settled.ends,
        };
        Ok(HostReply { answer: settled.answer, receipts, afterwards })
    }

    /// Has texts wait for an event that can carry them, behind the context of their own event.
    fn wait_on(&self, session: &Session, receipt: &Receipt, texts: Vec<String>) {
        let author = receipt.author.and_then(|by| receipt.hooks.get(usize::try_from(by).ok()?));
        let (hook, dialect) = match author {
            Some(hook) => (Arc::clone(&hook.name), hook.dialect),
            None => (Arc::from("lineside"), "native"),
        };
        for text in texts {
            let envelope = receipt.event.envelope();
            let late = DeferredMessage {
                hook: Arc::clone(&hook),
                dialect,
                point: receipt.event.point().name.into(),
                event: envelope.id,
                seq: envelope.seq,
                id: None,
                append: Append::system(text),
                keeps_working: false,
            };
            // What becomes of one that does not fit is signalled and counted there.
            let _posted = self.bus.deliver(session.id(), late);
        }
    }

    /// The session of an event, opened if it is not open.
    async fn session(&self, publishing: &Publishing, origin: &CallOrigin) -> Result<Session, ServeHostError> {
        if let Some(session) = self.opened(&publishing.session) {
            return within_reach(session, origin);
        }
        let incoming = &publishing.incoming;
        let root = self.root(incoming, origin).await?;
        if origin.owns.is_some()
            && let Some(child) = incoming.payload.text("child_session").and_then(|child| self.bus.find(child))
            && !self.inner.opened.has(&child)
        {
            let child = within_reach(child, origin)?;
            whose(&child, origin)?;
            self.end_stranger(&child).await;
        }
        match (&publishing.parent, &publishing.agent) {
            (Some(_), Some(agent)) => {
                let opening = || {
                    let opening = root.subagent(publishing.session.as_str());
                    about(opening, incoming, origin).agent(agent.clone())
                };
                // A name below that of the host is the host's.
                let owns = |session: &Session| {
                    within_reach(session.clone(), origin)?;
                    whose(session, origin)?;
                    Ok(origin.owns.is_none())
                };
                let subagent = self.open(&publishing.session, origin, opening, owns).await?;
                if !self.inner.subagents.keep(&root, &subagent) {
                    subagent.close().await;
                    return Err(OpenSessionError::ParentClosed(root.id().clone()).into());
                }
                Ok(subagent)
            }
            _ => Ok(root),
        }
    }

    fn event(&self, session: &Session, publishing: &Publishing) -> AnyPublication {
        let Incoming { payload, cwd, project_root, model, time, .. } = &publishing.incoming;
        let source = session.source();
        let extra = publishing.incoming.as_written();
        let mut event = session.any_event(Arc::clone(payload)).extra(extra).stops(StopBound::Publisher);
        if let Some(verdict) = &publishing.decided {
            event = event.decided(verdict.clone());
        }
        if let Some(cwd) = cwd.as_deref().filter(|cwd| source.cwd.as_deref() != Some(cwd)) {
            event = event.cwd(cwd);
        }
        if let Some(root) =
            project_root.as_deref().filter(|root| source.project_root.as_deref() != Some(root))
        {
            event = event.project_root(root);
        }
        if let Some(model) = model.clone().filter(|model| source.model.as_ref() != Some(model)) {
            event = event.model(model);
        }
        match time {
            Some(time) => event.time(*time),
            None => event,
        }
    }
}

/// What all events of a session share.
fn about(opening: OpenSession, incoming: &Incoming, origin: &CallOrigin) -> OpenSession {
    let mut opening = opening.host(incoming.host.name());
    if let Some(connection) = &origin.connection {
        opening = opening.connection(Arc::clone(connection));
    }
    if let Some(attribution) = origin.attribution {
        opening = opening.attribution(attribution);
    }
    if let Some(cwd) = &incoming.cwd {
        opening = opening.cwd(cwd.as_str());
    }
    if let Some(root) = &incoming.project_root {
        opening = opening.project_root(root.as_str());
    }
    if let Some(model) = &incoming.model {
        opening = opening.model(model.clone());
    }
    opening
}

/// An event of any point, to be published.
type AnyPublication = lineside_bus::publish::Publication<Arc<dyn lineside_core::Payload>>;

/// An event with what is known of its call.
fn timed(event: AnyPublication, origin: &CallOrigin, until: Option<tokio::time::Instant>) -> AnyPublication {
    let event = match until {
        Some(until) => event.within(until.saturating_duration_since(tokio::time::Instant::now())),
        None => event,
    };
    match &origin.connection {
        Some(connection) => event.connection(Arc::clone(connection)),
        None => event,
    }
}

fn payload(derived: &Derived) -> Option<Arc<dyn lineside_core::Payload>> {
    let point = lineside_points::find(derived.point).ok()?;
    (point.decode)(point, derived.payload.clone()).ok()
}

/// Lets others go on if the event is never decided.
struct Undecided<'a> {
    inner: &'a Inner,
    what: Option<(String, Option<CallId>, bool)>,
}

impl Undecided<'_> {
    fn settle<T>(mut self, settle: impl FnOnce(&serve::Served) -> T) -> T {
        self.what = None;
        let settled = settle(&self.inner.served);
        self.inner.changed.notify_waiters();
        settled
    }
}

impl Drop for Undecided<'_> {
    fn drop(&mut self) {
        if let Some((root, call, is_start)) = self.what.take() {
            self.inner.served.abandon(&root, call, is_start);
            self.inner.changed.notify_waiters();
        }
    }
}

impl HostReply {
    fn of(answer: HostAnswer) -> Self {
        Self { answer, receipts: Vec::new(), afterwards: Afterwards::default() }
    }
}

#[cfg(all(test, feature = "claude"))]
mod tests;
