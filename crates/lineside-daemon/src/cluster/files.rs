//! Hooks of files over machines: a session is in projects on its machine, and what stands in for it elsewhere is in those of
//! the same content there, which a person has trusted there. Where there is none the guards of the project stand closed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use lineside::Session;
use lineside::bus::register::RegisterHookError;
use lineside::closed_guards::{ClosedGuards, PreparedGuards};
use lineside::trust::command;

use super::Here;
use super::words::ProjectEntry;
use crate::projects::{Held, Project};

/// What others are to know of the projects that a session of this machine is in.
pub(super) fn projects_of(daemon: &dyn Here, session: &Session) -> Vec<Arc<Held>> {
    let projects = daemon.projects().of_session(session).into_iter();
    projects.filter_map(|project| project.now().held.clone()).collect()
}

/// A project of another machine. All that stands in for sessions there in it shares it.
pub(super) struct Elsewhere {
    machine: Arc<str>,
    pub(super) entry: ProjectEntry,
    /// Its guards as they stand closed here, made when they do first.
    closed: OnceLock<PreparedGuards>,
}

impl Elsewhere {
    fn closed(&self, daemon: &dyn Here) -> &PreparedGuards {
        let Self { machine, entry, closed } = self;
        closed.get_or_init(|| {
            let root = Path::new(&entry.root);
            daemon.assembly().prepare_guards(root, entry.guards.as_deref(), &remedy(machine, entry))
        })
    }
}

/// Roots that nothing is under are looked for when there are this many more than when that was done last.
const MORE: usize = 64;

/// Those that something here is under, each once.
#[derive(Default)]
pub(super) struct ProjectsElsewhere {
    /// By machine and root.
    known: HashMap<(Arc<str>, String), Vec<Weak<Elsewhere>>>,
    /// How many roots there may be before those that nothing is under are taken away.
    full: usize,
}

impl ProjectsElsewhere {
    /// The one of this entry, which an equal one before it gave.
    pub(super) fn get(&mut self, machine: &Arc<str>, entry: &ProjectEntry) -> Arc<Elsewhere> {
        let of_root = self.known.entry((Arc::clone(machine), entry.root.clone())).or_default();
        let mut known = of_root.iter().filter_map(Weak::upgrade);
        if let Some(same) = known.find(|known| known.entry == *entry) {
            return same;
        }
        of_root.retain(|known| known.strong_count() > 0);
        let (machine, entry) = (Arc::clone(machine), entry.clone());
        let new = Arc::new(Elsewhere { machine, entry, closed: OnceLock::new() });
        of_root.push(Arc::downgrade(&new));
        if self.known.len() > self.full {
            self.known.retain(|_, of_root| of_root.iter().any(|known| known.strong_count() > 0));
            self.full = self.known.len() * 2 + MORE;
        }
        new
    }
}

/// The hooks of files that something which stands in is under.
#[derive(Default)]
pub(super) struct Files {
    projects: Vec<Wanted>,
    /// Those that stand for hooks of programs that are not in force here.
    untold: Option<ClosedGuards>,
}

/// A project that something which stands in is to be under the hooks of.
struct Wanted {
    elsewhere: Arc<Elsewhere>,
    /// Those that stand for what is not in force here.
    closed: Option<ClosedGuards>,
}

impl Files {
    /// The projects that an entry means.
    pub(super) fn meant(
        &self,
        all: &mut ProjectsElsewhere,
        machine: &Arc<str>,
        entries: &[ProjectEntry],
    ) -> Vec<Arc<Elsewhere>> {
        let meant = |entry: &ProjectEntry| {
            // The registry does not have the guards, and they are the same for the same content.
            let is_known = |known: &&Arc<Elsewhere>| {
                let known = &known.entry;
                entry.guards.is_none() && (&entry.root, &entry.digest) == (&known.root, &known.digest)
            };
            self.wanted().find(is_known).map_or_else(|| all.get(machine, entry), Arc::clone)
        };
        entries.iter().map(meant).collect()
    }

    /// Has a stand-in be under the hooks of these projects: of each those of one that has its content here, or its closed
    /// guards.
    ///
    /// # Errors
    /// The session is closed.
    pub(super) fn put(
        &mut self,
        daemon: &dyn Here,
        session: &Session,
        wanted: &[Arc<Elsewhere>],
    ) -> Result<(), RegisterHookError> {
        // The new ones are there before the others leave: no event comes in between.
        for elsewhere in wanted {
            let digest = elsewhere.entry.digest.as_deref();
            let here = digest.and_then(|digest| daemon.projects().trusted_for(session, digest));
            let holds = here.is_some_and(|project| is_put(session, &project));
            let place = self.wanted().position(|known| Arc::ptr_eq(known, elsewhere));
            let is_closed = place.is_some_and(|place| self.projects[place].closed.is_some());
            if place.is_some() && is_closed != holds {
                continue;
            }
            let closed = (!holds).then(|| elsewhere.closed(daemon).close(session)).transpose()?;
            match place {
                Some(place) => {
                    let before = std::mem::replace(&mut self.projects[place].closed, closed);
                    before.into_iter().for_each(ClosedGuards::remove);
                }
                None => self.projects.push(Wanted { elsewhere: Arc::clone(elsewhere), closed }),
            }
        }
        let is_over = |known: &mut Wanted| !wanted.iter().any(|one| Arc::ptr_eq(one, &known.elsewhere));
        let over = self.projects.extract_if(.., is_over).filter_map(|known| known.closed);
        over.for_each(ClosedGuards::remove);
        Ok(())
    }

    /// The same, with those that it is under as they are here by now.
    ///
    /// # Errors
    /// The session is closed.
    pub(super) fn renew(&mut self, daemon: &dyn Here, session: &Session) -> Result<(), RegisterHookError> {
        let wanted: Vec<_> = self.wanted().cloned().collect();
        self.put(daemon, session, &wanted)
    }

    /// Whether a stand-in is to be under this one.
    pub(super) fn is_under(&self, wanted: &Arc<Elsewhere>) -> bool {
        self.wanted().any(|known| Arc::ptr_eq(known, wanted))
    }

    /// Hooks of programs on it are not in force here, for this reason: whatever they may judge stands closed.
    ///
    /// # Errors
    /// The session is closed.
    pub(super) fn hide(
        &mut self,
        daemon: &dyn Here,
        session: &Session,
        why: &str,
    ) -> Result<(), RegisterHookError> {
        if self.untold.is_none() {
            let guards = daemon.assembly().prepare_guards(Path::new(session.id().as_str()), None, why);
            self.untold = Some(guards.close(session)?);
        }
        Ok(())
    }

    /// They are known, and in force.
    pub(super) fn show(&mut self) {
        self.untold.take().into_iter().for_each(ClosedGuards::remove);
    }

    pub(super) fn wanted(&self) -> impl Iterator<Item = &Arc<Elsewhere>> {
        self.projects.iter().map(|project| &project.elsewhere)
    }

    /// The projects whose guards stand closed here.
    pub(super) fn closed(&self) -> impl Iterator<Item = &ProjectEntry> {
        let closed = self.projects.iter().filter(|project| project.closed.is_some());
        closed.map(|project| &project.elsewhere.entry)
    }

    /// Nothing is below it any more.
    pub(super) fn release(self) {
        let closed = self.projects.into_iter().filter_map(|project| project.closed);
        closed.chain(self.untold).for_each(ClosedGuards::remove);
    }
}

/// Puts a stand-in into a project, beside those that it is in; `false` where it cannot be.
fn is_put(session: &Session, project: &Arc<Project>) -> bool {
    session.is_in(project.scope()) || session.enter_too(project.scope())
}

fn remedy(machine: &str, ProjectEntry { root, digest, .. }: &ProjectEntry) -> String {
    match digest {
        Some(digest) => format!(
            "the session above on machine `{machine}` is under the hooks of {root}, and no project on this machine was trusted \
             with this content (digest {digest}); have that project here, look at it and say: lineside trust DIR"
        ),
        None => format!(
            "the session above on machine `{machine}` is in {root}, which is not what was trusted there; look at it on that \
             machine and say: {}",
            command(Path::new(root))
        ),
    }
}

#[cfg(test)]
mod tests {
    use lineside::trust::Guard;

    use super::*;

    fn entry(root: &str, line: u32) -> ProjectEntry {
        let [hook, dialect, point, file] =
            ["guard", "lineside", "before_tool", "hooks.yaml"].map(str::to_owned);
        let guards = Some([Guard { hook, dialect, point, file, line }].into());
        ProjectEntry { root: root.to_owned(), digest: Some("d".to_owned()), guards }
    }

    #[test]
    fn what_stands_in_for_sessions_of_one_project_shares_its_guards() {
        let (mut all, machine) = (ProjectsElsewhere::default(), Arc::from("m"));
        let first = all.get(&machine, &entry("/p", 1));
        for _ in 0..1_000 {
            assert!(Arc::ptr_eq(&first, &all.get(&machine, &entry("/p", 1))));
        }
        for other in [all.get(&machine, &entry("/p", 2)), all.get(&Arc::from("n"), &entry("/p", 1))] {
            assert!(!Arc::ptr_eq(&first, &other));
        }
        // The registry does not have the guards.
        let under = |elsewhere| Wanted { elsewhere, closed: None };
        let second = all.get(&machine, &entry("/q", 1));
        let projects = vec![under(Arc::clone(&first)), under(Arc::clone(&second))];
        let files = Files { projects, ..Files::default() };
        let short = |root: &str| ProjectEntry { guards: None, ..entry(root, 1) };
        let meant = files.meant(&mut all, &machine, &[short("/q"), short("/p")]);
        assert!(Arc::ptr_eq(&meant[0], &second) && Arc::ptr_eq(&meant[1], &first));
        let other = files.meant(&mut all, &machine, &[entry("/p", 2)]);
        assert!(files.is_under(&first) && files.is_under(&second) && !files.is_under(&other[0]));
        assert!(files.meant(&mut all, &machine, &[]).is_empty());
    }

    #[test]
    fn projects_that_nothing_is_under_any_more_are_let_go_of() {
        let (mut all, machine) = (ProjectsElsewhere::default(), Arc::from("m"));
        let kept = all.get(&machine, &entry("/kept", 1));
        for number in 0..10 * MORE {
            all.get(&machine, &entry(&format!("/p{number}"), 1));
        }
        for line in 0..100 {
            all.get(&machine, &entry("/kept", line));
        }
        assert!(all.known.len() <= 2 * MORE, "{}", all.known.len());
        assert!(all.known.values().map(Vec::len).all(|of_root| of_root <= 2));
        assert!(Arc::ptr_eq(&kept, &all.get(&machine, &entry("/kept", 1))));
    }
}
