//! The two files (CH-1, CH-3).

use std::path::PathBuf;

use lineside_core::Layer;

use crate::dialect::Places;
pub(super) use crate::dialect::absolute;

/// A file in which hooks are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Whose it is.
    pub(super) layer: Layer,
    /// Its absolute path.
    pub(super) file: PathBuf,
}

/// The global file, then the project's (CH-2).
pub(super) fn all(places: &Places) -> Vec<Place> {
    let global = global_folder(places).map(|folder| Place {
        layer: Layer::User,
        file: absolute(&places.cwd.join(folder).join("config.yaml")),
    });
    let file = absolute(places.work_dir()).join(".chord/config.yaml");
    global.into_iter().chain([Place { layer: Layer::Project, file }]).collect()
}

/// The folder of the user's file (CH-1).
fn global_folder(places: &Places) -> Option<PathBuf> {
    let set = |name| places.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CHORD_CONFIG_HOME")
        .or_else(|| set("XDG_CONFIG_HOME").map(|folder| folder.join("chord")))
        .or_else(|| places.home().map(|home| home.join(".config/chord")))
}
