//! What all hooks of the dialect have in common: its name, where failures are written, and how late an end may be known.

use std::time::Duration;

use crate::dialect::LogTarget;

/// The name of the dialect.
pub const DIALECT: &str = "openclaw";

/// Failures of handlers are written there (OC-55).
pub(super) const LOG: LogTarget = LogTarget::Stderr;

/// What a call may take beyond its own time until its end is known. The exact deadline is that of the call.
pub(super) const MARGIN: Duration = Duration::from_millis(1500);
