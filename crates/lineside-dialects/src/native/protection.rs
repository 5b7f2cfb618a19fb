//! `protect-policy`: the hook that keeps agents from changing what decides about them. It stands in no file; it is read as
//! if it did, so that it is a hook as any other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lineside_core::hook::Mode;
use lineside_core::invocation::Inherit;
use lineside_core::json::json;
use lineside_core::{Layer, Origin};

use super::findings::Findings;
use super::places::Place;
use super::{file, places, take};
use crate::dialect::{ForeignHook, Loaded, Places, Trust};

/// Its name, and the key of `config.yaml` that switches it.
pub const PROTECT_POLICY: &str = "protect-policy";

/// What it says: what would change, and what to do instead.
const REASON: &str = "{path} is part of what decides about this session, and no agent changes it; leave the change to a \
                      person, as a file that shows it: `git diff > change.patch`";

/// The hook for these paths, each with all below it; none where there are no paths. It is one of this layer, and stands
/// where it was switched on, if anything says so.
#[must_use]
pub fn protection(
    places: &Places,
    paths: &BTreeSet<PathBuf>,
    layer: Layer,
    origin: Option<&Origin>,
) -> Vec<ForeignHook> {
    let paths: BTreeSet<PathBuf> = paths.iter().flat_map(|path| [path.clone(), resolved(path)]).collect();
    if paths.is_empty() {
        return Vec::new();
    }
    let globs: Vec<String> = paths.iter().map(|path| glob(path)).collect();
    let roots: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let text = json!({"hooks": [{
        "name": PROTECT_POLICY, "on": "before_tool", "verdict": "block", "reason": REASON,
        "match": {"unclear": "skip", "any": [
            {"writes": {"path": globs}},
            // What it lies in is gone with it.
            {"deletes": {"path": globs, "root": roots}},
        ]},
    }]});
    let mut findings = Findings::about(origin.map_or(Path::new(PROTECT_POLICY), |origin| &*origin.file));
    let place = place(layer, places);
    let mut loaded = Loaded::default();
    let cwd = places::absolute(&places.cwd).into();
    for entry in file::contents(text.to_string().as_bytes(), &place, places, &mut findings).entries {
        take(entry, layer, Trust::Granted, &cwd, &findings, &mut loaded);
    }
    for found in &mut loaded.hooks {
        found.hook = found.hook.clone().origin(origin.cloned());
    }
    loaded.hooks
}

/// Where it would stand if a file had it: the commands that it is about are read as those of the user's file are.
fn place(layer: Layer, places: &Places) -> Place {
    let user = places::all(places).into_iter().find(|place| place.layer == Layer::User);
    let account = user.map_or_else(|| places::account(places), |user| file::account(&user, places));
    let (inherit, mode, file) = (Inherit::All, Mode::Enforced, PathBuf::new());
    Place { layer, file, inherit, account, mode, seat: None, owner: None }
}

/// The glob of a path and of what lies below it. A character that has a meaning in globs stands for any.
fn glob(path: &Path) -> String {
    let meant = |letter: char| if "*?[]{}\\".contains(letter) { '*' } else { letter };
    let text: String = path.to_string_lossy().chars().map(meant).collect();
    format!("{}/**", text.trim_end_matches('/'))
}

/// The path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let joined = there.and_then(|(above, real)| {
        let below = path.strip_prefix(above).ok()?;
        Some(if below.as_os_str().is_empty() { real } else { real.join(below) })
    });
    joined.unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests;
