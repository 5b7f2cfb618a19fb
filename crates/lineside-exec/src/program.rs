//! Which file a program's name means.
//!
//! A name without `/` is searched in the `PATH` of the *hook's* environment, as `execvp` does it.
//! Starting the file, and everything that the kernel says about it, is [`crate::spawn`]'s business.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use lineside_core::invocation::Environment;
use rustix::fs::Access;
use thiserror::Error;

use crate::environment;

mod look;

pub use look::look_for;

/// Where programs are searched when the environment has no `PATH`: what `confstr(_CS_PATH)` says.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a name means no file.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindProgramError {
    /// No directory of `PATH` has a file of this name.
    #[error(
        "cannot find program `{}` in the PATH of hooks (that of a daemon has more with `daemon: {{path: [FOLDER]}}` in \
         config.yaml)", .name.display()
    )]
    Missing {
        /// The name.
        name: OsString,
    },
    /// Some directory of `PATH` has one, but none that may be executed.
    #[error("cannot run `{}`, found in PATH: permission denied", .path.display())]
    NotExecutable {
        /// The first file of that name.
        path: PathBuf,
    },
    /// There is nothing to be found.
    #[error("cannot run an empty argument vector")]
    Empty,
    /// There is no file at the path.
    #[error("cannot run `{}`: there is no such file", .path.display())]
    NoFile {
        /// The path, from the root.
        path: PathBuf,
    },
    /// The file may not be executed.
    #[error("cannot run `{}`: permission denied", .path.display())]
    Denied {
        /// The path, from the root.
        path: PathBuf,
    },
    /// The file is there; what its `#!` line names is not.
    #[error("cannot run `{}`: its interpreter {interpreter:?} does not exist", .path.display())]
    NoInterpreter {
        /// The script.
        path: PathBuf,
        /// The interpreter, as the `#!` line names it.
        interpreter: String,
    },
    /// The file is a text that does not say what runs it: a shell would, the system does not.
    #[error("cannot run `{}`: it has no first line that names what runs it, such as `#!/bin/sh`", .path.display())]
    NoFirstLine {
        /// The script.
        path: PathBuf,
    },
}

/// The path under which the program is to be started.
///
/// A path with a `/` is taken as it is; a relative one is relative to the hook's working directory, and so is a
/// relative entry of `PATH`, the empty one included.
pub(crate) fn find(
    name: &OsStr,
    environment: &Environment,
    working_directory: Option<&Path>,
) -> Result<PathBuf, FindProgramError> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let missing = || FindProgramError::Missing { name: name.to_owned() };
    if name.is_empty() {
        return Err(missing());
    }
    let path = environment::lookup(environment, OsStr::new("PATH"));
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    let mut refused = None;
    for entry in path.as_bytes().split(|byte| *byte == b':') {
        let entry = if entry.is_empty() { b"." } else { entry };
        let candidate = Path::new(OsStr::from_bytes(entry)).join(name);
        match executable(&from_directory(working_directory, &candidate)) {
            Ok(true) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                refused.get_or_insert(candidate);
            }
            Ok(false) | Err(_) => {}
        }
    }
    Err(refused.map_or_else(missing, |path| FindProgramError::NotExecutable { path }))
}

/// How we reach a path that the hook reaches from its working directory.
pub(crate) fn from_directory(working_directory: Option<&Path>, path: &Path) -> PathBuf {
    working_directory.map_or_else(|| path.to_owned(), |directory| directory.join(path))
}

fn executable(path: &Path) -> io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    rustix::fs::access(path, Access::EXEC_OK)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn with_path(path: &str) -> Environment {
        Environment { set: vec![("PATH".into(), path.into())], ..Environment::default() }
    }

    fn file(path: &Path, mode: u32) {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_file_of_the_hooks_path_is_taken() {
        let room = tempfile::tempdir().unwrap();
        let [one, two, three] = ["one", "two", "three"].map(|name| room.path().join(name));
        for directory in [&one, &two, &three] {
            fs::create_dir(directory).unwrap();
        }
        fs::create_dir(one.join("hook")).unwrap();
        file(&two.join("hook"), 0o644);
        file(&three.join("hook"), 0o755);
        let path = format!("/nowhere:{}:{}:{}", one.display(), two.display(), three.display());
        let found = find(OsStr::new("hook"), &with_path(&path), None);
        assert_eq!(found, Ok(three.join("hook")));
        let found = find(OsStr::new("hook"), &with_path(&two.display().to_string()), None);
        assert_eq!(found, Err(FindProgramError::NotExecutable { path: two.join("hook") }));
        let found = find(OsStr::new("hook"), &with_path(&one.display().to_string()), None);
        assert_eq!(found, Err(FindProgramError::Missing { name: "hook".into() }));
    }

    #[test]
    fn an_empty_entry_is_the_working_directory() {
        let room = tempfile::tempdir().unwrap();
        file(&room.path().join("hook"), 0o755);
        let found = find(OsStr::new("hook"), &with_path("/nowhere:"), Some(room.path()));
        assert_eq!(found, Ok(PathBuf::from("./hook")));
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        let found = find(OsStr::new("./x"), &with_path(""), None);
        assert_eq!(found, Ok(PathBuf::from("./x")));
    }
}
