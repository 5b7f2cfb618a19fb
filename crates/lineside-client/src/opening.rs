//! What opens a session, so that it can be opened again.

use std::sync::{Arc, Mutex, PoisonError};

use lineside_core::json::{Map, Value};

/// What a session was opened with, and those above it that were opened by handles of this process.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) fields: Map,
    pub(crate) above: Option<Arc<Opening>>,
    coverage: Mutex<Arc<str>>,
}

impl Opening {
    pub(crate) fn new(fields: Map, above: Option<Arc<Opening>>, coverage: &str) -> Self {
        Self { fields, above, coverage: Mutex::new(coverage.into()) }
    }

    /// The digest of the hooks that the session is under, as the daemon has last said it to this process.
    pub(crate) fn coverage(&self) -> Arc<str> {
        Arc::clone(&self.coverage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The daemon says which hooks the session is under.
    pub(crate) fn is_under(&self, coverage: &str) {
        *self.coverage.lock().unwrap_or_else(PoisonError::into_inner) = coverage.into();
    }

    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        self.fields.get("id").and_then(Value::as_str).unwrap_or_default()
    }
}
