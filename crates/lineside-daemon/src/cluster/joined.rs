//! A daemon that has joined a cluster: what it makes known of its sessions, and how it stands.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use lineside::Session;
use lineside::core::envelope::Source;
use lineside::core::{Agent, Notice, SessionId};
use lineside::json;
use lineside_nats::{Cluster, EntryName};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::Here;
use super::admitting::Missed;
use super::answering::Answering;
use super::draining::Draining;
use super::files::projects_of;
use super::jobs::Jobs;
use super::living::LivingHooks;
use super::own::{Held, Own, Sessions};
use super::remote::Ways;
use super::stand_ins::{StandIns, close};
use super::words::{ProjectEntry, Reply, SessionEntry, Word, read, written};
use crate::api::shapes::{ClusterMember, ClusterServer, ClusterStatus};
use crate::elsewhere::machine;

/// How long a registration waits for the machines where something is below its session.
const CONFIRMED: Duration = Duration::from_secs(2);
/// How many grants are looked for at once.
const ADMISSIONS: usize = 64;
/// The longest entry, in bytes, and what of the longest message of the server is left for what stands around it.
const LONGEST: usize = 512 << 10;
const AROUND: usize = 4 << 10;
/// What stands around the guards of one project in an entry.
const GUARDS_KEY: usize = r#","guards":"#.len();

/// How a session is, under the name of its entry.
type Written = (EntryName, SessionEntry);
/// The same, with the machines that are to hear it and by which word of theirs.
type Rewritten = (Written, Vec<(String, u64)>);

/// A member.
pub(crate) struct Joined {
    pub(super) ways: Ways,
    proves_grants: bool,
    own: Mutex<Sessions>,
    pub(super) stand_ins: Mutex<StandIns>,
    pub(super) answering: Answering,
    pub(super) admissions: Semaphore,
    pub(super) missed: Missed,
    pub(super) jobs: Jobs,
    /// How many windows of the cluster something of this machine is in.
    pub(super) windows: Arc<AtomicUsize>,
    /// Something of the registry is other.
    pub(super) news: Notify,
    /// Nothing of other machines is taken from here on.
    pub(super) draining: Draining,
    /// The hooks of this process.
    pub(super) living: LivingHooks,
    /// Where the others hear of them: they may be registered outside of it.
    runtime: Handle,
}

impl Joined {
    pub(crate) fn new(cluster: Cluster, proves_grants: bool) -> Self {
        Self {
            ways: Ways::new(cluster),
            proves_grants,
            own: Mutex::default(),
            stand_ins: Mutex::default(),
            answering: Answering::default(),
            admissions: Semaphore::new(ADMISSIONS),
            missed: Missed::default(),
            jobs: Jobs::default(),
            windows: Arc::default(),
            news: Notify::new(),
            draining: Draining::default(),
            living: LivingHooks::default(),
            runtime: Handle::current(),
        }
    }

    pub(crate) fn proves_grants(&self) -> bool {
        self.proves_grants
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.ways.cluster
    }

    pub(super) fn own(&self) -> MutexGuard<'_, Sessions> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stand_ins(&self) -> MutexGuard<'_, StandIns> {
        self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session has a grant or hooks: the others know it from now on.
    pub(crate) fn note(&self, daemon: &dyn Here, session: &Session) {
        // It is asked for with each process that a hook starts: what is known costs nothing more.
        if self.own().of(session).is_some() {
            return;
        }
        self.living.read(session);
        let mut own = self.own();
        if own.of(session).is_none() {
            self.write(daemon, &mut own, session);
        }
    }

    /// Writes how a session is now; one that is not known becomes so, with those above it.
    fn write(
        &self,
        daemon: &dyn Here,
        own: &mut Sessions,
        session: &Session,
    ) -> Option<(EntryName, SessionEntry)> {
        if machine(session).is_some() {
            return None;
        }
        if own.of(session).is_none() {
            daemon.grants().of(session)?;
            let (name, _) = daemon.grants().verifier(session)?;
            let (session, projects, machines) = (session.clone(), Vec::new(), BTreeMap::new());
            let (is_stale, is_telling) = (false, false);
            let new = Own { name, session, version: 0, projects, machines, told: 0, is_stale, is_telling };
            own.add(new).into_iter().for_each(|before| self.take_out(&before));
        }
        let known = own.of(session)?;
        known.version += 1;
        known.is_stale = false;
        known.projects = projects_of(daemon, session);
        let (name, entry) = self.shown(daemon, own, session)?;
        self.cluster().put(name, json::to_vec(&entry.registered()).unwrap_or_default());
        Some((name, entry))
    }

    /// How a session is now, as the others see it.
    fn shown(
        &self,
        daemon: &dyn Here,
        own: &mut Sessions,
        session: &Session,
    ) -> Option<(EntryName, SessionEntry)> {
        let above = self.above(daemon, own, session);
        let known = own.of(session)?;
        let guards = known.projects.iter().map(|project| project.bytes + GUARDS_KEY).sum();
        Some((known.name, self.fitting(entry(daemon, &self.living, known, above), guards)))
    }

    /// As much of an entry as fits into a message: without the guards of its projects, which count as not known then, or
    /// without all hooks, which stand closed then. So long are the guards.
    fn fitting(&self, entry: SessionEntry, guards: usize) -> SessionEntry {
        let server = self.cluster().health().borrow().server.as_ref().map(|server| server.longest);
        let most = server.map_or(LONGEST, |longest| longest.saturating_sub(AROUND).min(LONGEST));
        // All sessions of a project share its guards: they are not written for each to be measured.
        let short = entry.registered();
        match json::to_vec(&short) {
            Ok(text) if text.len() + guards <= most => entry,
            Ok(text) if text.len() <= most => short,
            _ => SessionEntry { verifier: None, hooks: Vec::new(), untold: true, ..short },
        }
    }

    /// The name of the session above one.
    fn above(&self, daemon: &dyn Here, own: &mut Sessions, session: &Session) -> Option<EntryName> {
        let parent = session.source().parent_session.as_ref()?;
        let known = self.stand_ins().name_of(session).or_else(|| own.above(session).map(|own| own.name));
        known.or_else(|| {
            let parent = daemon.bus().find(parent.as_str()).filter(|parent| session.is_below(parent))?;
            self.write(daemon, own, &parent).map(|(name, _)| name)
        })
    }

    /// The hooks of programs on a session are others: what is to be said of machines that have not confirmed it.
    pub(crate) async fn changed(&self, daemon: &dyn Here, session: &Session) -> Vec<String> {
        self.living.read(session);
        let rewritten = self.rewritten(daemon, &mut self.own(), session);
        match rewritten {
            Some((written, machines)) => self.tell(daemon, session, written, machines).await,
            None => Vec::new(),
        }
    }

    /// The same of those that live in this process, where the others know the session already: said as a notice where a machine
    /// has not confirmed it. However many come one upon another, one word is for all of them.
    pub(crate) fn hooks_changed(self: &Arc<Self>, daemon: Arc<dyn Here>, session: &Session) {
        {
            let mut own = self.own();
            let Some(known) = own.of(session) else { return };
            known.is_stale = true;
            if std::mem::replace(&mut known.is_telling, true) {
                return;
            }
        }
        let (joined, session, tracker) = (Arc::clone(self), session.clone(), daemon.tracker().clone());
        let told = async move {
            while let Some((written, machines)) = joined.stale(&*daemon, &session) {
                for text in joined.tell(&*daemon, &session, written, machines).await {
                    daemon.bus().announce(Notice::warning(text));
                }
            }
        };
        tracker.spawn_on(told, &self.runtime);
    }

    /// Writes how a session is now whose hooks are others since it was written, for those machines; `None` where they are not.
    fn stale(&self, daemon: &dyn Here, session: &Session) -> Option<Rewritten> {
        self.living.read(session);
        let mut own = self.own();
        let known = own.of(session)?;
        known.is_telling = known.is_stale;
        if !known.is_stale {
            return None;
        }
        self.rewritten(daemon, &mut own, session)
    }

    /// Writes how a session is now, for the machines on which something is below it.
    fn rewritten(&self, daemon: &dyn Here, own: &mut Sessions, session: &Session) -> Option<Rewritten> {
        let written = self.write(daemon, own, session)?;
        Some((written, own.of(session)?.holds()))
    }

    /// Tells these machines how a session is now: what is to be said of those that have not confirmed it.
    async fn tell(
        &self,
        daemon: &dyn Here,
        session: &Session,
        (name, entry): Written,
        machines: Vec<(String, u64)>,
    ) -> Vec<String> {
        let untold = entry.untold.then(|| {
            format!(
                "the hooks of session `{}` are longer than other machines can be told: below it there every gate stands closed",
                session.id()
            )
        });
        let word = Word::Apply { session: name.to_string(), entry: Some(entry) };
        let text: bytes::Bytes = written(&word, "").into();
        let asked = machines
            .iter()
            .map(|(machine, hold)| self.confirmed(daemon, (machine, *hold), name, text.clone()));
        untold.into_iter().chain(join_all(asked).await.into_iter().flatten()).collect()
    }

    /// Tells a machine how a session is now: what is to be said where it has not confirmed that.
    async fn confirmed(
        &self,
        daemon: &dyn Here,
        (machine, hold): (&str, u64),
        name: EntryName,
        text: bytes::Bytes,
    ) -> Option<String> {
        let answer = self.cluster().ask(machine, text, CONFIRMED).await;
        match answer.map(|answer| read::<Reply>(&answer).map(|(reply, _)| reply)) {
            Ok(Some(Reply::Applied)) => None,
            Ok(Some(Reply::NotStanding)) => {
                // Something may be below it there again by now.
                self.left_if(daemon, machine, name, |held| held.number == hold);
                None
            }
            Ok(Some(Reply::Refused { detail, .. })) => {
                Some(format!("machine `{machine}` has not confirmed it: {detail}"))
            }
            Ok(_) => Some(format!("machine `{machine}` has not confirmed it: its answer cannot be read")),
            Err(why) => Some(format!("machine `{machine}` has not confirmed it: {why}")),
        }
    }

    /// A session has ended.
    pub(crate) fn forget(&self, daemon: &dyn Here, session: &SessionId) {
        let mut own = self.own();
        let (over, kept) = own.end(session);
        over.iter().for_each(|own| self.take_out(own));
        // Nothing more is opened below it, and what is open there has its hooks still.
        if let Some(session) = kept {
            self.write(daemon, &mut own, &session);
        }
        drop(own);
        let mut stand_ins = self.stand_ins();
        if let Some(name) = stand_ins.ended(session) {
            stand_ins.end(name);
            self.cluster().unfollow(name);
        }
        stand_ins.release();
    }

    /// The others no longer know a session.
    fn take_out(&self, own: &Own) {
        self.living.forget(&own.session);
        self.cluster().remove(own.name);
        let text = written(&Word::Apply { session: own.name.to_string(), entry: None }, "");
        for machine in own.machines.keys() {
            self.cluster().tell(machine, text.clone().into());
        }
    }

    /// Something is below a session of this machine on another one: how the session is.
    pub(super) fn stands(
        &self,
        daemon: &dyn Here,
        (machine, life): (&str, String),
        name: EntryName,
    ) -> Option<SessionEntry> {
        let mut own = self.own();
        let known = own.named(name)?;
        let session = known.session.clone();
        let held = known.machines.get_mut(machine).and_then(|held| held.session.take());
        if held.is_some() {
            known.hold(machine, life, held);
        } else {
            if self.draining.has_begun() && !known.machines.contains_key(machine) {
                return None;
            }
            let below = session.subagent(format!("{name}@{machine}"));
            let below = below.agent(Agent::subagent("elsewhere")).connection(Source::connection_to(machine));
            // A session that has ended has something open below it already, or is over. One that is open is held, or its hooks
            // would go with it while something elsewhere is under them.
            let below = below.open_now().ok();
            if below.is_none() && session.is_open() {
                return None;
            }
            known.hold(machine, life, below);
        }
        if own.of(&session).is_some_and(|own| own.is_stale) {
            let (_, entry) = self.write(daemon, &mut own, &session)?;
            // The machines that were there before hear it from who tells them.
            own.of(&session).into_iter().for_each(|own| own.is_stale = own.is_telling);
            return Some(entry);
        }
        self.shown(daemon, &mut own, &session).map(|(_, entry)| entry)
    }

    /// Nothing is below a session of this machine on another one any more.
    pub(super) fn left(&self, daemon: &dyn Here, machine: &str, name: EntryName) {
        self.left_if(daemon, machine, name, |_| true);
    }

    fn left_if(&self, daemon: &dyn Here, machine: &str, name: EntryName, is_it: impl FnOnce(&Held) -> bool) {
        let mut own = self.own();
        let machines = own.named(name).map(|own| &mut own.machines);
        let held =
            machines.and_then(|all| all.get(machine).is_some_and(is_it).then(|| all.remove(machine))?);
        drop(own);
        held.and_then(|held| held.session).into_iter().for_each(|session| close(daemon, session));
    }

    pub(crate) async fn leave(&self, within: Duration) {
        self.cluster().leave(within).await;
    }

    /// How it stands.
    pub(crate) fn status(&self) -> ClusterStatus {
        let settings = self.cluster().settings();
        let health = self.cluster().health().borrow().clone();
        let millis = |since: Instant| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (is_together, since, why) = match health.link {
            lineside_nats::Link::Away { since, why } => {
                (false, since, Some(why).filter(|why| !why.is_empty()))
            }
            lineside_nats::Link::Together { since, .. } => (true, since, None),
            _ => (false, Instant::now(), None),
        };
        let stand_ins = self.stand_ins();
        let members = self.cluster().members().into_iter().map(|member| ClusterMember {
            stand_ins: stand_ins.iter().filter(|(_, one)| *one.machine == *member.machine).count(),
            heard_ms: millis(member.heard),
            there: member.is_there,
            this: member.is_self,
            machine: member.machine,
        });
        let (sessions, unwritten) = self.cluster().own_entries();
        ClusterStatus {
            cluster: settings.cluster.to_string(),
            machine: settings.machine.to_string(),
            together: is_together,
            draining: self.draining.has_begun(),
            since_ms: millis(since),
            why,
            server: health.server.map(|server| ClusterServer {
                sync: server.sync.to_string(),
                name: server.name,
                version: server.version,
            }),
            members: members.collect(),
            sessions,
            unwritten,
            mirrored: self.cluster().mirrored(),
            not_mirrored: health.not_mirrored,
            followed: self.cluster().followed(),
            stand_ins: stand_ins.count(),
            jobs: self.jobs.status(),
            untrusted: stand_ins.untrusted(),
        }
    }
}

/// A session as the others are to know it: where it is not known what it is below, nothing is let below it elsewhere.
fn entry(daemon: &dyn Here, living: &LivingHooks, own: &Own, above: Option<EntryName>) -> SessionEntry {
    let source = own.session.source();
    let is_whole = above.is_some() || source.parent_session.is_none();
    let verifier = daemon.grants().verifier(&own.session).map(|(_, verifier)| verifier);
    SessionEntry {
        version: own.version,
        id: source.session.to_string(),
        above: above.map(|above| above.to_string()),
        agent: source.agent.clone(),
        traceparent: source.traceparent.as_deref().map(str::to_owned),
        verifier: verifier.filter(|_| is_whole),
        hooks: daemon
            .attachments()
            .declared(&own.session)
            .into_iter()
            .chain(living.of(&own.session))
            .collect(),
        untold: false,
        projects: own.projects.iter().map(|held| ProjectEntry::of(held)).collect(),
    }
}
