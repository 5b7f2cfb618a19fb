//! The loading of hook files: at the start, when a person asks, and after they have changed.

use std::collections::HashSet;
use std::sync::Arc;

use lineside::assembly::HookFiles;
use lineside::bus::register::RegisterHookError;
use lineside::core::{Diagnostic, Notice};
use lineside::dialects::Watched;
use lineside::protection::Protection;
use tokio::time::{Duration, Instant, sleep};

use super::{Daemon, Loaded};
use crate::footprint::Footprint;
use crate::watch::{LONGEST, SHORT, Steady, between_looks};
use crate::whole::whole;

/// What is said of files that do not settle.
const UNSETTLED: &str = "hook files go on changing, so that no hook is taken away until they rest for a moment; \
    `lineside reload` has what stands there now";

impl Daemon {
    /// Finds and installs the hooks of all formats; the ones before stay in force until then. Gives what was found.
    ///
    /// Whole: a load that has begun goes on without its caller.
    ///
    /// # Errors
    /// More hooks at one point than can be numbered; those before stay in force.
    pub(crate) async fn load(self: &Arc<Self>) -> Result<Arc<Loaded>, RegisterHookError> {
        self.load_from(None).await
    }

    /// The same for the first time, after a moment where hook files have just been changed: one that is being rewritten is empty
    /// between two steps of that.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) async fn load_first(self: &Arc<Self>) -> Result<Arc<Loaded>, RegisterHookError> {
        let footprint = Footprint::of(&self.watched());
        if let Some(rest) = self.changes.rest(&footprint, Duration::ZERO) {
            sleep(rest).await;
            return self.load().await;
        }
        self.load_from(Some(footprint)).await
    }

    async fn load_from(
        self: &Arc<Self>,
        footprint: Option<Footprint>,
    ) -> Result<Arc<Loaded>, RegisterHookError> {
        let daemon = Arc::clone(self);
        let all = async move {
            let loaded = daemon.load_all(footprint).await?;
            Box::pin(daemon.projects.load()).await?;
            Ok(loaded)
        };
        whole(&self.tracker, all).await
    }

    async fn load_all(&self, footprint: Option<Footprint>) -> Result<Arc<Loaded>, RegisterHookError> {
        let mut watching = self.loading.lock().await;
        // Set before anything is read: what changes meanwhile is noticed.
        let footprint = footprint.unwrap_or_else(|| Footprint::of(&self.watched()));
        let blind = watching.set(&footprint, &self.changes);
        let files = self.read();
        watching.loaded.put(footprint, self.install(files, blind)).await
    }

    /// The same after a change, when the files have settled; nothing when they are as they were. Of files that do not settle
    /// no hooks are taken away: they may lack them at this moment alone.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) async fn load_changed(&self) -> Result<Option<Arc<Loaded>>, RegisterHookError> {
        let begun = Instant::now();
        let (mut steady, mut is_said) = (Steady::default(), false);
        loop {
            let mut watching = self.loading.lock().await;
            let look = Instant::now();
            let (footprint, _) = steady.look(&self.watched(), &self.changes);
            if let Some(rest) = self.changes.rest(&footprint, begun.elapsed()) {
                // A load that is asked for does not wait for files to settle.
                drop(watching);
                sleep(between_looks(rest, look.elapsed())).await;
                continue;
            }
            // Also when nothing has changed: a folder may have been made again, and the watch was on the one before.
            let blind = watching.set(&footprint, &self.changes);
            let is_news = !watching.loaded.is(&footprint);
            let files = is_news.then(|| self.read());
            let (now, is_steady) = steady.look(&self.watched(), &self.changes);
            // A change came meanwhile, so that what was read may be of two states.
            let is_of_two = footprint != now && begun.elapsed() < LONGEST;
            let lacks = |files: &HookFiles| files.lacks_of(&self.loaded().report);
            if is_of_two || !is_steady && files.as_ref().is_some_and(lacks) {
                drop(watching);
                if begun.elapsed() >= LONGEST && !std::mem::replace(&mut is_said, true) {
                    self.bus().announce(Notice::warning(UNSETTLED));
                }
                let rest = if is_of_two { Duration::ZERO } else { SHORT };
                sleep(between_looks(rest, look.elapsed())).await;
                continue;
            }
            let Some(files) = files else { return Ok(None) };
            let loaded = watching.loaded.put(footprint, self.install(files, blind)).await?;
            drop(watching);
            // What a project has tightened are those hooks of the user that have just given way, whatever it has noticed
            // of their files and when.
            Box::pin(self.projects.load()).await?;
            return Ok(Some(loaded));
        }
    }

    fn watched(&self) -> Vec<Watched> {
        let protection = self.settings.protection.iter().map(Protection::watched);
        self.assembly.watched(&self.settings.places).into_iter().chain(protection).collect()
    }

    fn read(&self) -> HookFiles {
        let files = self.assembly.read(&self.settings.places);
        self.settings.protection.iter().fold(files, HookFiles::protected)
    }

    async fn install(
        &self,
        files: HookFiles,
        blind: Option<Diagnostic>,
    ) -> Result<Arc<Loaded>, RegisterHookError> {
        let mut report = self.assembly.install(files).await?;
        report.diagnostics.extend(blind);
        let report = Arc::new(report);
        self.claims.put("", &report);
        // Loads come one after another.
        let generation = self.loaded.load().generation + 1;
        let now = Arc::new(Loaded { generation, report });
        self.feed.note_generation(generation);
        let before = self.loaded.swap(Arc::clone(&now));
        if before.generation > 0 {
            self.announce(&before, &now);
        }
        Ok(now)
    }

    /// Notifies the watchers of signals of a load, and of what is newly wrong.
    fn announce(&self, before: &Loaded, now: &Loaded) {
        let text = format!("generation {} of hooks is in force: {}", now.generation, now.count());
        self.bus().announce(Notice::info(text));
        let before: HashSet<String> = before.report.diagnostics.iter().map(Diagnostic::to_string).collect();
        let said = now.report.diagnostics.iter().map(Diagnostic::to_string);
        said.filter(|said| !before.contains(said))
            .for_each(|said| self.bus().announce(Notice::warning(said)));
    }
}
