//! The standard policies behind a program: what they refuse however it is spelt, and what only looks like it.

use std::fs;

use anyhow::Result;

use super::scene::{Outcome, Stage};

/// Nothing but the policies.
const STANDARD: &str = "use: [standard]\n";

/// How many commands each of the two scripts has.
const COMMANDS: usize = 10;

impl Stage<'_> {
    /// What has to come of ten dangerous spellings and of ten harmless commands that look like them.
    pub(super) fn policies(&mut self) -> Result<Outcome> {
        let file = self.ground.home.join(".config/lineside/hooks.yaml");
        let before = fs::read_to_string(&file)?;
        fs::write(&file, STANDARD)?;
        self.serve()?;
        let seen = self.spellings();
        fs::write(&file, before)?;
        self.serve()?;
        seen
    }

    fn spellings(&self) -> Result<Outcome> {
        let ran = self.ground.project.join("ran.txt");
        for (script, expected) in [("refused", 0), ("passed", COMMANDS)] {
            drop(fs::remove_file(&ran));
            let asked = self.play(script, &format!("{script}.log"))?;
            let lines: Vec<String> =
                fs::read_to_string(&ran).unwrap_or_default().lines().map(str::to_owned).collect();
            if lines.len() != expected {
                return Ok(Outcome::Fails(format!("of `{script}` there ran {}", lines.join(", "))));
            }
            let reason = "commits of others would be lost";
            let is_named = asked.iter().any(|request| request.contains(reason));
            if is_named != (expected == 0) {
                return Ok(Outcome::Fails(format!("of `{script}` its model knows something else")));
            }
        }
        Ok(Outcome::Holds)
    }
}
