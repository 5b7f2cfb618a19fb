//! The sessions of this machine that the others know: those that have a grant or hooks of programs, and those above them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lineside::Session;
use lineside::core::SessionId;
use lineside_nats::EntryName;

use crate::inherited::Inherited;
use crate::projects;

/// A session that the others know.
pub(super) struct Own {
    pub(super) name: EntryName,
    pub(super) session: Session,
    /// Which state of it was written last.
    pub(super) version: u64,
    /// The projects that it was in then.
    pub(super) projects: Vec<Arc<projects::Held>>,
    /// Machines on which something is below it.
    pub(super) machines: BTreeMap<String, Held>,
    /// How often one of them has said so.
    pub(super) told: u64,
    /// The hooks of this process on it are others since it was written.
    pub(super) is_stale: bool,
    /// They are being told to the others.
    pub(super) is_telling: bool,
}

impl Own {
    /// Something is below it on a machine.
    pub(super) fn hold(&mut self, machine: &str, life: String, session: Option<Session>) {
        self.told += 1;
        self.machines.insert(machine.to_owned(), Held { number: self.told, life, session });
    }

    /// The machines on which something is below it, each with which word of it that is by.
    pub(super) fn holds(&self) -> Vec<(String, u64)> {
        self.machines.iter().map(|(machine, held)| (machine.clone(), held.number)).collect()
    }
}

/// What is below a session on another machine, as this one has it.
pub(super) struct Held {
    /// By which word of that machine.
    pub(super) number: u64,
    /// The life of that machine.
    pub(super) life: String,
    /// A session that is there for it: as long as that is open, the hooks above are those of something open.
    pub(super) session: Option<Session>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Sessions {
    open: HashMap<SessionId, Own>,
    /// Those that have ended and have something open below them.
    inherited: Inherited<Own>,
    /// The sessions of all of them.
    named: HashMap<EntryName, Session>,
}

impl Sessions {
    /// The entry of a session.
    pub(super) fn of(&mut self, session: &Session) -> Option<&mut Own> {
        if is_of(self.open.get(session.id()), session) {
            return self.open.get_mut(session.id());
        }
        self.inherited.of_mut(session).first_mut()
    }

    /// The entry of the session above another one.
    pub(super) fn above(&self, session: &Session) -> Option<&Own> {
        let parent = session.parent()?;
        let open = self.open.get(parent.id()).filter(|own| is_of(Some(own), &parent));
        open.or_else(|| self.inherited.of(&parent).first())
    }

    /// By the name of its entry.
    pub(super) fn named(&mut self, name: EntryName) -> Option<&mut Own> {
        let session = self.named.get(&name)?.clone();
        self.of(&session)
    }

    /// A session that was not known; the one of its id before it, which is over.
    pub(super) fn add(&mut self, own: Own) -> Option<Own> {
        self.named.insert(own.name, own.session.clone());
        let before = self.open.insert(own.session.id().clone(), own);
        before.and_then(|before| self.left(before))
    }

    /// A session has ended: those of which nothing is left, to be taken out, and the one itself where something below it is
    /// under its hooks still.
    pub(super) fn end(&mut self, session: &SessionId) -> (Vec<Own>, Option<Session>) {
        let is_over = self.open.get(session).is_some_and(|own| !own.session.is_open());
        let ended = is_over.then(|| self.open.remove(session)).flatten();
        let kept = ended.as_ref().map(|own| own.session.clone());
        let mut over = self.inherited.take_released();
        for own in &over {
            self.named.remove(&own.name);
        }
        over.extend(ended.and_then(|own| self.left(own)));
        (over, kept.filter(|kept| !self.inherited.of(kept).is_empty()))
    }

    /// Keeps one that has ended where something is below it; gives it back otherwise.
    fn left(&mut self, own: Own) -> Option<Own> {
        if own.session.has_heirs() {
            let session = own.session.clone();
            self.inherited.add(&session, own);
            return None;
        }
        self.named.remove(&own.name);
        Some(own)
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Own> {
        self.open.values().chain(self.inherited.iter())
    }

    /// Those that something elsewhere is below.
    pub(super) fn held(&mut self) -> impl Iterator<Item = &mut Own> {
        self.open.values_mut().chain(self.inherited.iter_mut()).filter(|own| !own.machines.is_empty())
    }
}

fn is_of(own: Option<&Own>, session: &Session) -> bool {
    own.is_some_and(|own| own.session.number() == session.number())
}
