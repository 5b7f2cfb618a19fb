//! The watching of hook files: what is noticed of changes, and when the files have settled.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::core::Diagnostic;
use lineside::dialects::Watched;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{
    Config, Error, ErrorKind, Event, EventKind, EventKindMask, PathOp, RecommendedWatcher, UpdatePathsError,
    Watcher as _,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::footprint::{Folders, Footprint, Seen};
use crate::in_force::InForce;

/// How long files have to be as they are before they are read: an editor writes them in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// When changes have not ended for this long, a shorter rest is enough.
const MOST: Duration = Duration::from_millis(500);
pub(crate) const SHORT: Duration = Duration::from_millis(10);

/// After this long, files are read as they are.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// What part of the time files are looked at that do not rest: where other users may write beside hooks, a look may take long,
/// and changes may have no end.
const PART: u32 = 5;

/// How many files are known to be open for writing; of further ones the last change counts alone.
const WRITING: usize = 1_024;

/// How long to wait before files are looked at again, which has just taken so long.
pub(crate) fn between_looks(rest: Duration, took: Duration) -> Duration {
    rest.max(took.saturating_mul(PART - 1)).min(LONGEST)
}

/// Whether the end of a writing is noticed here.
const TELLS_OF_CLOSING: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// What was noticed.
#[derive(Default)]
pub(crate) struct Changes {
    changed: Notify,
    /// How often something was noticed.
    count: AtomicU64,
    /// Files that were changed and are still open for writing.
    writing: Mutex<HashSet<PathBuf>>,
}

impl Changes {
    /// Waits for a change. One that came before is not lost. Cancel safe.
    pub(crate) async fn next(&self) {
        self.changed.notified().await;
    }

    /// How long to wait before these files are read, when that has taken this long so far; `None` when they rest.
    pub(crate) fn rest(&self, footprint: &Footprint, waited: Duration) -> Option<Duration> {
        let mut writing = self.writing();
        if waited >= LONGEST {
            writing.clear();
            return None;
        }
        if !writing.is_empty() {
            return Some(SHORT);
        }
        let quiet = if waited < MOST { QUIET } else { SHORT };
        let age = footprint.age()?;
        quiet.checked_sub(age).filter(|rest| !rest.is_zero())
    }

    /// Something has changed, or may have.
    fn tell(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    fn note(&self, folders: &Folders, noticed: Result<Event, Error>) {
        let event = match noticed {
            Ok(event) if event.need_rescan() => return self.tell(),
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "something of the watched hook files was missed");
                return self.tell();
            }
        };
        let kind = event.kind;
        let concerned: Vec<PathBuf> =
            event.paths.into_iter().filter(|path| folders.concern(kind, path)).collect();
        if concerned.is_empty() {
            return;
        }
        let mut writing = self.writing();
        for path in concerned {
            match kind {
                EventKind::Modify(ModifyKind::Data(_)) if TELLS_OF_CLOSING && writing.len() < WRITING => {
                    writing.insert(path);
                }
                EventKind::Access(AccessKind::Close(AccessMode::Write))
                | EventKind::Remove(_)
                | EventKind::Modify(ModifyKind::Name(_)) => {
                    writing.remove(&path);
                }
                _ => {}
            }
        }
        drop(writing);
        self.tell();
    }

    fn writing(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Since when files are as they are, over several looks at them.
#[derive(Default)]
pub(crate) struct Steady(Option<(Look, Instant)>);

/// What a look at files has found, and how often something was noticed of them before it.
struct Look {
    found: Footprint,
    seen: Seen,
    noticed: u64,
}

impl Look {
    fn is_as(&self, other: &Self) -> bool {
        self.noticed == other.noticed && self.found == other.found && self.seen.has_folders_of(&other.seen)
    }
}

impl Steady {
    /// Looks at files. Gives what they are, and whether they have been that for as long as files have to rest: each look
    /// since has found the same, and nothing has come or gone in between.
    pub(crate) fn look(&mut self, watched: &[Watched], changes: &Changes) -> (Footprint, bool) {
        let noticed = changes.count.load(Ordering::Relaxed);
        let (found, seen) = Footprint::seen(watched);
        let (footprint, now) = (found.clone(), Look { found, seen, noticed });
        match &self.0 {
            Some((before, since)) if before.is_as(&now) => (footprint, since.elapsed() >= QUIET),
            _ => {
                self.0 = Some((now, Instant::now()));
                (footprint, false)
            }
        }
    }
}

/// What is watched, and what was loaded.
#[derive(Default)]
pub(crate) struct Watching {
    watcher: Option<RecommendedWatcher>,
    /// What the hooks in force were read from.
    pub(crate) loaded: InForce<Footprint>,
}

impl Watching {
    /// Watches the folders of a footprint in the place of those before, so that folders that have appeared are among
    /// them. Takes some microseconds for each. Gives what is wrong with it: changes may be missed then.
    pub(crate) fn set(&mut self, footprint: &Footprint, changes: &Arc<Changes>) -> Option<Diagnostic> {
        let error = match watcher(footprint, changes) {
            Ok((watcher, error)) => {
                self.watcher = Some(watcher);
                error?
            }
            Err(error) => error,
        };
        let text = format!("changes of hook files may be missed: {error}; `lineside reload` loads them");
        Some(Diagnostic::warning(None, text))
    }
}

fn watcher(
    footprint: &Footprint,
    changes: &Arc<Changes>,
) -> Result<(RecommendedWatcher, Option<Error>), Error> {
    let (noticed, about) = (Arc::clone(changes), footprint.wanted());
    // Who reads a file is no news, and all files are read at a load.
    let config = Config::default().with_event_kinds(EventKindMask::CORE | EventKindMask::ACCESS_CLOSE);
    let mut watcher = RecommendedWatcher::new(move |event| noticed.note(&about, event), config)?;
    let mut failed = None;
    let mut folders: Vec<PathOp> = footprint.folders().map(PathOp::watch_non_recursive).collect();
    // Those before the one that fails are watched.
    while let Err(UpdatePathsError { source, origin, remaining }) = watcher.update_paths(folders) {
        if is_absence(&source) {
            // It has just gone, or nothing of ours can lie where this user may not look.
            changes.tell();
        } else if !is_refusal(&source) {
            failed = Some(source);
        }
        folders = if origin.is_some() { remaining } else { Vec::new() };
        if folders.is_empty() {
            break;
        }
    }
    Ok((watcher, failed))
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use lineside::dialects::Watched;
    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, ModifyKind};
    use notify::{Event, EventKind};

    use super::{Changes, LONGEST, QUIET, SHORT, Steady, TELLS_OF_CLOSING, WRITING, between_looks};
    use crate::footprint::Footprint;

    #[test]
    fn looks_that_take_long_are_a_fifth_of_the_time() {
        let [short, long, longest] = [1, 100, 10_000].map(Duration::from_millis);
        assert_eq!(between_looks(SHORT, short), SHORT);
        assert_eq!(between_looks(SHORT, long), 4 * long);
        assert_eq!(between_looks(QUIET, longest), LONGEST);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_otherwise_between_two_looks_has_not_rested() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let watched = [Watched { path: root.join("hooks.yaml"), levels: 0, ends: &[] }];
        let (changes, mut steady) = (Changes::default(), Steady::default());
        let mut has_rested = async || {
            tokio::time::advance(QUIET).await;
            steady.look(&watched, &changes).1
        };
        assert!(!has_rested().await && has_rested().await);
        // It was there for a moment, which was noticed.
        let created = Event::new(EventKind::Create(CreateKind::Any)).add_path(root.join("hooks.yaml"));
        changes.note(&Footprint::of(&watched).wanted(), Ok(created));
        assert!(!has_rested().await && has_rested().await);
        // It was, and only its folder shows it.
        File::open(&root).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(!has_rested().await && has_rested().await);
    }

    #[test]
    fn of_files_that_are_being_written_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let footprint = Footprint::of(&[Watched { path: root.clone(), levels: 1, ends: &[".md"] }]);
        let (changes, folders) = (Changes::default(), footprint.wanted());
        for number in 0..2 * WRITING {
            let event = Event::new(EventKind::Modify(ModifyKind::Data(DataChange::Any)));
            changes.note(&folders, Ok(event.add_path(root.join(format!("{number}.md")))));
        }
        assert_eq!(changes.writing().len(), if TELLS_OF_CLOSING { WRITING } else { 0 });
    }

    #[test]
    fn a_file_that_is_being_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("hooks.yaml");
        let opened = File::create(&file).unwrap();
        opened.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let footprint = Footprint::of(&[Watched { path: file.clone(), levels: 0, ends: &[] }]);
        let changes = Changes::default();
        assert_eq!(changes.rest(&footprint, Duration::ZERO), None, "it has been as it is for long");
        let event = |kind| Ok(Event::new(kind).add_path(file.clone()));
        changes.note(&footprint.wanted(), event(EventKind::Modify(ModifyKind::Data(DataChange::Any))));
        if TELLS_OF_CLOSING {
            assert_eq!(changes.rest(&footprint, Duration::ZERO), Some(SHORT));
            assert_eq!(changes.rest(&footprint, LONGEST), None, "but not for ever");
        }
        changes.note(&footprint.wanted(), event(EventKind::Modify(ModifyKind::Data(DataChange::Any))));
        changes.note(&footprint.wanted(), event(EventKind::Access(AccessKind::Close(AccessMode::Write))));
        assert_eq!(changes.rest(&footprint, Duration::ZERO), None);
        fs::write(&file, "x").unwrap();
        let footprint = Footprint::of(&[Watched { path: file.clone(), levels: 0, ends: &[] }]);
        let rest = changes.rest(&footprint, Duration::ZERO);
        assert!(rest.is_none_or(|rest| rest <= QUIET));
    }
}
