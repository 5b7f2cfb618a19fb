//! Which hook a foreign hook is, for a later life of the process: where it is declared, and what that file says.
//!
//! The whole file counts, as it does for trust: what a hook is may stand anywhere in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_automation::{HookId, Recording};
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
    /// Which hook it is, and whether another life may know it again: not one of a file that cannot be read.
    pub(crate) fn id_of(&mut self, found: &ForeignHook) -> (HookId, Recording) {
        let mut id = HookId::in_memory(found.hook.dialect, &found.hook.name);
        id.trigger.clone_from(&found.trigger);
        let Some(origin) = &found.hook.origin else { return (id, Recording::Memory) };
        (id.line, id.file) = (origin.line, origin.file.to_string_lossy().into_owned());
        let digest =
            self.digests.entry(Arc::clone(&origin.file)).or_insert_with(|| digest(&origin.file, SHORT));
        let Some(digest) = digest else { return (id, Recording::Memory) };
        id.content.clone_from(digest);
        let before = self.seen.entry(id.clone()).or_default();
        *before += 1;
        // A format may declare several of one name on one line.
        if *before > 1 {
            id.trigger = format!("{}#{before}", id.trigger);
        }
        (id, Recording::Journal)
    }
}

/// No file that declares hooks is larger, in bytes.
const LARGEST: usize = 16 << 20;

/// As many bytes of the digest of a file as tell it from every other that it may ever have been.
const SHORT: usize = 16;

/// The digest of a file.
pub(crate) fn digest_of(file: &Path) -> Option<String> {
    digest(file, usize::MAX)
}

fn digest(file: &Path, most: usize) -> Option<String> {
    let bytes = lineside_files::read(file, Boundary::Open, LARGEST).ok()?;
    Some(Sha256::digest(bytes).iter().take(most).map(|byte| format!("{byte:02x}")).collect())
}
