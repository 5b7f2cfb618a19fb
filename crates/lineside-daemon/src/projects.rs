//! The projects of the sessions: each is found by where a session works, loaded when its first session comes, watched
//! while there is one, and forgotten a while after the last.

mod loaded;
mod notice;
#[cfg(feature = "nats")]
mod by_content;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::automation::Automations;
use lineside::bus::Scope;
use lineside::bus::register::RegisterHookError;
use lineside::bus::session::OpenSession;
use lineside::claims::Claims;
use lineside::core::Source;
use lineside::dialects::{Dialect, Places, Trust};
use lineside::protection::Protection;
use lineside::trust::{Store, ancestors};
use lineside::{Assembly, LoadReport, Session, project};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[cfg(feature = "nats")]
pub(crate) use self::loaded::Held;
pub(crate) use self::loaded::{Project, Stands};
use crate::aside::{Aside, Load};
use crate::boxed::spawn;
use crate::settings::Settings;
use crate::watcher::Watcher;

/// How long a project without a session stays as it was loaded.
const KEPT: Duration = Duration::from_secs(600);

/// The same of one that no person has trusted, whose hooks are only listed.
const KEPT_UNTRUSTED: Duration = Duration::from_secs(60);

/// What the hooks of all such projects may take together, in bytes. Of a further one none is listed.
const MOST_LISTED: usize = 64 << 20;

/// All projects that are loaded. Cloning it costs a reference count; all clones are the same.
#[derive(Clone)]
pub(crate) struct Projects {
    inner: Arc<Inner>,
}

struct Inner {
    /// Those of projects are made of it.
    assembly: Assembly,
    /// The user's places.
    user: Places,
    /// The formats of the hooks that are put in force.
    dialects: Vec<&'static dyn Dialect>,
    protection: Option<Protection>,
    /// The project whose hooks hold for every session, as the program that holds the daemon says.
    of_all: Option<PathBuf>,
    store: Store,
    claims: Claims,
    known: Mutex<Known>,
    /// Where files of projects are read.
    aside: Aside,
    /// The same of those that no person has trusted.
    of_strangers: Aside,
    /// Of all of them, and of the user's.
    watcher: Watcher,
    /// What their hooks may take still.
    listed: Arc<Semaphore>,
    tracker: TaskTracker,
    ending: CancellationToken,
    /// How often it has changed which project holds for which session.
    news: watch::Sender<u64>,
}

/// The projects that are known.
#[derive(Default)]
struct Known {
    by_root: HashMap<PathBuf, Arc<Project>>,
    by_scope: HashMap<Scope, Arc<Project>>,
}

impl Known {
    fn get(&self, root: &Path) -> Option<&Arc<Project>> {
        self.by_root.get(root)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Project>> {
        self.by_root.values()
    }

    fn add(&mut self, project: &Arc<Project>) {
        self.by_root.insert(project.root.clone(), Arc::clone(project));
        self.by_scope.insert(project.scope().clone(), Arc::clone(project));
    }

    fn remove(&mut self, project: &Project) {
        self.by_root.remove(&project.root);
        self.by_scope.remove(project.scope());
    }
}

impl Inner {
    /// A project was loaded, or a session has come into one.
    fn tell(&self) {
        self.news.send_modify(|changes| *changes += 1);
    }

    /// Where the files of a project are read. However long that takes of one that no person has trusted, it holds up none
    /// that one has.
    fn aside_of(&self, root: &Path) -> &Aside {
        if self.store.knows(root) { &self.aside } else { &self.of_strangers }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Projects {
    pub(crate) fn new(
        assembly: &Assembly,
        settings: &Settings,
        claims: &Claims,
        tracker: &TaskTracker,
        ending: &CancellationToken,
    ) -> Self {
        let Settings { places: user, state, dialects, protection, .. } = settings;
        let of_all = user.project_root.as_ref().filter(|_| user.trust == Trust::Granted);
        let of_all = of_all.and_then(|root| root.canonicalize().ok());
        Self {
            inner: Arc::new(Inner {
                assembly: assembly.of_project(Path::new("/")),
                user: user.clone(),
                dialects: dialects.clone(),
                protection: protection.clone(),
                of_all,
                store: Store::of(state),
                claims: claims.clone(),
                known: Mutex::default(),
                aside: Aside::default(),
                of_strangers: Aside::of_strangers(),
                watcher: Watcher::default(),
                listed: Arc::new(Semaphore::new(MOST_LISTED)),
                tracker: tracker.clone(),
                ending: ending.clone(),
                news: watch::Sender::default(),
            }),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.inner.known()
    }

    /// What watches for all of the daemon.
    pub(crate) fn watcher(&self) -> &Watcher {
        &self.inner.watcher
    }

    /// Puts a session that is about to be opened into the scope of its project, which is loaded first. One that does not
    /// say where it works, and is below no other, works where `otherwise` says.
    ///
    /// # Errors
    /// The hooks of the project cannot be put in force.
    pub(crate) async fn enter(
        &self,
        opening: OpenSession,
        otherwise: Option<&Path>,
    ) -> Result<OpenSession, RegisterHookError> {
        let project = self.of(opening.source(), otherwise).await?;
        if let Some(project) = &project {
            self.pass_by(project, opening.source(), otherwise).await;
        }
        Ok(project.into_iter().fold(opening, |opening, project| opening.scope(project.scope())))
    }

    /// Puts an open session into the projects of these folders, from which it is heard, beside those that it is in: those that
    /// a person has trusted. What it was opened in stays.
    ///
    /// # Errors
    /// The hooks of one cannot be put in force.
    pub(crate) async fn join(&self, session: &Session, works: &[PathBuf]) -> Result<(), RegisterHookError> {
        for work in works {
            // It was opened in what was to be had of its own folder then.
            if works_in(session.source(), None) == Some(work) && !self.is_trusted_since(session, work) {
                continue;
            }
            let Some(project) = self.load_at(work).await? else { continue };
            if project.holds() && !session.is_in(project.scope()) && session.enter_too(project.scope()) {
                self.inner.tell();
            }
        }
        Ok(())
    }

    /// Whether a session is not in the nearest project that a person has trusted there.
    fn is_trusted_since(&self, session: &Session, work: &Path) -> bool {
        let Inner { user, store, .. } = &*self.inner;
        let nearest = ancestors(work, user.home()).into_iter().find(|above| store.knows(above));
        let is_in = |root: &PathBuf| self.known().get(root).is_some_and(|own| session.is_in(own.scope()));
        nearest.is_some_and(|root| !is_in(&root))
    }

    /// The roots of the projects that hold for a session itself.
    pub(crate) fn roots(&self, session: &Session) -> Vec<String> {
        let known = self.known();
        let own = session.scopes().filter_map(|scope| known.by_scope.get(&scope));
        own.filter(|project| project.holds())
            .map(|project| project.root.to_string_lossy().into_owned())
            .collect()
    }

    /// The project of what works there, loaded.
    async fn of(
        &self,
        source: &Source,
        otherwise: Option<&Path>,
    ) -> Result<Option<Arc<Project>>, RegisterHookError> {
        match works_in(source, otherwise) {
            Some(work) => self.load_at(work).await,
            None => Ok(None),
        }
    }

    /// Has a session hear that hooks of a folder within its project, in which it works, do not run.
    async fn pass_by(&self, project: &Project, source: &Source, otherwise: Option<&Path>) {
        let Some(work) = works_in(source, otherwise) else { return };
        if project::nearest_below(work, &self.inner.user, &project.root).is_none() {
            return;
        }
        // Its files may be a stranger's, and long.
        let (held, work, root) = (Arc::clone(&self.inner), work.to_path_buf(), project.root.clone());
        let look = async move { project::passed_by(&work, &held.user, &root) };
        if let Some(inner) = self.inner.of_strangers.run(Load::OWN, look).await {
            project.pass_by(source, &inner);
        }
    }

    /// The project of what works in a folder, loaded.
    ///
    /// # Errors
    /// Its hooks cannot be put in force.
    pub(crate) async fn load_at(&self, work: &Path) -> Result<Option<Arc<Project>>, RegisterHookError> {
        let Inner { user, store, .. } = &*self.inner;
        let nearest = project::nearest(work, user, store, |root| self.known().get(root).is_some());
        let Some(nearest) = nearest else { return Ok(None) };
        if let Some(project) = self.known().get(&nearest).filter(|project| project.is_loaded()) {
            project.used();
            return Ok(Some(Arc::clone(project)));
        }
        // Its files may be a stranger's, and long.
        let (held, work) = (self.clone(), work.to_path_buf());
        self.inner.aside_of(&nearest).run(Load::OWN, async move { held.read_at(&work).await }).await
    }

    /// Loads the projects for whose automations work of an earlier life rests: no session of them may come before that
    /// counts as forgotten.
    pub(crate) async fn load_waited_for(&self, automations: &Automations) {
        for (cwd, root) in automations.absent_in() {
            let Some(work) = work_of(cwd.as_deref(), root.as_deref()) else { continue };
            if let Err(error) = self.load_at(work).await {
                let work = work.display();
                tracing::warn!(%error, %work, "the project whose work rests cannot be loaded");
            }
        }
    }

    async fn read_at(&self, work: &Path) -> Result<Option<Arc<Project>>, RegisterHookError> {
        let Some(root) = self.find(work) else { return Ok(None) };
        let (project, is_new) = self.known_or_new(&root);
        if is_new {
            self.watch(&project);
        }
        project.load_once(&self.inner).await?;
        Ok(Some(project))
    }

    /// The root of the project of what works there; none for the one whose hooks hold for every session.
    fn find(&self, work: &Path) -> Option<PathBuf> {
        let Inner { user, store, .. } = &*self.inner;
        let found = project::find_or_known(work, user, store, |root| self.known().get(root).is_some())?;
        Some(found).filter(|found| Some(found) != self.inner.of_all.as_ref())
    }

    fn known_or_new(&self, root: &Path) -> (Arc<Project>, bool) {
        let mut known = self.known();
        if let Some(project) = known.get(root) {
            project.used();
            return (Arc::clone(project), false);
        }
        let project = Arc::new(Project::new(root, self.inner.assembly.of_project(root), &self.inner.watcher));
        known.add(&project);
        (project, true)
    }

    /// Has a project loaded anew whenever its files change, or what is known of its trust, until it is forgotten.
    fn watch(&self, project: &Arc<Project>) {
        let (project, inner) = (Arc::clone(project), Arc::clone(&self.inner));
        spawn(&self.inner.tracker, async move {
            loop {
                tokio::select! {
                    () = project.over.cancelled() => return,
                    () = inner.ending.cancelled() => return,
                    () = project.changes.next() => {}
                }
                let (held, of) = (Arc::clone(&project), Arc::clone(&inner));
                let load = async move { held.load_changed(&of).await };
                if let Err(error) = inner.aside_of(&project.root).run(Load::OWN, load).await {
                    let root = project.root.display();
                    tracing::warn!(%error, %root, "the changed hooks cannot be loaded; those before stay in force");
                }
            }
        });
    }

    /// Loads every project anew, and looks for the projects of sessions that were opened in none.
    ///
    /// # Errors
    /// The hooks of one cannot be put in force.
    pub(crate) async fn load(&self) -> Result<(), RegisterHookError> {
        for project in self.all() {
            let of = Arc::clone(&self.inner);
            // Its files may be a stranger's, and long.
            let aside = self.inner.aside_of(&project.root);
            aside.run(Load::OWN, async move { project.load(&of).await }).await?;
        }
        let bus = self.inner.assembly.bus();
        for session in bus.sessions().into_iter().filter_map(|id| bus.find(id.as_str())) {
            if session.scope().is_none()
                && let Some(project) = self.of(session.source(), None).await?
                && session.enter(project.scope())
            {
                // Its load was announced before the session was in it.
                self.inner.tell();
            }
        }
        Ok(())
    }

    /// The projects that are loaded, by their roots.
    pub(crate) fn all(&self) -> Vec<Arc<Project>> {
        let mut all: Vec<_> = self.known().all().cloned().collect();
        all.sort_by(|one, other| one.root.cmp(&other.root));
        all
    }

    /// What is wrong with the store of what was trusted.
    pub(crate) fn finding(&self) -> Option<String> {
        self.inner.store.finding()
    }

    /// What is known of the hooks that a session is under: those of the user, and of the projects that it is in.
    pub(crate) fn report(&self, session: &Session, of_user: &LoadReport) -> LoadReport {
        let own = self.all().into_iter().filter(|project| session.is_in(project.scope()));
        own.fold(of_user.clone(), |report, project| report.and(&project.now().report))
    }

    /// How many of the open sessions are in each project that has any, by the roots of these.
    pub(crate) fn sessions(&self) -> HashMap<PathBuf, usize> {
        let bus = self.inner.assembly.bus();
        let mut counts = HashMap::new();
        for session in bus.sessions().iter().filter_map(|id| bus.find(id.as_str())) {
            self.all_roots(&session).into_iter().for_each(|root| *counts.entry(root).or_default() += 1);
        }
        counts
    }

    /// The roots of the projects whose hooks a session is under.
    fn all_roots(&self, session: &Session) -> BTreeSet<PathBuf> {
        let known = self.known();
        let scopes = session.all_scopes();
        scopes.iter().filter_map(|scope| Some(known.by_scope.get(scope)?.root.clone())).collect()
    }

    /// Forgets the projects that have had no session for long, nor one that has `left` its hooks to what comes below it.
    pub(crate) async fn forget_unused(&self, now: Instant, left: &[Session]) {
        let is_idle = |project: &Project| {
            let is_untrusted = project.now().stands == Stands::Untrusted;
            let kept = if is_untrusted { KEPT_UNTRUSTED } else { KEPT };
            now.saturating_duration_since(project.last_used()) >= kept
        };
        let idle: Vec<_> = self.known().all().filter(|project| is_idle(project)).cloned().collect();
        if idle.is_empty() {
            return;
        }
        let held = self.clone();
        let mut in_use = self.inner.aside.run(Load::OWN, async move { held.sessions() }).await;
        in_use.extend(left.iter().flat_map(|session| self.all_roots(session)).map(|root| (root, 1)));
        for project in idle {
            if in_use.contains_key(&project.root) {
                project.used();
                continue;
            }
            {
                let mut known = self.known();
                // A session may be about to be opened in it.
                if !is_idle(&project) {
                    continue;
                }
                self.forget(&mut known, &project);
            }
            project.end(&self.inner).await;
        }
    }

    /// A project is not known any more: its root may be loaded anew at once, and what that claims is not this one's.
    fn forget(&self, known: &mut Known, project: &Project) {
        known.remove(project);
        project.over.cancel();
        self.inner.claims.put(&project.root.to_string_lossy(), &LoadReport::default());
    }

    /// Ends the workers of all of them.
    pub(crate) async fn end(&self) {
        for project in self.all() {
            project.let_go().await;
        }
    }
}

/// Where what opens a session works; where `otherwise` says, if it does not say and is below no other.
fn works_in<'a>(source: &'a Source, otherwise: Option<&'a Path>) -> Option<&'a Path> {
    let work = work_of(source.cwd.as_deref(), source.project_root.as_deref());
    work.or(otherwise.filter(|_| source.depth == 0))
}

/// Where something works: its directory, unless that lies outside of the project that is named.
fn work_of<'a>(cwd: Option<&'a str>, root: Option<&'a str>) -> Option<&'a Path> {
    let cwd = cwd.map(Path::new).filter(|cwd| cwd.is_absolute());
    let root = root.map(Path::new).filter(|root| root.is_absolute());
    cwd.filter(|cwd| root.is_none_or(|root| cwd.starts_with(root))).or(root)
}

#[cfg(test)]
impl Projects {
    /// Every place for loads: none is loaded until this is dropped.
    pub(crate) async fn all_places(&self) -> [tokio::sync::OwnedSemaphorePermit; 2] {
        [self.inner.aside.all_places().await, self.inner.of_strangers.all_places().await]
    }
}

#[cfg(test)]
mod tests;
