//! Looks whether the program of a hook is there, without starting it.
//!
//! A start finds out more, and finds it out again: what is there now may be gone by then, and the other way round.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lineside_core::invocation::{Environment, Program};

use super::{FindProgramError, executable, find, from_directory};
use crate::spawn::diagnosis::Beginning;

/// Looks for a program as a start in this directory and environment does it. Of a line for a shell the first word is
/// looked for, too, where it is certain that the shell runs it.
///
/// Reads the file system and starts nothing.
///
/// ```
/// use std::path::Path;
///
/// use lineside_core::invocation::{Environment, Program};
/// use lineside_exec::look_for;
///
/// let program = |name: &str| Program::argv([name]);
/// assert!(look_for(&program("sh"), &Environment::default(), Path::new("/")).is_ok());
/// let error = look_for(&program("no-such-program"), &Environment::default(), Path::new("/")).unwrap_err();
/// assert!(error.to_string().contains("no-such-program"));
/// ```
///
/// # Errors
/// What a start would report of the program: it is not there, it may not be executed, its interpreter is missing, or it is a
/// text that names none.
pub fn look_for(
    program: &Program,
    environment: &Environment,
    working_directory: &Path,
) -> Result<(), FindProgramError> {
    if program.argv.is_empty() {
        return Err(FindProgramError::Empty);
    }
    for (place, name) in program.names().enumerate() {
        let (path, beginning) = look_for_name(name, environment, working_directory)?;
        // What a shell finds in its line it runs all the same.
        if place == 0 && program.without_interpreter.is_none() && matches!(beginning, Some(Beginning::Text)) {
            return Err(FindProgramError::NoFirstLine { path });
        }
    }
    let script = program.script().map(|script| working_directory.join(script));
    match script.filter(|script| !script.is_file()) {
        Some(path) => Err(FindProgramError::NoFile { path }),
        None => Ok(()),
    }
}

/// The file that a name means, and how it begins.
fn look_for_name(
    name: &OsStr,
    environment: &Environment,
    directory: &Path,
) -> Result<(PathBuf, Option<Beginning>), FindProgramError> {
    let path = from_directory(Some(directory), &find(name, environment, Some(directory))?);
    match executable(&path) {
        Ok(true) => {}
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(FindProgramError::Denied { path });
        }
        Ok(false) | Err(_) => return Err(FindProgramError::NoFile { path }),
    }
    // A file that cannot be read may still be run.
    match Beginning::of(&path).ok() {
        Some(Beginning::Script(interpreter)) if !directory.join(&interpreter).exists() => {
            Err(FindProgramError::NoInterpreter { path, interpreter })
        }
        beginning => Ok((path, beginning)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_that_a_start_would_not_find_is_missing() {
        let room = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            let path = room.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        file("good", "#!/bin/sh\n", 0o755);
        file("lost", "#!/no/such\n", 0o755);
        fs::create_dir(room.path().join("folder")).unwrap();
        let path = format!("/bin:/usr/bin:{}", room.path().display());
        let environment = Environment { set: vec![("PATH".into(), path.into())], ..Environment::default() };
        let look = |program: &Program| look_for(program, &environment, room.path());
        for there in ["good", "./good", "/bin/sh"] {
            assert_eq!(look(&Program::argv([there])), Ok(()), "{there}");
        }
        let at = |name: &str| room.path().join(name);
        assert_eq!(look(&Program::argv(["gone"])), Err(FindProgramError::Missing { name: "gone".into() }));
        assert_eq!(
            look(&Program::argv(["./gone"])),
            Err(FindProgramError::NoFile { path: room.path().join("./gone") })
        );
        assert_eq!(
            look(&Program::argv(["./folder"])),
            Err(FindProgramError::NoFile { path: at("./folder") })
        );
        let lost = FindProgramError::NoInterpreter { path: at("./lost"), interpreter: "/no/such".into() };
        assert_eq!(look(&Program::argv(["./lost"])), Err(lost));
        assert_eq!(look(&Program::argv([""; 0])), Err(FindProgramError::Empty));
        let line = |line: &str| look(&Program::shell("sh", line));
        assert_eq!(line("./good; ./gone"), Ok(()));
        assert_eq!(line("./gone"), Err(FindProgramError::NoFile { path: at("./gone") }));
        file("bare", "echo hi\n", 0o755);
        file("machine", "\u{7f}ELF\0", 0o755);
        assert_eq!(
            look(&Program::argv(["./bare"])),
            Err(FindProgramError::NoFirstLine { path: at("./bare") })
        );
        let or_shell = Program { without_interpreter: Some(Vec::new()), ..Program::argv(["./bare"]) };
        for run in [line("./bare"), look(&or_shell), look(&Program::argv(["./machine"]))] {
            assert_eq!(run, Ok(()));
        }
        file("script.sh", "true", 0o644);
        assert_eq!(look(&Program::argv(["sh", "script.sh"])), Ok(()));
        assert_eq!(line("sh script.sh"), Ok(()));
        let gone = || Err(FindProgramError::NoFile { path: at("gone.sh") });
        assert_eq!(look(&Program::argv(["sh", "-x", "gone.sh", "x"])), gone());
        assert_eq!(line("sh gone.sh | cat"), gone());
        assert_eq!(look(&Program::argv(["sh".to_owned(), at("gone.sh").display().to_string()])), gone());
        assert_eq!(line("gone"), Err(FindProgramError::Missing { name: "gone".into() }));
    }
}
