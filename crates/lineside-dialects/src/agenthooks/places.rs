//! Where hook folders are (AH-1 to AH-3).

use std::fs;
use std::path::{Path, PathBuf};

use lineside_core::{Diagnostic, Layer};
use lineside_files::{Boundary, folders};

use crate::dialect::Places;
pub(super) use crate::dialect::{Lost, absolute};
use crate::findings::Findings;
use crate::source::each;

/// The only name of the file that makes a folder a hook.
pub(super) const FILE: &str = "HOOK.md";

/// A folder that holds a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder {
    /// Its level.
    pub(super) layer: Layer,
    /// Its absolute path; links are not resolved.
    pub(super) path: PathBuf,
}

impl Folder {
    /// Its name.
    pub(super) fn name(&self) -> String {
        name_of(&self.path)
    }

    /// The path of its `HOOK.md`.
    pub(super) fn file(&self) -> PathBuf {
        self.path.join(FILE)
    }
}

/// What is in the places.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The hook folders in load order (AH-3).
    pub(super) folders: Vec<Folder>,
    /// The places in which they cannot be looked for.
    pub(super) lost: Vec<Lost>,
    /// What lies beside them by mistake.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// The places, in load order.
pub(super) fn all(places: &Places) -> impl Iterator<Item = (Layer, PathBuf)> {
    let project = absolute(places.work_dir()).join(".agents/hooks");
    // An empty or relative `XDG_CONFIG_HOME` counts as unset (AH-1).
    let user = places.configuration().map(|folder| (Layer::User, folder.join("agents/hooks")));
    user.into_iter().chain([(Layer::Project, project)])
}

/// Looks for hooks in these of the places.
pub(super) fn find(places: &Places, of: impl Iterator<Item = (Layer, PathBuf)>) -> Found {
    let mut found = Found::default();
    for (layer, place) in of {
        let paths = match folders(&place, places.boundary(layer)) {
            Ok(paths) => paths,
            Err(error) => {
                found.lost.push(Lost { layer, path: place, error });
                continue;
            }
        };
        let inside = each(&paths, |path| look_into(path, places.boundary(layer)));
        for (path, inside) in paths.into_iter().zip(inside) {
            match inside {
                Inside::Hook => found.folders.push(Folder { layer, path }),
                Inside::Other(findings) => found.diagnostics.extend(findings),
            }
        }
    }
    found
}

enum Inside {
    Hook,
    Other(Vec<Diagnostic>),
}

/// What a folder is (AH-2). Names are compared as they are listed, so that `hook.md` is not taken for `HOOK.md` where the file system
/// would.
fn look_into(folder: &Path, boundary: Boundary<'_>) -> Inside {
    let Ok(entries) = fs::read_dir(folder) else {
        // Opening its file says why.
        return Inside::Hook;
    };
    let mut other_capitals = None;
    for entry in entries.flatten() {
        let name = entry.file_name();
        // Whatever it is: a hook without a readable file is reported.
        if name == FILE {
            return Inside::Hook;
        }
        if name.eq_ignore_ascii_case(FILE) && entry.path().is_file() {
            other_capitals = Some(entry.path());
        }
    }
    let mut diagnostics = Vec::new();
    if let Some(file) = other_capitals {
        let mut findings = Findings::about(&file);
        findings.warning(1, format_args!("'{}' is not read, rename it to HOOK.md", name_of(&file)));
        diagnostics.extend(findings.into_diagnostics());
    }
    let deeper = folders(folder, boundary).unwrap_or_default();
    let deeper = deeper.iter().filter(|folder| folder.join(FILE).is_file()).count();
    if deeper > 0 {
        let mut findings = Findings::about(folder);
        let what = format!("holds {deeper} hook folders one level deeper, they are not loaded");
        findings.warning(1, format_args!("'{}' {what}", name_of(folder)));
        diagnostics.extend(findings.into_diagnostics());
    }
    Inside::Other(diagnostics)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
