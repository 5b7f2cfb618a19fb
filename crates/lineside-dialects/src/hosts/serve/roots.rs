//! The sessions that are remembered: what an event finds of its own and leaves there, and which of them give way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_core::Verdict;

use super::calls::{CallId, Found, OPEN};
use super::coming::Coming;
use super::outcome::Decided;
use super::root::{BeforePrompt, Root};
use crate::hosts::quirks;

/// How many sessions are remembered; beyond that the one that was silent longest is forgotten.
pub(super) const MOST_SESSIONS: usize = 4096;

/// How many of them are in the tree of one session.
pub(super) const MOST_IN_TREE: usize = MOST_SESSIONS / 8;

/// What all sessions may take together, in bytes; beyond that the one that was silent longest is forgotten, and of those
/// that are held everything but that.
pub(super) const MOST_BYTES: usize = 32 << 20;

/// How long a session is remembered without an event of it: its program was killed, or has no event for its end. One that
/// is held stays held for longer, because a person may come back to it.
pub(super) const SILENT: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const SILENT_AND_HELD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often what is too old is looked for.
pub(super) const LOOK: Duration = Duration::from_secs(60);

/// Every session, by its id.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) roots: HashMap<String, Root>,
    /// What all of them take, in bytes.
    pub(super) weight: usize,
    pub(super) clock: u64,
    looked: Option<Instant>,
}

/// What is found of an event about a session.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) session: String,
    /// What only a prompt asks for.
    pub(super) before: Option<BeforePrompt>,
    /// An event that is no call and may come once more through another entry.
    pub(super) event: Option<CallId>,
}

/// What is made of a session by an event.
pub(super) struct Entered {
    pub(super) call: Option<CallId>,
    pub(super) child: Option<String>,
    pub(super) counts: Option<String>,
    pub(super) stop_active: bool,
    pub(super) decided: Option<Verdict>,
}

/// Why an event is not to be published now.
pub(super) enum Not {
    /// Its call is under way, or the start of its session.
    Yet,
    /// Its call was decided.
    Again(Arc<Decided>),
    /// There is no room for its session.
    Possible,
}

impl Found {
    /// The call of its own that an arrival is.
    fn or_not(self) -> Result<CallId, Not> {
        match self {
            Self::New(id) => Ok(id),
            Self::Undecided => Err(Not::Yet),
            Self::Decided(decided) => Err(Not::Again(decided)),
        }
    }
}

/// Nothing here takes longer for a longer document.
impl Roots {
    /// Finds the session of an event.
    pub(super) fn begin(&mut self, coming: &mut Coming, now: Instant) -> Result<Begun, Not> {
        let Coming { arrival, incoming, tree, arriving, under, holds } = coming;
        self.expire(now);
        self.clock += 1;
        let is_new = !self.roots.contains_key(&incoming.root);
        let (tree, holds) = (tree.take().filter(|_| is_new), holds.take().filter(|_| is_new));
        let has_room = tree.as_ref().is_none_or(|tree| self.make_room_in(tree));
        if !has_room || !self.make_room(&incoming.root) {
            return Err(Not::Possible);
        }
        let clock = self.clock;
        let root = self.root(&incoming.root);
        (root.last, root.heard, root.is_bare) = (clock, Some(now), false);
        root.tree = root.tree.take().or(tree);
        holds.into_iter().for_each(|holds| root.hold_again(holds));
        if root.first_cwd.is_none() {
            root.first_cwd.clone_from(&incoming.cwd);
        }
        if incoming.project_root.is_none() {
            incoming.project_root.clone_from(&root.first_cwd);
        }
        let is_prompt = incoming.point.name == "before_prompt";
        if quirks(arrival.host).turns.prompt_overtakes_start && is_prompt && root.starting > 0 {
            return Err(Not::Yet);
        }
        // Before anything that is remembered is used up by it.
        let event =
            (!arriving.is_call()).then(|| root.calls.arrive(arriving, *under, now).or_not()).transpose();
        if matches!(event, Err(Not::Again(_))) {
            self.weigh(&incoming.root);
        }
        let event = event?;
        let root = self.root(&incoming.root);
        root.is_over = false;
        root.attribute(arrival, incoming);
        let session = incoming.session();
        let before = is_prompt.then(|| root.before_prompt(arrival, incoming, &session));
        Ok(Begun { session, before, event })
    }

    /// Takes an event into its session.
    pub(super) fn enter(&mut self, coming: &Coming, session: &str, now: Instant) -> Result<Entered, Not> {
        let Coming { arrival, incoming, arriving, under, .. } = coming;
        let root_id = incoming.root.clone();
        let root = self.root(&root_id);
        let name = incoming.point.name;
        if name == "before_prompt" {
            root.prompted(incoming, session);
        }
        let child = root.subagent(&root_id, incoming);
        let named = incoming.agent.iter().map(|agent| &*agent.id).chain(incoming.child.as_deref());
        named.chain(incoming.tasks.iter().map(String::as_str)).for_each(|id| root.tasks.insert(id, ()));
        let call = arriving.is_call().then(|| root.calls.arrive(arriving, *under, now).or_not()).transpose();
        if matches!(call, Err(Not::Again(_))) {
            // The entry through which it came again is remembered.
            self.weigh(&root_id);
        }
        let call = call?;
        let root = self.root(&root_id);
        let counts = match name {
            "before_stop" => Some(session.to_owned()),
            "after_subagent" => child.clone(),
            _ => None,
        };
        let counted = counts.as_deref();
        let stop_active = counted.is_some_and(|counted| root.stop_active(arrival, incoming, counted));
        let decided = root.held(name, session);
        root.starting += u32::from(name == "before_session");
        self.weigh(&root_id);
        Ok(Entered { call, child, counts, stop_active, decided })
    }

    /// What is known of a session; of one that was forgotten nothing.
    pub(super) fn root(&mut self, id: &str) -> &mut Root {
        if !self.roots.contains_key(id) {
            let root = Root { last: self.clock, heard: self.looked, ..Root::default() };
            self.roots.insert(id.to_owned(), root);
        }
        self.roots.entry(id.to_owned()).or_default()
    }

    pub(super) fn weigh(&mut self, id: &str) {
        if let Some(root) = self.roots.get_mut(id) {
            self.weight -= root.weight;
            root.weight = id.len() + root.weigh();
            self.weight += root.weight;
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some(root) = self.roots.remove(id) {
            self.weight -= root.weight;
        }
    }

    /// A session is over. What came of its last events stays for a while: these may come through another entry as well.
    pub(super) fn end(&mut self, id: &str) {
        let root = self.root(id);
        let Root { last, heard, weight, .. } = *root;
        let (calls, tree) = (std::mem::take(&mut root.calls), root.tree.take());
        *root = Root { calls, tree, last, heard, weight, is_over: true, ..Root::default() };
        self.weigh(id);
    }

    /// Makes room for what this session is about to take. `false` when there is none: all others are held, and a hold that
    /// was forgotten would let their agents go on.
    pub(super) fn make_room(&mut self, coming: &str) -> bool {
        loop {
            let is_one_more = self.roots.len() >= MOST_SESSIONS && !self.roots.contains_key(coming);
            if !is_one_more && self.weight <= MOST_BYTES {
                return true;
            }
            let others = self.roots.iter().filter(|(id, root)| *id != coming && !root.is_bare);
            let silent = others.min_by_key(|(_, root)| (root.is_held(), root.last));
            let silent = silent.map(|(id, root)| (id.clone(), root.is_held()));
            let Some((id, is_held)) = silent.filter(|(_, is_held)| !(is_one_more && *is_held)) else {
                return !is_one_more;
            };
            if is_held {
                self.root(&id).bare();
                self.weigh(&id);
            } else {
                self.remove(&id);
            }
        }
    }

    /// Makes room for one more of a tree. `false` when all that it may have are held.
    fn make_room_in(&mut self, tree: &str) -> bool {
        let of_tree = || self.roots.iter().filter(|(_, root)| root.tree.as_deref() == Some(tree));
        if of_tree().count() < MOST_IN_TREE {
            return true;
        }
        let silent = of_tree().filter(|(_, root)| !root.is_held()).min_by_key(|(_, root)| root.last);
        let Some(id) = silent.map(|(id, _)| id.clone()) else { return false };
        self.remove(&id);
        true
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let looked = *self.looked.get_or_insert(now);
        if now.saturating_duration_since(looked) < LOOK {
            return;
        }
        self.looked = Some(now);
        let mut weight = 0;
        self.roots.retain(|_, root| {
            let before = root.calls.weight();
            root.calls.expire(now);
            root.weight -= before - root.calls.weight();
            let silent = root.heard.map_or(Duration::ZERO, |heard| now.saturating_duration_since(heard));
            let longest = match (root.is_over, root.is_held()) {
                (true, _) => OPEN,
                (false, true) => SILENT_AND_HELD,
                (false, false) => SILENT,
            };
            let stays = silent < longest;
            weight += if stays { root.weight } else { 0 };
            stays
        });
        self.weight = weight;
    }
}
