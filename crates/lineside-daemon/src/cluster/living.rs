//! The hooks of sessions that live in the daemon's own process, as other machines are to know them: each is read as an entry once,
//! before anything of the cluster is locked, and what another machine could not read is left out of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside::bus::LivingEntry;
use lineside::json::{Map, Value, json};
use lineside::{DeclaredHook, Session};

use crate::attachments::Declared;

/// What the number of such a hook has beside that of its registration.
pub(super) const LIVES_HERE: u64 = 1 << 63;

/// A hook as another machine is to know it.
struct Known {
    declared: Declared,
    /// Its condition is not in that, and is asked here.
    is_asked_here: bool,
}

/// All of them, by the numbers of their sessions and of their registrations.
#[derive(Default)]
pub(super) struct LivingHooks(Mutex<HashMap<u64, HashMap<u64, Known>>>);

impl LivingHooks {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, HashMap<u64, Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads those of a session that were not read before, without a lock; those that are gone go here too.
    pub(super) fn read(&self, session: &Session) {
        let number = session.number();
        let known: HashSet<u64> =
            self.all().get(&number).into_iter().flat_map(HashMap::keys).copied().collect();
        let entries = session.living(&|registration| known.contains(&registration));
        let new: Vec<_> = entries.into_iter().filter_map(declared).collect();
        let mut all = self.all();
        let here = all.entry(number).or_default();
        here.extend(new);
        let now: HashSet<u64> =
            session.living(&|_| true).into_iter().map(|living| living.registration).collect();
        here.retain(|registration, _| now.contains(registration));
        if here.is_empty() {
            all.remove(&number);
        }
    }

    /// Those of a session, as they were registered.
    pub(super) fn of(&self, session: &Session) -> Vec<Declared> {
        self.read(session);
        let all = self.all();
        let own = all.get(&session.number()).into_iter().flat_map(HashMap::values);
        let mut now: Vec<_> = own.map(|known| known.declared.clone()).collect();
        drop(all);
        now.sort_by_key(|declared| declared.number);
        now
    }

    /// Whether the condition of one is asked here, since no other machine could read it.
    pub(super) fn is_asked_here(&self, session: &Session, registration: u64) -> bool {
        let all = self.all();
        let known = all.get(&session.number()).and_then(|own| own.get(&registration));
        known.is_some_and(|known| known.is_asked_here)
    }

    /// A session is over.
    pub(super) fn forget(&self, session: &Session) {
        self.all().remove(&session.number());
    }
}

/// One as another machine can read it: without its condition, which is asked here then, and under another name where it has to
/// be. `None` where it was known.
fn declared(living: LivingEntry) -> Option<(u64, Known)> {
    let LivingEntry { registration, reach, entry, has_condition } = living;
    let mut entry = entry?;
    let can_be_read = |entry: &Map| DeclaredHook::read("0", &json!(entry).to_string()).is_ok();
    if !can_be_read(&entry) {
        entry.remove("match");
    }
    if !can_be_read(&entry) {
        entry.insert("name".to_owned(), format!("hook-{registration}").into());
    }
    let is_asked_here = has_condition && !entry.contains_key("match");
    let text = Value::Object(entry).to_string();
    let declared = Declared { number: LIVES_HERE | registration, reach, text };
    Some((registration, Known { declared, is_asked_here }))
}
