//! Variables that hooks hand on to later hooks of the same session and format.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Mutex, PoisonError};

use lineside_bus::Session;
use lineside_core::invocation::Environment;
use lineside_core::{Layer, SessionId};
use lineside_files::Boundary;
use tempfile::NamedTempFile;

/// How many variables of one session are kept.
const MOST_VARIABLES: usize = 256;

/// How much of a file of assignments is read, in bytes.
const LONGEST: usize = 64 << 10;

/// From how many sessions on those that are over are looked for.
const MANY_SESSIONS: usize = 64;

/// The variables of each session, by format and by the layer of the hooks that handed them on.
#[derive(Default)]
pub(crate) struct Exported(Mutex<Sessions>);

#[derive(Default)]
struct Sessions {
    variables: HashMap<OfSession, BTreeMap<(Layer, String), String>>,
    /// How many sessions were left when those that are over were last forgotten.
    left: usize,
}

/// The session at the root, whose variables the sessions of its subagents share, and the format.
type OfSession = (Root, &'static str);

/// A session by its id and the number of its opening: another one that is opened by the same id later has another.
pub(crate) type Root = (SessionId, u64);

/// The session at the root of one.
pub(crate) fn root_of(session: &Session) -> Root {
    let root = std::iter::successors(Some(session.clone()), Session::parent).last();
    let root = root.as_ref().unwrap_or(session);
    (root.source().session.clone(), root.number())
}

impl Sessions {
    /// Forgets the sessions that are over, whenever there are twice as many as were left the last time.
    fn forget(&mut self, is_open: impl Fn(&Root) -> bool) {
        if self.variables.len() >= MANY_SESSIONS.max(2 * self.left) {
            self.variables.retain(|(root, _), _| is_open(root));
            self.left = self.variables.len();
        }
    }
}

impl Exported {
    /// Keeps what a hook of this layer hands on, for as long as the session at the root is open. Variables beyond 256
    /// of a session are dropped.
    pub(crate) fn keep(
        &self,
        root: &Root,
        dialect: &'static str,
        layer: Layer,
        variables: Vec<(String, String)>,
        is_open: impl Fn(&Root) -> bool,
    ) {
        if variables.is_empty() {
            return;
        }
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = (root.clone(), dialect);
        if !sessions.variables.contains_key(&session) {
            sessions.forget(is_open);
        }
        let kept = sessions.variables.entry(session).or_default();
        for (name, value) in variables {
            let of = (layer, name);
            if kept.len() < MOST_VARIABLES || kept.contains_key(&of) {
                kept.insert(of, value);
            }
        }
    }

    /// Sets what earlier hooks of the session have handed on, for a hook of this layer: a project hands nothing on to
    /// hooks of the user.
    pub(crate) fn set(
        &self,
        root: &Root,
        dialect: &'static str,
        layer: Layer,
        environment: &mut Environment,
    ) {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(variables) = sessions.variables.get(&(root.clone(), dialect)) else { return };
        let heard = variables.iter().rev().filter(|((from, _), _)| *from <= layer);
        environment.set.extend(heard.map(|((_, name), value)| (name.into(), value.into())));
    }
}

/// A file in which a hook may leave assignments. It is gone when this is dropped.
pub(crate) struct Assignments(NamedTempFile);

impl Assignments {
    /// An empty file that only this user can read, whose path is in this variable.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new(variable: &str, environment: &mut Environment) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix("lineside-env-").tempfile()?;
        environment.set.push((variable.into(), file.path().into()));
        Ok(Self(file))
    }

    /// What the hook has left, up to 64 KiB. Nothing when the hook has put anything but a regular file in its place.
    pub(crate) fn read(&self) -> String {
        let mut bytes = lineside_files::read(self.0.path(), Boundary::Open, LONGEST).unwrap_or_default();
        bytes.truncate(LONGEST);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn handed_on(exported: &Exported, session: &str) -> usize {
        let mut environment = Environment::default();
        exported.set(&(session.into(), 1), "claude", Layer::User, &mut environment);
        environment.set.len()
    }

    #[test]
    fn what_is_handed_on_lasts_as_long_as_its_session() {
        let exported = Exported::default();
        let is_open = |(session, _): &Root| session.as_str().starts_with("open");
        let keep = |session: &str| {
            let variable = vec![("A".to_owned(), "1".to_owned())];
            exported.keep(&(session.into(), 1), "claude", Layer::User, variable, is_open);
        };
        (0..2_000).for_each(|number| keep(&format!("open {number}")));
        (0..10_000).for_each(|number| keep(&format!("over {number}")));
        let open: usize = (0..2_000).map(|number| handed_on(&exported, &format!("open {number}"))).sum();
        assert_eq!(open, 2_000, "one that is open keeps its own, however many there are");
        let kept = exported.0.lock().unwrap().variables.len();
        assert!(kept <= 4_000, "{kept} sessions are remembered");
    }

    #[test]
    fn assignments_are_read_up_to_a_bound() {
        let mut environment = Environment::default();
        let assignments = Assignments::new("THERE", &mut environment).unwrap();
        assert_eq!(assignments.read(), "");
        std::fs::write(assignments.0.path(), "A=1\n").unwrap();
        assert_eq!(assignments.read(), "A=1\n");
        std::fs::write(assignments.0.path(), "x".repeat(LONGEST + 1)).unwrap();
        assert_eq!(assignments.read().len(), LONGEST);
    }

    #[test]
    fn a_pipe_in_the_place_of_assignments_is_nothing_and_holds_up_no_thread() {
        use std::sync::mpsc;
        use std::time::Duration;

        let mut environment = Environment::default();
        let assignments = Assignments::new("THERE", &mut environment).unwrap();
        let path = assignments.0.path();
        std::fs::remove_file(path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
        let (done, read) = mpsc::sync_channel(1);
        std::thread::spawn(move || done.send(assignments.read()));
        assert_eq!(read.recv_timeout(Duration::from_secs(30)).as_deref(), Ok(""));
    }
}
