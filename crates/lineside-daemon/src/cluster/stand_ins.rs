//! Sessions of other machines that something here is below: each stands in for its session, with the hooks that programs
//! have there.

use std::collections::{BTreeMap, HashMap, hash_map};
use std::sync::Arc;

use lineside::core::envelope::Source;
use lineside::core::{Notice, SessionId};
use lineside::{AttachedHook, DeclaredHook, Session};
use lineside_nats::EntryName;
use tokio::time::Instant;

use super::Here;
use super::files::{Files, ProjectsElsewhere};
use super::remote::{RemoteHook, Ways};
use super::words::SessionEntry;
use crate::api::shapes::ClusterUntrusted;
use crate::inherited::Inherited;
use crate::problem::Problem;

/// A session that stands in.
pub(super) struct StandIn {
    pub(super) session: Session,
    pub(super) machine: Arc<str>,
    /// Which state of it is in force.
    version: u64,
    hooks: HashMap<u64, AttachedHook>,
    /// The hooks of files that it is under.
    pub(super) files: Files,
    /// Its session has ended there: nothing more is opened below it.
    pub(super) is_over: bool,
    /// Since when nothing is below it.
    pub(super) idle: Option<Instant>,
}

/// All of them.
#[derive(Default)]
pub(super) struct StandIns {
    standing: HashMap<EntryName, StandIn>,
    /// Their names, by the ids of their sessions; one that has ended is among them until that is heard.
    names: HashMap<SessionId, Vec<EntryName>>,
    /// The latest state of those that are being opened, as far as it came meanwhile, and by how many.
    coming: HashMap<EntryName, (usize, Option<SessionEntry>)>,
    /// Hooks of those that have ended, which sessions below are under still.
    inherited: Inherited<(Vec<AttachedHook>, Files)>,
    projects: ProjectsElsewhere,
}

/// What a change of a session has come to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It is in force.
    InForce {
        /// Hooks that were not there before.
        more: usize,
        /// Hooks that are gone.
        fewer: usize,
    },
    /// Nothing is below it here.
    NotStanding,
}

impl StandIns {
    pub(super) fn get(&self, name: EntryName) -> Option<&StandIn> {
        self.standing.get(&name)
    }

    pub(super) fn get_mut(&mut self, name: EntryName) -> Option<&mut StandIn> {
        self.standing.get_mut(&name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (EntryName, &StandIn)> {
        self.standing.iter().map(|(name, one)| (*name, one))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (EntryName, &mut StandIn)> {
        self.standing.iter_mut().map(|(name, one)| (*name, one))
    }

    /// The name and the machine of the session that this one stands in for.
    pub(super) fn standing_for(&self, session: &Session) -> Option<(EntryName, Arc<str>)> {
        let (name, one) = self.with_id(session.id()).find(|(_, one)| one.session.is_open())?;
        Some((name, Arc::clone(&one.machine)))
    }

    /// The name of the session that one here is below.
    pub(super) fn name_of(&self, session: &Session) -> Option<EntryName> {
        let parent = session.parent()?;
        let mut all = self.with_id(parent.id());
        all.find(|(_, one)| one.session.number() == parent.number()).map(|(name, _)| name)
    }

    /// Those whose session has this id: one that is open, and those that have ended of which that is not heard.
    fn with_id(&self, id: &SessionId) -> impl Iterator<Item = (EntryName, &StandIn)> {
        let names = self.names.get(id).into_iter().flatten();
        names.filter_map(|name| Some((*name, self.standing.get(name)?)))
    }

    /// One is being opened: what comes of it from now on counts.
    pub(super) fn comes(&mut self, name: EntryName) {
        self.coming.entry(name).or_default().0 += 1;
    }

    /// It has been opened, or has not; whether nothing of it is here any more.
    pub(super) fn has_come(&mut self, name: EntryName) -> bool {
        if let Some((by, _)) = self.coming.get_mut(&name) {
            *by -= 1;
            if *by == 0 {
                self.coming.remove(&name);
            }
        }
        !self.is_here(name)
    }

    /// Whether one stands, or is being opened.
    pub(super) fn is_here(&self, name: EntryName) -> bool {
        self.standing.contains_key(&name) || self.coming.contains_key(&name)
    }

    /// Opens it with its hooks, or brings it up to this state.
    ///
    /// # Errors
    /// Another session of its id is open, there is no room, or a hook cannot be registered.
    pub(super) fn stand(
        &mut self,
        (daemon, ways): (&dyn Here, &Ways),
        (name, machine): (EntryName, &Arc<str>),
        parent: Option<&Session>,
        entry: SessionEntry,
    ) -> Result<Session, Problem> {
        let told = self.coming.get_mut(&name).and_then(|(_, told)| told.take());
        let entry = told.filter(|told| told.version > entry.version).unwrap_or(entry);
        if !self.standing.contains_key(&name) {
            let session = opened(daemon, machine, parent, &entry)?;
            self.put(name, session, machine);
        }
        let session = self.standing.get(&name).map(|one| one.session.clone());
        match self.change((daemon, ways), name, &entry) {
            Ok(_) => session.ok_or_else(|| Problem::no_session(&entry.id)),
            Err(problem) => {
                // Without one of its hooks nothing is let below it.
                let ended = self.end(name);
                ended.into_iter().for_each(|session| close(daemon, session));
                Err(problem)
            }
        }
    }

    fn put(&mut self, name: EntryName, session: Session, machine: &Arc<str>) {
        self.names.entry(session.id().clone()).or_default().push(name);
        let stand_in = StandIn {
            session,
            machine: Arc::clone(machine),
            version: 0,
            hooks: HashMap::new(),
            files: Files::default(),
            is_over: false,
            idle: None,
        };
        self.standing.insert(name, stand_in);
    }

    /// Puts a state of a session in force; an earlier one than that in force changes nothing.
    ///
    /// # Errors
    /// A hook cannot be registered; the others are.
    pub(super) fn change(
        &mut self,
        (daemon, ways): (&dyn Here, &Ways),
        name: EntryName,
        entry: &SessionEntry,
    ) -> Result<Change, Problem> {
        if let Some((_, told)) = self.coming.get_mut(&name)
            && told.as_ref().is_none_or(|told| told.version < entry.version)
        {
            *told = Some(entry.clone());
        }
        let is_coming = self.coming.contains_key(&name);
        let Some(stand_in) = self.standing.get_mut(&name) else {
            return Ok(if is_coming { Change::InForce { more: 0, fewer: 0 } } else { Change::NotStanding });
        };
        let of = Arc::clone(&stand_in.machine);
        let unable = |error: &dyn std::fmt::Display| {
            let text = format!(
                "a hook of session `{}` on machine `{}` cannot be registered here: {error}",
                entry.id, of
            );
            Problem::conflict("not-registered", "The hook cannot be registered", text).blocks()
        };
        let StandIn { session, machine, files, .. } = stand_in;
        let projects = files.meant(&mut self.projects, machine, &entry.projects);
        // Of the same state the machine itself says more than the registry.
        if entry.version == stand_in.version && entry.projects.iter().any(|project| project.guards.is_some())
        {
            files.put(daemon, session, &projects).map_err(|error| unable(&error))?;
        }
        if entry.version <= stand_in.version {
            return Ok(Change::InForce { more: 0, fewer: 0 });
        }
        files.put(daemon, session, &projects).map_err(|error| unable(&error))?;
        if entry.untold {
            // Those that are known stay: nothing says that they are gone.
            let why = format!(
                "session `{}` of machine `{machine}` has more hooks than that can tell this machine; take some of them away, or \
                 work on `{machine}`",
                entry.id
            );
            files.hide(daemon, session, &why).map_err(|error| unable(&error))?;
            (stand_in.version, stand_in.is_over) = (entry.version, entry.verifier.is_none());
            return Ok(Change::InForce { more: 0, fewer: 0 });
        }
        let (mut more, mut wrong) = (0, None);
        // New ones are in force before others leave: no event comes in between.
        for hook in entry.hooks.iter() {
            if stand_in.hooks.contains_key(&hook.number) {
                continue;
            }
            let remote = RemoteHook {
                ways: ways.clone(),
                machine: Arc::clone(&stand_in.machine),
                session: name,
                number: hook.number,
            };
            let attached = DeclaredHook::read(&hook.number.to_string(), &hook.text).and_then(|declared| {
                let (to, reach) = (Arc::new(remote), hook.reach);
                daemon.assembly().attach_elsewhere(&stand_in.session, to, reach, declared)
            });
            match attached {
                Ok(attached) => {
                    stand_in.hooks.insert(hook.number, attached);
                    more += 1;
                }
                Err(error) => wrong = Some(error),
            }
        }
        if let Some(error) = wrong {
            return Err(unable(&error));
        }
        let is_there = |number: &u64| entry.hooks.iter().any(|hook| hook.number == *number);
        let gone: Vec<_> = stand_in.hooks.extract_if(|number, _| !is_there(number)).collect();
        let fewer = gone.len();
        gone.into_iter().for_each(|(_, hook)| hook.remove());
        stand_in.files.show();
        stand_in.version = entry.version;
        stand_in.is_over = entry.verifier.is_none();
        Ok(Change::InForce { more, fewer })
    }

    /// Its session has ended, or nothing is below it any more: sessions below keep its hooks.
    pub(super) fn end(&mut self, name: EntryName) -> Option<Session> {
        let StandIn { session, hooks, files, .. } = self.standing.remove(&name)?;
        if let hash_map::Entry::Occupied(mut names) = self.names.entry(session.id().clone()) {
            names.get_mut().retain(|other| *other != name);
            if names.get().is_empty() {
                names.remove();
            }
        }
        self.inherited.add(&session, (hooks.into_values().collect(), files));
        Some(session)
    }

    /// Lets go of the hooks of those that have ended, as far as nothing is below them.
    pub(super) fn release(&mut self) {
        for (hooks, files) in self.inherited.take_released() {
            hooks.into_iter().for_each(AttachedHook::remove);
            files.release();
        }
    }

    /// Those whose session has ended here otherwise.
    pub(super) fn ended(&self, session: &SessionId) -> Option<EntryName> {
        self.with_id(session).find(|(_, one)| !one.session.is_open()).map(|(name, _)| name)
    }

    pub(super) fn count(&self) -> usize {
        self.standing.len()
    }

    /// Projects of other machines whose guards stand closed here.
    pub(super) fn untrusted(&self) -> Vec<ClusterUntrusted> {
        let mut all: BTreeMap<(&str, &str, Option<&str>), usize> = BTreeMap::new();
        for one in self.standing.values() {
            for closed in one.files.closed() {
                *all.entry((&one.machine, &closed.root, closed.digest.as_deref())).or_default() += 1;
            }
        }
        let shape =
            |((machine, root, digest), sessions): ((&str, &str, Option<&str>), usize)| ClusterUntrusted {
                machine: machine.to_owned(),
                root: root.to_owned(),
                digest: digest.map(str::to_owned),
                sessions,
            };
        all.into_iter().map(shape).collect()
    }
}

fn opened(
    daemon: &dyn Here,
    machine: &str,
    parent: Option<&Session>,
    entry: &SessionEntry,
) -> Result<Session, Problem> {
    let opening = match parent {
        None => daemon.sessions().root(&entry.id, None),
        Some(parent) => parent.subagent(entry.id.as_str()),
    };
    let opening = opening.agent(entry.agent.clone()).connection(Source::connection_to(machine));
    let opening =
        entry.traceparent.iter().fold(opening, |opening, trace| opening.traceparent(trace.as_str()));
    opening.open_now().map_err(|error| {
        let detail = format!(
            "session `{}` of machine `{machine}` cannot be stood in for here: {error}; nothing can be opened below it",
            entry.id
        );
        Problem::conflict("session-not-opened", "The session cannot be opened", detail).blocks()
    })
}

/// Closes one, and what follows from that without a waiter.
pub(super) fn close(daemon: &dyn Here, session: Session) {
    daemon.tracker().spawn(async move { session.close().await });
}

/// Says what a machine that was away has missed.
pub(super) fn announce(daemon: &dyn Here, stand_in: &StandIn, change: Change) {
    if let Change::InForce { more, fewer } = change
        && more + fewer > 0
    {
        let text = format!(
            "session `{}` of machine `{}` has other hooks: {more} more and {fewer} fewer",
            stand_in.session.id(),
            stand_in.machine
        );
        daemon.bus().announce(Notice::info(text));
    }
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;

    #[tokio::test]
    async fn what_stands_in_for_a_session_is_found_by_its_id_however_many_there_are() {
        let (bus, mut all) = (Bus::new(), StandIns::default());
        let mut sessions = Vec::new();
        for number in 0..1_000_u64 {
            let session = bus.session(format!("s{number}")).open().await.unwrap();
            all.put(EntryName(number), session.clone(), &Arc::from("m"));
            sessions.push(session);
        }
        assert_eq!(all.with_id(sessions[7].id()).count(), 1, "so many are looked at");
        assert_eq!(all.standing_for(&sessions[7]), Some((EntryName(7), Arc::from("m"))));
        let below = sessions[7].subagent("below").open().await.unwrap();
        assert_eq!(all.name_of(&below), Some(EntryName(7)));
        assert_eq!(all.ended(sessions[7].id()), None, "it is open");
        // One of its id comes before its end is heard.
        sessions[7].close().await;
        let later = bus.session("s7").open().await.unwrap();
        all.put(EntryName(2_000), later.clone(), &Arc::from("m"));
        assert_eq!(all.standing_for(&later).map(|(name, _)| name), Some(EntryName(2_000)));
        assert_eq!(all.name_of(&below), Some(EntryName(7)));
        assert_eq!(all.ended(later.id()), Some(EntryName(7)));
        all.end(EntryName(7));
        assert_eq!((all.ended(later.id()), all.with_id(later.id()).count()), (None, 1));
        all.end(EntryName(2_000));
        assert!(!all.names.contains_key(later.id()));
    }
}
