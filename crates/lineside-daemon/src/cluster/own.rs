//! The sessions of this machine that the others know: those that have a grant or hooks of programs, and those above them.

use std::collections::{BTreeMap, HashMap};

use lineside::Session;
use lineside::core::SessionId;
use lineside_nats::EntryName;

use super::words::ProjectEntry;

/// A session that the others know.
pub(super) struct Own {
    pub(super) name: EntryName,
    pub(super) session: Session,
    /// Which state of it was written last.
    pub(super) version: u64,
    /// The project that it was in then.
    pub(super) project: Option<ProjectEntry>,
    /// Machines on which something is below it.
    pub(super) machines: BTreeMap<String, Held>,
}

/// What is below a session on another machine, as this one has it.
pub(super) struct Held {
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
    inherited: Vec<Own>,
    /// The ids of all of them.
    ids: HashMap<EntryName, SessionId>,
}

impl Sessions {
    /// The entry of a session.
    pub(super) fn of(&mut self, session: &Session) -> Option<&mut Own> {
        let is_it =
            |own: &&mut Own| own.session.id() == session.id() && own.session.is_open() == session.is_open();
        let open = self.open.get_mut(session.id()).into_iter();
        open.chain(&mut self.inherited).find(is_it)
    }

    /// The entry of the session above another one.
    pub(super) fn above(&self, session: &Session) -> Option<&Own> {
        let parent = session.source().parent_session.as_ref()?;
        let all = self.open.get(parent).into_iter();
        let mut all = all.chain(self.inherited.iter().filter(|own| own.session.id() == parent));
        all.find(|own| session.is_below(&own.session))
    }

    /// By the name of its entry.
    pub(super) fn named(&mut self, name: EntryName) -> Option<&mut Own> {
        let open = self.open.get_mut(self.ids.get(&name)?).into_iter();
        let mut all = open.chain(&mut self.inherited);
        all.find(|own| own.name == name)
    }

    /// A session that was not known; the one of its id before it, which is over.
    pub(super) fn add(&mut self, own: Own) -> Option<Own> {
        self.ids.insert(own.name, own.session.id().clone());
        let before = self.open.insert(own.session.id().clone(), own);
        before.and_then(|before| self.left(before))
    }

    /// A session has ended: those of which nothing is left, to be taken out, and the one itself where something below it is
    /// under its hooks still.
    pub(super) fn end(&mut self, session: &SessionId) -> (Vec<Own>, Option<&mut Own>) {
        let is_over = self.open.get(session).is_some_and(|own| !own.session.is_open());
        let ended = is_over.then(|| self.open.remove(session)).flatten();
        let before = self.inherited.len();
        let mut over: Vec<Own> = ended.and_then(|own| self.left(own)).into_iter().collect();
        let is_new = self.inherited.len() > before;
        for own in self.inherited.extract_if(.., |own| !own.session.has_heirs()) {
            self.ids.remove(&own.name);
            over.push(own);
        }
        let kept = self.inherited.last_mut().filter(|own| is_new && own.session.id() == session);
        (over, kept)
    }

    /// Keeps one that has ended where something is below it; gives it back otherwise.
    fn left(&mut self, own: Own) -> Option<Own> {
        if own.session.has_heirs() {
            self.inherited.push(own);
            return None;
        }
        self.ids.remove(&own.name);
        Some(own)
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Own> {
        self.open.values().chain(&self.inherited)
    }

    /// Those that something elsewhere is below.
    pub(super) fn held(&mut self) -> impl Iterator<Item = &mut Own> {
        self.open.values_mut().chain(&mut self.inherited).filter(|own| !own.machines.is_empty())
    }
}
