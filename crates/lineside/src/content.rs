//! Which hook a foreign hook is, for a later life of the process: where it is declared, and what that file says.
//!
//! The whole file counts, as it does for trust: what a hook is may stand anywhere in it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use lineside_automation::HookId;
use lineside_core::Part;
use lineside_dialects::ForeignHook;
use lineside_files::Boundary;
use sha2::{Digest as _, Sha256};

/// The files of the hooks of one dialect, as they are now.
#[derive(Default)]
pub(crate) struct Contents {
    digests: HashMap<Arc<PathBuf>, Option<String>>,
    /// How many hooks there were of each id.
    seen: HashMap<HookId, usize>,
}

impl Contents {
    /// Which hook it is; `None` for one that is waited for, and for one of no file that could be read.
    pub(crate) fn id_of(&mut self, found: &ForeignHook) -> Option<HookId> {
        let hook = &found.hook;
        if !matches!(hook.part, Part::Detached | Part::PostDecision) {
            return None;
        }
        let origin = hook.origin.as_ref()?;
        let digest = self.digests.entry(Arc::clone(&origin.file)).or_insert_with(|| digest(&origin.file));
        let mut id = HookId {
            dialect: hook.dialect.to_owned(),
            content: digest.clone()?,
            line: origin.line,
            file: origin.file.to_string_lossy().into_owned(),
            trigger: found.trigger.clone(),
            name: hook.name.to_string(),
        };
        let before = self.seen.entry(id.clone()).or_default();
        *before += 1;
        // A format may declare several of one name on one line.
        if *before > 1 {
            id.trigger = format!("{}#{before}", id.trigger);
        }
        Some(id)
    }
}

/// No file that declares hooks is larger, in bytes.
const LARGEST: usize = 16 << 20;

/// As much of the digest of a file as tells it from every other that it may ever have been.
fn digest(file: &std::path::Path) -> Option<String> {
    let bytes = lineside_files::read(file, Boundary::Open, LARGEST).ok()?;
    Some(Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}
