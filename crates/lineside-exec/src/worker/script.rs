//! The script of a worker on disk: a private directory that goes away with the worker.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use lineside_core::worker::WorkerScript;
use tempfile::TempDir;

/// A script that can be run.
#[derive(Debug)]
pub(super) struct Script {
    /// The file that is run.
    pub(super) entry: PathBuf,
    _directory: TempDir,
}

/// Writes the files into a directory that only this user may enter.
pub(super) fn write(script: &WorkerScript) -> io::Result<Script> {
    let directory = tempfile::Builder::new()
        .prefix("lineside-worker-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    for (name, text) in script.files {
        let path = directory.path().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(Script { entry: directory.path().join(script.entry), _directory: directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_lies_in_a_private_directory_that_goes_away() {
        let files = &[("a.mjs", "a"), ("rooms/b.mjs", "b")];
        let script = write(&WorkerScript { entry: "a.mjs", files }).unwrap();
        let directory = script.entry.parent().unwrap().to_owned();
        assert_eq!(fs::read_to_string(directory.join("rooms/b.mjs")).unwrap(), "b");
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        drop(script);
        assert!(!directory.exists());
    }
}
