//! What a member hears: questions, changes of the registry, and that the cluster is there or is not.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use lineside::core::{Notice, SessionId};
use lineside::dialects::Watched;
use lineside_nats::EntryName;
use lineside_nats::cluster::Questions;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Here;
use super::admitting::{Told, of_another};
use super::joined::Joined;
use super::own::Held;
use super::stand_ins::{Change, StandIns, announce, close};
use super::words::{Reply, SessionEntry, Word, written};
use crate::footprint::Footprint;
use crate::projects::Projects;
use crate::watch::{Changes, Watching};

/// How often stand-ins are looked at, and how long one stays that nothing is below.
const LOOK: Duration = Duration::from_secs(30);
const IDLE: Duration = Duration::from_secs(600);

/// The list of what was trusted, as it is watched.
struct Trusting {
    list: [Watched; 1],
    changes: Arc<Changes>,
    watching: Watching,
}

impl Trusting {
    fn begin(projects: &Projects) -> Self {
        let list = [Watched { path: projects.list_of_trusted(), levels: 0, ends: &[] }];
        let watching = Watching::new(projects.watcher(), "the list of what was trusted");
        let trusting = Self { list, changes: Arc::default(), watching };
        trusting.watch();
        trusting
    }

    fn watch(&self) {
        let blind = self.watching.set(&Footprint::of(&self.list), &self.changes);
        blind.into_iter().for_each(|blind| tracing::warn!("{blind}"));
    }

    /// Waits for a change. Cancel safe.
    async fn changed(&self) {
        self.changes.next().await;
        self.watch();
    }
}

/// The sessions that something open here is below.
pub(super) fn parents(daemon: &dyn Here) -> HashSet<SessionId> {
    let bus = daemon.bus();
    let parent = |id: &SessionId| bus.find(id.as_str())?.source().parent_session.clone();
    bus.sessions().iter().filter_map(parent).collect()
}

impl Joined {
    /// Hears what changes, until the daemon ends.
    pub(crate) async fn run(self: &Arc<Self>, daemon: &Arc<dyn Here>, mut questions: Questions) {
        let mut health = self.cluster().health();
        let (mut was_together, mut is_asked) = (false, true);
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        let mut projects = daemon.projects().news();
        let trust = Trusting::begin(daemon.projects());
        loop {
            tokio::select! {
                () = daemon.ending().cancelled() => return,
                Ok(()) = projects.changed() => {
                    projects.mark_unchanged();
                    self.projects_changed(daemon);
                }
                () = trust.changed() => self.projects_changed(daemon),
                names = self.cluster().changed() => {
                    for name in names {
                        self.look_again(daemon, name);
                    }
                    self.news.notify_waiters();
                }
                Ok(()) = health.changed() => {
                    let is_together = health.borrow_and_update().link.is_together();
                    if is_together != was_together {
                        self.say(daemon, is_together);
                    }
                    was_together = is_together;
                    self.news.notify_waiters();
                }
                question = questions.next(), if is_asked => match question {
                    Some(question) => self.answering.take(self, daemon, question),
                    // It has left; what stands in here is looked after as long as something is below it.
                    None => is_asked = false,
                },
                _ = looks.tick() => self.sweep(daemon),
            }
        }
    }

    /// Says that the cluster is there or is not; of what was missed meanwhile the machines are asked.
    fn say(self: &Arc<Self>, daemon: &Arc<dyn Here>, is_together: bool) {
        let cluster = &self.cluster().settings().cluster;
        if is_together {
            daemon.bus().announce(Notice::info(format!("cluster `{cluster}` is connected")));
            let standing: Vec<_> = self.stand_ins().iter().map(|(name, _)| name).collect();
            standing.into_iter().for_each(|name| self.look_again(daemon, name));
        } else {
            let text = format!(
                "cluster `{cluster}` is not connected: hooks in programs on other machines mean their on_failure"
            );
            daemon.bus().announce(Notice::warning(text));
        }
    }

    /// Brings what stands in for a session up to what that is now.
    fn look_again(self: &Arc<Self>, daemon: &Arc<dyn Here>, name: EntryName) {
        let Some(machine) = self.stand_ins().get(name).map(|one| Arc::clone(&one.machine)) else { return };
        let (joined, held) = (Arc::clone(self), Arc::clone(daemon));
        daemon.tracker().spawn(async move {
            let written = joined.cluster().get(name).and_then(of_another).map(|(_, entry)| entry);
            let entry = match (joined.told(&machine, name).await, written) {
                (Told::Now(now), _) => *now,
                (Told::Over, _) | (Told::Left, None) => return joined.end(&*held, name),
                (_, Some(written)) => written,
                // It cannot be asked, and what it has written is gone: it may come again.
                (Told::Nothing, None) => return,
            };
            joined.change(&*held, name, &entry);
            joined.look_for_files(&held, name);
        });
    }

    /// Puts a state of a session in force here.
    pub(super) fn change(&self, daemon: &dyn Here, name: EntryName, entry: &SessionEntry) -> Reply {
        let mut stand_ins = self.stand_ins();
        match stand_ins.change((daemon, &self.ways), name, entry) {
            Ok(change) => {
                if let Some(stand_in) = stand_ins.get(name) {
                    if stand_in.is_over {
                        daemon.grants().disown(&stand_in.session);
                    }
                    announce(daemon, stand_in, change);
                }
                match change {
                    Change::InForce { .. } => Reply::Applied,
                    Change::NotStanding => Reply::NotStanding,
                }
            }
            Err(problem) => {
                daemon.bus().announce(Notice::warning(problem.detail.clone()));
                // What is below it would go on without one of its hooks.
                if let Some(one) = stand_ins.get_mut(name)
                    && one.files.hide(daemon, &one.session, &problem.detail).is_ok()
                {
                    return Reply::Refused { status: problem.status, detail: problem.detail };
                }
                drop(stand_ins);
                self.end(daemon, name);
                Reply::NotStanding
            }
        }
    }

    /// A session of another machine has ended.
    pub(super) fn end(&self, daemon: &dyn Here, name: EntryName) {
        self.end_and(daemon, name, || self.cluster().unfollow(name));
    }

    /// Ends what stands in for a session, and does this where nothing will stand in for it, under the lock of the stand-ins.
    fn end_and(&self, daemon: &dyn Here, name: EntryName, let_go: impl FnOnce()) {
        let mut stand_ins = self.stand_ins();
        let ended = stand_ins.end(name);
        if !stand_ins.is_here(name) {
            let_go();
        }
        drop(stand_ins);
        ended.into_iter().for_each(|session| close(daemon, session));
    }

    /// A session of another machine is no longer followed, unless something stands in for it, or will. Done under the lock of
    /// the stand-ins, so that nothing begins to meanwhile.
    pub(super) fn unfollow(&self, stand_ins: &StandIns, name: EntryName) {
        if !stand_ins.is_here(name) {
            self.cluster().unfollow(name);
        }
    }

    /// Nothing is below a session of another machine here any more. Told under the lock of the stand-ins: what is opened below
    /// it later asks its machine after this word.
    pub(super) fn has_left(&self, machine: &str, name: EntryName) {
        self.cluster().unfollow(name);
        let word = Word::Left { from: self.ways.machine().to_owned(), session: name.to_string() };
        self.cluster().tell(machine, written(&word, "").into());
    }

    /// Ends what nothing has been below for a while, and looks again after what may have ended.
    fn sweep(self: &Arc<Self>, daemon: &Arc<dyn Here>) {
        self.forget_earlier_lives(&**daemon);
        if self.stand_ins().count() == 0 {
            return;
        }
        let parents = parents(&**daemon);
        let (mut idle, mut missing) = (Vec::new(), Vec::new());
        for (name, one) in self.stand_ins().iter_mut() {
            if parents.contains(one.session.id()) {
                one.idle = None;
            } else if one.is_over || one.idle.get_or_insert_with(Instant::now).elapsed() > IDLE {
                idle.push((name, Arc::clone(&one.machine)));
            }
            if self.cluster().get(name).is_none() {
                missing.push(name);
            }
        }
        for (name, machine) in idle {
            self.end_and(&**daemon, name, || self.has_left(&machine, name));
        }
        missing.into_iter().for_each(|name| self.look_again(daemon, name));
    }

    /// Lets go of what is below sessions of this machine on others that have ended since.
    fn forget_earlier_lives(&self, daemon: &dyn Here) {
        let members = self.cluster().members();
        let is_over = |machine: &str, held: &Held| {
            members
                .iter()
                .any(|member| member.machine == machine && member.is_there && member.life != held.life)
        };
        let mut over = Vec::new();
        for own in self.own().held() {
            let machines = own.machines.iter().filter(|(machine, held)| is_over(machine, held));
            over.extend(machines.map(|(machine, _)| (machine.clone(), own.name)));
        }
        over.iter().for_each(|(machine, name)| self.left(daemon, machine, *name));
    }
}
