//! What opens a session, so that it can be opened again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lineside_core::json::{Map, Value};
use serde::Deserialize;

/// What a session was opened with, and those above it that were opened by handles of this process.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) fields: Map,
    pub(crate) above: Option<Arc<Opening>>,
    coverage: Mutex<Arc<str>>,
    is_closed: AtomicBool,
}

/// What the daemon says of a session that it has closed.
#[derive(Deserialize)]
pub(crate) struct Closed {
    /// Sessions below it are under its hooks still. Earlier daemons did not keep them for those.
    #[serde(default)]
    pub(crate) inherited: bool,
}

impl Opening {
    pub(crate) fn new(fields: Map, above: Option<Arc<Opening>>, coverage: &str) -> Self {
        Self { fields, above, coverage: Mutex::new(coverage.into()), is_closed: AtomicBool::new(false) }
    }

    /// The digest of the hooks that the session is under, as the daemon has last said it to this process.
    pub(crate) fn coverage(&self) -> Arc<str> {
        Arc::clone(&self.coverage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The daemon says which hooks the session is under.
    pub(crate) fn is_under(&self, coverage: &str) {
        *self.coverage.lock().unwrap_or_else(PoisonError::into_inner) = coverage.into();
    }

    /// Whether the session was closed: it is opened again for those below it alone.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// The session is closed.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// It and those above it, from itself on.
    pub(crate) fn line(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(Some(self), |session| session.above.as_ref())
    }

    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        self.fields.get("id").and_then(Value::as_str).unwrap_or_default()
    }
}
