//! Looks whether the program of a hook is there, without starting it.
//!
//! A start finds out more, and finds it out again: what is there now may be gone by then, and the other way round.

use std::ffi::OsStr;
use std::path::Path;

use lineside_core::invocation::{Environment, Program};

use super::{FindProgramError, executable, find, from_directory};
use crate::spawn::diagnosis::interpreter;

/// The words at the start of a line that a shell reads itself: reserved words and what is built into `sh` or `bash`.
const OF_THE_SHELL: &[&str] = &[
    ".",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "newgrp",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// Looks for a program as a start in this directory and environment does it. Of a line for a shell the first word is
/// looked for, too, where it is certain that the shell runs it.
///
/// Reads the file system and starts nothing.
///
/// # Errors
/// What a start would report of the program: it is not there, it may not be executed, or its interpreter is missing.
pub fn look_for(
    program: &Program,
    environment: &Environment,
    working_directory: &Path,
) -> Result<(), FindProgramError> {
    let name = program.argv.first().ok_or(FindProgramError::Empty)?;
    look_for_name(name, environment, working_directory)?;
    match first_word(program) {
        Some(word) => look_for_name(OsStr::new(word), environment, working_directory),
        None => Ok(()),
    }
}

fn look_for_name(name: &OsStr, environment: &Environment, directory: &Path) -> Result<(), FindProgramError> {
    let path = from_directory(Some(directory), &find(name, environment, Some(directory))?);
    match executable(&path) {
        Ok(true) => {}
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(FindProgramError::Denied { path });
        }
        Ok(false) | Err(_) => return Err(FindProgramError::NoFile { path }),
    }
    // A file that cannot be read may still be run.
    let Ok(Some(interpreter)) = interpreter(&path) else { return Ok(()) };
    if directory.join(&interpreter).exists() {
        return Ok(());
    }
    Err(FindProgramError::NoInterpreter { path, interpreter })
}

/// The program that a line for a shell starts first; `None` where another reading is possible.
fn first_word(program: &Program) -> Option<&str> {
    let [shell, flag, line] = &program.argv[..] else { return None };
    let shell = Path::new(shell).file_name()?.to_str()?;
    if !matches!(shell, "sh" | "bash" | "dash") || flag != "-c" {
        return None;
    }
    let line = line.to_str()?.trim_start();
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-./+".contains(sign);
    let (word, rest) = line.split_at(line.find(|sign| !is_plain(sign)).unwrap_or(line.len()));
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '&', '|', '<', '>']);
    let defines = rest.trim_start().starts_with('(');
    // A number before `<` or `>` is a descriptor.
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    (ends && !defines && !is_number && !OF_THE_SHELL.contains(&word)).then_some(word)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_word_of_a_shell_line_is_known_where_no_other_reading_is_possible() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(first_word(&Program::shell("/bin/sh", line)), expected, "{line}");
        };
        for (line, word) in [
            ("./guard.sh --x", "./guard.sh"),
            (" jq . | sort", "jq"),
            ("tool>out", "tool"),
            ("a/b;c", "a/b"),
            ("x&", "x"),
        ] {
            check(line, Some(word));
        }
        for line in [
            "",
            "A=b tool",
            "\"./guard.sh\"",
            "$HOOK/x",
            "~/x",
            "x$y",
            "x\\ y",
            "x*",
            "f() { :; }; f",
            "f () { :; }; f",
            "2>&1 tool",
            "! tool",
            "{ tool; }",
            "(tool)",
            "[ -x tool ] && tool",
            "exit 2",
            "if tool; then exit 2; fi",
            ". ./lib.sh",
            "# tool",
        ] {
            check(line, None);
        }
        assert_eq!(first_word(&Program::argv(["grep", "-c", "tool"])), None);
        assert_eq!(first_word(&Program::argv(["sh", "script"])), None);
    }

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
        assert_eq!(line("gone"), Err(FindProgramError::Missing { name: "gone".into() }));
    }
}
