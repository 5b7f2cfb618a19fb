//! Two programs at once, each in a repository of its own with a policy that a person has trusted: one daemon decides about
//! both, and each is under the policy of its place alone.

use std::fs;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context as _, Result, anyhow};

use super::program::{PROGRAMS, Program};
use super::scene::{Outcome, Stage, said};
use super::{clear, is_named};
use crate::programme::{FOR_A_RUN, must};
use crate::workspace::Workspace;

/// What the script does, and what the policy of each of the two repositories refuses of it, with its reason.
const MADE: [(&str, &str, &str); 2] =
    [("first", "mkdir", "REFUSED-IN-THE-FIRST"), ("second", "touch", "REFUSED-IN-THE-SECOND")];

/// Plays with the two programs that are named, or with the first two.
pub(super) fn play(workspace: &Workspace, names: &[&str], keeps: bool) -> Result<ExitCode> {
    let wanted = |place: usize| match names.get(place) {
        Some(name) => PROGRAMS.iter().find(|program| is_named(program, name)),
        None => {
            PROGRAMS.iter().filter(|program| !names.iter().any(|name| is_named(program, name))).nth(place)
        }
    };
    let (Some(first), Some(second)) = (wanted(0), wanted(1)) else {
        return Err(anyhow!("it takes two programs"));
    };
    let outcome =
        played(workspace, first, second).unwrap_or_else(|error| Outcome::Fails(format!("{error:#}")));
    println!("{} and {}, each in a repository of its own: {}", first.name, second.name, said(&outcome));
    let holds = outcome == Outcome::Holds;
    clear(workspace, first, keeps || !holds)?;
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn played(workspace: &Workspace, first: &Program, second: &Program) -> Result<Outcome> {
    let installed = (first.install(workspace)?, second.install(workspace)?);
    let stage = Stage::set(workspace, first, installed.0)?;
    let other = stage.beside(second, installed.1, "other")?;
    fs::write(stage.ground.home.join(".config/lineside/hooks.yaml"), "hooks: []\n")?;
    let stages = [stage, other];
    for (stage, (_, program, reason)) in stages.iter().zip(MADE) {
        stage.install_entries(stage.program.host)?;
        stage.trust(&format!(
            "hooks:\n  - {{name: policy, on: before_tool, match: {{runs: {program}}}, verdict: block, reason: {reason}}}\n"
        ))?;
    }
    // Both are at work at the same time.
    let asked = thread::scope(|scope| {
        let plays = stages.each_ref().map(|stage| scope.spawn(|| stage.play("places", "places.log")));
        plays.map(|play| play.join().map_err(|_| anyhow!("a program was not played")).flatten())
    });
    for ((stage, asked), own) in stages.iter().zip(asked).zip(0..) {
        let asked = asked?;
        for (place, (made, program, reason)) in MADE.iter().enumerate() {
            let is_made = stage.ground.project.join(made).exists();
            let is_told = asked.iter().any(|request| request.contains(reason));
            if is_made == (place == own) || is_told != (place == own) {
                let text = format!(
                    "of {}, {program}: it ran: {is_made}, its model knows why not: {is_told}",
                    stage.program.name
                );
                return Ok(Outcome::Fails(text));
            }
        }
    }
    Ok(Outcome::Holds)
}

impl Stage<'_> {
    /// Writes the policy of the project, and trusts what it has then.
    fn trust(&self, hooks: &str) -> Result<()> {
        let folder = self.ground.project.join(".lineside");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("hooks.yaml"), hooks)?;
        let shown = self.lineside().args(["trust", "--json", "--show"]).arg(&self.ground.project).output()?;
        let shown: serde_json::Value =
            serde_json::from_slice(&shown.stdout).context("trust shows nothing")?;
        let digest = shown["digest"].as_str().context("trust shows no digest")?;
        must(self.lineside().args(["trust", "--yes", digest]).arg(&self.ground.project), FOR_A_RUN)?;
        Ok(())
    }
}
