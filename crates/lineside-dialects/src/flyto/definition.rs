//! What a hook runs and how, as its entry or the embedding program says (FL-4).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::OnFailure;
use lineside_core::exchange::Addresses;

/// The timeout of a hook that does not say otherwise (FL-4).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// A hook, its type and name apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What it runs.
    pub run: Run,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether it runs in the background, without authority.
    pub is_async: bool,
    /// Who registered it; empty is global.
    pub source: Arc<str>,
    /// The absolute path of its plugin's directory; absent for hooks that are no plugin's.
    pub plugin_dir: Option<PathBuf>,
    /// What its failure means, if it has the authority to block.
    pub on_failure: OnFailure,
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// A line for the shell.
    Command(String),
    /// A request to this URL.
    Webhook {
        /// The URL.
        url: String,
        /// What it may reach: anything that the user or the embedding program names, and of a project what stands in
        /// the content that was trusted.
        addresses: Addresses,
    },
    /// A function of the embedding program, which runs it itself.
    Function,
}

impl Definition {
    /// A hook with the defaults of FL-4.
    #[must_use]
    pub fn new(run: Run) -> Self {
        Self {
            run,
            timeout: DEFAULT_TIMEOUT,
            is_async: false,
            source: Arc::from(""),
            plugin_dir: None,
            on_failure: OnFailure::Continue,
        }
    }
}
