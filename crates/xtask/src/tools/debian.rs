//! Programmes that the distribution provides.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::programme::{FOR_A_BUILD, answers, must};

/// A programme and the Debian package it comes in.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// Installs those of the programmes that are missing. Where we are not allowed to, the error says what to install.
pub(crate) fn need_programs(programs: &[Program]) -> Result<()> {
    let missing: Vec<&Program> = programs.iter().filter(|program| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = list(missing.iter().map(|program| program.name));
    let packages = list(missing.iter().map(|program| program.package));
    if !may_install() {
        bail!("{names} not found; install it, on Debian with `sudo apt-get install {packages}`");
    }
    println!("installing {packages} with apt-get, for {names}");
    let install = format!("apt-get update -q && apt-get install -qy --no-install-recommends {packages}");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &install]).env("DEBIAN_FRONTEND", "noninteractive");
    must(&mut command, FOR_A_BUILD).with_context(|| format!("install {packages}"))?;
    Ok(())
}

fn is_there(program: &Program) -> bool {
    answers(Command::new(program.name).arg("--version"))
}

fn may_install() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    root && answers(Command::new("apt-get").arg("--version"))
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_left_alone() {
        need_programs(&[Program { name: "cargo", package: "no-such-package" }]).unwrap();
    }
}
