//! The folders in which the project of a session may be.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders that may be the project of what works here, the nearest first, without links.
///
/// They end with the root of the repository's working tree, which is the nearest folder with `.git`, below the home, whose
/// hooks are those of the user, and below the root of the file system. Of a folder that is not there the nearest one above
/// it counts: no name leads out of a project.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let tree = folder.path().canonicalize()?.join("tree");
/// std::fs::create_dir_all(tree.join(".git"))?;
/// std::fs::create_dir_all(tree.join("src"))?;
/// assert_eq!(lineside_trust::candidates(&tree.join("src/gone"), None), [tree.join("src"), tree]);
/// # Ok::<_, std::io::Error>(())
/// ```
#[must_use]
pub fn candidates(work: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = ancestors(work, home);
    let root = found.iter().position(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
    found.truncate(root.map_or(found.len(), |root| root + 1));
    found
}

/// All folders above what works here, the nearest first and without links, below the home and below the root of the file
/// system: in one of them a project may be trusted that a working tree lies in.
#[must_use]
pub fn ancestors(work: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(nearest) = work.ancestors().find_map(|folder| fs::canonicalize(folder).ok()) else {
        return Vec::new();
    };
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let below = |folder: &&Path| folder.parent().is_some() && Some(*folder) != home.as_deref();
    let all = nearest.ancestors().take_while(below);
    all.filter(|folder| folder.is_dir()).map(Path::to_path_buf).collect()
}

/// The command by which a person trusts this folder, as it is typed into a shell: the name may be a stranger's choice.
///
/// ```
/// use std::path::Path;
/// use lineside_trust::command;
///
/// assert_eq!(command(Path::new("/home/dev/web")), "lineside trust /home/dev/web");
/// assert_eq!(command(Path::new("/tmp/$(rm x)'s")), r"lineside trust '/tmp/$(rm x)'\''s'");
/// ```
#[must_use]
pub fn command(root: &Path) -> String {
    let root = root.to_string_lossy();
    let is_plain = root.chars().all(|sign| sign.is_alphanumeric() || "/._-+@:,".contains(sign));
    if is_plain {
        return format!("lineside trust {root}");
    }
    format!("lineside trust '{}'", root.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::candidates;

    #[test]
    fn the_home_is_no_project_and_what_is_above_it_neither() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        fs::create_dir_all(home.join("work/src")).unwrap();
        assert_eq!(
            candidates(&home.join("work/src"), Some(&home)),
            [home.join("work/src"), home.join("work")]
        );
        assert!(candidates(&home, Some(&home)).is_empty());
    }

    #[test]
    fn a_working_tree_within_another_one_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().canonicalize().unwrap().join("outer");
        fs::create_dir_all(outer.join(".git")).unwrap();
        fs::create_dir_all(outer.join("worktrees/inner/src")).unwrap();
        fs::write(outer.join("worktrees/inner/.git"), "gitdir: elsewhere\n").unwrap();
        let inner = outer.join("worktrees/inner");
        assert_eq!(candidates(&inner.join("src"), None), [inner.join("src"), inner]);
    }

    #[test]
    fn a_link_leads_to_the_project_that_it_is_in() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("tree/.git")).unwrap();
        std::os::unix::fs::symlink(root.join("tree"), root.join("link")).unwrap();
        assert_eq!(candidates(&root.join("link"), None), [root.join("tree")]);
    }
}
