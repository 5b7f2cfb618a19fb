//! `cargo xtask install`: the two programs of the command, built and laid out as they are used.
//!
//! `bin/lineside` is the small program that agents wait for, `bin/lineside-full` the command that it becomes for
//! everything else. What `cargo xtask dist` packs is laid out in the same way.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::programme::{FOR_A_BUILD, must};
use crate::tools::need_target;
use crate::workspace::Workspace;

/// The profile of the small program.
const PROFILE: &str = "shim";

/// How the programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// As they are used.
    Release,
    /// As tests have built them.
    Dev,
}

/// Where to install, and with which features of the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order<'a> {
    root: Option<&'a str>,
    with: Option<&'a str>,
}

impl<'a> Order<'a> {
    /// Reads the arguments.
    pub(crate) fn read(arguments: &[&'a str]) -> Result<Self> {
        Ok(match arguments {
            [] => Self::default(),
            ["--root", root, rest @ ..] => Self { root: Some(root), ..Self::read(rest)? },
            ["--with", with, rest @ ..] => Self { with: Some(with), ..Self::read(rest)? },
            other => {
                bail!("`install` does not take `{}`; `cargo xtask` shows what it takes", other.join(" "))
            }
        })
    }
}

/// What was built.
pub(crate) struct Programs {
    pub(crate) full: PathBuf,
    pub(crate) shim: PathBuf,
}

/// Where an installation is from; the command reads it in [`LISTED`] (`installation.rs` of `lineside-cli`).
#[derive(Serialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub(crate) enum Origin<'a> {
    Clone { clone: &'a Path },
    Tarball,
}

/// The file, below the folder of an installation, that says where it is from and which files it has.
pub(crate) const LISTED: &str = "share/lineside/installed.json";

/// Builds both and puts them into `bin` of this folder; of cargo's own without one.
pub(crate) fn run(workspace: &Workspace, order: &Order<'_>) -> Result<ExitCode> {
    let root = match order.root {
        Some(root) => PathBuf::from(root),
        None => cargo_home()?,
    };
    let programs = build(workspace, Build::Release, order.with)?;
    let files = lay_out(&programs, &root)?;
    list(&root, &Origin::Clone { clone: &workspace.root }, &files)?;
    for file in files.iter().filter(|file| !file.starts_with("share/man")) {
        println!("installed {}", root.join(file).display());
    }
    println!("installed the manual in {}", root.join(MANUAL).display());
    println!("a daemon that runs is the earlier one until `lineside stop`; the next event starts this one");
    Ok(ExitCode::SUCCESS)
}

/// Builds both programs, the full one with these features, separated by commas.
pub(crate) fn build(workspace: &Workspace, build: Build, with: Option<&str>) -> Result<Programs> {
    let target = &workspace.target;
    match build {
        Build::Release => {
            // As `cargo run --release` builds it: a choice of packages would be a choice of their features, and all of it anew.
            let mut full = workspace.cargo(["build", "--release"]);
            let named = with.into_iter().flat_map(|with| with.split(','));
            named.for_each(|feature| {
                full.args(["--features", &format!("lineside-cli/{feature}")]);
            });
            must(&mut full, FOR_A_BUILD)?;
            Ok(Programs { full: target.join("release/lineside"), shim: shim(workspace)? })
        }
        Build::Dev => {
            must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
            must(&mut workspace.cargo(["build", "--package", "lineside-shim"]), FOR_A_BUILD)?;
            Ok(Programs { full: target.join("debug/lineside"), shim: target.join("debug/lineside-shim") })
        }
    }
}

/// Puts the programs into `bin` of a folder, and below `share` what shells complete and the manual. Gives the files, relative
/// to the folder, sorted.
pub(crate) fn lay_out(programs: &Programs, root: &Path) -> Result<Vec<PathBuf>> {
    let bin = root.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("failed to make {}", bin.display()))?;
    // The small one last: it finds the other one beside it from the first moment on.
    let mut files = Vec::new();
    for (from, name) in [(&programs.full, "lineside-full"), (&programs.shim, "lineside")] {
        let to = bin.join(name);
        replace(from, &to).with_context(|| format!("failed to install {}", to.display()))?;
        files.push(Path::new("bin").join(name));
    }
    files.extend(manual(&bin.join("lineside-full"), root)?);
    files.sort();
    Ok(files)
}

/// Writes down where an installation is from and what it has.
pub(crate) fn list(root: &Path, origin: &Origin<'_>, files: &[PathBuf]) -> Result<()> {
    #[derive(Serialize)]
    struct Listed<'a> {
        #[serde(flatten)]
        origin: &'a Origin<'a>,
        files: &'a [PathBuf],
    }
    let file = root.join(LISTED);
    let folder = file.parent().unwrap_or(root);
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let text = serde_json::to_string_pretty(&Listed { origin, files })?;
    fs::write(&file, text + "\n").with_context(|| format!("failed to write {}", file.display()))
}

/// What each shell completes, by the name under which it looks for that.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/lineside"),
    ("zsh", "share/zsh/site-functions/_lineside"),
    ("fish", "share/fish/vendor_completions.d/lineside.fish"),
];

/// The folder of the pages of the manual.
const MANUAL: &str = "share/man/man1";

/// Puts completions and the pages of the manual below a folder, as the command itself gives them.
fn manual(command: &Path, root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (shell, place) in COMPLETIONS {
        let made = Command::new(command).args(["completions", shell]).output()?;
        if !made.status.success() {
            bail!("`{} completions {shell}` failed", command.display());
        }
        let file = root.join(place);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
        }
        fs::write(&file, made.stdout).with_context(|| format!("failed to write {}", file.display()))?;
        files.push(place.into());
    }
    let pages = root.join(MANUAL);
    must(Command::new(command).arg("man").arg(&pages), FOR_A_BUILD)?;
    for page in fs::read_dir(&pages).with_context(|| format!("cannot list {}", pages.display()))? {
        let name = page?.file_name();
        // Other programs have pages there too.
        if name.to_string_lossy().starts_with("lineside") {
            files.push(Path::new(MANUAL).join(name));
        }
    }
    Ok(files)
}

/// Builds the small program and gives its path.
///
/// On Linux it is linked with all that it needs, which starts in a third of the time that loading a shared library takes,
/// and runs nothing that `LD_PRELOAD` of an agent names; without the standard library for that it is linked so with that of
/// GNU.
pub(crate) fn shim(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = workspace.cargo(["build", "--profile", PROFILE, "--package", "lineside-shim"]);
    let mut folder = workspace.target.clone();
    if let Some(target) = linked_alone() {
        match need_target(&target) {
            Ok(()) => {
                build.args(["--target", &target]);
                folder.push(&target);
            }
            Err(error) => {
                println!("`lineside` will start more slowly than it can: {error:#}");
                let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
                let flags = format!("target.{target}.rustflags=[\"-Ctarget-feature=+crt-static\"]");
                build.args(["--target", &target, "--config", &flags]);
                folder.push(&target);
            }
        }
    }
    must(&mut build, FOR_A_BUILD)?;
    Ok(folder.join(PROFILE).join("lineside-shim"))
}

/// The target whose programs load no shared library, on systems that have one.
fn linked_alone() -> Option<String> {
    (env::consts::OS == "linux").then(|| format!("{}-unknown-linux-musl", env::consts::ARCH))
}

/// Puts a file in the place of another one in one step, so that a program that is running or started meanwhile is whole.
fn replace(from: &Path, to: &Path) -> Result<()> {
    let new = to.with_extension("new");
    fs::copy(from, &new)?;
    fs::rename(&new, to)?;
    Ok(())
}

fn cargo_home() -> Result<PathBuf> {
    let home = || env::home_dir().map(|home| home.join(".cargo"));
    match env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home) {
        Some(root) => Ok(root),
        None => bail!("cannot tell where cargo installs programs; name a folder with --root"),
    }
}

/// The arguments of a bench of the small program.
pub(crate) fn tell_bench(workspace: &Workspace, bench: &mut Command) -> Result<()> {
    bench.env("LINESIDE_SHIM", shim(workspace)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_a_folder_and_features_in_any_order() {
        let order = Order { root: Some("r"), with: Some("otel,nats") };
        assert_eq!(Order::read(&["--with", "otel,nats", "--root", "r"]).unwrap(), order);
        assert_eq!(Order::read(&["--root", "r", "--with", "otel,nats"]).unwrap(), order);
        assert_eq!(Order::read(&[]).unwrap(), Order::default());
        assert!(Order::read(&["--root"]).is_err());
    }
}
