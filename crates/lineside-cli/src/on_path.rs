//! Which command an entry starts: the path of `lineside`, because an agent's `PATH` may find another program of that name;
//! and what a daemon finds that a call starts.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use lineside::dialects::native::DaemonSettings;
use lineside::hosts::install::Program;
use lineside_account::Account;
use rustix::fs::{Access, access};

/// The name of the installed program.
const NAME: &str = "lineside";

/// The command of entries.
pub(crate) struct OnPath {
    pub(crate) program: Program,
    /// Why it is not what the name finds.
    pub(crate) remark: Option<String>,
}

/// The command of this program.
///
/// # Errors
/// The path of this program is not known, or is not one that an entry can be known by.
pub(crate) fn own_command() -> Result<OnPath> {
    let own = own()?;
    let named = find(NAME);
    let beside = own.with_file_name(NAME);
    let is_own = |path: &Path| path.canonicalize().is_ok_and(|path| path == own || path == beside);
    let is_found = named.as_deref().is_some_and(is_own);
    // As it was found, so that a link to it may be led to a newer one.
    let absolute = match &named {
        Some(named) if is_found => named.clone(),
        _ => own_path()?,
    };
    let path = absolute.to_str().context("the path of this program is not UTF-8")?;
    let program = Program::new(path).with_context(|| {
        format!("this program must be called `{NAME}`, and it is {path}; an entry is known by that name")
    })?;
    let remark = match named {
        Some(_) if is_found => None,
        // It is Node that starts this program, and entries start it without that.
        Some(named) if is_launcher(&named, &own) => None,
        Some(other) => Some(format!(
            "`{NAME}` on PATH is another program, {}, so the entries start {path}",
            other.display()
        )),
        None => Some(format!("`{NAME}` is not on PATH, so the entries start {path}")),
    };
    Ok(OnPath { program, remark })
}

/// Whether a program on the path is the one by which the package for Node starts this one, which lies in a package of the
/// same folder, or in one within that package.
fn is_launcher(named: &Path, own: &Path) -> bool {
    let Ok(named) = named.canonicalize() else { return false };
    let mut folders = own.ancestors().filter(|folder| folder.ends_with("node_modules"));
    folders.any(|modules| named.starts_with(modules.join(NAME)))
}

/// The path of this program: of the small one that answers hooks, which lies beside the full command, where it does.
///
/// # Errors
/// It is not known.
pub(crate) fn own_path() -> Result<PathBuf> {
    let own = own()?;
    let beside = own.with_file_name(NAME);
    Ok(if is_program(&beside) { beside } else { own })
}

/// This program itself, whatever link it was started by.
///
/// # Errors
/// It is not known.
pub(crate) fn own() -> Result<PathBuf> {
    let own = env::current_exe().and_then(|path| path.canonicalize());
    own.context("cannot tell where this program is")
}

/// The first program of that name on the path.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let folders = env::split_paths(&folders).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| is_program(path))
}

/// Whether a path is a file that may be executed.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The `PATH` of a daemon with this home that a call starts.
///
/// # Errors
/// No `PATH` can name a folder of the settings.
pub(crate) fn login_path(home: &Path, settings: &DaemonSettings) -> Result<OsString> {
    let login = lineside_shim::login(&Account::own(), home);
    let path = login.into_iter().find(|(name, _)| *name == "PATH").unwrap_or_default().1;
    joined(&settings.path, &path)
}

/// A `PATH` with these folders before the others.
///
/// # Errors
/// No `PATH` can name one of them.
pub(crate) fn joined(folders: &[PathBuf], path: &OsStr) -> Result<OsString> {
    let others = env::split_paths(path).filter(|folder| !folders.contains(folder));
    env::join_paths(folders.iter().cloned().chain(others)).context("failed to set the PATH of the daemon")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_launcher_of_the_package_for_node_is_no_other_program() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().canonicalize().unwrap();
        let launcher = |modules: &str| {
            let modules = root.join(modules);
            fs::create_dir_all(modules.join(".bin")).unwrap();
            fs::create_dir_all(modules.join(NAME)).unwrap();
            fs::write(modules.join("lineside/bin.js"), "").unwrap();
            symlink("../lineside/bin.js", modules.join(".bin/lineside")).unwrap();
            modules.join(".bin/lineside")
        };
        let (named, other) = (launcher("app/node_modules"), launcher("other/node_modules"));
        let own = |path: &str| root.join(path).join("@lineside/linux-x64/bin/lineside-full");
        for beside in ["app/node_modules", "app/node_modules/lineside/node_modules"] {
            assert!(is_launcher(&named, &own(beside)), "{beside}");
            assert!(!is_launcher(&other, &own(beside)), "{beside}");
        }
        assert!(!is_launcher(&named, &root.join("app/bin/lineside-full")));
        assert!(!is_launcher(&root.join("app/node_modules/.bin/none"), &own("app/node_modules")));
    }
}
