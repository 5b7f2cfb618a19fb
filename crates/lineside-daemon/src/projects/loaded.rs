//! One project: its hooks as a person has trusted them, in the scope of its sessions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use lineside::assembly::{HookFiles, LoadReport};
use lineside::bus::Scope;
use lineside::bus::register::RegisterHookError;
use lineside::core::envelope::Source;
use lineside::core::{Diagnostic, Notice, Origin};
use lineside::dialects::{Trust, Watched};
use lineside::hosts::Host;
use lineside::project::places_of;
use lineside::protection::Protection;
use lineside::trust::{Guard, Reach, Standing};
use lineside::{Assembly, project};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{Inner, notice};
use crate::footprint::Footprint;
use crate::watch::{Changes, LONGEST, Watching, between_looks};
use crate::watcher::Watcher;

/// A project that is loaded.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    assembly: Assembly,
    now: ArcSwap<Now>,
    /// One load at a time.
    loading: AsyncMutex<Loading>,
    pub(super) changes: Arc<Changes>,
    /// Cancelled when it is forgotten.
    pub(super) over: CancellationToken,
    last_used: Mutex<Instant>,
    /// What sessions hear that work in a folder within it whose hooks do not run; nothing while there was none.
    within: OnceLock<Arc<notice::Within>>,
}

/// What is watched, and what was read last.
struct Loading {
    watching: Watching,
    watched: Vec<Watched>,
    is_loaded: bool,
    /// What its hooks take where they are only listed.
    listed: Option<OwnedSemaphorePermit>,
}

/// How a project stands.
#[derive(Default)]
pub(crate) struct Now {
    pub(crate) stands: Stands,
    pub(crate) report: Arc<LoadReport>,
    /// What sessions below its own are under elsewhere; nothing where none of its hooks hold.
    #[cfg_attr(not(feature = "nats"), allow(dead_code, reason = "other machines are told it"))]
    pub(crate) held: Option<Arc<Held>>,
    /// Whether all of its hooks are in the files of agent programs, which run those themselves.
    is_of_programs_alone: bool,
}

/// The longest that guards may be in a message to another machine, in bytes: longer ones count as not known there.
const LONGEST_GUARDS: usize = 256 << 10;

/// What of a project holds. All of its sessions share it, over loads that find the same.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "nats"), allow(dead_code, reason = "other machines are told it"))]
pub(crate) struct Held {
    pub(crate) root: String,
    /// The digest of its content; none while its guards stand closed.
    pub(crate) digest: Option<String>,
    /// Its guards; nothing where they are not known, or too long.
    pub(crate) guards: Option<Arc<[Guard]>>,
    /// How long these are in a message.
    pub(crate) bytes: usize,
}

impl Held {
    fn new(root: &Path, digest: Option<String>, guards: Option<&[Guard]>) -> Self {
        let length = |guards: &[Guard]| lineside::json::to_vec(guards).map_or(usize::MAX, |text| text.len());
        let with_length = guards.map(|guards| (guards, length(guards)));
        let short = with_length.filter(|(_, bytes)| *bytes <= LONGEST_GUARDS);
        let (guards, bytes) = short.map_or((None, 0), |(guards, bytes)| (Some(guards.into()), bytes));
        Self { root: root.to_string_lossy().into_owned(), digest, guards, bytes }
    }

    /// It, or what held before where that is the same.
    fn or_same(self, before: Option<&Arc<Self>>) -> Arc<Self> {
        let same = before.filter(|before| ***before == self);
        same.map_or_else(|| Arc::new(self), Arc::clone)
    }
}

/// How a project stands, what is put in force of it, and what of that holds.
type Judged = (Stands, HookFiles, Option<Held>);

/// Whether the hooks of a project hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stands {
    /// It has none by now.
    #[default]
    Empty,
    /// It was never trusted.
    Untrusted,
    Trusted,
    /// It was trusted, and is not what it was: its guards stand closed.
    Closed,
}

impl Stands {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "without hooks",
            Self::Untrusted => "untrusted",
            Self::Trusted => "trusted",
            Self::Closed => "closed",
        }
    }
}

impl Project {
    pub(super) fn new(root: &Path, assembly: Assembly, watcher: &Watcher) -> Self {
        let watching = Watching::new(watcher, format!("hook files of project {}", root.display()));
        Self {
            root: root.to_path_buf(),
            assembly,
            now: ArcSwap::default(),
            loading: AsyncMutex::new(Loading {
                watching,
                watched: Vec::new(),
                is_loaded: false,
                listed: None,
            }),
            changes: Arc::default(),
            over: CancellationToken::new(),
            last_used: Mutex::new(Instant::now()),
            within: OnceLock::new(),
        }
    }

    /// The scope of its hooks.
    pub(crate) fn scope(&self) -> &Scope {
        match self.assembly.scope() {
            Some(scope) => scope,
            None => unreachable!("it is the assembly of a project"),
        }
    }

    pub(crate) fn now(&self) -> Arc<Now> {
        self.now.load_full()
    }

    /// Whether a person has trusted it: its hooks hold, or its guards stand closed.
    pub(super) fn holds(&self) -> bool {
        matches!(self.now().stands, Stands::Trusted | Stands::Closed)
    }

    pub(super) fn used(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was loaded, and is not being loaded now.
    pub(super) fn is_loaded(&self) -> bool {
        self.loading.try_lock().is_ok_and(|loading| loading.is_loaded)
    }

    /// Loads it, unless that was done before.
    pub(super) async fn load_once(&self, of: &Inner) -> Result<(), RegisterHookError> {
        let mut loading = self.loading.lock().await;
        if loading.is_loaded { Ok(()) } else { self.load_now(of, &mut loading).await }
    }

    /// Loads it anew, unless it was forgotten.
    pub(super) async fn load(&self, of: &Inner) -> Result<(), RegisterHookError> {
        let mut loading = self.loading.lock().await;
        if self.over.is_cancelled() {
            return Ok(());
        }
        self.load_now(of, &mut loading).await
    }

    /// The same after a change, when the files have settled.
    pub(super) async fn load_changed(&self, of: &Inner) -> Result<(), RegisterHookError> {
        let begun = Instant::now();
        loop {
            let mut loading = self.loading.lock().await;
            if self.over.is_cancelled() {
                return Ok(());
            }
            let look = Instant::now();
            let footprint = Footprint::of(&loading.watched);
            if let Some(rest) = self.changes.rest(&footprint, begun.elapsed()) {
                drop(loading);
                sleep(between_looks(rest, look.elapsed())).await;
                continue;
            }
            if loading.watching.loaded.is(&footprint) {
                // A folder may have been made again, and the watch was on the one before.
                loading.watching.set(&footprint, &self.changes);
                if footprint == Footprint::of(&loading.watched) {
                    return Ok(());
                }
                continue;
            }
            return self.load_now(of, &mut loading).await;
        }
    }

    async fn load_now(&self, of: &Inner, loading: &mut Loading) -> Result<(), RegisterHookError> {
        let begun = Instant::now();
        loop {
            let look = Instant::now();
            let declared = self.assembly.watched(&places_of(&of.user, &self.root, Trust::Granted));
            let (before, seen) = Footprint::seen(&declared);
            let read = self.read(of);
            // Of one that was never trusted the place of its hooks says everything.
            let mut further = if of.store.knows(&self.root) { read.watched() } else { Vec::new() };
            further.extend(of.store.files(&self.root).map(|path| Watched { path, levels: 0, ends: &[] }));
            further.extend(of.protection.iter().map(Protection::watched));
            // Set before the last look: what changes after that is noticed.
            let footprint = before.clone().and(&further);
            let blind = loading.watching.set(&footprint, &self.changes);
            let is_of_programs_alone = read.dialects().iter().all(|dialect| Host::named(dialect).is_some());
            let is_of_one_state = seen.holds() || before == Footprint::of(&declared);
            let judged = is_of_one_state.then(|| self.judge(of, read)).flatten();
            let Some((stands, files, held)) =
                judged.or_else(|| (begun.elapsed() >= LONGEST).then(|| self.restless(of)))
            else {
                sleep(between_looks(SHORT, look.elapsed())).await;
                continue;
            };
            let holds = matches!(stands, Stands::Trusted | Stands::Closed);
            let protection = of.protection.iter().filter(|_| holds);
            let files = protection.fold(files.only(&of.dialects), |files, protection| {
                files.protected_within(&self.root, protection)
            });
            loading.listed = None;
            let mut unlisted = None;
            let files = if stands == Stands::Untrusted {
                loading.listed = Arc::clone(&of.listed).try_acquire_many_owned(weight(&files)).ok();
                let is_listed = loading.listed.is_some();
                unlisted = (!is_listed).then(|| Diagnostic::warning(Origin::new(&*self.root, 1), UNLISTED));
                if is_listed { files } else { self.without_hooks(of) }
            } else {
                files
            };
            let mut report = self.assembly.install(files).await?;
            report.diagnostics.extend(blind);
            report.diagnostics.extend(unlisted);
            keep_few(&mut report, stands, &self.root);
            let is_told = stands == Stands::Untrusted && !is_of_programs_alone;
            let notices = if is_told { notice::of(&self.root) } else { Vec::new() };
            self.scope().install_all([(notice::NAME, notices)])?;
            {
                let _known = of.known();
                if self.over.is_cancelled() {
                    return Ok(());
                }
                of.claims.put(&self.root.to_string_lossy(), &report);
            }
            let held = held.map(|held| held.or_same(self.now().held.as_ref()));
            let before =
                self.now.swap(Arc::new(Now { stands, report: Arc::new(report), held, is_of_programs_alone }));
            of.tell();
            if loading.is_loaded && before.stands != stands {
                let text = format!("project {}: {}", self.root.display(), stands.as_str());
                of.assembly.bus().announce(Notice::warning(text));
            }
            (loading.watched, loading.is_loaded) = ([declared, further].concat(), true);
            loading.watching.loaded.put(footprint, async { Ok::<_, RegisterHookError>(()) }).await?;
            return Ok(());
        }
    }

    fn read(&self, of: &Inner) -> project::Project {
        let record = of.store.record(&self.root).ok().flatten();
        let before = record.as_ref().map(|record| &*record.items);
        self.assembly.read_project(&self.root, &of.user, before)
    }

    /// How it stands, and what is put in force; `None` when it changes at this moment.
    fn judge(&self, of: &Inner, read: project::Project) -> Option<Judged> {
        let closed = |read: project::Project, guards: Option<&[Guard]>, why: &str| {
            Some((Stands::Closed, read.closed(guards, why), Some(Held::new(&self.root, None, guards))))
        };
        match of.store.judge(&self.root, &read.content) {
            Standing::Trusted(record) => {
                if Path::new(&record.root) != self.root
                    && let Ok(content) = &read.content
                    && let Err(error) = of.store.trust(content, record.guards.clone(), Reach::Project)
                {
                    tracing::warn!(%error, "failed to record that the content is trusted here too");
                }
                let held = Held::new(&self.root, Some(record.digest), Some(&record.guards));
                Some((Stands::Trusted, read.sealed(&of.store)?, Some(held)))
            }
            Standing::Changed { record, changes, unreadable } => {
                let why = format!(
                    "the project is not what was trusted: {}",
                    project::told(&changes, unreadable.as_deref())
                );
                closed(read, Some(&record.guards), &why)
            }
            Standing::Lost { guards, why } => {
                closed(read, Some(&*guards).filter(|guards| !guards.is_empty()), &why)
            }
            Standing::Never if read.has_hooks() => Some((
                Stands::Untrusted,
                self.assembly.read(&places_of(&of.user, &self.root, Trust::Withheld)),
                None,
            )),
            Standing::Never => Some((Stands::Empty, read.files, None)),
        }
    }

    /// What is put in force of a project whose files do not rest.
    fn restless(&self, of: &Inner) -> Judged {
        let read = self.read(of);
        match of.store.judge(&self.root, &read.content) {
            Standing::Never => {
                let files = self.assembly.read(&places_of(&of.user, &self.root, Trust::Withheld));
                (Stands::Untrusted, files, None)
            }
            Standing::Trusted(record) | Standing::Changed { record, .. } => {
                let files = read.closed(Some(&record.guards), "its files do not come to rest");
                (Stands::Closed, files, Some(Held::new(&self.root, None, Some(&record.guards))))
            }
            Standing::Lost { why, .. } => {
                (Stands::Closed, read.closed(None, &why), Some(Held::new(&self.root, None, None)))
            }
        }
    }

    /// Has a session that works in this folder within it hear once that the hooks there do not run.
    pub(super) fn pass_by(&self, source: &Source, inner: &Path) {
        let within = self.within.get_or_init(|| {
            let within = Arc::default();
            if let Err(error) = self.scope().install_all([(notice::WITHIN, notice::within(&within))]) {
                tracing::warn!(%error, root = %self.root.display(), "what does not run within it cannot be said");
            }
            within
        });
        within.tell(source, inner, &self.root);
    }

    /// What is wrong with it: what its load has found, and that it was never trusted.
    pub(crate) fn findings(&self) -> Vec<Diagnostic> {
        let now = self.now();
        let untrusted = (now.stands == Stands::Untrusted && !now.is_of_programs_alone)
            .then(|| Diagnostic::warning(Origin::new(&*self.root, 1), notice::text(&self.root)));
        untrusted.into_iter().chain(now.report.diagnostics.iter().cloned()).collect()
    }

    /// Takes the hooks of one that was forgotten out of force, for good.
    pub(super) async fn end(&self, of: &Inner) {
        let mut loading = self.loading.lock().await;
        if let Err(error) = self.assembly.install(self.without_hooks(of)).await {
            tracing::warn!(%error, "failed to take the hooks of a project out of force");
        }
        loading.listed = None;
        self.let_go().await;
    }

    fn without_hooks(&self, of: &Inner) -> HookFiles {
        self.assembly.read(&places_of(&of.user, Path::new("/dev/null"), Trust::Withheld))
    }

    pub(super) async fn let_go(&self) {
        self.assembly.shut_down_workers().await;
    }
}

/// What is said of a project none of whose hooks is listed.
const UNLISTED: &str = "its hooks are not listed, because those of all projects that are not trusted take too much; \
                        lineside check there names them";

/// What a hook takes beside its text and its patterns, and a project beside its hooks, in bytes.
const OF_HOOK: usize = 1 << 10;
const OF_PROJECT: usize = 16 << 10;

/// What the hooks of a project take, in bytes: their texts, as written and as read, and what their patterns compile to.
fn weight(files: &HookFiles) -> u32 {
    let origins: Vec<Origin> = files.origins().into_iter().flat_map(|(_, of)| of).flatten().collect();
    let distinct: HashSet<&Path> = origins.iter().map(|origin| origin.file.as_path()).collect();
    let length =
        |file: &Path| file.metadata().map_or(0, |found| usize::try_from(found.len()).unwrap_or(usize::MAX));
    let texts = distinct.into_iter().map(length).fold(0, usize::saturating_add);
    let hooks = origins.len().saturating_mul(OF_HOOK);
    let bytes = texts
        .saturating_mul(2)
        .saturating_add(hooks)
        .saturating_add(files.compiled())
        .saturating_add(OF_PROJECT);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// How many findings of a project are kept, and of hooks that do not run where no person has trusted it.
const FEW: usize = 100;

/// Keeps little of what a stranger may have written.
fn keep_few(report: &mut LoadReport, stands: Stands, root: &Path) {
    if stands == Stands::Untrusted {
        report.hooks.truncate(FEW);
        report.inert.truncate(FEW);
    }
    let more = report.diagnostics.len().saturating_sub(FEW);
    if more > 0 {
        report.diagnostics.truncate(FEW);
        let text = format!("and {more} findings more; lineside check in {} names all", root.display());
        report.diagnostics.push(Diagnostic::warning(Origin::new(root, 1), text));
    }
    report.hooks.shrink_to_fit();
    report.inert.shrink_to_fit();
    report.diagnostics.shrink_to_fit();
}

/// How long files rest that change while they are read, before they are read again.
const SHORT: Duration = Duration::from_millis(10);
