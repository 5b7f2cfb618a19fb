//! The package of Python: its client with the command of this build, and its adapters with the frameworks that they are for.
//!
//! The frameworks come from the registry of Python, pinned, into an environment of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::step::{Counts, Outcome};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must, watch};
use crate::tools;
use crate::workspace::Workspace;

/// The folder of the package.
const PACKAGE: &str = "crates/lineside-python";

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    let python = environment(workspace)?;
    must(&mut workspace.cargo(["build", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let package = workspace.root.join(PACKAGE);
    let mut tests = Command::new(python);
    tests.args(["-m", "unittest", "discover", "--start-directory", "tests"]).current_dir(&package);
    tests.env("PYTHONPATH", package.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("MYPY_CACHE_DIR", workspace.target.join("tools/python/mypy"));
    tests.env("LINESIDE_COMMAND", workspace.target.join("debug/lineside"));
    let ended = watch(&mut tests, FOR_A_RUN)?;
    let counts = counted(&ended.lines).with_context(|| format!("the tests of {PACKAGE} said no result"))?;
    Ok(Outcome::Judged(counts))
}

/// The Python of the environment in which the frameworks are, as the requirements pin them.
fn environment(workspace: &Workspace) -> Result<PathBuf> {
    let required = workspace.root.join(PACKAGE).join("tests/requirements.txt");
    let wanted = fs::read_to_string(&required).context("the requirements of the tests cannot be read")?;
    let folder = workspace.target.join("tools/python/frameworks");
    let (python, installed) = (folder.join("bin/python3"), folder.join("installed.txt"));
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(python);
    }
    println!("installing the frameworks of {} into {}", workspace.shown(&required), workspace.shown(&folder));
    must(Command::new(tools::python()?).args(["-m", "venv"]).arg(&folder), FOR_A_BUILD)?;
    let mut install = Command::new(&python);
    install
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&required);
    must(&mut install, FOR_A_BUILD)?;
    fs::write(&installed, wanted).with_context(|| format!("cannot write {}", workspace.shown(&installed)))?;
    Ok(python)
}

/// What the last lines of `unittest` say: `Ran 7 tests in …`, and `FAILED (failures=1, errors=2)`.
fn counted(lines: &[String]) -> Option<Counts> {
    let number =
        |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().ok();
    let ran = lines.iter().rev().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next())?;
    let ended = lines
        .iter()
        .rev()
        .find(|line| *line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED"))?;
    let parts = ended
        .split(['(', ',', ')'])
        .filter(|part| ["failures=", "errors="].iter().any(|word| part.contains(word)));
    let failed = parts.filter_map(number).sum::<u64>();
    let failed = if ended.starts_with("FAILED") { failed.max(1) } else { 0 };
    Some(Counts { passed: number(ran)?.saturating_sub(failed), failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Option<Counts> {
        counted(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_last_lines_are_counted() {
        assert_eq!(of(&["Ran 3 tests in 0.1s", "", "OK"]), Some(Counts { passed: 3, failed: 0 }));
        assert_eq!(of(&["Ran 3 tests in 0.1s", "OK (skipped=1)"]), Some(Counts { passed: 3, failed: 0 }));
        let failed = of(&["Ran 5 tests in 1s", "FAILED (failures=1, errors=2, skipped=1)"]);
        assert_eq!(failed, Some(Counts { passed: 2, failed: 3 }));
        assert_eq!(of(&["Traceback"]), None);
    }
}
