//! What all requests share: the bus with its hooks, what happened lately, deliveries that are out, and the switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use axum::http::StatusCode;
use lineside::assembly::LoadReport;
use lineside::automation::Automations;
use lineside::automation::jobs::WhichState;
use lineside::bus::session::OpenSession;
use lineside::claims::Claims;
use lineside::core::{AttributedBy, Receipt, SessionId};
use lineside::hosts::{Hosts, PrepareSessionError};
use lineside::wire::Vocabulary;
use lineside::{Assembly, Bus, Durable, Session};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::Agents;
use crate::approvals::Approvals;
use crate::aside::Aside;
use crate::attachments::Attachments;
use crate::closed::{Closed, OpenedBy};
use crate::cluster::{self, Membership};
use crate::dashboard::Dashboard;
use crate::deliveries::Deliveries;
use crate::feed::{Feed, Most};
use crate::grants::Grants;
use crate::mismatches::Mismatches;
use crate::observers::Observer;
use crate::preparing::Preparing;
use crate::problem::Problem;
use crate::projects::Projects;
use crate::room::Room;
use crate::settings::{Limits, Settings};
use crate::shares::{Sessions, Shares};
use crate::switch::{Switch, Watched as WatchedSwitch};
use crate::telemetry::Telemetry;
use crate::texts::Texts;
use crate::trace;
use crate::watch::{Changes, Watching};
use crate::whole::LeftBehind;

mod here;
mod loading;
mod opening;
mod refused;

pub(crate) use opening::Opening;
use refused::{cannot_open, closed, not_entered};
pub(crate) use refused::{too_deep, too_many};

/// How many sessions to be looked at are opened at once: one by what an agent has started, whose next one waits for that. The
/// project of each may be a stranger's, and long.
const PASSING: usize = 8;

/// A running daemon, apart from how it is reached.
pub(crate) struct Daemon {
    pub(crate) settings: Settings,
    pub(crate) assembly: Assembly,
    pub(crate) automations: Automations,
    /// What is closed at the end.
    pub(crate) durable: Arc<Durable>,
    feed: Feed,
    /// The texts of large signals.
    pub(crate) texts: Texts,
    pub(crate) deliveries: Deliveries,
    pub(crate) switch: WatchedSwitch,
    pub(crate) grants: Grants,
    /// The other machines, where there are some.
    pub(crate) cluster: Membership,
    pub(crate) attachments: Attachments,
    /// The processes of the agent programs that are served.
    pub(crate) agents: Agents,
    /// What the trees of processes have of all sessions.
    pub(crate) sessions: Sessions,
    pub(crate) preparing: Preparing,
    /// The agent programs that are served in their own words.
    pub(crate) hosts: Hosts,
    /// What requests start that outlives them.
    pub(crate) tracker: TaskTracker,
    pub(crate) mismatches: Mismatches,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) started: Instant,
    /// Cancelled when the daemon is to end.
    pub(crate) ending: CancellationToken,
    /// Cancelled when connections are not waited for any more.
    pub(crate) cut: CancellationToken,
    pub(crate) counts: Counts,
    loaded: ArcSwap<Loaded>,
    /// What is claimed of background work.
    pub(crate) claims: Claims,
    /// The projects of the sessions.
    pub(crate) projects: Projects,
    /// One load at a time.
    loading: AsyncMutex<Watching>,
    /// What is noticed of hook files.
    pub(crate) changes: Arc<Changes>,
    /// Sessions that were closed; an event does not open them again by itself.
    closed: Arc<Closed>,
    /// The memory that bodies share.
    pub(crate) room: Arc<Room>,
    /// Where large bodies are worked at.
    pub(crate) aside: Aside,
    /// The same for what is looked at: lists, and signals that are searched.
    pub(crate) looks: Aside,
    /// The sessions that are opened to be looked at.
    pub(crate) passing: Shares,
    /// Of those that wait until the log has everything.
    pub(crate) flushing: Arc<Semaphore>,
    /// Questions of hooks that wait for a person.
    pub(crate) approvals: Approvals,
    /// What hears everything that is decided.
    pub(crate) observers: Vec<Arc<Observer>>,
    /// What is sent to a collector.
    pub(crate) telemetry: Telemetry,
    /// The pages for a person.
    pub(crate) dashboard: Dashboard,
    /// What goes on without its publishers.
    pub(crate) left_behind: Arc<LeftBehind>,
}

/// What was loaded last.
#[derive(Default)]
pub(crate) struct Loaded {
    /// Which load it was, from 1.
    pub(crate) generation: u64,
    pub(crate) report: Arc<LoadReport>,
}

impl Loaded {
    /// How many hooks are in force, each counted once.
    pub(crate) fn count(&self) -> usize {
        self.report.in_force()
    }
}

/// What the daemon counts of itself.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) problems: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) deliveries_returned: AtomicU64,
}

impl Counts {
    pub(crate) fn one(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Daemon {
    /// How many jobs are in this state.
    pub(crate) fn jobs(&self, state: WhichState) -> usize {
        self.automations.jobs().count(state)
    }

    pub(crate) fn new(
        mut settings: Settings,
        assembly: Assembly,
        automations: Automations,
        durable: Durable,
    ) -> Self {
        let Limits { signals, receipts, lately: bytes, .. } = settings.limits;
        let most = Most { signals, receipts, bytes };
        let closed = Arc::<Closed>::default();
        let left_behind = Arc::new(LeftBehind::new(settings.limits.left_behind, assembly.bus().clone()));
        let claims = Claims::new(Some(automations.clone()), &LoadReport::default());
        let (tracker, ending) = (TaskTracker::new(), CancellationToken::new());
        let now = assembly.bus().wall_clock();
        let (observers, wrong) = Observer::all(&settings.observe, &settings.state, now);
        let (telemetry, also) = Telemetry::of(&settings);
        let unable = cluster::missing(settings.cluster.as_ref());
        settings.findings.extend(wrong.into_iter().chain(also).chain(unable));
        let approvals = Approvals::of(&settings, assembly.bus(), (&tracker, &ending));
        let projects = Projects::new(&assembly, &settings, &claims, &tracker, &ending);
        // What a host opens again is open; an answer that comes late says nothing of that.
        let (opens, entered, joined) = (Arc::clone(&closed), projects.clone(), projects.clone());
        Self {
            switch: WatchedSwitch::new(Switch::of(&settings.state).or_beside(&settings.socket)),
            vocabulary: Vocabulary::new(&settings.dialects),
            feed: Feed::new(assembly.bus(), most).written_to(settings.open_log()),
            room: Arc::new(Room::new(settings.limits.memory)),
            agents: Agents::of(&settings.state, settings.starts_hooks_alone, &tracker),
            sessions: Sessions::of(assembly.bus()),
            settings,
            hosts: Hosts::new(assembly.bus().clone())
                .preparing(move |opening, work| {
                    opens.forget(opening.source().session.as_str());
                    let entered = entered.clone();
                    async move {
                        let opening = entered.enter(with_trace(opening), work.as_deref()).await;
                        opening.map_err(|error| PrepareSessionError(error.to_string()))
                    }
                })
                .joining(move |session, works| {
                    let joined = joined.clone();
                    async move {
                        let joined = joined.join(&session, &works).await;
                        joined.map_err(|error| PrepareSessionError(error.to_string()))
                    }
                }),
            assembly,
            automations,
            durable: Arc::new(durable),
            texts: Texts::default(),
            deliveries: Deliveries::default(),
            grants: Grants::default(),
            cluster: Membership::default(),
            attachments: Attachments::default(),
            preparing: Preparing::default(),
            tracker,
            mismatches: Mismatches::default(),
            started: Instant::now(),
            ending,
            cut: CancellationToken::new(),
            counts: Counts::default(),
            loaded: ArcSwap::default(),
            claims,
            loading: AsyncMutex::new(Watching::new(projects.watcher(), "hook files")),
            projects,
            changes: Arc::default(),
            closed,
            approvals,
            observers,
            telemetry,
            aside: Aside::default(),
            looks: Aside::default(),
            passing: Shares::of(PASSING),
            flushing: Arc::new(Semaphore::new(1)),
            dashboard: Dashboard::default(),
            left_behind,
        }
    }

    /// Says that hooks were switched off or on, once.
    pub(crate) fn say_switched(&self) {
        if let Some(notice) = self.switch.turned() {
            self.bus().announce(notice);
        }
    }

    pub(crate) fn bus(&self) -> &Bus {
        self.assembly.bus()
    }

    /// What was loaded last.
    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        self.loaded.load_full()
    }

    /// What has happened lately, up to now.
    pub(crate) fn feed(&self) -> &Feed {
        self.feed.hear(|session| self.forget(session));
        &self.feed
    }

    /// What the pages look at.
    pub(crate) fn for_pages(&self) -> (&Feed, &Bus, &Approvals) {
        (self.feed(), self.bus(), &self.approvals)
    }

    /// A session is over.
    fn forget(&self, session: &SessionId) {
        // What it leaves may be let go of here: the hooks of others on it stay as long as that.
        if self.bus().find(session.as_str()).is_none() {
            self.agents.forget(session.as_str());
        }
        self.grants.forget(session);
        self.attachments.forget(session);
        self.cluster.forget(self, session);
        self.approvals.forget();
    }

    /// An open session.
    ///
    /// # Errors
    /// It is not open.
    pub(crate) fn session(&self, id: &str) -> Result<Session, Problem> {
        self.bus().find(id).ok_or_else(|| Problem::no_session(id))
    }

    /// Opens a session; its parent must be open.
    ///
    /// # Errors
    /// The id is empty or taken, the parent is not open, or the daemon is ending.
    pub(crate) async fn open(&self, asked: Opening) -> Result<Session, Problem> {
        self.open_with(asked, || ()).await.map(|(session, ())| session)
    }

    /// The same. What goes with the session is made when everything was waited for that takes time, such as a project that is
    /// loaded, and before any event finds the session.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) async fn open_with<T>(
        &self,
        mut asked: Opening,
        made: impl FnOnce() -> T,
    ) -> Result<(Session, T), Problem> {
        asked.check()?;
        let opening = match &asked.parent {
            None => self.sessions.root(&asked.id, asked.tree),
            Some(parent) if asked.above.is_some() && *parent == asked.id => {
                return Err(
                    Problem::bad_request(format!("session `{parent}` cannot be below itself")).blocks()
                );
            }
            Some(parent) => {
                let parent = asked.above.take().map_or_else(|| self.session(parent), Ok)?;
                asked.works_here_below(&parent);
                parent.subagent(asked.id.as_str())
            }
        };
        let opening = match &asked.traceparent {
            Some(given) => opening.traceparent(given.as_str()),
            None => with_trace(opening),
        };
        let opening = match asked.agent {
            Some(agent) => opening.agent(agent),
            None => opening,
        };
        let [project_root, cwd, host] = [asked.project_root, asked.cwd, asked.host];
        let opening = project_root.into_iter().fold(opening, OpenSession::project_root);
        let opening = cwd.into_iter().fold(opening, OpenSession::cwd);
        let opening = host.into_iter().fold(opening, OpenSession::host);
        let opening = asked.model.into_iter().fold(opening, OpenSession::model);
        let opening = asked.connection.into_iter().fold(opening, OpenSession::connection);
        let opening = match asked.attribution {
            Some(found) if found.by == AttributedBy::Claim => opening.attribution(found).claimed(),
            found => found.into_iter().fold(opening, OpenSession::attribution),
        };
        // A load is rare, and its future large.
        let entered = Box::pin(self.projects.enter(opening, asked.work.as_deref())).await;
        let opening = entered.map_err(|error| not_entered(&asked.id, &error))?;
        let made = made();
        let opened = self.closed.opening(&asked.id, asked.by, || opening.open_now());
        let session = opened.ok_or_else(|| closed(&asked.id))?;
        session.map(|session| (session, made)).map_err(|error| cannot_open(&asked.id, &error))
    }

    /// The session of an event that may open it: with its parent, as a root without one. A session that was closed
    /// stays closed.
    ///
    /// # Errors
    /// It was closed before, it would be below itself, or it cannot be opened.
    pub(crate) async fn session_of_event(&self, asked: Opening) -> Result<Session, Problem> {
        if let Some(session) = self.bus().find(&asked.id) {
            return Ok(session);
        }
        if self.closed.contains(&asked.id) {
            return Err(closed(&asked.id));
        }
        if let Some(parent) = asked.parent_to_open(self.bus()) {
            if parent == asked.id {
                return Err(Problem::bad_request(format!("session `{parent}` cannot be below itself")));
            }
            // It was open when the caller's place was found: opened anew it would be a root, above the caller's own hooks.
            let by = asked.attribution.map(|attribution| attribution.by);
            if matches!(by, Some(AttributedBy::Grant | AttributedBy::Claim | AttributedBy::Ancestry)) {
                return Err(Problem::no_session(&parent).blocks());
            }
            let above = Opening {
                id: parent,
                project_root: asked.project_root.clone(),
                cwd: asked.cwd.clone(),
                host: asked.host.clone(),
                connection: asked.connection.clone(),
                attribution: asked.attribution,
                work: asked.work.clone(),
                tree: asked.tree,
                ..Opening::default()
            };
            self.open_unless_open(above).await?;
        }
        self.open_unless_open(asked).await
    }

    /// Two events of a new session may come at once; the second finds what the first has opened.
    async fn open_unless_open(&self, asked: Opening) -> Result<Session, Problem> {
        let id = asked.id.clone();
        match self.open(Opening { by: OpenedBy::Event, ..asked }).await {
            Ok(session) => Ok(session),
            Err(problem) => self.bus().find(&id).ok_or(problem),
        }
    }

    /// Takes an event that was decided into the counts.
    pub(crate) fn note(&self, receipt: &Receipt) {
        Counts::one(&self.counts.events);
        self.mismatches.note(receipt);
        self.feed.hear_share(|session| self.forget(session));
    }

    /// The problem with a session that is not open: that it was closed, where the daemon knows that.
    ///
    /// A session that it does not know may be one of an earlier daemon; its program can open it again.
    pub(crate) fn closed_or(&self, id: &str, problem: Problem) -> Problem {
        let is_unknown = problem.status == StatusCode::NOT_FOUND.as_u16();
        if is_unknown && self.closed.contains(id) { closed(id) } else { problem }
    }

    /// Whether a session was closed, and not opened again.
    pub(crate) fn is_closed(&self, id: &str) -> bool {
        self.closed.contains(id)
    }

    /// Remembers of a session that it is about to be closed.
    pub(crate) fn note_closed(&self, session: &Session) {
        // What is below it elsewhere has to know it before it is over.
        if session.children() > 0 {
            self.cluster.note(self, session);
        }
        self.closed.note(session.id().as_str(), || session.is_open());
    }
}

/// A session with a trace: a span in that of the session above it, or a new one.
fn with_trace(opening: OpenSession) -> OpenSession {
    let above = opening.source().traceparent.clone();
    let own = trace::of_session(opening.source().session.as_str(), above.as_deref());
    own.into_iter().fold(opening, OpenSession::traceparent)
}

#[cfg(test)]
mod tests;
