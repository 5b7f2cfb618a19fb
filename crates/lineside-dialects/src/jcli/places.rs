//! Where hook folders are (JC-1 to JC-4).

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use lineside_core::Layer;
use lineside_files::folders;

use crate::dialect::Places;
pub(super) use crate::dialect::{Lost, absolute};

/// The file that makes a folder a hook, and the one that does so in its absence.
pub(super) const FILES: [&str; 2] = ["HOOK.yaml", "HOOK.yml"];
/// A folder of this name is passed over.
const EXAMPLE: &str = "example";

/// A folder that holds a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder {
    /// Its level.
    pub(super) layer: Layer,
    /// Its absolute path; links are not resolved.
    pub(super) path: PathBuf,
    /// The path of the file that is read.
    pub(super) file: PathBuf,
    /// The path of a second file, which is not.
    pub(super) unread: Option<PathBuf>,
}

impl Folder {
    /// The name of its hook.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The hook folders in load order (JC-4).
pub(super) fn find(places: &Places) -> (Vec<Folder>, Vec<Lost>) {
    let levels = [(Layer::User, user_place(places)), (Layer::Project, project_place(places))];
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for (layer, place) in levels {
        let Some(place) = place else { continue };
        match folders(&place, places.boundary(layer)) {
            Ok(paths) => {
                let paths = paths.into_iter().filter(|path| !path.ends_with(EXAMPLE));
                found.extend(paths.filter_map(|path| look_into(layer, path)));
            }
            Err(error) => lost.push(Lost { layer, path: place, error }),
        }
    }
    (found, lost)
}

/// The place of the user; an empty or relative `J_DATA_PATH` counts as unset (JC-1).
fn user_place(places: &Places) -> Option<PathBuf> {
    Some(places.folder("J_DATA_PATH", ".jdata")?.join("agent/hooks"))
}

/// The place of the project: in the first `.jcli` from the working directory up to the root of the project, and never
/// above it (JC-2).
fn project_place(places: &Places) -> Option<PathBuf> {
    let searched = searched(places);
    let found = searched.iter().rev().map(|folder| folder.join(".jcli")).find(|path| may_be_folder(path))?;
    Some(found.join("hooks"))
}

/// Every place in which hook folders may be.
pub(super) fn all(places: &Places) -> Vec<PathBuf> {
    let projects = searched(places).into_iter().map(|folder| folder.join(".jcli/hooks"));
    user_place(places).into_iter().chain(projects).collect()
}

/// The folders from the root of the project down to the working directory.
fn searched(places: &Places) -> Vec<PathBuf> {
    let root = absolute(places.work_dir());
    let cwd = absolute(&places.cwd);
    let searched = path_down(&root, &cwd).or_else(|| {
        // The same place may go by two names.
        let (root, cwd) = (fs::canonicalize(&root).ok()?, fs::canonicalize(&cwd).ok()?);
        path_down(&root, &cwd)
    });
    searched.unwrap_or_else(|| vec![root])
}

/// The folders from `root` down to `cwd`, both included; `None` when `cwd` is not within `root`.
fn path_down(root: &Path, cwd: &Path) -> Option<Vec<PathBuf>> {
    let steps = |path: &Path| path.components().any(|component| component == Component::ParentDir);
    if steps(root) || steps(cwd) {
        return None;
    }
    let mut folders = vec![root.to_path_buf()];
    let mut folder = root.to_path_buf();
    for step in cwd.strip_prefix(root).ok()?.components() {
        folder.push(step);
        folders.push(folder.clone());
    }
    Some(folders)
}

fn look_into(layer: Layer, path: PathBuf) -> Option<Folder> {
    let mut files = FILES.iter().map(|name| path.join(name)).filter(|file| is_there(file));
    let file = files.next()?;
    let unread = files.next();
    Some(Folder { layer, path, file, unread })
}

/// Whether there is something of that name, whatever it is: a hook without a readable file is reported.
fn is_there(file: &Path) -> bool {
    fs::symlink_metadata(file).map_or_else(|error| !is_absence(&error), |_| true)
}

/// Whether it is a folder, or something of which that cannot be known.
fn may_be_folder(path: &Path) -> bool {
    fs::metadata(path).map_or_else(|error| !is_absence(&error), |found| found.is_dir())
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
