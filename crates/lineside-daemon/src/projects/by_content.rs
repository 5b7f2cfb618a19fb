//! Projects by their content: a session of another machine is in one of the same content here, wherever that lies.

use std::path::PathBuf;
use std::sync::Arc;

use lineside::Session;
use tokio::sync::watch;

use super::{Project, Projects};
use crate::aside::Load;

impl Projects {
    /// Tells of each load of a project, and of each session that comes into one later than it was opened.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.inner.news.subscribe()
    }

    /// The file that changes with each trust.
    pub(crate) fn list_of_trusted(&self) -> PathBuf {
        self.inner.store.list_file()
    }

    /// The projects that a session itself was put into, in that order.
    pub(crate) fn of_session(&self, session: &Session) -> Vec<Arc<Project>> {
        let known = self.known();
        session.scopes().filter_map(|scope| known.by_scope.get(&scope).cloned()).collect()
    }

    /// A project that a session itself was put into where one has exactly this content, else any that is loaded and has.
    /// A person has trusted it.
    pub(crate) fn trusted_for(&self, session: &Session, digest: &str) -> Option<Arc<Project>> {
        let own = self.of_session(session).into_iter().find(|project| project.has(digest));
        own.or_else(|| self.trusted(digest))
    }

    /// A project that is loaded and has exactly this content, which a person has trusted.
    fn trusted(&self, digest: &str) -> Option<Arc<Project>> {
        let known = self.known();
        let project =
            known.all().filter(|project| project.has(digest)).min_by_key(|project| &project.root)?;
        // Under the lock: what is about to be put into it keeps it from being forgotten.
        project.used();
        Some(Arc::clone(project))
    }

    /// The same; one that is not loaded yet is.
    pub(crate) async fn find_trusted(&self, digest: &str) -> Option<Arc<Project>> {
        if let Some(project) = self.trusted(digest) {
            return Some(project);
        }
        let (store, digest) = (self.inner.store.clone(), digest.to_owned());
        let roots = {
            let digest = digest.clone();
            // There may be many records.
            self.inner.aside.run(Load::OWN, async move { store.roots_of(&digest) }).await
        };
        for root in roots {
            let loaded = Box::pin(self.load_at(&root)).await;
            let loaded = loaded.inspect_err(|error| tracing::warn!(%error, "a project cannot be loaded"));
            if let Some(project) = loaded.ok().flatten().filter(|project| project.has(&digest)) {
                return Some(project);
            }
        }
        None
    }
}

impl Project {
    /// Whether exactly this content of it is in force.
    pub(crate) fn has(&self, digest: &str) -> bool {
        self.now().held.as_ref().and_then(|held| held.digest.as_deref()) == Some(digest)
    }
}
