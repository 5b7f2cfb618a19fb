//! `lineside new hook NAME`: a hook in one of the forms, with a script that answers, ready to be changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use lineside::KITS;
use lineside::assembly::HookFiles;
use lineside::dialects::{Places, Trust};
use lineside::{Assembly, Bus};

use crate::init::{file, plain_name, write_new};
use crate::painter::one_line;
use crate::places::{granted_places, shown};
use crate::style::{Styles, Tone, print};

/// Write a hook, to be changed: its declaration, and a script that lets everything pass.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// What to write.
    #[arg(value_enum, value_name = "WHAT")]
    what: What,

    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,

    /// The form.
    #[arg(long, value_enum, default_value = "command")]
    form: Form,

    /// The point at which it is asked.
    #[arg(long = "on", value_name = "POINT", default_value = "before_tool")]
    point: String,

    /// For a project, the current directory if none is named.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    project: Option<PathBuf>,
}

impl NewArgs {
    /// Whether it writes hooks that hold everywhere.
    pub(crate) fn is_of_user(&self) -> bool {
        self.project.is_none()
    }
}

/// What can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// A hook.
    Hook,
}

/// The forms of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A program for each event, in `hooks.yaml`.
    Command,
    /// A program in Python that is kept, in `hooks.yaml`.
    Worker,
    /// A post to a server, in `hooks.yaml`.
    Post,
    /// A folder in the format of Agent Hooks.
    Folder,
}

const COMMAND: &str = "#!/bin/sh
# The event is one JSON object on standard input. Exit status 0 lets it pass; 2 refuses it, with what stands on standard
# error as the reason.
cat >/dev/null
exit 0
";

const WORKER: &str = "#!/usr/bin/env python3
from lineside_hook import hook, serve


@hook
def check(event):
    # return {\"verdict\": \"block\", \"reason\": \"…\"}
    return None


serve()
";

/// Runs the command.
///
/// # Errors
/// The name or the point is none, there is such a hook, or a file cannot be written.
pub(crate) fn run(args: &NewArgs, styles: Styles) -> Result<ExitCode> {
    let What::Hook = args.what;
    plain_name(&args.name)?;
    let point = lineside::points::find(&args.point).map_err(|error| anyhow::anyhow!("{error}"))?.name;
    let places = granted_places(args.project.as_deref())?;
    let declared = file(&places, args.project.is_some())?;
    let folder = declared.parent().unwrap_or(Path::new("/")).join("hooks");
    let root = args.project.is_some().then(|| places.work_dir());
    let name = &args.name;
    let script = |end: &str| folder.join(format!("{name}.{end}"));
    let kit = KITS.iter().find(|kit| kit.language == "python");
    let mut files: Vec<(PathBuf, &str, u32)> = Vec::new();
    let mut post = String::new();
    let run = match args.form {
        Form::Command => {
            files.push((script("sh"), COMMAND, 0o755));
            format!("command: [{}]", named(&script("sh"), root))
        }
        Form::Worker => {
            files.push((script("py"), WORKER, 0o755));
            files.extend(kit.map(|kit| (folder.join("lineside_hook.py"), kit.text, 0o644)));
            format!("worker: {{program: [python3, {}]}}", named(&script("py"), root))
        }
        Form::Post => {
            let ends = "# `block` once the server answers: then nothing passes that it has not seen.";
            post = format!("    on_failure: continue  {ends}\n");
            format!("post: {{url: \"http://127.0.0.1:8080/{name}\"}}")
        }
        Form::Folder => return new_folder(args, point, &places, styles),
    };
    let entry = format!("  - name: {name}\n    on: {point}\n    {run}\n{post}");
    let before = fs::read_to_string(&declared).ok();
    let text = before.clone().map_or_else(|| format!("hooks:\n{entry}"), |text| joined(&text, &entry));
    let joins =
        declares_one_more(before.as_deref().unwrap_or_default(), &text, name, args.project.is_some())?;
    let at = shown(&declared, &places);
    if joins == Joins::NameTaken {
        bail!("a hook of {at}, or of a policy that it uses, is called `{name}` already; choose another name");
    }
    if joins == Joins::No {
        let ends = if post.is_empty() { "" } else { ", on_failure: continue" };
        print([format!("{{name: {name}, on: {point}, {run}{ends}}}")])?;
        let script = match files.first() {
            Some((script, ..)) => {
                format!(", and a program at {}; nothing was written", shown(script, &places))
            }
            None => String::new(),
        };
        bail!(
            "cannot add to {at} without changing what it says; put the line above into its `hooks`, between the brackets \
             or behind `- `{script}"
        );
    }
    let mut written = Vec::new();
    let entered = scripts(&files, &mut written).and_then(|()| enter(&declared, before.is_none(), &text));
    if entered.is_err() {
        // A script that no entry names would stand in the way of the next attempt.
        written.iter().for_each(|file| drop(fs::remove_file(file)));
    }
    entered?;
    let script = files.first().map(|(script, ..)| &**script);
    done(name, (&declared, script), &places, args.project.is_some(), styles)
}

/// Writes the scripts, and notes those that were not there.
fn scripts(files: &[(PathBuf, &str, u32)], written: &mut Vec<PathBuf>) -> Result<()> {
    for (path, text, mode) in files {
        let is_kit = path.ends_with("lineside_hook.py");
        if write_new(path, text, *mode)? {
            written.push(path.clone());
        } else if !is_kit {
            bail!("{} is there already", path.display());
        }
    }
    Ok(())
}

/// Writes the file that declares the hook, which is new or takes the place of the one before.
fn enter(declared: &Path, is_new: bool, text: &str) -> Result<()> {
    if is_new {
        return write_new(declared, text, 0o644).map(drop);
    }
    let new = declared.with_extension("yaml.new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, declared));
    written.with_context(|| format!("failed to write {}", declared.display()))
}

fn new_folder(args: &NewArgs, point: &str, places: &Places, styles: Styles) -> Result<ExitCode> {
    let folder = match args.project {
        Some(_) => places.work_dir().join(".agents/hooks"),
        None => places.configuration().context("the system knows no home of this user")?.join("agents/hooks"),
    };
    let folder = folder.join(&args.name);
    let declared = folder.join("HOOK.md");
    let text = format!(
        "---\nname: {}\ndescription: Says what this hook is for.\ntrigger: {point}\n---\n\nWhat it does, and for whom.\n",
        args.name
    );
    if !write_new(&declared, &text, 0o644)? {
        bail!("{} is there already", declared.display());
    }
    let script = folder.join("scripts/run.sh");
    write_new(&script, COMMAND, 0o755)?;
    done(&args.name, (&declared, Some(&script)), places, args.project.is_some(), styles)
}

fn done(
    name: &str,
    (declared, script): (&Path, Option<&Path>),
    places: &Places,
    of_project: bool,
    styles: Styles,
) -> Result<ExitCode> {
    let at = one_line(&shown(declared, places));
    let mut lines =
        vec![format!("{at}  {}", styles.out.paint(Tone::Good, &format!("hook \"{name}\" added")))];
    lines.extend(script.map(|script| format!("{}  its program", one_line(&shown(script, places)))));
    lines.push(format!("next: {}", if of_project { "lineside trust" } else { "lineside check" }));
    print(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// A script as a declaration names it: below the root of its project, and whole for a user, whose hooks run anywhere.
fn named(script: &Path, root: Option<&Path>) -> String {
    let below = root.and_then(|root| script.strip_prefix(root).ok()).map(|below| Path::new("./").join(below));
    let path = below.as_deref().unwrap_or(script).display().to_string();
    lineside::json::to_string(&path).unwrap_or(path)
}

/// A file with an entry more at its end.
fn joined(text: &str, entry: &str) -> String {
    let text = text.trim_end();
    let head = if text.lines().any(|line| line.starts_with("hooks:")) { "" } else { "\nhooks:" };
    format!("{text}{head}\n{entry}")
}

/// Whether a hook can be joined to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joins {
    Yes,
    No,
    NameTaken,
}

/// Whether a text declares what another one does, and this hook beside it, as it would be read.
fn declares_one_more(before: &str, now: &str, name: &str, of_project: bool) -> Result<Joins> {
    let folder = tempfile::tempdir()?;
    let read = |text: &str| read_alone(text, folder.path(), of_project);
    let (before, now) = (read(before)?, read(now)?);
    let mut names = before.names();
    if names.iter().any(|known| known == name) {
        return Ok(Joins::NameTaken);
    }
    names.push(name.to_owned());
    let is_joined = now.names() == names && now.errors() <= before.errors();
    Ok(if is_joined { Joins::Yes } else { Joins::No })
}

/// What a text declares as the file of the hooks of a user or a project that has nothing else, in an empty folder for it.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn read_alone(text: &str, folder: &Path, of_project: bool) -> Result<HookFiles> {
    let place = if of_project { ".lineside" } else { "lineside" };
    fs::create_dir_all(folder.join(place))?;
    fs::write(folder.join(place).join("hooks.yaml"), text)?;
    let home = folder.display().to_string();
    let environment = ["HOME", "XDG_CONFIG_HOME"].map(|name| (name.to_owned(), home.clone())).into();
    let cwd = folder.to_path_buf();
    let project_root = of_project.then(|| cwd.clone());
    Ok(Assembly::new(Bus::new()).read(&Places { environment, project_root, cwd, trust: Trust::Granted }))
}
