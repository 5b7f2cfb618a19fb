//! The real agent programs, each behind our own entries: what a policy says holds in every one of them.
//!
//! The programs come from npm and PyPI, hundreds of megabytes, into a folder of the target directory; they are pointed at
//! a scripted model on the loopback interface, so no run needs an account or leaves the machine. `lineside install`
//! writes our entries into a home of their own, and a daemon of their own decides. With `--pairs` each program starts each
//! other one; with `--places` two are at work at once in repositories of their own; with `--newest` the newest versions are
//! played beside the pinned ones.

mod between;
mod model;
mod newest;
mod pairs;
mod places;
mod policies;
mod program;
mod protocol;
mod record;
mod scene;
mod script;
mod session_hook;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::programme::{FOR_A_BUILD, must};
use crate::tools::{NODE, need_programs};
use crate::workspace::Workspace;
use newest::Offered;
use program::{PROGRAMS, Program};
use scene::{Checked, Outcome, Stage, said};

/// Where recordings are.
const RECORDINGS: &str = "examples/sessions";

/// Runs the chore for all programs, or for those that are named; with `--record` records a session of each instead, with
/// `--newest` also plays the newest versions and names what they do otherwise. What the programs have left is removed,
/// unless something fails or `--keep` asks for it.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode> {
    let has = |option: &str| arguments.contains(&option);
    let (records, keeps) = (has("--record"), has("--keep"));
    let names: Vec<&str> = arguments.iter().copied().filter(|name| !name.starts_with("--")).collect();
    let done = match (has("--pairs"), has("--places")) {
        (true, _) => play_together(workspace, &names, keeps, pairs::play),
        (_, true) => play_together(workspace, &names, keeps, places::play),
        _ => play(workspace, &names, records, keeps, has("--newest")),
    };
    if !keeps {
        scene::leave();
    }
    done
}

/// Plays scenes of two programs.
fn play_together(
    workspace: &Workspace,
    names: &[&str],
    keeps: bool,
    scene: fn(&Workspace, &[&str], bool) -> Result<ExitCode>,
) -> Result<ExitCode> {
    check_names(names)?;
    need_programs(&[NODE])?;
    build(workspace)?;
    scene(workspace, names, keeps)
}

fn check_names(names: &[&str]) -> Result<()> {
    let known = |name: &str| PROGRAMS.iter().any(|program| is_named(program, name));
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        anyhow::bail!("there is no program `{unknown}`; there are {}", all.join(", "));
    }
    Ok(())
}

fn play(workspace: &Workspace, names: &[&str], records: bool, keeps: bool, newest: bool) -> Result<ExitCode> {
    check_names(names)?;
    need_programs(&[NODE])?;
    build(workspace)?;
    let chosen = PROGRAMS
        .iter()
        .filter(|program| names.is_empty() || names.iter().any(|name| is_named(program, name)));
    let mut rows = Vec::new();
    for program in chosen {
        println!("{} {}", program.name, program.version());
        if records {
            let into = workspace.root.join(RECORDINGS).join(format!("{}.jsonl", program.name));
            let calls = Stage::set(workspace, program, program.install(workspace)?)?.record(&into)?;
            println!("    {calls} calls in {}", workspace.shown(&into));
            clear(workspace, program, keeps)?;
            continue;
        }
        let played = check(workspace, program, program.install(workspace), keeps)?;
        if let (true, Ok(pinned)) = (newest, &played)
            && let Err(error) = compare(workspace, program, pinned, keeps)
        {
            println!("    the newest version was not played: {error:#}");
        }
        rows.push((program, played.map(|(checked, _)| checked)));
    }
    if records {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(report(&rows))
}

/// What came of a program's scenes, and the tools that it has.
type Played = (Vec<Checked>, Offered);

/// Plays every scene with a program that is installed there.
fn check(
    workspace: &Workspace,
    program: &Program,
    installed: Result<PathBuf>,
    keeps: bool,
) -> Result<Result<Played>> {
    let row = installed.map(|installed| {
        let failed = |error: anyhow::Error| {
            let checked = vec![("without our entries", Outcome::Fails(format!("{error:#}")))];
            (checked, Offered::default())
        };
        Stage::set(workspace, program, installed).map_or_else(failed, Stage::check)
    });
    let is_sound =
        |played: &Played| !played.0.iter().any(|(_, outcome)| matches!(outcome, Outcome::Fails(_)));
    clear(workspace, program, keeps || !row.as_ref().is_ok_and(is_sound))?;
    match &row {
        Ok((checked, offered)) => {
            for (name, outcome) in checked {
                println!("    {name}: {}", said(outcome));
            }
            println!("    tools in no class: {}", offered.without_class().join(", "));
        }
        Err(error) => println!("    left out: {error:#}"),
    }
    Ok(row)
}

/// Plays the newest version of a program where that is another one, and names what it does otherwise.
fn compare(workspace: &Workspace, program: &Program, pinned: &Played, keeps: bool) -> Result<()> {
    let version = program.newest(workspace)?;
    if version == program.version() {
        println!("    {version} is the newest version");
        return Ok(());
    }
    println!("  {} {version}, newer than the pinned one", program.name);
    let into = format!("{}-newest", program.name);
    let installed = program.install_version(workspace, &into, &version);
    let (checked, offered) = check(workspace, program, installed, keeps)??;
    let changes = newest::changes((&pinned.0, &pinned.1), (&checked, &offered));
    if changes.is_empty() {
        println!("    {version} does nothing otherwise");
    }
    for change in changes {
        println!("    changed in {version}: {change}");
    }
    Ok(())
}

/// Removes what a program has left, or says where it is.
fn clear(workspace: &Workspace, program: &Program, keeps: bool) -> Result<()> {
    let folder = scene::folder(workspace, program);
    match folder.exists() {
        true if keeps => println!("    what it has left is in {}", workspace.shown(&folder)),
        true => std::fs::remove_dir_all(folder)?,
        false => {}
    }
    Ok(())
}

fn is_named(program: &Program, name: &str) -> bool {
    program.name == name || program.host == name
}

/// Builds the commands.
fn build(workspace: &Workspace) -> Result<()> {
    let packages = ["--package", "lineside-cli", "--package", "lineside-shim"];
    must(workspace.cargo(["build"]).args(packages), FOR_A_BUILD)?;
    Ok(())
}

/// Prints the table, and says whether everything holds. A program that could not be installed is no failure of ours, and
/// the table says why.
fn report(rows: &[(&Program, Result<Vec<Checked>>)]) -> ExitCode {
    let (mut held, mut failed, mut left_out) = (0, 0, 0);
    let names: Vec<&str> = rows
        .iter()
        .filter_map(|(_, row)| row.as_ref().ok())
        .max_by_key(|checked| checked.len())
        .map(|checked| checked.iter().map(|(name, _)| *name).collect())
        .unwrap_or_default();
    println!("\n| program | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for (program, row) in rows {
        let name = format!("{} {}", program.name, program.version());
        let checked = match row {
            Ok(checked) => checked,
            Err(error) => {
                left_out += 1;
                println!("| {name} | left out: {error:#} |");
                continue;
            }
        };
        let cells = names.iter().map(|name| {
            let found = checked.iter().find(|(known, _)| known == name);
            found.map_or_else(String::new, |(_, outcome)| said(outcome))
        });
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
        failed += checked.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Fails(_))).count();
        held += checked.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Fails(_))).count();
    }
    println!("\n{held} hold, {failed} fail, {left_out} programs left out");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
