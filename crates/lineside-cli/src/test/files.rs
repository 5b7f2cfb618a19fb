//! Which case files the paths of the command line stand for.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// How the name of a case file ends.
const ENDINGS: [&str; 2] = [".cases.yaml", ".cases.json"];

/// Folders that are never searched: large, and written by programs.
const PASSED_OVER: [&str; 3] = [".git", "target", "node_modules"];

/// The case files, each once: files as they were named, those of a directory in the order of their paths.
///
/// # Errors
/// A path that does not exist, or a directory without a case file.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        if std::fs::metadata(path).with_context(|| format!("cannot test {}", path.display()))?.is_dir() {
            search(path, &mut found)?;
            found.sort();
            if found.is_empty() {
                bail!("no file below {} ends in {}", path.display(), ENDINGS.join(" or "));
            }
        } else {
            found.push(path.clone());
        }
        found.retain(|file| !files.contains(file));
        files.extend(found);
    }
    Ok(files)
}

/// Links to directories are not followed, so that no directory is its own.
fn search(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let context = || format!("failed to search {}", directory.display());
        for entry in std::fs::read_dir(&directory).with_context(context)? {
            let entry = entry.with_context(context)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type().with_context(context)?.is_dir() {
                if !PASSED_OVER.contains(&&*name) {
                    waiting.push(entry.path());
                }
            } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                found.push(entry.path());
            }
        }
    }
    Ok(())
}
