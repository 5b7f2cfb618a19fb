//! Where hook folders are (AH-1 to AH-3).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use lineside_core::{Diagnostic, Layer};

use super::findings::{Findings, HookWarning};
use crate::dialect::Places;

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

/// The hook folders in load order (AH-3), and what lies beside them by mistake.
pub(super) fn find(places: &Places) -> (Vec<Folder>, Vec<Diagnostic>) {
    let mut folders = Vec::new();
    let mut diagnostics = Vec::new();
    let project = absolute(places.work_dir()).join(".agents/hooks");
    for (layer, place) in [(Layer::User, user_place(places)), (Layer::Project, Some(project))] {
        for path in place.iter().flat_map(|place| sub_folders(place)) {
            match look_into(&path) {
                Inside::Hook => folders.push(Folder { layer, path }),
                Inside::Other(findings) => diagnostics.extend(findings),
            }
        }
    }
    (folders, diagnostics)
}

/// AH-1: an empty or relative `XDG_CONFIG_HOME` counts as unset.
fn user_place(places: &Places) -> Option<PathBuf> {
    let configuration = places
        .variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(places.home()?.join(".config")))?;
    Some(configuration.join("agents/hooks"))
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The folders in a folder, and links to folders, in the byte order of their names; none if it cannot be read.
fn sub_folders(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        })
        .map(|entry| entry.path())
        .collect();
    folders.sort_by(|a, b| {
        let bytes = |path: &PathBuf| path.file_name().map(OsStr::as_encoded_bytes).map(<[u8]>::to_vec);
        bytes(a).cmp(&bytes(b))
    });
    folders
}

enum Inside {
    Hook,
    Other(Vec<Diagnostic>),
}

/// AH-2. Names are compared as they are listed, so that `hook.md` is not taken for `HOOK.md` where the file system
/// would.
fn look_into(folder: &Path) -> Inside {
    let Ok(entries) = fs::read_dir(folder) else {
        return Inside::Other(Vec::new());
    };
    let mut other_capitals = None;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.eq_ignore_ascii_case(FILE) || !entry.path().is_file() {
            continue;
        }
        if name == FILE {
            return Inside::Hook;
        }
        other_capitals = Some(entry.path());
    }
    let mut diagnostics = Vec::new();
    if let Some(file) = other_capitals {
        let mut findings = Findings::about(&file);
        findings.warning(1, HookWarning::OtherCapitals(name_of(&file)));
        diagnostics.extend(findings.into_diagnostics());
    }
    let deeper = sub_folders(folder).iter().filter(|folder| folder.join(FILE).is_file()).count();
    if deeper > 0 {
        let mut findings = Findings::about(folder);
        findings.warning(1, HookWarning::TooDeep { folder: name_of(folder), count: deeper });
        diagnostics.extend(findings.into_diagnostics());
    }
    Inside::Other(diagnostics)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
