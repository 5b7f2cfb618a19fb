//! `cargo xtask dist`: what is published, in `target/dist`.
//!
//! The programs are those of `cargo xtask install`, laid out once; each form is packed by a tool of its own kind.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use self::folder::listed;
use crate::install::{self, Build};
use crate::programme::{FOR_A_RUN, must};
use crate::test::step::Outcome;
use crate::workspace::Workspace;

mod folder;
mod licences;
mod forms;
mod trial;
mod versions;

/// The most that the wheel may have, in bytes.
const LARGEST_WHEEL: u64 = 25 << 20;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Order {
    build: Build,
    /// Whether each form is installed and tried.
    checks: bool,
}

impl Order {
    pub(crate) fn read(arguments: &[&str]) -> Result<Self> {
        let mut order = Self { build: Build::Release, checks: false };
        for argument in arguments {
            match *argument {
                "--dev" => order.build = Build::Dev,
                "--check" => order.checks = true,
                other => bail!("`dist` does not take `{other}`; `cargo xtask` shows what it takes"),
            }
        }
        Ok(order)
    }
}

/// The programs and their files, ready to be packed, and where the packages go.
struct Staged<'a> {
    workspace: &'a Workspace,
    build: Build,
    /// Laid out as an installation, without the file that says where that is from.
    root: PathBuf,
    out: PathBuf,
    version: String,
    /// The seconds of the last commit, for all times in packages.
    moment: String,
}

/// Packs everything, and tries it where that is asked for.
pub(crate) fn run(workspace: &Workspace, order: &Order) -> Result<ExitCode> {
    let staged = pack(workspace, order.build)?;
    if order.checks {
        let counts = trial::of_every_form(&staged)?;
        ensure!(counts.failed == 0, "{} of the forms do not do what they should", counts.failed);
    }
    Ok(ExitCode::SUCCESS)
}

/// Packs what the other steps have built, and tries it.
pub(crate) fn judge(workspace: &Workspace) -> Result<Outcome> {
    trial::of_every_form(&pack(workspace, Build::Dev)?).map(Outcome::Judged)
}

fn pack(workspace: &Workspace, build: Build) -> Result<Staged<'_>> {
    let version = versions::only(workspace)?;
    let programs = install::build(workspace, build, None)?;
    let out = workspace.target.join(if build == Build::Release { "dist" } else { "dist-dev" });
    // Where `cargo-deb` finds it: it takes paths below the folder of the profile, of which it knows this one.
    let root = workspace.target.join("release/dist-root");
    for folder in [&out, &root] {
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", workspace.shown(folder)))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", workspace.shown(folder)))?;
    }
    install::lay_out(&programs, &root)?;
    licences::lay_out(workspace, &root)?;
    if build == Build::Dev {
        for program in ["lineside", "lineside-full"] {
            must(Command::new("strip").arg(root.join("bin").join(program)), FOR_A_RUN)?;
        }
    }
    let moment = must(
        Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&workspace.root),
        FOR_A_RUN,
    )?;
    let moment = moment.lines.first().context("`git log` says no time")?.clone();
    let staged = Staged { workspace, build, root, out, version, moment };
    for pack in forms::FORMS {
        pack(&staged)?;
    }
    let sums = sums(&staged.out)?;
    fs::write(staged.out.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    if build == Build::Release {
        let wheel = staged.packed("whl")?;
        let bytes = fs::metadata(&wheel)?.len();
        ensure!(
            bytes <= LARGEST_WHEEL,
            "{} has {bytes} bytes; {LARGEST_WHEEL} are the most",
            wheel.display()
        );
    }
    Ok(staged)
}

impl Staged<'_> {
    /// The package with this extension.
    fn packed(&self, extension: &str) -> Result<PathBuf> {
        let found =
            listed(&self.out)?.into_iter().find(|path| path.extension() == Some(OsStr::new(extension)));
        found.with_context(|| format!("nothing with the extension {extension} was packed"))
    }

    /// A tool that is given the time of the packages.
    fn tool(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.workspace.root).env("SOURCE_DATE_EPOCH", &self.moment);
        command
    }
}

/// The digests of the files in a folder, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<String> {
    let mut lines = String::new();
    for path in listed(folder)? {
        let digest = Sha256::digest(fs::read(&path)?);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        lines.push_str(&format!("{hex}  {name}\n"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read_in_any_order() {
        let order = Order { build: Build::Dev, checks: true };
        assert_eq!(Order::read(&["--check", "--dev"]).unwrap(), order);
        assert_eq!(Order::read(&[]).unwrap(), Order { build: Build::Release, checks: false });
        assert!(Order::read(&["--fast"]).is_err());
    }

    #[test]
    fn sums_are_those_that_a_shell_checks() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        fs::write(folder.path().join("a"), "a\n").unwrap();
        let list = sums(folder.path()).unwrap();
        fs::write(folder.path().join("SHA256SUMS"), list).unwrap();
        let mut check = Command::new("sha256sum");
        let ended =
            must(check.args(["--check", "SHA256SUMS"]).current_dir(folder.path()), FOR_A_RUN).unwrap();
        assert_eq!(ended.lines, ["a: OK", "b: OK"]);
    }
}
