//! One set of hooks in a home of its own, and the same events played to it by the original and by lineside.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A home, a project, and events in the words of both programs: each line has those of lineside as `lineside`.
pub(super) struct Scene<'a> {
    folder: &'a Path,
    /// The events.
    pub(super) lines: Vec<Value>,
}

impl<'a> Scene<'a> {
    /// Empties the folder, makes a place in the home, and writes the events.
    pub(super) fn lay_out(folder: &'a Path, place: &Path, events: &str) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join("home").join(place))?;
        fs::create_dir_all(folder.join("project"))?;
        let lines: Vec<Value> = events.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let ours: String = lines.iter().map(|line| format!("{}\n", line["lineside"])).collect();
        fs::write(folder.join("events.jsonl"), events)?;
        fs::write(folder.join("lineside.jsonl"), ours)?;
        Ok(Self { folder, lines })
    }

    /// The receipts of lineside, one for each event.
    pub(super) fn lineside(&self, lineside: &Path, dialect: &str) -> Result<Vec<Value>> {
        let run = ["run", "--project", ".", "--ordered", "--receipts", "--dialect", dialect];
        self.answers("lineside", Command::new(lineside).args(run).arg("../lineside.jsonl"))
    }

    /// The lines of JSON that a program prints in the project, with the home of the scene: one for each event.
    pub(super) fn answers(&self, title: &str, command: &mut Command) -> Result<Vec<Value>> {
        command.current_dir(self.folder.join("project")).env("HOME", self.folder.join("home"));
        let printed =
            command.stdin(Stdio::null()).stderr(Stdio::null()).output().context("it did not start")?;
        let printed = String::from_utf8_lossy(&printed.stdout);
        let lines = printed.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str);
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        ensure!(
            lines.len() == self.lines.len(),
            "{title} answered {} events of {}",
            lines.len(),
            self.lines.len()
        );
        Ok(lines)
    }
}
