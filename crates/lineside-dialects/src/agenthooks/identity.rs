//! Who a hook is: what its input, its answer and its log say of it.

use std::path::PathBuf;
use std::sync::Arc;

use super::fields::Mode;
use super::triggers::Trigger;

/// Who the hook is.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// Its name.
    pub(super) name: Arc<str>,
    /// Its folder, absolute, links not resolved.
    pub(super) folder: PathBuf,
    /// Its trigger.
    pub(super) trigger: &'static Trigger,
    /// The trigger as `HOOK.md` has it.
    pub(super) trigger_as_written: String,
    /// Whether it is waited for.
    pub(super) mode: Mode,
}
