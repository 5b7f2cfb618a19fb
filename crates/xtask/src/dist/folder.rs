//! What lies in a folder, sorted.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What lies there.
pub(super) fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Everything below it that is no folder.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in listed(folder)? {
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}
