//! What the limits of hooks have counted goes on when their files are loaded again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use lineside_dialects::{Handler, Loaded};

/// How many hooks are remembered that the last load did not have: they may come back, as with a file that is put back.
const MOST_GONE: usize = 256;

/// The hooks of each dialect that have a limit, as they were last loaded.
#[derive(Default)]
pub(crate) struct Limits(HashMap<&'static str, Named>);

/// Hooks by their file and name.
type Named = HashMap<(Option<PathBuf>, String), Arc<dyn Handler>>;

impl Limits {
    /// Has each hook that was there before go on with what it has counted, as long as its limit is the same.
    pub(crate) fn go_on(&mut self, dialect: &'static str, loaded: &Loaded) {
        let mut before = self.0.remove(dialect).unwrap_or_default();
        let mut now = Named::new();
        for found in &loaded.hooks {
            let Some(limit) = found.handler.limit() else { continue };
            let file = found.hook.origin.as_ref().map(|origin| origin.file.to_path_buf());
            let hook = (file, found.hook.name.to_string());
            if let Some(earlier) = before.remove(&hook).as_ref().and_then(|earlier| earlier.limit()) {
                limit.go_on_from(earlier);
            }
            now.insert(hook, Arc::clone(&found.handler));
        }
        now.extend(before.into_iter().take(MOST_GONE));
        self.0.insert(dialect, now);
    }
}
