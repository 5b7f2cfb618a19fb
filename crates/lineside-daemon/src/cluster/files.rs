//! Hooks of files over machines: a session is in a project on its machine, and what stands in for it elsewhere is in one of
//! the same content there, which a person has trusted there. Where there is none the guards of the project stand closed.

use std::path::Path;
use std::sync::Arc;

use lineside::bus::register::RegisterHookError;
use lineside::{ClosedGuards, Session};

use super::Here;
use super::words::ProjectEntry;
use crate::projects::{Held, Project};

/// The longest that guards may be in a message, in bytes: longer ones count as not known.
const LONGEST: usize = 256 << 10;

/// What others are to know of the project that a session of this machine is in.
pub(super) fn project_of(daemon: &dyn Here, session: &Session) -> Option<ProjectEntry> {
    let project = daemon.projects().of_session(session)?;
    let Held { digest, guards } = project.now().held.clone()?;
    let is_short = |guards: &Vec<_>| lineside::json::to_vec(guards).is_ok_and(|text| text.len() <= LONGEST);
    Some(ProjectEntry {
        root: project.root.to_string_lossy().into_owned(),
        digest,
        guards: guards.filter(is_short),
    })
}

/// The hooks of files that something which stands in is under.
#[derive(Default)]
pub(super) struct Files {
    wanted: Option<ProjectEntry>,
    /// Those that stand for what is not in force here.
    closed: Option<ClosedGuards>,
    /// Those that stand for hooks of programs that its machine cannot tell.
    untold: Option<ClosedGuards>,
}

impl Files {
    /// Has a stand-in be under the hooks of this project: those of one that has its content here, or its closed guards.
    ///
    /// # Errors
    /// The session is closed.
    pub(super) fn put(
        &mut self,
        daemon: &dyn Here,
        (session, machine): (&Session, &str),
        wanted: Option<&ProjectEntry>,
    ) -> Result<(), RegisterHookError> {
        // The registry does not have the guards, and they are the same for the same content.
        let known = self.wanted.as_ref().filter(|known| {
            wanted.is_some_and(|wanted| {
                wanted.guards.is_none() && (&wanted.root, &wanted.digest) == (&known.root, &known.digest)
            })
        });
        let known = known.cloned();
        let wanted = known.as_ref().or(wanted);
        let here = wanted.and_then(|wanted| daemon.projects().trusted(wanted.digest.as_deref()?));
        let holds = here.is_some_and(|project| is_put(session, &project));
        let is_same = self.wanted.as_ref() == wanted;
        if is_same && self.closed.is_none() == (holds || wanted.is_none()) {
            return Ok(());
        }
        // The new ones are there before the others leave: no event comes in between.
        let closed = match wanted.filter(|_| !holds) {
            None => None,
            Some(wanted) => {
                let why = remedy(session, machine, wanted);
                let root = Path::new(&wanted.root);
                Some(daemon.assembly().close_guards(session, root, wanted.guards.as_deref(), &why)?)
            }
        };
        std::mem::replace(&mut self.closed, closed).into_iter().for_each(ClosedGuards::remove);
        self.wanted = wanted.cloned();
        Ok(())
    }

    /// Which hooks of programs there are is not known: whatever they may judge stands closed.
    ///
    /// # Errors
    /// The session is closed.
    pub(super) fn hide(
        &mut self,
        daemon: &dyn Here,
        (session, machine): (&Session, &str),
    ) -> Result<(), RegisterHookError> {
        if self.untold.is_none() {
            let id = session.id();
            let why = format!(
                "session `{id}` of machine `{machine}` has more hooks than that can tell this machine; take some of them away, \
                 or work on `{machine}`"
            );
            let root = Path::new(id.as_str());
            self.untold = Some(daemon.assembly().close_guards(session, root, None, &why)?);
        }
        Ok(())
    }

    /// They are known, and in force.
    pub(super) fn show(&mut self) {
        self.untold.take().into_iter().for_each(ClosedGuards::remove);
    }

    pub(super) fn wanted(&self) -> Option<&ProjectEntry> {
        self.wanted.as_ref()
    }

    /// The project whose guards stand closed here.
    pub(super) fn closed(&self) -> Option<&ProjectEntry> {
        self.wanted.as_ref().filter(|_| self.closed.is_some())
    }

    /// Nothing is below it any more.
    pub(super) fn release(self) {
        self.closed.into_iter().chain(self.untold).for_each(ClosedGuards::remove);
    }
}

/// Puts a stand-in into a project; `false` where it is in another one already.
fn is_put(session: &Session, project: &Arc<Project>) -> bool {
    session.has_entered(project.scope()) || session.enter(project.scope())
}

fn remedy(session: &Session, machine: &str, ProjectEntry { root, digest, .. }: &ProjectEntry) -> String {
    let id = session.id();
    match digest {
        Some(digest) => format!(
            "session `{id}` of machine `{machine}` is under the hooks of {root}, and no project on this machine was trusted \
             with this content (digest {digest}); have that project here, look at it and say: lineside trust DIR"
        ),
        None => format!(
            "session `{id}` of machine `{machine}` is in {root}, which is not what was trusted there; look at it on that \
             machine and say: lineside trust {root}"
        ),
    }
}
