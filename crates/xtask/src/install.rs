//! `cargo xtask install`: the two programs of the command, built and laid out as they are used.
//!
//! `bin/lineside` is the small program that agents wait for, `bin/lineside-full` the command that it becomes for
//! everything else.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::programme::{FOR_A_BUILD, must};
use crate::tools::need_target;
use crate::workspace::Workspace;

/// The profile of the small program.
const PROFILE: &str = "shim";

/// Builds both and puts them into `bin` of this folder; of cargo's own without one.
pub(crate) fn run(workspace: &Workspace, root: Option<&str>) -> Result<ExitCode> {
    let root = match root {
        Some(root) => PathBuf::from(root),
        None => cargo_home()?,
    };
    let bin = root.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("failed to make {}", bin.display()))?;
    // As `cargo run --release` builds it: a choice of packages would be a choice of their features, and all of it anew.
    must(&mut workspace.cargo(["build", "--release"]), FOR_A_BUILD)?;
    let shim = shim(workspace)?;
    // The small one last: it finds the other one beside it from the first moment on.
    let full = workspace.target.join("release/lineside");
    for (from, name) in [(full, "lineside-full"), (shim, "lineside")] {
        let to = bin.join(name);
        replace(&from, &to).with_context(|| format!("failed to install {}", to.display()))?;
        println!("installed {}", to.display());
    }
    println!("a daemon that runs is the earlier one until `lineside stop`; the next event starts this one");
    manual(&bin.join("lineside-full"), &root.join("share"))?;
    Ok(ExitCode::SUCCESS)
}

/// What each shell completes, by the name under which it looks for that below a folder of shared files.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/lineside"),
    ("zsh", "zsh/site-functions/_lineside"),
    ("fish", "fish/vendor_completions.d/lineside.fish"),
];

/// Puts completions and the pages of the manual below a folder, as the command itself gives them.
fn manual(command: &Path, share: &Path) -> Result<()> {
    for (shell, place) in COMPLETIONS {
        let made = Command::new(command).args(["completions", shell]).output()?;
        if !made.status.success() {
            bail!("`{} completions {shell}` failed", command.display());
        }
        let file = share.join(place);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
        }
        fs::write(&file, made.stdout).with_context(|| format!("failed to write {}", file.display()))?;
        println!("installed {}", file.display());
    }
    let pages = share.join("man/man1");
    must(Command::new(command).arg("man").arg(&pages), FOR_A_BUILD)?;
    println!("installed the manual in {}", pages.display());
    Ok(())
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
