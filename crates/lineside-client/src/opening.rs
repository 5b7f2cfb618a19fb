//! What opens a session, so that it can be opened again.

use std::sync::Arc;

use lineside_core::json::{Map, Value};

/// What a session was opened with, and those above it that were opened by handles of this process.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) fields: Map,
    pub(crate) above: Option<Arc<Opening>>,
}

impl Opening {
    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        self.fields.get("id").and_then(Value::as_str).unwrap_or_default()
    }
}
