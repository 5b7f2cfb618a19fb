//! Programs that start one another: each is started plainly by the shell tool of each other one, and a hook on the session
//! of the outer one has to meet what the inner one calls.
//!
//! Nothing else keeps the command from running: there are no hooks of the user, and the inner program is handed nothing.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::program::{PROGRAMS, Program};
use super::scene::{Outcome, Stage, said};
use super::{is_named, session_hook};
use crate::workspace::Workspace;

/// The file that starts the inner program.
const INNER: &str = "inner.sh";

/// Plays the pairs of these programs, or the one pair that is named by two.
pub(super) fn play(workspace: &Workspace, names: &[&str], keeps: bool) -> Result<ExitCode> {
    let is_wanted = |program: &Program, place: usize| match names {
        [] => true,
        [one] => is_named(program, one) || place == 1,
        _ => names.get(place).is_some_and(|name| is_named(program, name)),
    };
    let outer: Vec<_> = PROGRAMS.iter().filter(|program| is_wanted(program, 0)).collect();
    let inner: Vec<_> = PROGRAMS.iter().filter(|program| is_wanted(program, 1)).collect();
    let heading: Vec<_> = inner.iter().map(|program| program.name).collect();
    let (mut table, mut failed, mut held) = (String::new(), 0, 0);
    for outer in outer {
        write!(table, "\n| {} |", outer.name)?;
        for inner in inner.iter().filter(|inner| inner.name != outer.name || names.len() == 2) {
            let outcome = pair(workspace, outer, inner, keeps);
            let outcome = outcome.unwrap_or_else(|error| Outcome::Fails(format!("{error:#}")));
            println!("{} starts {}: {}", outer.name, inner.name, said(&outcome));
            let is_held = outcome == Outcome::Holds;
            held += usize::from(is_held);
            failed += usize::from(!is_held);
            write!(table, " {} |", said(&outcome))?;
        }
    }
    println!("\n| starts | {} |\n|---|{}{table}", heading.join(" | "), "---|".repeat(heading.len()));
    println!("\n{held} of {} played and hold", held + failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn pair(workspace: &Workspace, outer: &Program, inner: &Program, keeps: bool) -> Result<Outcome> {
    let installed = (outer.install(workspace)?, inner.install(workspace)?);
    let mut stage = Stage::set(workspace, outer, installed.0)?;
    let outcome = stage.pair(inner, installed.1);
    let is_sound = matches!(outcome, Ok(Outcome::Holds));
    super::clear(workspace, outer, keeps || !is_sound)?;
    outcome
}

impl Stage<'_> {
    /// Has the program start another one, under a hook of its own session alone.
    fn pair(&mut self, inner: &Program, installed: std::path::PathBuf) -> Result<Outcome> {
        fs::write(self.ground.home.join(".config/lineside/hooks.yaml"), "hooks: []\n")?;
        let beside = self.ground.of(installed);
        inner.configure(&beside, self.model.port)?;
        for host in [self.program.host, inner.host] {
            self.install_entries(host)?;
        }
        self.serve()?;
        let prompt = format!("Tidy the project up. {}gate", super::script::MARK);
        let command = inner.command(&beside, self.model.port, &prompt);
        let mut script = "#!/bin/sh\n".to_owned();
        for (name, value) in command.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            writeln!(script, "export {}={}", name.display(), quoted(&value))?;
        }
        write!(script, "exec {}", quoted(&command.get_program().to_string_lossy()))?;
        for argument in command.get_args() {
            write!(script, " {}", quoted(&argument.to_string_lossy()))?;
        }
        fs::write(self.ground.project.join(INNER), script + " < /dev/null\n")?;
        let (socket, log, host) =
            (self.ground.socket.clone(), self.folder.join("session-hook.log"), self.program.host);
        self.model.before_answer_to("play:pair", move || {
            if let Err(error) = session_hook::register_on(&socket, host) {
                // The check fails then; this says why.
                drop(fs::write(log, format!("{error:#}")));
            }
        });
        let asked = self.play("pair", "pair.log")?;
        ensure!(
            asked.iter().any(|request| request.contains("play:gate")),
            "the inner program asked its model nothing"
        );
        let is_told = asked.iter().any(|request| request.contains(session_hook::REASON));
        Ok(match (self.is_kept(), is_told) {
            (true, true) => Outcome::Holds,
            (true, false) => Outcome::Fails("the command was not called".to_owned()),
            (false, _) => Outcome::Fails("the command ran".to_owned()),
        })
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
