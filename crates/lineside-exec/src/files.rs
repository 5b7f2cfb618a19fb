//! The files of a run: written before its start where only this user can read them, removed at its end.
//!
//! What is in them, and why it is not in the environment, is the dialect's business.

use std::ffi::OsString;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use lineside_core::invocation::EventFile;
use tempfile::TempDir;

/// The files of one run; they are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Files {
    variables: Vec<(OsString, PathBuf)>,
    /// Absent where there are none.
    _directory: Option<TempDir>,
}

impl Files {
    /// Writes them; none costs nothing.
    pub(crate) fn write(files: &[EventFile]) -> io::Result<Self> {
        if files.is_empty() {
            return Ok(Self { variables: Vec::new(), _directory: None });
        }
        let directory = tempfile::Builder::new()
            .prefix("lineside-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let mut variables = Vec::with_capacity(files.len());
        for (number, file) in files.iter().enumerate() {
            let path = directory.path().join(number.to_string());
            let mut open = OpenOptions::new();
            open.write(true).create_new(true).mode(0o600).open(&path)?.write_all(&file.bytes)?;
            variables.push((file.variable.clone(), path));
        }
        Ok(Self { variables, _directory: Some(directory) })
    }

    /// The variables to be set, each with the path of its file.
    pub(crate) fn variables(&self) -> &[(OsString, PathBuf)] {
        &self.variables
    }
}
