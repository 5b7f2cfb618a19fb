//! Where the hooks of a project's file are started: in that project, whatever an event is about. A person has trusted the
//! files of one project, and a relative path of a hook, or one that begins with a variable of the project, must not lead
//! to those of another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::invocation::Program;
use lineside_core::worker::WorkerReach;
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
    /// what is started, where and with which variables is of an event in the hook's own project. A directory of the event
    /// counts where it lies within that, and for a program with a relative path the root alone.
    ///
    /// # Errors
    /// Those of `prepare`.
    pub fn prepare(
        &self,
        event: &AnyEvent,
        prepare: impl Fn(&AnyEvent) -> Result<Call, Failure>,
    ) -> Result<Call, Failure> {
        let mut call = prepare(event)?;
        let Some((program, directory)) = started(&mut call) else { return Ok(call) };
        if let Some(missing) = directory.as_deref().filter(|directory| self.real(directory).is_none()) {
            // It stays missing, whatever is there a moment later.
            *directory = Some(Path::new("/dev/null").join(missing.strip_prefix("/").unwrap_or(missing)));
            return Ok(call);
        }
        let is_relative = program.below_working_directory().is_some();
        let Some(moved) = self.moved(event, is_relative) else { return Ok(call) };
        Ok(match (call, prepare(&moved)?) {
            (Call::Command(heard), Call::Command(mut started)) => {
                started.stdin = heard.stdin;
                Call::Command(started)
            }
            (Call::Warm(_, heard), Call::Warm(worker, _)) => Call::Warm(worker, heard),
            (call, _) => call,
        })
    }

    /// The same event in this project, or in its root alone; `None` when it is there.
    fn moved(&self, event: &AnyEvent, only_root: bool) -> Option<AnyEvent> {
        let strays = |directory: &Path| {
            let lies_within = || self.real(directory).is_some_and(|real| real.starts_with(&self.real));
            directory != Path::new(&*self.root) && (only_root || !lies_within())
        };
        let source = &event.envelope().source;
        let is_nowhere = source.project_root.is_none() && source.cwd.is_none() && strays(&self.own);
        let strays =
            |directory: &Option<Arc<str>>| directory.as_deref().is_some_and(|path| strays(Path::new(path)));
        let (project, cwd) = (is_nowhere || strays(&source.project_root), strays(&source.cwd));
        if !project && !cwd {
            return None;
        }
        let mut envelope = event.envelope().clone();
        let source = Arc::make_mut(&mut envelope.source);
        if project {
            source.project_root = Some(Arc::clone(&self.root));
        }
        if cwd {
            source.cwd = Some(Arc::clone(&self.root));
        }
        Some(event.with_envelope(envelope))
    }

    /// A directory without links; `None` when it is not there.
    fn real(&self, directory: &Path) -> Option<PathBuf> {
        self.own.join(directory).canonicalize().ok()
    }
}

/// The program of a call that starts one, and where.
fn started(call: &mut Call) -> Option<(&Program, &mut Option<PathBuf>)> {
    match call {
        Call::Command(invocation) => Some((&invocation.program, &mut invocation.working_directory)),
        Call::Warm(worker, _) => match &mut worker.reach {
            WorkerReach::Program { program, working_directory, .. } => Some((program, working_directory)),
            _ => None,
        },
        _ => None,
    }
}
