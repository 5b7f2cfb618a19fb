//! The command of `lineside explain 'COMMAND'`: what is known of its surroundings, and what it does as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lineside::commands::{
    Access, Analysis, Argument, CommandProgram, FileLinks, Shell, Surroundings, Unknown, analyse_bytes,
};
use lineside::dialects::native::matching_policies;
use lineside::json::{Map, Value, json};

use crate::painter::json_line;
use crate::places::{PlaceArgs, environment};

/// The arguments that are about a command alone.
#[derive(Debug, Default, Args)]
pub(super) struct CommandArgs {
    /// The shell that runs the command: bash, sh, zsh, or another such as fish or powershell.
    #[arg(long, value_name = "NAME", value_parser = shell)]
    shell: Option<Shell>,

    /// The folder that the command starts in; the current one without it. It need not be there.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// The home of the account that runs it; that of the environment without it. It need not be there.
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,

    /// Commands of a file, or of standard input for `-`, with a NUL behind each: one JSON object per line and command.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(super) batch: Option<PathBuf>,
}

impl CommandArgs {
    /// Those of a command of a shell of this name.
    pub(super) fn of_shell(name: &str) -> Self {
        Self { shell: Some(Shell::named(name)), ..Self::default() }
    }

    /// Whether the argument can only be a command.
    pub(super) fn are_of_a_command(&self) -> bool {
        self.shell.is_some() || self.cwd.is_some() || self.home.is_some()
    }

    /// The shell.
    pub(super) fn shell(&self) -> Shell {
        self.shell.unwrap_or_default()
    }

    /// What is known of the surroundings of the commands: in a project that is named, in a folder that is, or here.
    ///
    /// # Errors
    /// The current folder is gone, there is no home, or a path is not UTF-8.
    pub(super) fn scene(&self, places: &PlaceArgs) -> Result<Scene> {
        let project = places.project();
        let absolute = |path: &Path| -> Result<String> {
            let path = std::path::absolute(path).context("failed to read the working directory")?;
            match path.to_str() {
                Some(path) if path.len() > 1 => Ok(path.trim_end_matches('/').to_owned()),
                Some(path) => Ok(path.to_owned()),
                None => bail!("the path is not UTF-8: {}", path.display()),
            }
        };
        let cwd = absolute(self.cwd.as_deref().or(project).unwrap_or(Path::new(".")))?;
        let home = match &self.home {
            Some(home) => absolute(home)?,
            None => {
                environment().get("HOME").cloned().context("the account has no home; name one with --home")?
            }
        };
        let project = match (project, &self.cwd) {
            (Some(project), _) => absolute(project)?,
            (None, Some(_)) => cwd.clone(),
            (None, None) => places.ground()?.project.to_string(),
        };
        Ok(Scene { cwd, project, home, shell: self.shell() })
    }
}

fn shell(name: &str) -> Result<Shell, String> {
    if name.is_empty() { Err("the shell has no name".to_owned()) } else { Ok(Shell::named(name)) }
}

/// Where commands run.
pub(super) struct Scene {
    pub(super) cwd: String,
    pub(super) project: String,
    pub(super) home: String,
    pub(super) shell: Shell,
}

impl Scene {
    /// The same for the analysis. Links are those of this machine.
    pub(super) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            cwd: &self.cwd,
            links: Some(&FileLinks),
            ..Surroundings::new(&self.project, &self.home)
        }
    }

    /// What one command does, as the object of `--batch`.
    pub(super) fn object(&self, command: &[u8]) -> Map {
        let state = self.surroundings();
        as_object(&analyse_bytes(command, self.shell, &state), &state)
    }

    /// Writes the object of each command of a batch, one a line.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(super) fn batch(&self, text: &[u8]) -> Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        // The NUL stands behind each; the last may be without.
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        for command in text.split(|byte| *byte == 0).filter(|_| !text.is_empty()) {
            out.write_all(json_line(&self.object(command))?.as_bytes())?;
        }
        Ok(out.flush()?)
    }
}

/// What a command does.
pub(super) fn as_object(analysis: &Analysis, state: &Surroundings<'_>) -> Map {
    let programs: Vec<Value> = analysis.programs.iter().map(program).collect();
    let unclear = analysis.unclear.iter().map(|unclear| {
        let what = match unclear.what {
            Unknown::Program => "program",
            Unknown::Paths => "paths",
        };
        json!({"what": what, "reason": unclear.reason})
    });
    let policies: Vec<&str> =
        matching_policies(analysis, state).iter().map(|(policy, _)| policy.name).collect();
    Map::from_iter([
        ("programs".to_owned(), json!(programs)),
        ("reads".to_owned(), json!(paths(analysis, Access::Read))),
        ("writes".to_owned(), json!(paths(analysis, Access::Write))),
        ("deletes".to_owned(), json!(paths(analysis, Access::Delete))),
        ("unclear".to_owned(), json!(unclear.collect::<Vec<_>>())),
        ("policies".to_owned(), json!(policies)),
    ])
}

fn program(program: &CommandProgram) -> Value {
    let args: Vec<Value> = program.args.iter().map(word).collect();
    json!({"program": word(&program.name), "args": args, "way": program.way})
}

/// A word as it is, or an object that says what of it is known.
fn word(word: &Argument) -> Value {
    match word {
        Argument::Text(text) => json!(text),
        Argument::Glob(pattern) => json!({"glob": pattern}),
        Argument::Like(pattern) => json!({"like": pattern}),
        Argument::Any => json!({"any": true}),
        Argument::Many => json!({"many": true}),
    }
}

/// The absolute paths of an access, under the names that they are called by and those that links lead to.
fn paths(analysis: &Analysis, access: Access) -> Vec<&str> {
    let touches = analysis.paths(access).filter(|touch| touch.path.starts_with('/'));
    let mut all = BTreeMap::new();
    for path in touches.flat_map(|touch| [Some(&touch.path), touch.target.as_ref()]).flatten() {
        let place = all.len();
        all.entry(path.as_str()).or_insert(place);
    }
    let mut all: Vec<(usize, &str)> = all.into_iter().map(|(path, place)| (place, path)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, path)| path).collect()
}
