//! What a hook starts: its entry point, by itself or with an interpreter (AH-34 to AH-37).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lineside_core::invocation::Program;
use lineside_files::Boundary;

use crate::programs::{Search, is_executable};

/// In the order in which they are looked for.
const FILES: [&str; 3] = ["run", "run.sh", "run.py"];
/// How much of a script the kernel looks at for its first line.
const FIRST_LINE: usize = 256;
/// How much is looked at to tell a script from a program.
const HEAD: usize = 512;

/// Where programs are looked for without a `PATH`.
const FOLDERS: &str = "/usr/local/bin:/usr/bin:/bin";

/// An entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    file: &'static str,
    path: PathBuf,
    executable: bool,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Its `#!` line names an interpreter and perhaps one argument.
    Script(OsString, Option<OsString>),
    /// It is a text without such a line.
    Text,
    /// It is a program.
    Binary,
    /// It cannot be read, which does not keep it from being run.
    Unreadable,
}

/// The words for a folder without an entry point.
pub(super) const NONE: &str = "No entry point found (scripts/run, scripts/run.sh, or scripts/run.py)";

/// The entry point of a hook folder as it stands (AH-34).
pub(super) fn find(folder: &Path) -> Option<Entry> {
    FILES.into_iter().find_map(|file| {
        let path = folder.join("scripts").join(file);
        path.is_file().then(|| Entry { file, executable: is_executable(&path), kind: look_at(&path), path })
    })
}

impl Entry {
    /// The same file, links followed: what hooks that share it have in common.
    pub(super) fn resolved(&self) -> Self {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        Self { path, ..self.clone() }
    }

    /// What tells this state of the file from an earlier one. A worker of an earlier one is not asked any more.
    pub(super) fn stamp(&self) -> String {
        let state = self.path.metadata().and_then(|state| Ok((state.len(), state.modified()?)));
        state.map(|state| format!("{state:?}")).unwrap_or_default()
    }

    /// What is to be started.
    ///
    /// # Errors
    /// The interpreter of its `#!` line is not there.
    pub(super) fn program(&self, search: &Search) -> Result<Program, String> {
        if let Some(missing) = self.missing_interpreter(search) {
            return Err(missing);
        }
        let script = self.path.clone().into_os_string();
        let chosen = || vec![OsString::from(self.chosen(search)), script.clone()];
        let by_itself = self.executable && cfg!(unix);
        Ok(match &self.kind {
            Kind::Script(interpreter, argument) if !by_itself => {
                let interpreter = std::iter::once(interpreter.clone()).chain(argument.clone());
                Program::argv(interpreter.chain([script]))
            }
            _ if !by_itself => Program::argv(chosen()),
            Kind::Script(..) | Kind::Unreadable => Program::argv([script]),
            // Used when the kernel refuses it (AH-36).
            Kind::Text | Kind::Binary => {
                Program { without_interpreter: Some(chosen()), ..Program::argv([script.clone()]) }
            }
        })
    }

    /// W13, W14, W21, as they stand when the hook is loaded.
    pub(super) fn warnings(&self, search: &Search) -> Vec<String> {
        let mut warnings = Vec::new();
        let file = self.file;
        if !self.executable {
            let interpreter = match &self.kind {
                Kind::Script(interpreter, argument) => std::iter::once(interpreter)
                    .chain(argument)
                    .map(|part| part.to_string_lossy())
                    .collect::<Vec<_>>()
                    .join(" "),
                _ => self.chosen(search).to_owned(),
            };
            warnings.push(format!("scripts/{file} is not executable, it is run with {interpreter}"));
        } else if self.kind == Kind::Text {
            let interpreter = self.chosen(search);
            warnings.push(format!("scripts/{file} has no #! line, it is run with {interpreter}"));
        }
        warnings.extend(self.missing_interpreter(search));
        warnings
    }

    /// Chosen by the name of the file (AH-36).
    fn chosen(&self, search: &Search) -> &'static str {
        match self.file {
            "run.py" => "python3",
            _ if search.finds("bash", None, FOLDERS) => "bash",
            _ => "sh",
        }
    }

    fn missing_interpreter(&self, search: &Search) -> Option<String> {
        let Kind::Script(interpreter, _) = &self.kind else {
            return None;
        };
        if search.work_dir.join(interpreter).is_file() {
            return None;
        }
        let path = interpreter.to_string_lossy();
        let hint = if path.ends_with('\r') { " (the script has CRLF line ends)" } else { "" };
        Some(format!("scripts/{}: interpreter '{path}' not found{hint}", self.file))
    }
}

fn look_at(path: &Path) -> Kind {
    // Links are followed wherever they lead, as the kernel does; the opening does not wait for what is there.
    let Ok(head) = lineside_files::read(path, Boundary::Open, HEAD) else {
        return Kind::Unreadable;
    };
    match interpreter_line(&head) {
        Some((interpreter, argument)) => Kind::Script(os(interpreter), argument.map(os)),
        None if head.contains(&0) => Kind::Binary,
        None => Kind::Text,
    }
}

/// A `#!` line, split as the kernel does: the path, then the rest as one argument (AH-35).
fn interpreter_line(head: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let head = head.get(..FIRST_LINE.min(head.len()))?;
    let line = head.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = line.iter().position(|byte| !blank(byte))?;
    let end = line.iter().rposition(|byte| !blank(byte))? + 1;
    let line = line.get(start..end)?;
    match line.iter().position(|byte| blank(byte) || *byte == 0) {
        None => Some((line, None)),
        Some(0) => None,
        Some(at) => {
            let (path, rest) = line.split_at(at);
            let argument = rest.iter().position(|byte| !blank(byte)).and_then(|at| rest.get(at..));
            Some((path, argument.filter(|argument| !argument.starts_with(&[0]))))
        }
    }
}

#[cfg(unix)]
fn os(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use super::{Search, find, interpreter_line};

    fn line(text: &str) -> Option<(String, Option<String>)> {
        let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        interpreter_line(text.as_bytes()).map(|(path, argument)| (owned(path), argument.map(owned)))
    }

    #[test]
    fn the_first_line_is_split_as_the_kernel_does() {
        // AH-35
        let some = |path: &str, argument: Option<&str>| Some((path.to_owned(), argument.map(str::to_owned)));
        assert_eq!(line("#!/bin/sh\nx"), some("/bin/sh", None));
        assert_eq!(line("#! \t/bin/sh  \nx"), some("/bin/sh", None));
        assert_eq!(line("#!/usr/bin/env -S a b \nx"), some("/usr/bin/env", Some("-S a b")));
        assert_eq!(line("#!/bin/sh\r\nx"), some("/bin/sh\r", None));
        assert_eq!(line("#!/bin/sh"), some("/bin/sh", None));
        for none in ["", "x", "#", "#!", "#!  \nx", " #!/bin/sh"] {
            assert_eq!(line(none), None, "{none:?}");
        }
    }

    fn write(folder: &Path, file: &str, text: &str, mode: u32) {
        let path = folder.join("scripts").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn check(file: &str, text: &str, mode: u32, argv: &[&str], fallback: Option<&[&str]>, warnings: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), file, text, mode);
        let search = Search { path: None, work_dir: folder.path().to_path_buf() };
        let entry = find(folder.path()).unwrap();
        let told: Vec<_> = entry.warnings(&search).iter().map(ToString::to_string).collect();
        assert_eq!(told, warnings, "{text}");
        let script = folder.path().join("scripts").join(file);
        let expand = |argv: &[&str]| -> Vec<std::ffi::OsString> {
            argv.iter()
                .map(|one| if *one == "$0" { script.clone().into_os_string() } else { (*one).into() })
                .collect()
        };
        match entry.program(&search) {
            Ok(program) => {
                assert_eq!(program.argv, expand(argv), "{text}");
                assert_eq!(program.without_interpreter, fallback.map(expand), "{text}");
            }
            Err(error) => assert!(argv.is_empty(), "{error}"),
        }
    }

    #[test]
    fn an_entry_point_is_started_by_itself_or_with_an_interpreter() {
        // AH-34 to AH-37, W13, W14, W21
        check("run", "#!/bin/sh\n", 0o755, &["$0"], None, &[]);
        check("run.sh", "\u{7f}ELF\0", 0o755, &["$0"], Some(&["bash", "$0"]), &[]);
        check(
            "run.sh",
            "echo",
            0o755,
            &["$0"],
            Some(&["bash", "$0"]),
            &["scripts/run.sh has no #! line, it is run with bash"],
        );
        check(
            "run.py",
            "",
            0o755,
            &["$0"],
            Some(&["python3", "$0"]),
            &["scripts/run.py has no #! line, it is run with python3"],
        );
        check(
            "run.py",
            "import sys",
            0o644,
            &["python3", "$0"],
            None,
            &["scripts/run.py is not executable, it is run with python3"],
        );
        check(
            "run.sh",
            "#!/usr/bin/env bash -e \n",
            0o644,
            &["/usr/bin/env", "bash -e", "$0"],
            None,
            &["scripts/run.sh is not executable, it is run with /usr/bin/env bash -e"],
        );
        check(
            "run",
            "#!/bin/sh\r\n",
            0o755,
            &[],
            None,
            &["scripts/run: interpreter '/bin/sh\r' not found (the script has CRLF line ends)"],
        );
        check("run", "#!/no/such -x\n", 0o755, &[], None, &["scripts/run: interpreter '/no/such' not found"]);
    }

    #[test]
    fn without_bash_it_is_sh() {
        // AH-36
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "run", "echo", 0o755);
        let search =
            Search { path: Some("nowhere:/no/such".to_owned()), work_dir: folder.path().to_path_buf() };
        let program = find(folder.path()).unwrap().program(&search).unwrap();
        assert_eq!(program.without_interpreter.unwrap()[0], "sh");
    }

    #[test]
    fn folders_and_dangling_links_are_passed_over() {
        // AH-34
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path()), None);
        write(folder.path(), "run.py", "#!/bin/sh\n", 0o755);
        write(folder.path(), "check.sh", "#!/bin/sh\n", 0o755);
        symlink("nowhere", folder.path().join("scripts/run")).unwrap();
        fs::create_dir(folder.path().join("scripts/run.sh")).unwrap();
        assert_eq!(find(folder.path()).unwrap().file, "run.py");
    }
}
