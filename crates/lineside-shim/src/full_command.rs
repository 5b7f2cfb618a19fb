//! The full command: where it is, and becoming it.

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::environment::Environment;

/// The name of the full command, in the folder of the installed file `lineside`.
const BESIDE: &str = "lineside-full";
/// Its name elsewhere.
const NAME: &str = "lineside";
/// Something kept the command from doing its work at all.
const NOT_DONE: u8 = 2;

/// Which program the full command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullCommand {
    /// `lineside-full` in the folder of this program; for what a person runs, else the next other `lineside` on the
    /// `PATH`.
    Beside,
    /// This program itself.
    This,
}

impl FullCommand {
    /// Its path; `None` when there is none where it was installed.
    pub(crate) fn path(self) -> Option<PathBuf> {
        let own = own()?;
        if self == Self::This {
            return Some(own);
        }
        Some(own.with_file_name(BESIDE)).filter(|beside| is_program(beside))
    }

    /// The same for a person, whose `PATH` counts as well.
    fn of_person(self, environment: &Environment) -> Option<PathBuf> {
        self.path().or_else(|| {
            let own = own()?;
            let folders = environment.get("PATH").map(env::split_paths).into_iter().flatten();
            let mut others = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(NAME));
            others.find(|other| is_program(other) && !is_same(other, &own))
        })
    }
}

/// This program; what was started may be a link to it.
fn own() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    Some(own.canonicalize().unwrap_or(own))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    file(one).is_none_or(|one| Some(one) == file(other))
}

/// Replaces this process by the full command; returns only when that fails.
pub(crate) fn become_it(full: &FullCommand, arguments: &[OsString], environment: &Environment) -> ExitCode {
    let told = match full.of_person(environment) {
        None => format!(
            "the full command was not found: there is no `{BESIDE}` beside this program and no other \
            `{NAME}` on the PATH; install lineside again"
        ),
        Some(path) => {
            let error = Command::new(&path).arg0(NAME).args(arguments).exec();
            format!("failed to start the full command {}: {error}; install lineside again", path.display())
        }
    };
    writeln!(std::io::stderr(), "lineside: {told}").ok();
    ExitCode::from(NOT_DONE)
}
