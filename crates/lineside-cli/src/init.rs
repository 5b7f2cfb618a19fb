//! `lineside init`: a first file of hooks, with a policy and remarks, and what there is already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lineside::dialects::Places;
use lineside::hosts::install::{Level, installed};
use lineside::json::json;
use lineside::{Assembly, Bus};
use lineside_config::File;

use crate::hosts::machine;
use crate::painter::one_line;
use crate::places::{granted_places, shown};
use crate::style::{Styles, Tone, count, print, print_json};

/// Write a first file of hooks, and say what is on this machine already.
///
/// The file has the standard policies, one that refuses to delete whole folders, and remarks about the rest. One that is there is left as it
/// is.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// For a project, the current directory if none is named: its hooks hold where they are trusted.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    project: Option<PathBuf>,

    /// Print the file, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl InitArgs {
    /// Whether it writes hooks that hold everywhere.
    pub(crate) fn is_of_user(&self) -> bool {
        self.project.is_none() && !self.dry_run
    }
}

/// The file of the user, or of a project.
const FIRST: &str = include_str!("init/hooks.yaml");

/// Runs the command.
///
/// # Errors
/// There is no home, or the file cannot be written.
pub(crate) fn run(args: &InitArgs, styles: Styles) -> Result<ExitCode> {
    let places = granted_places(args.project.as_deref())?;
    let file = file(&places, args.project.is_some())?;
    if args.dry_run {
        print(FIRST.lines())?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_new = write_new(&file, FIRST, 0o644)?;
    // The first line of the file names it.
    write_new(&file.with_file_name(File::Hooks.schema_file()), &File::Hooks.schema(), 0o644)?;
    let already = existing(&places, &file);
    let programs = machine::found(&places);
    let level = if args.project.is_some() { Level::Project } else { Level::User };
    let (entered, others): (Vec<_>, Vec<_>) = programs.into_iter().partition(|host| {
        let files =
            [Level::User, level].into_iter().filter_map(|level| installed(*host, level, &places).ok());
        files.flatten().next().is_some()
    });
    let mut next = Vec::new();
    if args.project.is_some() {
        next.push("lineside trust".to_owned());
    }
    match &others[..] {
        [] => {}
        [host] => next.push(format!("lineside install {}", host.name())),
        _ => next.push("lineside install all".to_owned()),
    }
    next.push("lineside check".to_owned());
    if args.json {
        let names =
            |hosts: &[lineside::hosts::Host]| hosts.iter().map(|host| host.name()).collect::<Vec<_>>();
        print_json(&json!({
            "file": file, "created": is_new, "hooks_of_others": already,
            "programs": {"installed": names(&entered), "found": names(&others)}, "next": next,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = if is_new {
        styles.out.paint(Tone::Good, "created")
    } else {
        styles.out.paint(Tone::Dim, "was there already")
    };
    let mut lines = vec![format!("{}  {what}", one_line(&shown(&file, &places)))];
    for (dialect, hooks) in &already {
        lines.push(format!("  {} of {dialect} found: they run beside it", count(*hooks, "hook")));
    }
    if entered.is_empty() && others.is_empty() {
        lines.push(format!("  no agent program was found on PATH or in {}", machine::places()));
    }
    lines.extend(entered.iter().map(|host| format!("  {}: has entries of lineside", host.title())));
    lines.extend(others.iter().map(|host| format!("  {}: has no entry of lineside yet", host.title())));
    lines.push("next:".to_owned());
    lines.extend(next.iter().map(|command| format!("  {command}")));
    print(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the hooks of the user are, or those of a project.
///
/// # Errors
/// The system knows no home of this user.
pub(crate) fn file(places: &Places, of_project: bool) -> Result<PathBuf> {
    if of_project {
        return Ok(places.work_dir().join(".lineside/hooks.yaml"));
    }
    let folder = places.configuration().context("the system knows no home of this user; set HOME")?;
    Ok(folder.join("lineside/hooks.yaml"))
}

/// Writes a file that is not there; `false` when it is.
///
/// # Errors
/// It, or its folder, cannot be made.
pub(crate) fn write_new(file: &Path, text: &str, mode: u32) -> Result<bool> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let failed = || format!("failed to write {}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    match fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(file) {
        Ok(mut new) => new.write_all(text.as_bytes()).with_context(failed).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(failed),
    }
}

/// How many hooks of each format there are beside those of a file.
fn existing(places: &Places, file: &Path) -> Vec<(&'static str, usize)> {
    let read = Assembly::new(Bus::new()).read(places);
    let of_others = |hooks: &[Option<lineside::core::Origin>]| {
        hooks.iter().flatten().filter(|origin| *origin.file != *file).count()
    };
    read.origins()
        .into_iter()
        .map(|(dialect, origins)| (dialect, of_others(&origins)))
        .filter(|(_, hooks)| *hooks > 0)
        .collect()
}

/// Refuses a name that no file or hook should have.
///
/// # Errors
/// It is empty, or has other signs than letters, digits, `-` and `_`.
pub(crate) fn plain_name(name: &str) -> Result<()> {
    if name.is_empty() || !name.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_".contains(sign)) {
        bail!("`{}` is no name for a hook: letters, digits, `-` and `_`", one_line(name));
    }
    Ok(())
}
