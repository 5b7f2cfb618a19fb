//! Whether two folders are working trees of one repository.

use std::fs;
use std::path::{Path, PathBuf};

/// No file that says where a repository is has more bytes.
const LONGEST: usize = 8 << 10;

/// Whether both are working trees of one repository: the main one and those that git has added to it. A folder that only
/// says so of itself is none; the repository has to know it.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    repository(one).is_some_and(|found| repository(other) == Some(found))
}

/// The repository of a working tree.
fn repository(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if fs::symlink_metadata(&git).ok()?.is_dir() {
        return fs::canonicalize(git).ok();
    }
    let own = tree.join(line(&git)?.strip_prefix("gitdir:")?.trim());
    let own = fs::canonicalize(own).ok()?;
    let repository = fs::canonicalize(own.join(line(&own.join("commondir"))?)).ok()?;
    let is_added = own.parent() == Some(&repository.join("worktrees"));
    let back = fs::canonicalize(own.join(line(&own.join("gitdir"))?)).ok()?;
    (is_added && back == fs::canonicalize(git).ok()?).then_some(repository)
}

/// The one line of a file.
fn line(file: &Path) -> Option<String> {
    let bytes = lineside_files::read(file, lineside_files::Boundary::Own, LONGEST).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::is_same;

    /// A working tree as git adds it.
    fn add(main: &Path, tree: &Path, name: &str) {
        let own = main.join(".git/worktrees").join(name);
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(tree).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    }

    #[test]
    fn a_tree_that_the_repository_does_not_know_is_none_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (main, added, claims) =
            (folder.path().join("main"), folder.path().join("added"), folder.path().join("claims"));
        add(&main, &added, "added");
        assert!(is_same(&main, &added) && is_same(&added, &main));
        fs::create_dir(&claims).unwrap();
        fs::copy(added.join(".git"), claims.join(".git")).unwrap();
        assert!(!is_same(&main, &claims), "it names the place of another tree");
        assert!(!is_same(&claims, &claims), "and is none at all");
    }
}
