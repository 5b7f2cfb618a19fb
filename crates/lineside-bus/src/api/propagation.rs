//! What processes inherit that are started under a session, so that what they open stands below it.
//!
//! The bus knows that there is something to inherit; where it can be reached, and what is accepted there, is for who
//! has put a door in front of it.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use lineside_core::propagation::{Propagation, TRACEPARENT};

use crate::api::bus::Bus;
use crate::hook::state::{Session, Shared};

/// Gives what processes inherit. Called while a hook is about to start: it must not block.
///
/// Meant to be implemented by what puts a door in front of a bus. A function that is added later has a body, which
/// leaves the environment of a process as it is.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_bus::{Bus, Propagate, Session};
/// use lineside_core::Propagation;
/// use lineside_core::propagation::SESSION;
///
/// struct Names;
///
/// impl Propagate for Names {
///     fn of_session(&self, session: &Session) -> Propagation {
///         Propagation::none().with(SESSION, session.id().as_str())
///     }
///
///     fn of_bus(&self) -> Propagation {
///         Propagation::none()
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// assert!(bus.propagate(Arc::new(Names)));
/// let session = bus.session("s1").open().await?;
/// assert_eq!(session.environment().get(SESSION), Some("s1"));
/// # Ok(())
/// # }
/// ```
pub trait Propagate: Send + Sync {
    /// The variables of a process that is started under this session; none where the session is closed.
    fn of_session(&self, session: &Session) -> Propagation;

    /// The variables of a process that is kept for many sessions.
    fn of_bus(&self) -> Propagation;

    /// The interceptors of this process on a session that hold below it, [`Session::living`], are others. Called where one
    /// is registered or taken away, after that: it must not block.
    fn hooks_changed(&self, session: &Session) {
        let _ = session;
    }
}

/// What gives the variables of processes, where something does.
#[derive(Default)]
struct Propagating(OnceLock<Arc<dyn Propagate>>);

impl Shared {
    pub(crate) fn propagating(&self) -> Option<Arc<dyn Propagate>> {
        self.extensions.get::<Propagating>()?.0.get().cloned()
    }
}

impl Bus {
    /// Has processes that are started under sessions of this bus inherit what `by` gives. The first call counts; `false`
    /// when there was one before.
    pub fn propagate(&self, by: Arc<dyn Propagate>) -> bool {
        self.extension(Propagating::default).0.set(by).is_ok()
    }

    /// The variables of a process that is kept for many sessions; none where this bus cannot be reached from other
    /// processes.
    #[must_use]
    pub fn environment(&self) -> Propagation {
        self.shared.propagating().map(|by| by.of_bus()).unwrap_or_default()
    }
}

impl Session {
    /// The variables of a process that is started under this session. What it opens with them stands below the session.
    ///
    /// Where this bus cannot be reached from other processes, that is the trace context and nothing else.
    #[must_use]
    pub fn environment(&self) -> Propagation {
        match self.propagated() {
            Some(variables) => variables,
            None => match &self.source().traceparent {
                Some(traceparent) => Propagation::none().with(TRACEPARENT, &**traceparent),
                None => Propagation::none(),
            },
        }
    }

    /// The same; `None` where this bus cannot be reached from other processes.
    #[must_use]
    pub fn propagated(&self) -> Option<Propagation> {
        self.shared().propagating().map(|by| by.of_session(self))
    }

    /// A program that is about to be started under this session, with [`environment`](Self::environment). Nothing is
    /// started here, and who starts it ends it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment().iter());
        command
    }
}
