//! The daemon as a member of a cluster: sessions that have a grant or hooks are known to the other machines, and a child of
//! one may be opened on any of them. With the feature `nats`, and where the settings name a server.
//!
//! `own` is what this machine has, `stand_ins` what others have and something here is below, `files` the hooks of files
//! among that, `living` the hooks of this process, `mailboxes` the messages of sessions elsewhere, `logs` what all machines have decided
//! and `taps` what happens on them, `keys` their concurrency keys, `windows` their windows and rates, `jobs`, `naming`, `lending` and `taking` the jobs that any of them may run, `draining` and `leaving` how this machine leaves; `words` is what machines say to each other, `answering` what this one does then, and `remote` asks a hook that
//! lives elsewhere.

#[cfg(feature = "nats")]
mod words;
#[cfg(feature = "nats")]
mod own;
#[cfg(feature = "nats")]
mod remote;
#[cfg(feature = "nats")]
mod stand_ins;
#[cfg(feature = "nats")]
mod files;
#[cfg(feature = "nats")]
mod living;
#[cfg(feature = "nats")]
mod mailboxes;
#[cfg(feature = "nats")]
mod trusting;
#[cfg(feature = "nats")]
mod logs;
#[cfg(feature = "nats")]
mod draining;
#[cfg(feature = "nats")]
mod keys;
#[cfg(feature = "nats")]
mod windows;
#[cfg(feature = "nats")]
mod jobs;
#[cfg(feature = "nats")]
mod naming;
#[cfg(feature = "nats")]
mod lending;
#[cfg(feature = "nats")]
mod taking;
#[cfg(feature = "nats")]
mod taps;
#[cfg(feature = "nats")]
mod answering;
#[cfg(feature = "nats")]
mod joined;
#[cfg(feature = "nats")]
mod admitting;
#[cfg(feature = "nats")]
mod hearing;
#[cfg(feature = "nats")]
mod leaving;
#[cfg(feature = "nats")]
mod joining;

#[cfg(not(feature = "nats"))]
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "nats")]
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::stream::BoxStream;
use lineside::automation::Automations;
use lineside::core::{AttributedBy, Attribution, Diagnostic};
use lineside::dialects::native::ClusterSettings;
use lineside::json::Map;
use lineside::log::Log;
use lineside::{Assembly, Bus, Session};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::shapes::{
    Accepted, ClusterDrained, ClusterLog, ClusterLogQuery, ClusterStatus, Collect, Delivery, Finding,
};
use crate::attachments::Attachments;
use crate::deliveries::Deliveries;
use crate::elsewhere::machine;
use crate::feed::Feed;
use crate::grants::Grants;
use crate::problem::Problem;
use crate::projects::Projects;
use crate::shares;

#[cfg(feature = "nats")]
pub(crate) use joined::Joined;
#[cfg(feature = "nats")]
pub(crate) use joining::begin;

/// What a member has of the daemon.
#[cfg_attr(not(feature = "nats"), allow(dead_code, reason = "a member has it"))]
pub(crate) trait Here: Send + Sync {
    fn assembly(&self) -> &Assembly;
    fn grants(&self) -> &Grants;
    fn attachments(&self) -> &Attachments;
    fn projects(&self) -> &Projects;
    fn log(&self) -> Option<&Log>;
    fn feed(&self) -> &Feed;
    fn automations(&self) -> &Automations;
    fn deliveries(&self) -> &Deliveries;
    /// How long a delivery may be out.
    fn delivery_limit(&self) -> Duration;
    /// What is open here counts in this.
    fn sessions(&self) -> &shares::Sessions;
    fn tracker(&self) -> &TaskTracker;
    /// Cancelled when the daemon is to end.
    fn ending(&self) -> &CancellationToken;

    fn bus(&self) -> &Bus {
        self.assembly().bus()
    }
}

/// That this program cannot do what the settings ask for.
#[cfg(not(feature = "nats"))]
pub(crate) fn missing(settings: Option<&ClusterSettings>) -> Option<Diagnostic> {
    let text = "a cluster is set, and this lineside was built without the feature `nats`";
    settings.map(|_| Diagnostic::error(None, text))
}

#[cfg(feature = "nats")]
pub(crate) fn missing(_: Option<&ClusterSettings>) -> Option<Diagnostic> {
    None
}

/// Nothing is joined; [`missing`] says why.
#[cfg(not(feature = "nats"))]
#[expect(clippy::unused_async, reason = "as with the feature")]
pub(crate) async fn begin<H: Here + 'static>(
    _: &Arc<H>,
    _: impl Fn(&H) -> &Membership,
    settings: Option<&ClusterSettings>,
    _: &Path,
) -> Option<String> {
    missing(settings).map(|found| found.text)
}

/// How long the end of the daemon waits for a word to the others.
#[cfg(feature = "nats")]
const LEAVING: Duration = Duration::from_secs(2);

/// What happens on all machines: each with the id that a reader has of it.
pub(crate) type Tapped = BoxStream<'static, (String, Map)>;

/// The daemon's part in a cluster, if it has one.
#[derive(Default)]
pub(crate) struct Membership {
    #[cfg(feature = "nats")]
    joined: OnceLock<Arc<Joined>>,
    /// Why none is joined although the settings name one.
    #[cfg(feature = "nats")]
    wrong: OnceLock<String>,
}

impl Membership {
    #[cfg(feature = "nats")]
    pub(crate) fn put(&self, joined: Arc<Joined>) {
        self.joined.set(joined).ok();
    }

    #[cfg(feature = "nats")]
    pub(crate) fn fail(&self, why: String) {
        self.wrong.set(why).ok();
    }

    fn wrong(&self) -> Option<&String> {
        #[cfg(feature = "nats")]
        return self.wrong.get();
        #[cfg(not(feature = "nats"))]
        None
    }

    #[cfg(feature = "nats")]
    pub(crate) fn get(&self) -> Option<&Arc<Joined>> {
        self.joined.get()
    }

    /// The session of a grant that is of another machine; `None` where no machine has it.
    ///
    /// # Errors
    /// A session of that id, or of one above it, is open here and is another one, or there is no room.
    #[cfg(feature = "nats")]
    pub(crate) async fn admit(&self, daemon: &dyn Here, grant: &[u8]) -> Result<Option<Session>, Problem> {
        match self.get() {
            Some(joined) => joined.admit(daemon, grant).await,
            None => Ok(None),
        }
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn admit(&self, _: &dyn Here, _: &[u8]) -> Result<Option<Session>, Problem> {
        Ok(None)
    }

    /// A session has a grant or hooks.
    pub(crate) fn note(&self, daemon: &dyn Here, session: &Session) {
        #[cfg(feature = "nats")]
        if let Some(joined) = self.get() {
            joined.note(daemon, session);
        }
        #[cfg(not(feature = "nats"))]
        let _: (&dyn Here, &Session) = (daemon, session);
    }

    /// The hooks of programs on a session are others: waits until the machines where something is below it have that, for a
    /// bounded time, and gives what is to be said of those that have not.
    #[cfg(feature = "nats")]
    pub(crate) async fn changed(&self, daemon: &dyn Here, session: &Session) -> Vec<String> {
        match self.get() {
            Some(joined) => joined.changed(daemon, session).await,
            None => Vec::new(),
        }
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn changed(&self, _: &dyn Here, _: &Session) -> Vec<String> {
        Vec::new()
    }

    /// The hooks on a session that live in this process are others: the others hear it, and it is said where one has not.
    pub(crate) fn hooks_changed(&self, daemon: Arc<dyn Here>, session: &Session) {
        #[cfg(feature = "nats")]
        if let Some(joined) = self.get() {
            joined.hooks_changed(daemon, session);
        }
        #[cfg(not(feature = "nats"))]
        let _: (Arc<dyn Here>, &Session) = (daemon, session);
    }

    /// A session has ended.
    pub(crate) fn forget(&self, daemon: &dyn Here, session: &lineside::core::SessionId) {
        #[cfg(feature = "nats")]
        if let Some(joined) = self.get() {
            joined.forget(daemon, session);
        }
        #[cfg(not(feature = "nats"))]
        let _: (&dyn Here, &lineside::core::SessionId) = (daemon, session);
    }

    /// How a session has come to its place: that its grant is of another machine is proved by nothing here, unless the person
    /// who serves this daemon has said that the machines of the cluster are trusted with that.
    pub(crate) fn attribution(&self, above: Option<&Session>, found: Attribution) -> Attribution {
        let is_remote =
            found.by == AttributedBy::Grant && above.is_some_and(|above| machine(above).is_some());
        if is_remote && !self.proves() { Attribution { by: AttributedBy::Claim, ..found } } else { found }
    }

    fn proves(&self) -> bool {
        #[cfg(feature = "nats")]
        return self.get().is_some_and(|joined| joined.proves_grants());
        #[cfg(not(feature = "nats"))]
        false
    }

    /// Leaves it.
    #[cfg(feature = "nats")]
    pub(crate) async fn leave(&self) {
        if let Some(joined) = self.get() {
            joined.leave(LEAVING).await;
        }
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn leave(&self) {}

    /// Takes nothing more of other machines, waits for what is under way, at most for this time, and leaves. It goes on without
    /// a waiter. `None` without a cluster.
    #[cfg(feature = "nats")]
    pub(crate) async fn drain(&self, daemon: Arc<dyn Here>, within: Duration) -> Option<ClusterDrained> {
        let (joined, tracker) = (Arc::clone(self.get()?), daemon.tracker().clone());
        let drained = tracker.spawn(async move { joined.drain(&*daemon, within, LEAVING).await });
        drained.await.ok()
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn drain(&self, _: Arc<dyn Here>, _: Duration) -> Option<ClusterDrained> {
        None
    }

    /// Takes messages for a session of another machine out of its mailbox there.
    ///
    /// # Errors
    /// That machine cannot be asked, or refuses it.
    #[cfg(feature = "nats")]
    pub(crate) async fn collect(&self, session: &Session, asked: &Collect) -> Result<Delivery, Problem> {
        match self.get() {
            Some(joined) => joined.collect(session, asked).await,
            None => Err(Problem::no_session(session.id().as_str())),
        }
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn collect(&self, session: &Session, _: &Collect) -> Result<Delivery, Problem> {
        Err(Problem::no_session(session.id().as_str()))
    }

    /// They are in the agent's context now.
    ///
    /// # Errors
    /// As [`collect`](Self::collect); they went back, or were accepted before.
    #[cfg(feature = "nats")]
    pub(crate) async fn accept(&self, session: &Session, delivery: &str) -> Result<Accepted, Problem> {
        match self.get() {
            Some(joined) => joined.accept(session, delivery).await,
            None => Err(Problem::no_session(session.id().as_str())),
        }
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn accept(&self, session: &Session, _: &str) -> Result<Accepted, Problem> {
        Err(Problem::no_session(session.id().as_str()))
    }

    /// What all machines have in their logs; `None` without a cluster.
    ///
    /// # Errors
    /// The query is none.
    #[cfg(feature = "nats")]
    pub(crate) async fn logs(
        &self,
        daemon: &dyn Here,
        asked: &ClusterLogQuery,
    ) -> Option<Result<ClusterLog, String>> {
        Some(self.get()?.logs(daemon, asked).await)
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn logs(&self, _: &dyn Here, _: &ClusterLogQuery) -> Option<Result<ClusterLog, String>> {
        None
    }

    /// What happens on all machines from here on, each with the id that a reader has of it; `None` without a cluster.
    ///
    /// # Errors
    /// The query is none of a stream.
    #[cfg(feature = "nats")]
    pub(crate) async fn tap(&self, daemon: Arc<dyn Here>, query: String) -> Option<Result<Tapped, String>> {
        Some(self.get()?.tap(&daemon, query).await)
    }

    #[cfg(not(feature = "nats"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn tap(&self, _: Arc<dyn Here>, _: String) -> Option<Result<Tapped, String>> {
        None
    }

    /// How it stands; `None` without a cluster.
    pub(crate) fn status(&self) -> Option<ClusterStatus> {
        #[cfg(feature = "nats")]
        return self.get().map(|joined| joined.status());
        #[cfg(not(feature = "nats"))]
        None
    }

    /// What is wrong with it, and what needs one and has none.
    pub(crate) fn findings(&self, automations: &Automations) -> Vec<Finding> {
        let alone = automations.keys_not_shared().into_iter().map(|name| {
            let text = format!(
                "automation \"{name}\" says `scope: cluster`, and this daemon is in no cluster: it \
                 holds on this machine only"
            );
            Finding { of: "cluster", severity: "warning", text }
        });
        let bound = automations.places_without_effect().into_iter().map(|name| {
            let text = format!(
                "automation \"{name}\" says `where: anywhere`, and no other machine can have it: it runs on the machine of \
                 its event"
            );
            Finding { of: "cluster", severity: "warning", text }
        });
        let finding = |text: &String| Finding { of: "cluster", severity: "error", text: text.clone() };
        let wrong = self.wrong().map(finding);
        self.status()
            .iter()
            .flat_map(ClusterStatus::findings)
            .chain(wrong)
            .chain(alone)
            .chain(bound)
            .collect()
    }
}
