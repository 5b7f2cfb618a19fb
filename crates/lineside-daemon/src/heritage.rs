//! What processes of a session inherit of the daemon: where that is, which session they are below, and the grant of it.

use std::sync::{Arc, Weak};

use lineside::Session;
use lineside::bus::Propagate;
use lineside::core::Propagation;
use lineside::core::propagation::{GRANT, SESSION, SOCKET, TRACEPARENT};

use crate::daemon::Daemon;

/// What processes inherit of a daemon.
pub(crate) struct Heritage(pub(crate) Weak<Daemon>);

impl Heritage {
    /// Has the processes that are started under sessions of a daemon's bus inherit it.
    pub(crate) fn of(daemon: &Arc<Daemon>) {
        daemon.bus().propagate(Arc::new(Self(Arc::downgrade(daemon))));
    }
}

impl Propagate for Heritage {
    fn of_session(&self, session: &Session) -> Propagation {
        let Some(daemon) = self.0.upgrade() else { return Propagation::none() };
        let Some(grant) = daemon.grants.of(session) else { return Propagation::none() };
        daemon.cluster.note(&*daemon, session);
        let variables = self.of_bus().with(SESSION, session.id().as_str()).with(GRANT, grant);
        match &session.source().traceparent {
            Some(traceparent) => variables.with(TRACEPARENT, &**traceparent),
            None => variables,
        }
    }

    fn hooks_changed(&self, session: &Session) {
        if let Some(daemon) = self.0.upgrade() {
            let here = Arc::clone(&daemon);
            daemon.cluster.hooks_changed(here, session);
        }
    }

    fn of_bus(&self) -> Propagation {
        match self.0.upgrade() {
            Some(daemon) => Propagation::none().with(SOCKET, daemon.settings.socket.to_string_lossy()),
            None => Propagation::none(),
        }
    }
}
