//! The watching of hook files: what is noticed of changes, and when the files have settled.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::core::Diagnostic;
use lineside::dialects::Watched;
use notify::EventKind;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::footprint::{Footprint, Seen};
use crate::in_force::InForce;
use crate::watcher::Watcher;

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
    pub(crate) fn tell(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Something has happened to a file that counts.
    pub(crate) fn note(&self, kind: EventKind, path: &Path) {
        let mut writing = self.writing();
        match kind {
            EventKind::Modify(ModifyKind::Data(_)) if TELLS_OF_CLOSING && writing.len() < WRITING => {
                writing.insert(path.to_path_buf());
            }
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_)) => {
                writing.remove(path);
            }
            _ => {}
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
pub(crate) struct Watching {
    watcher: Watcher,
    user: u64,
    /// Whose files they are, in words.
    files: String,
    /// What the hooks in force were read from.
    pub(crate) loaded: InForce<Footprint>,
}

impl Watching {
    pub(crate) fn new(watcher: &Watcher, files: impl Into<String>) -> Self {
        Self {
            watcher: watcher.clone(),
            user: watcher.user(),
            files: files.into(),
            loaded: InForce::default(),
        }
    }

    /// Watches the folders of a footprint in the place of those before, so that folders that have appeared are among
    /// them. Gives what is wrong with it: changes may be missed then.
    pub(crate) fn set(&self, footprint: &Footprint, changes: &Arc<Changes>) -> Option<Diagnostic> {
        let error = self.watcher.set(self.user, changes, footprint)?;
        let text = format!("changes of {} may be missed: {error}; `lineside reload` loads them", self.files);
        Some(Diagnostic::warning(None, text))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watcher.leave(self.user);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use lineside::dialects::Watched;
    use notify::EventKind;
    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, ModifyKind};

    use super::{Changes, LONGEST, QUIET, SHORT, Steady, TELLS_OF_CLOSING, WRITING, Watching, between_looks};
    use crate::footprint::Footprint;
    use crate::watcher::Watcher;

    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));

    /// One user of a watcher, and what it notices of these files.
    struct User {
        watching: Watching,
        changes: Arc<Changes>,
        watched: [Watched; 1],
    }

    impl User {
        fn new(watcher: &Watcher, file: &Path) -> Self {
            let watched = [Watched { path: file.to_path_buf(), levels: 0, ends: &[] }];
            let user = Self { watching: Watching::new(watcher, "x"), changes: Arc::default(), watched };
            user.set();
            user
        }

        fn set(&self) {
            assert_eq!(self.watching.set(&Footprint::of(&self.watched), &self.changes), None);
        }

        /// Waits until the file counts as open for writing, or does not. As a load does it, watches anew after each change.
        async fn until_open(&self, is_open: bool, mut meanwhile: impl FnMut()) {
            while self.changes.writing().contains(&self.watched[0].path) != is_open {
                self.changes.next().await;
                self.set();
                meanwhile();
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_folder_that_was_made_again_is_watched_again_for_all_that_it_concerns() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let here = root.join("a/b");
        let (file, other) = (here.join("hooks.yaml"), here.join("other.yaml"));
        let watcher = Watcher::default();
        fs::create_dir_all(&here).unwrap();
        let users = [&file, &file, &other].map(|file| User::new(&watcher, file));
        for round in 0..4 {
            // Both that it is moved with what is in it, and that it is removed.
            if round % 2 == 0 {
                fs::rename(root.join("a"), root.join(format!("away-{round}"))).unwrap();
            } else {
                fs::remove_dir_all(root.join("a")).unwrap();
            }
            fs::create_dir_all(&here).unwrap();
            let opened = [&file, &other].map(|file| File::create(file).unwrap());
            for (user, mut opened) in users.iter().zip([&opened[0], &opened[0], &opened[1]]) {
                user.until_open(true, || opened.write_all(b"x").unwrap()).await;
            }
            drop(opened);
            for user in &users {
                let opened = || File::options().append(true).open(&user.watched[0].path).unwrap();
                user.until_open(false, || drop(opened())).await;
                assert!(user.changes.writing().is_empty(), "what is another's");
            }
        }
        // The others are served as before when one has left.
        let [one, two, three] = users;
        drop((one, three));
        let mut opened = File::create(&file).unwrap();
        two.until_open(true, || opened.write_all(b"x").unwrap()).await;
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_has_many_folders_leaves_at_once_and_the_others_are_watched_on() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (file, hooks) = (root.join("own/hooks.yaml"), root.join("hooks"));
        fs::create_dir(root.join("own")).unwrap();
        (0..100).for_each(|number| fs::create_dir_all(hooks.join(number.to_string())).unwrap());
        let watcher = Watcher::default();
        let user = User::new(&watcher, &file);
        let many = || {
            let watching = Watching::new(&watcher, "x");
            let watched = [Watched { path: hooks.clone(), levels: 2, ends: &["HOOK.md"] }];
            assert_eq!(watching.set(&Footprint::of(&watched), &Arc::default()), None);
            watching
        };
        drop(many());
        // What came while it was not watched is not missed.
        user.changes.next().await;
        user.set();
        let mut opened = File::create(&file).unwrap();
        user.until_open(true, || opened.write_all(b"x").unwrap()).await;
        drop(user);
        drop(many());
        assert!(watcher.is_idle());
    }

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
        changes.note(EventKind::Create(CreateKind::Any), &root.join("hooks.yaml"));
        assert!(!has_rested().await && has_rested().await);
        // It was, and only its folder shows it.
        File::open(&root).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(!has_rested().await && has_rested().await);
    }

    #[test]
    fn of_files_that_are_being_written_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let changes = Changes::default();
        for number in 0..2 * WRITING {
            changes.note(WRITTEN, &root.join(format!("{number}.md")));
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
        changes.note(WRITTEN, &file);
        if TELLS_OF_CLOSING {
            assert_eq!(changes.rest(&footprint, Duration::ZERO), Some(SHORT));
            assert_eq!(changes.rest(&footprint, LONGEST), None, "but not for ever");
        }
        changes.note(WRITTEN, &file);
        changes.note(EventKind::Access(AccessKind::Close(AccessMode::Write)), &file);
        assert_eq!(changes.rest(&footprint, Duration::ZERO), None);
        fs::write(&file, "x").unwrap();
        let footprint = Footprint::of(&[Watched { path: file.clone(), levels: 0, ends: &[] }]);
        let rest = changes.rest(&footprint, Duration::ZERO);
        assert!(rest.is_none_or(|rest| rest <= QUIET));
    }
}
