//! A grant of another machine opens something here: its entry is found, its machine asked, and what stands in for its session
//! opened with those above it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::Session;
use lineside::json;
use lineside_nats::{Entry, EntryName};
use subtle::ConstantTimeEq as _;
use tokio::time::{Instant, timeout_at};

use super::Here;
use super::joined::Joined;
use super::words::{Reply, SessionEntry, Word, read, written};
use crate::grants;
use crate::problem::Problem;

/// How long the machine of a grant is asked whether that is worth something.
const ASKED: Duration = Duration::from_millis(500);
/// How long a grant that is not known is looked for.
const FOUND: Duration = Duration::from_secs(1);
/// How many names are remembered that were waited for in vain.
const MOST_MISSED: usize = 4_096;
/// The longest chain of sessions.
const DEEPEST: usize = 32;

impl Joined {
    /// The session of a grant of another machine.
    pub(crate) async fn admit(&self, daemon: &dyn Here, grant: &[u8]) -> Result<Option<Session>, Problem> {
        let Some((name, secret)) = grants::parts(grant) else { return Ok(None) };
        let Ok(_turn) = self.admissions.try_acquire() else { return Ok(None) };
        let Some((_, entry)) = self.find(name).await else { return Ok(None) };
        let is_it: bool = match &entry.verifier {
            Some(verifier) => verifier.as_bytes().ct_eq(grants::verifier_of(&secret).as_bytes()).into(),
            None => false,
        };
        if !is_it {
            return Ok(None);
        }
        // Only now: a grant that is worth nothing is none of another machine.
        self.draining.refuse()?;
        let session = self.stand(daemon, name, 0).await?;
        if let Some(session) = &session {
            daemon.grants().adopt(session, name, secret);
        }
        Ok(session)
    }

    /// The entry of a session of another machine, of which nothing may be known here yet.
    async fn find(&self, name: EntryName) -> Option<(Arc<str>, SessionEntry)> {
        let until = Instant::now() + FOUND;
        if let Some(entry) = self.cluster().get(name) {
            return of_another(entry);
        }
        if let Some(entry) = self.cluster().look_up(name, FOUND).await {
            return of_another(entry).filter(|(machine, _)| **machine != *self.ways.machine());
        }
        if self.missed.has(name) {
            return None;
        }
        // It may have been written a moment ago.
        let _following = Following::begin(self, name);
        loop {
            let later = self.news.notified();
            if let Some(entry) = self.cluster().get(name) {
                return of_another(entry);
            }
            if !self.cluster().health().borrow().link.is_together() {
                return None;
            }
            if timeout_at(until, later).await.is_err() {
                self.missed.note(name);
                return None;
            }
        }
    }

    /// What stands in for a session of another machine here, with what stands in for those above it. `None` where there is
    /// no such session any more.
    async fn stand(
        &self,
        daemon: &dyn Here,
        name: EntryName,
        depth: usize,
    ) -> Result<Option<Session>, Problem> {
        if let Some(own) = self.own().named(name) {
            return Ok(Some(own.session.clone()).filter(Session::is_open));
        }
        let standing = self.stand_ins().get(name).map(|one| one.session.clone());
        if let Some(session) = standing.filter(Session::is_open) {
            return Ok(Some(session));
        }
        if depth > DEEPEST {
            return Ok(None);
        }
        let Some((machine, found)) = self.find(name).await else { return Ok(None) };
        let _coming = Coming::begin(self, name, &machine);
        let entry = match self.told(&machine, name).await {
            Told::Now(now) if now.version >= found.version => *now,
            Told::Over => return Ok(None),
            // It is not there to be asked: what it has written counts.
            _ => found,
        };
        // It has ended, and that is not in the registry yet.
        if depth == 0 && entry.verifier.is_none() {
            return Ok(None);
        }
        let parent = match entry.above.as_deref() {
            None => None,
            Some(above) => {
                let Some(above) = EntryName::parse(above) else { return Ok(None) };
                match Box::pin(self.stand(daemon, above, depth + 1)).await? {
                    Some(parent) => Some(parent),
                    None => return Ok(None),
                }
            }
        };
        // A project that has what it is under is loaded before something is opened below it.
        for digest in entry.projects.iter().filter_map(|project| project.digest.as_deref()) {
            daemon.projects().find_trusted(digest).await;
        }
        let mut stand_ins = self.stand_ins();
        stand_ins.stand((daemon, &self.ways), (name, &machine), parent.as_ref(), entry).map(Some)
    }

    /// What the machine of a session says of it, which knows from then on that something is below it here.
    pub(super) async fn told(&self, machine: &str, name: EntryName) -> Told {
        let settings = self.cluster().settings();
        let (from, life) = (settings.machine.to_string(), settings.life.to_string());
        let word = Word::Stands { from, life, session: name.to_string() };
        match self.cluster().ask(machine, written(&word, "").into(), ASKED).await {
            Ok(answer) => match read::<Reply>(&answer) {
                Some((Reply::Entry { entry: Some(entry) }, _)) => Told::Now(entry),
                Some((Reply::Entry { entry: None }, _)) => Told::Over,
                _ => Told::Nothing,
            },
            // One that is not there may only be on its way back.
            Err(_) if self.cluster().has_left(machine) => Told::Left,
            Err(_) => Told::Nothing,
        }
    }
}

/// What a machine says of a session.
pub(super) enum Told {
    Now(Box<SessionEntry>),
    Over,
    /// The machine has left.
    Left,
    /// It cannot be asked now.
    Nothing,
}

/// The names that were waited for in vain: a grant that is over is shown with every call of its program.
#[derive(Default)]
pub(super) struct Missed(Mutex<HashSet<EntryName>>);

impl Missed {
    fn names(&self) -> MutexGuard<'_, HashSet<EntryName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, name: EntryName) -> bool {
        self.names().contains(&name)
    }

    fn note(&self, name: EntryName) {
        let mut names = self.names();
        if names.len() >= MOST_MISSED {
            names.clear();
        }
        names.insert(name);
    }
}

/// An entry that is waited for; it is followed until this is dropped, and on where something is below it by then.
struct Following<'a>(&'a Joined, EntryName);

impl<'a> Following<'a> {
    fn begin(joined: &'a Joined, name: EntryName) -> Self {
        joined.cluster().follow(name);
        Self(joined, name)
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        let Self(joined, name) = self;
        joined.unfollow(&joined.stand_ins(), *name);
    }
}

/// A stand-in that is being opened.
struct Coming<'a>(&'a Joined, EntryName, Arc<str>);

impl<'a> Coming<'a> {
    fn begin(joined: &'a Joined, name: EntryName, machine: &Arc<str>) -> Self {
        let mut stand_ins = joined.stand_ins();
        stand_ins.comes(name);
        joined.cluster().follow(name);
        drop(stand_ins);
        Self(joined, name, Arc::clone(machine))
    }
}

impl Drop for Coming<'_> {
    /// Nothing has come of it, or who asked has left: its machine holds nothing for it.
    fn drop(&mut self) {
        let Self(joined, name, machine) = self;
        let mut stand_ins = joined.stand_ins();
        if stand_ins.has_come(*name) {
            joined.has_left(machine, *name);
        }
    }
}

pub(super) fn of_another(entry: Entry) -> Option<(Arc<str>, SessionEntry)> {
    let read = json::from_slice(&entry.value);
    let read = read.inspect_err(|error| tracing::warn!(%error, "an entry of the registry cannot be read"));
    Some((entry.machine, read.ok()?))
}
