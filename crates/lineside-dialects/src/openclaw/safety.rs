//! Whether the files of a plugin are where and whose they must be (OC-10).

use std::fs;
use std::path::Path;

/// Why a candidate is blocked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Blocked {
    #[error("blocked plugin candidate: source escapes plugin root ({0})")]
    OutOfPlugin(String),
    #[error("blocked plugin candidate: source escapes project root ({0})")]
    OutOfProject(String),
    #[error("blocked plugin candidate: world-writable path ({0})")]
    Writable(String),
    #[error("blocked plugin candidate: suspicious ownership ({0})")]
    Owner(String),
    #[error("blocked plugin candidate: {0}")]
    Unreadable(String),
}

/// Checks the entry of a plugin and its directory, links resolved. A standalone plugin has no directory.
///
/// `project` is the root in which a plugin of the project must lie.
pub(super) fn check(root: Option<&Path>, entry: &Path, project: Option<&Path>) -> Result<(), Blocked> {
    let shown = |path: &Path| path.display().to_string();
    let real = |path: &Path| {
        fs::canonicalize(path).map_err(|error| Blocked::Unreadable(format!("{error} ({})", path.display())))
    };
    let (real_root, real_entry) = (root.map(real).transpose()?, real(entry)?);
    let outermost = real_root.as_deref().unwrap_or(&real_entry);
    if let Some(project) = project
        && !outermost.starts_with(real(project)?)
    {
        return Err(Blocked::OutOfProject(shown(outermost)));
    }
    if real_root.as_ref().is_some_and(|root| !real_entry.starts_with(root)) {
        return Err(Blocked::OutOfPlugin(shown(&real_entry)));
    }
    for path in real_root.iter().chain([&real_entry]) {
        let metadata = fs::metadata(path)
            .map_err(|error| Blocked::Unreadable(format!("{error} ({})", path.display())))?;
        owned(path, &metadata)?;
    }
    Ok(())
}

#[cfg(unix)]
fn owned(path: &Path, metadata: &fs::Metadata) -> Result<(), Blocked> {
    use std::os::unix::fs::MetadataExt as _;

    judge(path, metadata.mode(), metadata.uid(), rustix::process::geteuid().as_raw())
}

#[cfg(unix)]
fn judge(path: &Path, mode: u32, owner: u32, user: u32) -> Result<(), Blocked> {
    let shown = path.display().to_string();
    if mode & 0o002 != 0 {
        return Err(Blocked::Writable(shown));
    }
    if owner != user && owner != 0 {
        return Err(Blocked::Owner(shown));
    }
    Ok(())
}

#[cfg(not(unix))]
fn owned(_: &Path, _: &fs::Metadata) -> Result<(), Blocked> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::{Blocked, check, judge};

    #[test]
    fn an_entry_lies_in_its_plugin_and_a_plugin_of_the_project_in_the_project() {
        // OC-10
        let room = tempfile::tempdir().unwrap();
        let at = |path: &str| room.path().join(path);
        for directory in ["project/plugin", "outside"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        fs::write(at("outside/x.mjs"), "").unwrap();
        fs::write(at("project/plugin/a.mjs"), "").unwrap();
        symlink(at("outside/x.mjs"), at("project/plugin/b.mjs")).unwrap();
        symlink(at("outside"), at("project/link")).unwrap();
        let plugin = at("project/plugin");
        let project = at("project");
        assert_eq!(check(Some(&plugin), &at("project/plugin/a.mjs"), Some(&project)), Ok(()));
        let escaped = check(Some(&plugin), &at("project/plugin/b.mjs"), Some(&project));
        assert!(matches!(escaped, Err(Blocked::OutOfPlugin(_))));
        let linked = at("project/link");
        assert!(matches!(
            check(Some(&linked), &linked.join("x.mjs"), Some(&project)),
            Err(Blocked::OutOfProject(_))
        ));
        // A plugin of the user may lie anywhere.
        assert_eq!(check(Some(&linked), &linked.join("x.mjs"), None), Ok(()));
        assert!(matches!(check(None, &at("outside/x.mjs"), Some(&project)), Err(Blocked::OutOfProject(_))));
    }

    #[test]
    fn nobody_else_can_change_it() {
        // OC-10
        let room = tempfile::tempdir().unwrap();
        let file = room.path().join("a.mjs");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(check(None, &file, None), Err(Blocked::Writable(_))));
        assert!(matches!(judge(&file, 0o644, 7, 8), Err(Blocked::Owner(_))));
        assert_eq!(judge(&file, 0o644, 7, 7), Ok(()));
        assert_eq!(judge(&file, 0o644, 0, 7), Ok(()));
    }
}
