//! A copy of the tracked files, in which a chore may break what it likes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::programme::{self, FOR_A_RUN};

/// Brings a copy of the tracked files up to date. What has not changed keeps its time, so that little is built anew;
/// what is tracked no longer goes, so that it is not built at all.
pub(crate) fn of_tracked(root: &Path, copy: &Path) -> Result<()> {
    of_tracked_but(root, copy, |_| false)
}

/// The same, without the files that the caller writes itself.
pub(crate) fn of_tracked_but(root: &Path, copy: &Path, is_left: impl Fn(&Path) -> bool) -> Result<()> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output()?;
    if !listed.status.success() {
        bail!("`git ls-files` failed; the copy is of what git tracks");
    }
    fs::create_dir_all(copy)?;
    // A repository of its own, so that git takes the paths of a patch from here.
    programme::must(Command::new("git").args(["init", "--quiet"]).current_dir(copy), FOR_A_RUN)?;
    let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names: BTreeSet<PathBuf> =
        names.map(|name| PathBuf::from(String::from_utf8_lossy(name).as_ref())).collect();
    for name in &names {
        let (from, to) = (root.join(name), copy.join(name));
        if let Ok(target) = fs::read_link(&from) {
            link(&target, &to).with_context(|| format!("cannot copy {}", name.display()))?;
            continue;
        }
        let Ok(text) = fs::read(&from) else { continue };
        if is_left(name) && to.exists() || fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&from, &to).with_context(|| format!("cannot copy {}", name.display()))?;
        fs::write(&to, text)?;
    }
    for stranger in strangers(copy, Path::new(""), &names)? {
        fs::remove_file(copy.join(&stranger))
            .with_context(|| format!("cannot remove {}", stranger.display()))?;
    }
    Ok(())
}

/// Puts a link that leads where another one does; what lies in its place goes.
fn link(target: &Path, at: &Path) -> Result<()> {
    if fs::read_link(at).is_ok_and(|there| there == target) {
        return Ok(());
    }
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    if at.symlink_metadata().is_ok() {
        fs::remove_file(at)?;
    }
    Ok(std::os::unix::fs::symlink(target, at)?)
}

/// The files below a folder of the copy that are none of these.
fn strangers(copy: &Path, folder: &Path, tracked: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(copy.join(folder))? {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        if name == Path::new(".git") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            found.extend(strangers(copy, &name, tracked)?);
        } else if !tracked.contains(&name) {
            found.push(name);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tracked_no_longer_goes_and_the_rest_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let (root, copy) = (folder.path().join("root"), folder.path().join("copy"));
        fs::create_dir_all(root.join("tests")).unwrap();
        for name in ["a.rs", "tests/b.rs"] {
            fs::write(root.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("tests", root.join("linked")).unwrap();
        let git = |arguments: &[&str]| {
            programme::must(Command::new("git").args(arguments).current_dir(&root), FOR_A_RUN).unwrap()
        };
        drop(git(&["init", "--quiet"]));
        drop(git(&["add", "."]));
        of_tracked(&root, &copy).unwrap();
        let written = fs::metadata(copy.join("a.rs")).unwrap().modified().unwrap();
        assert_eq!(fs::read_to_string(copy.join("linked/b.rs")).unwrap(), "tests/b.rs");

        drop(git(&["rm", "--quiet", "--force", "tests/b.rs"]));
        fs::write(copy.join("broken.rs"), "").unwrap();
        of_tracked(&root, &copy).unwrap();
        let mut left = strangers(&copy, Path::new(""), &BTreeSet::new()).unwrap();
        left.sort();
        assert_eq!(left, ["a.rs", "linked"].map(Path::new));
        assert_eq!(fs::metadata(copy.join("a.rs")).unwrap().modified().unwrap(), written);
    }
}
