//! Variables that hooks hand on to later hooks of the same session and format.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Mutex, PoisonError};

use lineside_core::invocation::Environment;
use lineside_core::{AnyEvent, Layer, SessionId};
use lineside_files::Boundary;
use tempfile::NamedTempFile;

/// How many sessions are remembered; beyond that the one that handed on first is forgotten.
const MOST_SESSIONS: usize = 1024;

/// How many variables of one session are kept.
const MOST_VARIABLES: usize = 256;

/// How much of a file of assignments is read, in bytes.
const LONGEST: usize = 64 << 10;

/// The variables of each session, by format and by the layer of the hooks that handed them on.
#[derive(Default)]
pub(crate) struct Exported(Mutex<VecDeque<OfSession>>);

struct OfSession {
    root: SessionId,
    dialect: &'static str,
    variables: BTreeMap<(Layer, String), String>,
}

impl OfSession {
    fn is(&self, event: &AnyEvent, dialect: &str) -> bool {
        self.dialect == dialect && self.root == event.envelope().source.root_session
    }
}

impl Exported {
    /// Keeps what a hook of this layer hands on. Variables beyond 256 of a session are dropped.
    pub(crate) fn keep(
        &self,
        event: &AnyEvent,
        dialect: &'static str,
        layer: Layer,
        variables: Vec<(String, String)>,
    ) {
        if variables.is_empty() {
            return;
        }
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !sessions.iter().any(|session| session.is(event, dialect)) {
            if sessions.len() >= MOST_SESSIONS {
                sessions.pop_front();
            }
            let root = event.envelope().source.root_session.clone();
            sessions.push_back(OfSession { root, dialect, variables: BTreeMap::new() });
        }
        let Some(session) = sessions.iter_mut().find(|session| session.is(event, dialect)) else { return };
        for (name, value) in variables {
            if session.variables.len() < MOST_VARIABLES {
                session.variables.insert((layer, name), value);
            }
        }
    }

    /// Sets what earlier hooks of the session have handed on, for a hook of this layer: a project hands nothing on to
    /// hooks of the user.
    pub(crate) fn set(
        &self,
        event: &AnyEvent,
        dialect: &'static str,
        layer: Layer,
        environment: &mut Environment,
    ) {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = sessions.iter().find(|session| session.is(event, dialect)) else { return };
        let heard = session.variables.iter().rev().filter(|((from, _), _)| *from <= layer);
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
        let (done, read) = mpsc::channel();
        std::thread::spawn(move || done.send(assignments.read()));
        assert_eq!(read.recv_timeout(Duration::from_secs(30)).as_deref(), Ok(""));
    }
}
