//! Copies of files and folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Copies a file or a folder, links as links and with its modes. What is neither, such as a pipe, whose opening would wait, is
/// left out.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut waiting = vec![(from.to_path_buf(), to.to_path_buf())];
    while let Some((from, to)) = waiting.pop() {
        let context = || format!("failed to copy {}", from.display());
        let kind = fs::symlink_metadata(&from).with_context(context)?.file_type();
        if kind.is_symlink() {
            symlink(fs::read_link(&from)?, &to).with_context(context)?;
        } else if kind.is_dir() {
            fs::create_dir_all(&to).with_context(context)?;
            for entry in fs::read_dir(&from).with_context(context)? {
                let entry = entry.with_context(context)?;
                waiting.push((entry.path(), to.join(entry.file_name())));
            }
        } else if kind.is_file() {
            fs::copy(&from, &to).with_context(context)?;
        }
    }
    Ok(())
}
