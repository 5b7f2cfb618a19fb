//! Where the hooks of a project's file are started: in that project, whatever an event is about. A person has trusted the
//! files of one project, and a relative path of a hook, or one that begins with a variable of the project, must not lead
//! to those of another one.

use std::path::{Component, PathBuf};
use std::sync::Arc;

use lineside_core::{AnyEvent, Failure, Hook, Layer};

use crate::dialect::{Places, Trust, absolute};
use crate::handler::Call;

/// The project whose files were loaded.
#[derive(Debug, Clone)]
pub struct Ground {
    root: Arc<str>,
    /// The root without links.
    real: PathBuf,
    /// Where a relative working directory of an event starts.
    own: PathBuf,
    trust: Trust,
}

impl Ground {
    /// The ground of hooks that are loaded from these places.
    #[must_use]
    pub fn of(places: &Places) -> Self {
        let root = absolute(places.work_dir());
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        Self { root: root.to_string_lossy().into(), real, own: absolute(&places.cwd), trust: places.trust }
    }

    /// Whether a hook stands in a file of the project that a person has trusted.
    #[must_use]
    pub fn declares(&self, hook: &Hook) -> bool {
        let lies_here = || hook.origin.as_ref().is_some_and(|origin| origin.file.starts_with(&*self.root));
        hook.layer == Layer::Project && self.trust == Trust::Granted && lies_here()
    }

    /// What a hook of the project runs for an event, as `prepare` says it: what it reads is of the event as it is, and
    /// what is started, where and with which variables is of the same event in the hook's own project. The working
    /// directory of the event counts where it lies within that.
    ///
    /// # Errors
    /// Those of `prepare`.
    pub fn prepare(
        &self,
        event: &AnyEvent,
        prepare: impl Fn(&AnyEvent) -> Result<Call, Failure>,
    ) -> Result<Call, Failure> {
        let Some(moved) = self.moved(event) else { return prepare(event) };
        Ok(match (prepare(event)?, prepare(&moved)?) {
            (Call::Command(heard), Call::Command(mut started)) => {
                started.stdin = heard.stdin;
                Call::Command(started)
            }
            (Call::Warm(_, heard), Call::Warm(worker, _)) => Call::Warm(worker, heard),
            // Nothing is started for the event.
            (heard, _) => heard,
        })
    }

    /// The same event in this project; `None` when it is there.
    fn moved(&self, event: &AnyEvent) -> Option<AnyEvent> {
        let source = &event.envelope().source;
        let is_of_project = source.project_root.as_deref() == Some(&*self.root);
        let strays = source.cwd.as_deref().is_some_and(|cwd| !self.holds(cwd));
        if is_of_project && !strays {
            return None;
        }
        let mut envelope = event.envelope().clone();
        let source = Arc::make_mut(&mut envelope.source);
        source.project_root = Some(Arc::clone(&self.root));
        if strays {
            source.cwd = Some(Arc::clone(&self.root));
        }
        Some(event.with_envelope(envelope))
    }

    /// Whether a directory lies in the project; of one that is not there its text says so.
    fn holds(&self, directory: &str) -> bool {
        if directory == &*self.root {
            return true;
        }
        let directory = self.own.join(directory);
        match directory.canonicalize() {
            Ok(real) => real.starts_with(&self.real),
            Err(_) => {
                let climbs = directory.components().any(|part| part == Component::ParentDir);
                !climbs && directory.starts_with(&*self.root)
            }
        }
    }
}
