//! What opens a session, so that it can be opened again.

use std::sync::Arc;

use lineside_core::json::Map;

/// What a session was opened with, and those above it that were opened by handles of this process.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) fields: Map,
    pub(crate) above: Option<Arc<Opening>>,
}
