//! The one watcher of a daemon: every folder that hooks depend on is watched once, however many loads depend on it.
//!
//! A system has few instances of its watching for each account, and all programs of the account share them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::ModifyKind;
use notify::{
    Config, Error, ErrorKind, Event, EventKind, EventKindMask, PathOp, RecommendedWatcher, UpdatePathsError,
    Watcher as _,
};

use crate::footprint::{Folders, Footprint};
use crate::watch::Changes;

/// What is taken away from the watching of the system is looked for among all that it watches. Beyond so many at once, the
/// watching begins anew with what is left.
const ONE_BY_ONE: usize = 64;

/// Cloning it costs a reference count; all clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Watcher {
    /// Made when the first folder is watched. Never waited for where something was noticed: it waits for that itself.
    system: Arc<Mutex<Option<RecommendedWatcher>>>,
    known: Arc<Mutex<Known>>,
}

/// Who is concerned by what.
#[derive(Default)]
struct Known {
    last: u64,
    users: HashMap<u64, (Arc<Changes>, Folders)>,
    places: BTreeMap<PathBuf, Place>,
}

/// A folder, for as long as it is of use.
#[derive(Default)]
struct Place {
    users: HashSet<u64>,
    /// Not where that has failed, and not where the folder may have been made again since: the watch is on the one before.
    is_watched: bool,
}

/// What is to be done for the folders of a user.
#[derive(Default)]
struct Change {
    /// Those that are watched no longer.
    gone: Vec<PathBuf>,
    /// Those that are watched from here on.
    new: Vec<PathBuf>,
    /// Those of others among them.
    again: Vec<PathBuf>,
}

impl Watcher {
    /// A further user, of no folder yet.
    pub(crate) fn user(&self) -> u64 {
        let mut known = lock(&self.known);
        known.last += 1;
        known.last
    }

    /// Watches the folders of a footprint for a user in the place of those before. Takes some microseconds for each that is
    /// new or was made again. Gives what has failed: changes may be missed then.
    pub(crate) fn set(&self, user: u64, changes: &Arc<Changes>, footprint: &Footprint) -> Option<Error> {
        self.put(user, Some((changes, footprint)))
    }

    /// Nothing is of use to this user any more.
    pub(crate) fn leave(&self, user: u64) {
        self.put(user, None);
    }

    fn put(&self, user: u64, now: Option<(&Arc<Changes>, &Footprint)>) -> Option<Error> {
        let mut system = lock(&self.system);
        let Change { mut gone, mut new, mut again } = lock(&self.known).put(user, now);
        let is_anew = gone.len() > ONE_BY_ONE && system.take().is_some();
        if is_anew {
            (gone, new) = (Vec::new(), lock(&self.known).all());
            again.clone_from(&new);
        }
        if system.is_none() && !new.is_empty() {
            match begin(&self.known) {
                Ok(begun) => *system = Some(begun),
                Err(error) => {
                    let mut known = lock(&self.known);
                    if is_anew {
                        known.tell_others(user, &again);
                    }
                    known.nothing_is_watched();
                    return Some(error);
                }
            }
        }
        let gone = gone.into_iter().map(PathOp::unwatch);
        let steps = gone.chain(new.into_iter().map(PathOp::watch_non_recursive)).collect();
        let failed = self.update(&mut system, steps);
        lock(&self.known).tell_others(user, &again);
        failed
    }

    /// Whether it has nothing of the system.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.system).is_none()
    }

    fn update(&self, system: &mut Option<RecommendedWatcher>, mut steps: Vec<PathOp>) -> Option<Error> {
        let mut failed = None;
        // Those before the one that fails are done.
        while let Some(watcher) = system.as_mut().filter(|_| !steps.is_empty())
            && let Err(UpdatePathsError { source, origin, remaining }) = watcher.update_paths(steps)
        {
            steps = remaining;
            match origin {
                Some(PathOp::Watch(path, _)) => {
                    let is_absent = is_absence(&source);
                    if !is_absent && !is_refusal(&source) {
                        failed = Some(source);
                    }
                    lock(&self.known).is_not_watched(&path, is_absent);
                }
                // It has gone, and its watch with it.
                Some(PathOp::Unwatch(_)) => {}
                None => {
                    failed = Some(source);
                    (*system, steps) = (None, Vec::new());
                    lock(&self.known).nothing_is_watched();
                }
            }
        }
        failed
    }
}

fn begin(known: &Arc<Mutex<Known>>) -> Result<RecommendedWatcher, Error> {
    let known = Arc::clone(known);
    // Who reads a file is no news, and all files are read at a load.
    let config = Config::default().with_event_kinds(EventKindMask::CORE | EventKindMask::ACCESS_CLOSE);
    RecommendedWatcher::new(move |noticed| lock(&known).note(noticed), config)
}

impl Known {
    /// Puts the folders of a user in the place of those before. Gives what is to be done for that.
    fn put(&mut self, user: u64, now: Option<(&Arc<Changes>, &Footprint)>) -> Change {
        let now = now.map(|(changes, footprint)| (Arc::clone(changes), footprint.wanted()));
        let mut change = Change::default();
        let before = self.users.remove(&user);
        for path in before.iter().flat_map(|(_, folders)| folders.paths()) {
            if now.as_ref().is_none_or(|(_, folders)| !folders.has(path))
                && let Some(place) = self.places.get_mut(path)
            {
                place.users.remove(&user);
                if place.users.is_empty() {
                    self.places.remove(path);
                    change.gone.push(path.to_path_buf());
                }
            }
        }
        for path in now.iter().flat_map(|(_, folders)| folders.paths()) {
            let place = self.places.entry(path.to_path_buf()).or_default();
            let is_new = place.users.is_empty();
            place.users.insert(user);
            // What is noticed of it from here on counts.
            if std::mem::replace(&mut place.is_watched, true) {
                continue;
            }
            if !is_new {
                change.gone.push(path.to_path_buf());
                change.again.push(path.to_path_buf());
            }
            change.new.push(path.to_path_buf());
        }
        self.users.extend(now.map(|now| (user, now)));
        change
    }

    /// All folders, each of which is watched from here on.
    fn all(&mut self) -> Vec<PathBuf> {
        self.places.values_mut().for_each(|place| place.is_watched = true);
        self.places.keys().cloned().collect()
    }

    fn tell<'a>(&self, users: impl IntoIterator<Item = &'a u64>) {
        let users = users.into_iter().filter_map(|user| self.users.get(user));
        users.for_each(|(changes, _)| changes.tell());
    }

    /// Tells the others whom these folders concern that they may have changed while they were not watched.
    fn tell_others(&self, user: u64, again: &[PathBuf]) {
        let places = again.iter().filter_map(|path| self.places.get(path)).filter(|place| place.is_watched);
        let others: HashSet<_> =
            places.flat_map(|place| &place.users).filter(|other| **other != user).collect();
        self.tell(others);
    }

    fn is_not_watched(&mut self, path: &Path, has_gone: bool) {
        let Some(place) = self.places.get_mut(path) else { return };
        place.is_watched = false;
        if has_gone {
            let users: Vec<u64> = place.users.iter().copied().collect();
            self.tell(&users);
        }
    }

    fn nothing_is_watched(&mut self) {
        self.places.values_mut().for_each(|place| place.is_watched = false);
    }

    fn note(&mut self, noticed: Result<Event, Error>) {
        let event = match noticed {
            Ok(event) if !event.need_rescan() => event,
            missed => {
                let error = missed.err();
                tracing::warn!(?error, "something of the watched hook files was missed");
                self.nothing_is_watched();
                return self.tell(self.users.keys());
            }
        };
        for path in &event.paths {
            self.note_one(event.kind, path);
        }
    }

    fn note_one(&mut self, kind: EventKind, path: &Path) {
        let is_of_content = matches!(
            kind,
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))
        );
        if !is_of_content {
            // Another folder may stand there from now on, and below.
            let below = self.places.range_mut::<Path, _>((Bound::Included(path), Bound::Unbounded));
            let below = below.take_while(|(place, _)| place.starts_with(path));
            below.for_each(|(_, place)| place.is_watched = false);
        }
        let Some(place) = path.parent().and_then(|folder| self.places.get(folder)) else { return };
        for (changes, folders) in place.users.iter().filter_map(|user| self.users.get(user)) {
            if folders.concern(kind, path) {
                changes.note(kind, path);
            }
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_absence(error: &Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn is_refusal(error: &Error) -> bool {
    matches!(&error.kind, ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied)
}
